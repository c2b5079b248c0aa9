package turn

import (
	"context"
	"time"

	"quern/engine"
	"quern/httpapi/internal/stream"
)

// A Spelling is a turn as one dialect streams it. It knows the types of events it has
// words for; others are new since, and it leaves them out.
type Spelling interface {
	// Begin is called once, before anything else is sent.
	Begin() error
	// Event is called for PromptDone, Delta and Finish, with deltas that piled up joined.
	Event(Event) error
	// End is called when all went well, after the last event.
	End() error
}

// Stream answers with the events of the turn as they come. ctx is that of Start. The
// error is for who knows whether the stream has begun; see Writer.
func (g *Turn) Stream(ctx context.Context, s *stream.Writer, stall time.Duration, out Spelling) error {
	defer s.Stop()
	s.First = out.Begin
	one := func(ev Event) error {
		g.count(ev)
		switch ev.Type {
		case engine.Admitted:
			s.Expect() // the queue may answer with a status of its own
			return nil
		case engine.Done:
			return nil
		case engine.Delta, engine.Finish:
			if err := s.Begin(); err != nil {
				return err
			}
		}
		return out.Event(ev)
	}
	var batch []Event
	err := stream.Relay(ctx, s, stall, g.items, g.err, func(ev Event) error {
		batch = append(batch[:0], ev)
		if s.Slow || len(g.items) >= backlog/2 {
			batch = g.pending(batch)
		}
		for _, ev := range batch {
			if err := one(ev); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.Begin()
	}
	if err == nil {
		err = out.End()
	}
	return err
}

// pending takes what has piled up behind batch and joins the deltas of each
// sequence. It stops at the first event of another type, and at as many events
// as can pile up: an engine may be faster than this loop.
func (g *Turn) pending(batch []Event) []Event {
	for range backlog {
		last := &batch[len(batch)-1]
		if last.Type != engine.Delta {
			return batch
		}
		select {
		case ev, ok := <-g.items:
			if !ok {
				return batch
			}
			batch = join(batch, ev)
		default:
			return batch
		}
	}
	return batch
}

func join(batch []Event, ev Event) []Event {
	if ev.Type == engine.Delta {
		for i := range batch {
			b := &batch[i]
			if b.Type == engine.Delta && b.PromptIndex == ev.PromptIndex && b.Index == ev.Index {
				b.Text += ev.Text
				b.Logprobs = append(b.Logprobs[:len(b.Logprobs):len(b.Logprobs)], ev.Logprobs...)
				return batch
			}
		}
	}
	return append(batch, ev)
}
