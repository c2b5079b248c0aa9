package openai

import (
	"time"

	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// An eventStream is what both endpoints stream: events that end with [DONE], the last
// before it with the token counts where they were asked for.
type eventStream struct {
	out     *stream.Writer
	t       *turn.Tally
	load    time.Duration
	usage   usageWanted
	counted func(*usage, *timings) any // the event that counts
}

// streamTurn answers with the events of t as spell's Spelling has them.
func (a api) streamTurn(c *server.Call, t *turn.Turn, spell func(*eventStream) turn.Spelling) error {
	s := a.NewStream(c, stream.ServerEvents)
	out := &eventStream{out: s, t: &t.Tally, load: c.Loading}
	return a.EndStream(c, s, t.Stream(c.R.Context(), s, a.Options.Stall, spell(out)))
}

// midway is what an event before the last has in its place for usage.
func (s *eventStream) midway() any {
	switch s.usage {
	case usageAtEnd:
		return jsonNull
	case usageAlways:
		return newUsage(s.t.SoFar())
	}
	return nil
}

// End implements Spelling.
func (s *eventStream) End() error {
	if s.usage != usageNever {
		if err := s.out.Event(s.counted(finalUsage(s.t), newTimings(s.t, s.load))); err != nil {
			return err
		}
	}
	return s.out.Bytes([]byte("data: [DONE]\n\n"))
}
