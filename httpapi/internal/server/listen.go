package server

import (
	"errors"
	"log/slog"
	"net"
	"time"
)

// acceptTold is how often the log says that connections cannot be accepted.
const acceptTold = time.Minute

// A tellingListener has the log know when connections cannot be accepted, as where no more files
// may be open. net/http tries again until it can, and clients hear nothing meanwhile.
type tellingListener struct {
	net.Listener
	log  *slog.Logger
	last time.Time // when it was told; only the goroutine that accepts touches it
}

// Accept implements net.Listener.
func (l *tellingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) && time.Since(l.last) >= acceptTold {
		l.last = time.Now()
		l.log.Warn("connections cannot be accepted; see how many files the process may open", "error", err)
	}
	return c, err
}
