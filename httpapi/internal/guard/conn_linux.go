package guard

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// limitUnread has the system end a connection when sent bytes are not acknowledged for d.
func limitUnread(c *net.TCPConn, d time.Duration) {
	raw, err := c.SyscallConn()
	if err != nil {
		return // it is closed
	}
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, max(int(d.Milliseconds()), 1))
	})
}
