package guard

import (
	"net"
	"time"
)

// sendBuffer is how much of an answer the system may hold for a client that does not
// read, in bytes. Left alone it grows to megabytes, which is minutes of tokens: writes
// would succeed, and no deadline pass, long after the client stopped.
const sendBuffer = 128 << 10

// Bound prepares a connection so that a client that reads nothing for limit is
// dropped; not positive means never. Writes block soon, and where the system can, it
// ends a connection whose bytes the client does not take although nothing more is written.
func Bound(c net.Conn, limit time.Duration) {
	if under, ok := c.(interface{ NetConn() net.Conn }); ok { // of TLS
		c = under.NetConn()
	}
	t, ok := c.(*net.TCPConn)
	if !ok || limit <= 0 {
		return
	}
	t.SetWriteBuffer(sendBuffer)
	limitUnread(t, limit)
}
