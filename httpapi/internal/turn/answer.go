package turn

import (
	"context"

	"quern/httpapi/internal/server"
	"quern/httpapi/internal/stream"
)

// A Dialect is how an endpoint answers a turn: with a stream of a framing, or in one piece.
type Dialect struct {
	Streamed bool
	Framing  stream.Framing
	Stream   func(*stream.Writer, *Tally) Spelling
	Whole    func([]Reply, *Tally) any
}

// Time is the time there is for a turn: any for one that is streamed.
func Time(a *server.API, c *server.Call, streamed bool) (context.Context, context.CancelFunc) {
	if streamed {
		return context.WithCancel(c.R.Context())
	}
	return a.WithRequestTimeout(c.R.Context(), c)
}

// Answer has the call's model answer r. ctx is from Time.
func Answer(ctx context.Context, a *server.API, c *server.Call, r Request, as Dialect) error {
	t := Start(ctx, a.Metrics, c.Lease, r)
	defer t.Close()
	defer func() { // also of a turn that was cut short
		now := t.SoFar()
		c.LogTokens(now.PromptTokens, now.OutputTokens)
	}()
	if as.Streamed {
		s := a.NewStream(c, as.Framing)
		return a.EndStream(c, s, t.Stream(ctx, s, a.Options.Stall, as.Stream(s, &t.Tally)))
	}
	replies, err := t.Collect(ctx)
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, as.Whole(replies, &t.Tally))
}
