package llama

import (
	"context"
	"iter"
	"testing"
	"time"

	"quern/engine"
)

// A script is a lease that answers with the same events.
type script struct {
	engine.Lease
	events []engine.Event
}

func (s script) Generate(context.Context, engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		for _, e := range s.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// TestTimed: writing stops when the time is over and every sequence has a line, with the end
// and the counts that it would have had.
func TestTimed(t *testing.T) {
	delta := func(index int, text string) engine.Event {
		return engine.Event{Type: engine.Delta, Index: index, Text: text}
	}
	begin := []engine.Event{{Type: engine.Admitted, PromptTokens: 7}, {Type: engine.PromptDone, PromptTokens: 7, CachedTokens: 3}}
	end := engine.Event{Type: engine.Done, PromptTokens: 7, OutputTokens: 99}
	finish := func(index int) engine.Event {
		return engine.Event{Type: engine.Finish, Index: index, Reason: engine.ReasonStop}
	}
	for _, tt := range []struct {
		name   string
		n      int
		events []engine.Event
		texts  string
		cut    int // sequences ended for the time
	}{
		{"in time", 1, []engine.Event{delta(0, "a\n"), delta(0, "b"), finish(0), end}, "a\nb", 0},
		{"too late", 1, []engine.Event{delta(0, "a\n"), delta(0, "b"), delta(0, "c"), delta(0, "d"), delta(0, "e"), finish(0), end}, "a\nbcd", 1},
		{"without a line", 1, []engine.Event{delta(0, "a"), delta(0, "b"), delta(0, "c"), delta(0, "d"), delta(0, "e"), delta(0, "\n"), delta(0, "f"), finish(0), end}, "abcde\n", 1},
		{"one has no line", 2, []engine.Event{delta(0, "a\n"), delta(0, "b"), delta(1, "c"), delta(0, "d"), delta(1, "e\n"), delta(0, "f"), end}, "a\nbcde\n", 2},
		{"one is over", 2, []engine.Event{delta(1, "a"), finish(1), delta(0, "b\n"), delta(0, "c"), delta(0, "d"), delta(0, "e"), end}, "ab\ncd", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var clock time.Time
			l := timed{script{events: append(begin[:2:2], tt.events...)}, 3 * time.Second, func() time.Time {
				clock = clock.Add(time.Second)
				return clock
			}}
			texts, cut := "", 0
			var last engine.Event
			for ev, err := range l.Generate(t.Context(), engine.GenerateRequest{N: tt.n}) {
				if err != nil {
					t.Fatal(err)
				}
				texts += ev.Text
				if ev.Type == engine.Finish && ev.Reason == engine.ReasonLength {
					cut++
				}
				last = ev
			}
			if texts != tt.texts || cut != tt.cut || last.Type != engine.Done || last.PromptTokens != 7 {
				t.Errorf("%q, %d cut, %+v; want %q, %d", texts, cut, last, tt.texts, tt.cut)
			}
			if tt.cut > 0 && (last.CachedTokens != 3 || last.Timings.Predict <= 3*time.Second) {
				t.Errorf("%+v", last)
			}
		})
	}
}
