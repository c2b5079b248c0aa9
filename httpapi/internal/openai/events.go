package openai

import (
	"context"
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

// A spelled is how an endpoint answers a turn.
type spelled struct {
	streamed bool
	stream   func(*eventStream) turn.Spelling
	whole    func([]turn.Reply, *turn.Tally) any
}

// answer has the call's model answer r. ctx is from turnTime.
func (a api) answer(ctx context.Context, c *server.Call, r turn.Request, as spelled) error {
	t := turn.Start(ctx, a.Metrics, c.Lease, r)
	defer t.Close()
	defer func() { // also of what was cut short
		now := t.SoFar()
		c.LogTokens(now.PromptTokens, now.OutputTokens)
	}()
	if as.streamed {
		s := a.NewStream(c, stream.ServerEvents)
		out := as.stream(&eventStream{out: s, t: &t.Tally, load: c.Loading})
		return a.EndStream(c, s, t.Stream(ctx, s, a.Options.Stall, out))
	}
	replies, err := t.Collect(ctx)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, as.whole(replies, &t.Tally))
}

// turnTime is the time there is for a turn: any for one that is streamed.
func (a api) turnTime(c *server.Call, streamed bool) (context.Context, context.CancelFunc) {
	if streamed {
		return context.WithCancel(c.R.Context())
	}
	return a.WithRequestTimeout(c.R.Context(), c)
}

// midway is what an event before the last has in its place for usage.
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
