package httpapi

import "time"

// An eventStream is what both endpoints stream: events that end with [DONE], the last
// before it with the token counts where they were asked for.
type eventStream struct {
	out     *Writer
	t       *Tally
	load    time.Duration
	usage   usageWanted
	counted func(*usage, *timings) any // the event that counts
}

// streamTurn answers with the events of t as spell's Spelling has them.
func (a openaiAPI) streamTurn(c *call, t *Turn, spell func(*eventStream) Spelling) error {
	s := a.NewStream(c, ServerEvents)
	out := &eventStream{out: s, t: &t.Tally, load: c.loading}
	return a.EndStream(c, s, t.Stream(c.r.Context(), s, a.o.Stall, spell(out)))
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
