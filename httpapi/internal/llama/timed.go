package llama

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"quern/engine"
)

// A timed model stops writing when the time for that is over and each sequence has a line,
// as editors want it. The time begins with the first token.
type timed struct {
	engine.Lease
	most time.Duration
	now  func() time.Time
}

// Generate implements engine.Lease.
func (l timed) Generate(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		open := make([]sequence, max(r.N, 1))
		done := engine.Event{Type: engine.Done}
		begin := l.now()
		var first time.Time
		for ev, err := range l.Lease.Generate(ctx, r) {
			if !yield(ev, err) || err != nil || ev.Type == engine.Done {
				return
			}
			switch ev.Type {
			case engine.PromptDone:
				done.PromptTokens, done.CachedTokens = ev.PromptTokens, ev.CachedTokens
			case engine.Finish:
				open[ev.Index].over = true
			case engine.Delta:
				if first.IsZero() {
					first = l.now()
				}
				done.OutputTokens = max(done.OutputTokens, ev.OutputTokens)
				open[ev.Index].add(ev)
				if now := l.now(); now.Sub(first) > l.most && lined(open) {
					done.Timings = engine.Timings{Prompt: first.Sub(begin), First: first.Sub(begin), Predict: now.Sub(first)}
					cut(open, done, yield)
					return
				}
			}
		}
	}
}

// A sequence is one that is being written.
type sequence struct {
	line, over bool
	tokens     int
}

func (s *sequence) add(ev engine.Event) {
	s.line = s.line || strings.Contains(ev.Text, "\n")
	s.tokens = max(s.tokens+1, ev.Tokens)
}

// lined reports whether each sequence that is not over has a line.
func lined(open []sequence) bool {
	return !slices.ContainsFunc(open, func(s sequence) bool { return !s.line && !s.over })
}

// cut ends the sequences that have not ended.
func cut(open []sequence, done engine.Event, yield func(engine.Event, error) bool) {
	for i, s := range open {
		if !s.over && !yield(engine.Event{Type: engine.Finish, Index: i, Reason: engine.ReasonLength, Tokens: s.tokens, OutputTokens: done.OutputTokens}, nil) {
			return
		}
	}
	yield(done, nil)
}
