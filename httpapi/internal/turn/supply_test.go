package turn

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/metrics"
)

// A crowded lease takes so many prompts together, and in all, and refuses others but those that
// follow.
type crowded struct {
	script
	together, all int

	mu       *sync.Mutex
	running  *int
	taken    *int
	followed *int
}

func (c crowded) Generate(ctx context.Context, r engine.GenerateRequest) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		c.mu.Lock()
		full := *c.running >= c.together || *c.taken >= c.all
		if full && !r.Follows {
			c.mu.Unlock()
			yield(engine.Event{}, engine.Errorf(engine.CodeQueueFull, "", "full"))
			return
		}
		*c.running, *c.taken = *c.running+1, *c.taken+1
		if r.Follows {
			*c.followed++
		}
		c.mu.Unlock()
		c.script.Generate(ctx, r)(yield)
		c.mu.Lock()
		*c.running--
		c.mu.Unlock()
	}
}

// TestQueueFills: a request with more prompts than the queue has room for is answered; one that
// finds no room at all is refused.
func TestQueueFills(t *testing.T) {
	for _, tt := range []struct {
		name          string
		together, all int
		follow        bool // others filled the queue in the meantime
		fails         bool
	}{
		{name: "its own prompts fill it", together: 3, all: 40},
		{name: "one at a time", together: 1, all: 40},
		{name: "others fill it after the first", together: 1, all: 1, follow: true},
		{name: "others fill it", together: 5, all: 20, follow: true},
		{name: "full", together: 0, all: 40, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := crowded{answer, tt.together, tt.all, &sync.Mutex{}, new(int), new(int), new(int)}
			var mu sync.Mutex
			asked := map[int]int{}
			r := ask(40)
			r.At = func(i int) engine.GenerateRequest {
				mu.Lock()
				defer mu.Unlock()
				asked[i]++
				return engine.GenerateRequest{N: 2}
			}
			g := Start(t.Context(), &metrics.Metrics{}, l, r)
			defer g.Close()
			replies, err := g.Collect(t.Context())
			if tt.fails {
				var f *fault.Error
				if !errors.As(err, &f) || f.Code != engine.CodeQueueFull {
					t.Fatalf("failed with %v", err)
				}
				return
			}
			if err != nil || len(replies) != 40 || *l.taken != 40 {
				t.Fatalf("%d replies, %d prompts taken: %v", len(replies), *l.taken, err)
			}
			for i := range 40 {
				if asked[i] != 1 || len(replies[i].Sequences) != 2 {
					t.Errorf("prompt %d was asked for %d times and has %d sequences", i, asked[i], len(replies[i].Sequences))
				}
			}
			if *l.followed > 0 && !tt.follow && tt.together > 1 || tt.follow && *l.followed != 40-tt.all {
				t.Errorf("%d prompts waited in a full queue", *l.followed)
			}
		})
	}
}
