package eleven

import (
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// read passes on the client's messages. It ends the work when the client leaves.
func (l *live) read(messages chan<- []byte) {
	for {
		b, err := l.line.Read(l.link)
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
	if l.line.Tell(b) != nil {
		l.cancel(fault.ErrGone)
		return fault.ErrGone
	}
	return nil
}
