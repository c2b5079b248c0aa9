package socket

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"quern/httpapi/internal/server"
)

// Statuses of RFC 6455, 7.4.1.
const (
	Normal    = 1000
	GoingAway = 1001
	Policy    = 1008
	Internal  = 1011
	Later     = 1013
)

// A Line is a WebSocket in use. Any goroutine may tell the client something.
type Line struct {
	*Conn
	ctx     context.Context // of the socket; outlives that of work, for a last word
	options *server.Options
	writing sync.Mutex
	sending atomic.Bool
}

// NewLine is over a socket that is open until ctx ends.
func NewLine(ctx context.Context, c *Conn, o *server.Options) *Line {
	return &Line{Conn: c, ctx: ctx, options: o}
}

// Tell sends a message, for Options.StreamWrite at most.
func (l *Line) Tell(b []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	ctx, cancel := l.inTime()
	defer cancel()
	l.sending.Store(true)
	defer l.sending.Store(false)
	return l.Write(ctx, b)
}

// Watch asks a quiet client whether it is there, each Options.KeepAlive until ctx ends, and calls
// gone where it is not.
func (l *Line) Watch(ctx context.Context, gone func()) {
	every := l.options.KeepAlive
	if every <= 0 {
		return
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if l.sending.Load() {
			continue // that has a time of its own, which a ping behind it has not
		}
		ping, cancel := l.inTime()
		err := l.Ping(ping)
		cancel()
		if err != nil {
			gone()
			return
		}
	}
}

// inTime is a context of one write.
func (l *Line) inTime() (context.Context, context.CancelFunc) {
	if d := l.options.StreamWrite; d > 0 {
		return context.WithTimeout(l.ctx, d)
	}
	return context.WithCancel(l.ctx)
}

// Timer runs out after d, or never where d is 0.
func Timer(d time.Duration) *time.Timer {
	if d > 0 {
		return time.NewTimer(d)
	}
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
