package openai

import (
	"time"

	"quern/httpapi/internal/stream"
	"quern/httpapi/internal/turn"
)

// An eventStream is the stream of both endpoints: events that end with [DONE], the last
// before it with the token counts where they were asked for.
type eventStream struct {
	out     *stream.Writer
	t       *turn.Tally
	load    time.Duration
	usage   usageWanted
	counted func(*usage, *timings) any // the event that counts
}

// midway is the usage of an event before the last.
func (s *eventStream) midway() any {
	switch s.usage {
	case usageAtEnd:
		return jsonNull
	case usageAlways:
		now := s.t.SoFar()
		return newUsage(&now)
	}
	return nil
}

// End implements Spelling.
func (s *eventStream) End() error {
	if s.usage != usageNever {
		if err := s.out.Event(s.counted(newUsage(s.t), newTimings(s.t, s.load))); err != nil {
			return err
		}
	}
	return s.out.Bytes([]byte("data: [DONE]\n\n"))
}
