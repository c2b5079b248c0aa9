package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"quern/engine"
	"quern/httpapi/internal/fault"
)

// linger is how long Serve waits for answers to be written after it cancelled
// the work behind them.
const linger = 5 * time.Second

// Serve answers requests on ln until ctx ends, then shuts down: readiness fails at
// once; when the delay is over, in which load balancers may notice that, new inference
// is refused and work in flight gets the grace period; then streams end with an error
// event and other requests with a 503.
// It closes ln and returns nil after a shutdown that ctx asked for. An API can
// be served once.
func (a *API) Serve(ctx context.Context, ln net.Listener) error {
	local := isLoopback(ln.Addr())
	if !local && len(a.Keys()) == 0 && !a.Options.NoAuth {
		ln.Close()
		return fmt.Errorf("httpapi: %v can be reached from other machines and no key is configured; add a key, bind 127.0.0.1, or set auth: none on purpose", ln.Addr())
	}
	if local {
		a.guard.Loopback.Store(true)
	}

	// Requests outlive ctx by the grace period, so their contexts have a root
	// of their own. Server.Shutdown never cancels them.
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer a.floods.Close()
	l := &listener{Listener: ln, closed: make(chan struct{}), log: a.log}
	if n := a.Options.Connections; n > 0 {
		l.places = make(chan struct{}, n)
	}
	srv := &http.Server{
		Handler:           a,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: max(a.Options.ReadHeader, 0),
		IdleTimeout:       max(a.Options.Idle, 0),
		MaxHeaderBytes:    MaxHeaderBytes,
		ConnState:         a.connState(l),
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: max(a.Options.StreamWrite, 0)},
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		cancel(ShuttingDown())
		srv.Close()
		return err
	case <-ctx.Done():
	}
	if d := a.Options.ShutdownDelay; d > 0 {
		a.leaves.Store(true)
		a.log.Info("leaving", "delay", d)
		delay := time.NewTimer(d)
		defer delay.Stop()
		select {
		case err := <-failed:
			cancel(ShuttingDown())
			srv.Close()
			return err
		case <-delay.C:
		}
	}

	// The listener stays open meanwhile: a refused connection would tell
	// clients less than the 503 does.
	idle := a.work.Close()
	close(a.ending)
	a.log.Info("shutting down", "grace", a.Options.ShutdownGrace)
	grace := time.NewTimer(max(a.Options.ShutdownGrace, 0))
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
		a.log.Warn("grace period over, cancelling requests")
	}
	cancel(ShuttingDown())
	close(a.ended)

	stop, stopCancel := context.WithTimeout(context.WithoutCancel(ctx), linger)
	defer stopCancel()
	err := srv.Shutdown(stop)
	select {
	case <-idle: // also what went on beside requests
	case <-stop.Done():
	}
	if err != nil {
		srv.Close()
	}
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		a.log.Warn("connections closed by force")
		return nil
	}
	return err
}

func isLoopback(addr net.Addr) bool {
	switch addr := addr.(type) {
	case *net.TCPAddr:
		return addr.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// ShuttingDown is for who is served when the server ends.
func ShuttingDown() *fault.Error {
	return fault.New(engine.CodeShuttingDown, "", "the server is shutting down; try again later")
}
