package turn

import (
	"context"
	"time"

	"quern/engine"
	"quern/httpapi/internal/stream"
)

// A Spelling is a turn as one dialect streams it. It ignores types of events that the dialect
// has no words for.
type Spelling interface {
	// Begin is called once, before anything else is sent.
	Begin() error
	// Event is called for PromptDone, deltas, calls and Finish.
	Event(Event) error
	// End is called after the last event, if none of the calls failed.
	End() error
}

// Stream answers with the events of the turn as they come. ctx is that of Start. The
// caller answers with the error or sends it as an event, as the stream has begun or not; see Writer.
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
		case engine.Delta, engine.ReasoningDelta, engine.CallStart, engine.CallDelta, engine.CallEnd, engine.Finish:
			if err := s.Begin(); err != nil {
				return err
			}
		}
		return out.Event(ev)
	}
	err := stream.Relay(ctx, s, stall, g.items, g.err, one)
	if err == nil {
		err = s.Begin()
	}
	if err == nil {
		err = out.End()
	}
	return err
}
