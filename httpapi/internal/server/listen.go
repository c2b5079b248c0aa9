package server

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"quern/httpapi/internal/guard"
)

// acceptTold is how often the log says that connections cannot be accepted.
const acceptTold = time.Minute

// A listener accepts so many connections at a time that files can still be opened for what
// they ask; more wait. It has the log know when that is so, and when the system has no more
// files to give: net/http tries again until it has, and clients hear nothing meanwhile.
type listener struct {
	net.Listener
	places chan struct{} // one for each connection; nil: without a bound
	closed chan struct{} // once Close is called
	log    *slog.Logger
	last   time.Time // when it was told; only the goroutine that accepts touches it
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	if l.places != nil {
		select {
		case l.places <- struct{}{}:
		default:
			l.tell("connections wait: as many are open as may be", "open", cap(l.places))
			select {
			case l.places <- struct{}{}:
			case <-l.closed:
				return nil, net.ErrClosed
			}
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		l.release()
		if !errors.Is(err, net.ErrClosed) {
			l.tell("connections cannot be accepted; see how many files the process may open", "error", err)
		}
	}
	return c, err
}

// Close implements net.Listener. net/http calls it once.
func (l *listener) Close() error {
	close(l.closed)
	return l.Listener.Close()
}

func (l *listener) tell(what string, facts ...any) {
	if now := time.Now(); now.Sub(l.last) >= acceptTold {
		l.last = now
		l.log.Warn(what, facts...)
	}
}

func (l *listener) release() {
	if l.places != nil {
		<-l.places
	}
}

// connState is the hook of http.Server. Sessions, which take a connection over, have a bound
// of their own.
func (a *API) connState(l *listener) func(net.Conn, http.ConnState) {
	return func(c net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			guard.Bound(c, a.Options.StreamWrite)
		case http.StateClosed, http.StateHijacked:
			l.release()
		}
	}
}
