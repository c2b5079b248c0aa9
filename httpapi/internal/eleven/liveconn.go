package eleven

import (
	"context"
	"time"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// read passes on the client's messages. It ends the work when the client leaves.
func (l *live) read(messages chan<- []byte) {
	for {
		b, err := l.sock.Read(l.link)
		if err != nil {
			l.cancel(fault.ErrGone)
			return
		}
		select {
		case messages <- b:
		case <-l.ctx.Done():
			return
		}
	}
}

// ping asks a quiet client whether it is there.
func (l *live) ping() {
	every := l.api.Options.KeepAlive
	if every <= 0 {
		return
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if l.sending.Load() {
				continue // that has a time of its own
			}
			ctx, cancel := l.inTime()
			err := l.sock.Ping(ctx)
			cancel()
			if err != nil {
				l.cancel(fault.ErrGone)
			}
		case <-l.ctx.Done():
			return
		}
	}
}

// inTime is a context of one write.
func (l *live) inTime() (context.Context, context.CancelFunc) {
	if d := l.api.Options.StreamWrite; d > 0 {
		return context.WithTimeout(l.link, d)
	}
	return context.WithCancel(l.link)
}

// send sends a message to the client, from work.
func (l *live) send(answer any) error {
	if l.ctx.Err() != nil {
		return l.ctx.Err()
	}
	return l.write(answer)
}

func (l *live) write(answer any) error {
	b, err := server.Marshal(answer)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	ctx, cancel := l.inTime()
	defer cancel()
	l.sending.Store(true)
	defer l.sending.Store(false)
	if l.sock.Write(ctx, b) != nil {
		l.cancel(fault.ErrGone)
		return fault.ErrGone
	}
	return nil
}
