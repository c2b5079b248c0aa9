package sched

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
)

// lanes is a Scheduler whose turns a test takes itself.
func lanes(t *testing.T, o Options) (*Scheduler, *fakeExec) {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return time.Time{} } // no step is planned by the clock
	}
	s, e := newFake(t, o)
	t.Cleanup(s.shutdown)
	return s, e
}

// drain reads what has come so far.
func drain(t *testing.T, clients ...*client) {
	t.Helper()
	for _, c := range clients {
		for len(c.st.events) > 0 {
			if err := c.poll(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func ask(t *testing.T, s *Scheduler, r Request) *client {
	t.Helper()
	return &client{st: submit(t, s, r), r: r, replies: make([]reply, max(1, r.N)), stopped: make([]bool, max(1, r.N))}
}

func turns(t *testing.T, s *Scheduler, n int, clients ...*client) {
	t.Helper()
	for range n {
		s.turn(t.Context())
		if err := s.audit(); err != nil {
			t.Fatal(err)
		}
		drain(t, clients...)
	}
}

// whole runs until the clients have their replies, and compares them with those of
// sequences that ran alone.
func whole(t *testing.T, s *Scheduler, clients ...*client) {
	t.Helper()
	for round := 0; ; round++ {
		if round == 1000 {
			t.Fatal("no end in sight")
		}
		turns(t, s, 1, clients...)
		if !slices.ContainsFunc(clients, func(c *client) bool { return len(c.replies[len(c.replies)-1].tokens) < c.r.Max }) {
			break
		}
	}
	turns(t, s, 1, clients...)
	for i, c := range clients {
		if err := c.verify(&s.o); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
	}
}

func request(seed uint64, length, most int, background bool) Request {
	return Request{Prompt: prompt(length), Max: most, Sample: sample.Params{Seed: seed, Temperature: 1}, NoPromptCache: true, Background: background, IgnoreEOS: true, EOG: []token.ID{0}}
}

// TestBackgroundLeaves: a request that finds every slot taken by the background has one in
// its first turn, and those it displaced go on where they were.
func TestBackgroundLeaves(t *testing.T) {
	s, _ := lanes(t, Options{Blocks: 64, BlockSize: 4, Budget: 32, Slots: 2})
	a, b := ask(t, s, request(1, 5, 20, true)), ask(t, s, request(2, 5, 20, true))
	turns(t, s, 6, a, b)
	if len(s.running) != 2 || len(b.replies[0].tokens) == 0 {
		t.Fatalf("%d run, the second has %d tokens; want both running", len(s.running), len(b.replies[0].tokens))
	}
	c := ask(t, s, request(3, 5, 8, false))
	turns(t, s, 1, a, b, c)
	if len(c.replies[0].tokens) != 1 {
		t.Errorf("%d tokens after the first turn, want 1", len(c.replies[0].tokens))
	}
	if len(s.waiting) != 1 || s.waiting[0].st != b.st {
		t.Errorf("%d wait, want the newest of the background", len(s.waiting))
	}
	if got := s.Stats().Preemptions; got != 1 {
		t.Errorf("%d preemptions, want 1", got)
	}
	whole(t, s, a, b, c)
}

// TestBackgroundGivesBlocks: the same for blocks.
func TestBackgroundGivesBlocks(t *testing.T) {
	s, _ := lanes(t, Options{Blocks: 16, BlockSize: 4, Budget: 64, Slots: 4})
	a, b := ask(t, s, request(1, 20, 8, true)), ask(t, s, request(2, 20, 8, true))
	turns(t, s, 2, a, b)
	if len(s.running) != 2 {
		t.Fatalf("%d run, want 2", len(s.running))
	}
	c := ask(t, s, request(3, 36, 8, false))
	turns(t, s, 1, a, b, c)
	if len(c.replies[0].tokens) != 1 {
		t.Errorf("%d tokens after the first turn, want 1", len(c.replies[0].tokens))
	}
	whole(t, s, a, b, c)
}

// TestBackgroundWaits: nothing of the background is admitted while another waits, and it is
// later than requests that come after it.
func TestBackgroundWaits(t *testing.T) {
	s, _ := lanes(t, Options{Blocks: 64, BlockSize: 4, Budget: 32, Slots: 1, Queue: 4})
	first := ask(t, s, request(1, 5, 4, false))
	turns(t, s, 1, first)
	behind := ask(t, s, request(2, 5, 4, true))
	second := ask(t, s, request(3, 5, 4, false))
	for len(second.replies[0].tokens) < 4 {
		turns(t, s, 1, first, behind, second)
		if len(second.replies[0].tokens) < 4 && len(behind.replies[0].tokens) > 0 {
			t.Fatal("the background ran while another waited")
		}
	}
	whole(t, s, first, behind, second)
}

// TestBackgroundRows: what of the background runs in a step beside others, where a step takes
// as long whatever its rows are, and where each row takes as long.
func TestBackgroundRows(t *testing.T) {
	for _, tt := range []struct {
		name      string
		step, row time.Duration
		beside    int // rows of the background beside a reply, at least
		least     bool
	}{
		{"rows cost nothing", 10 * time.Millisecond, time.Microsecond, 3, true},
		{"rows are all that costs", 0, 10 * time.Millisecond, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var clock time.Time
			s, e := lanes(t, Options{Blocks: 64, BlockSize: 4, Budget: 32, Slots: 5, Now: func() time.Time { return clock }})
			var seen []int // rows of the background in steps that have others
			e.fail = func(in *graph.Batch) error {
				clock = clock.Add(tt.step + time.Duration(len(in.Tokens))*tt.row)
				behind, others := 0, 0
				for _, p := range s.steps {
					if p.q.Background {
						behind += p.rows
					} else {
						others += p.rows
					}
				}
				if others > 0 {
					seen = append(seen, behind)
				}
				return nil
			}
			var all []*client
			for i := range 3 {
				all = append(all, ask(t, s, request(uint64(i), 5, 30, true)))
			}
			turns(t, s, 6, all...)
			all = append(all, ask(t, s, request(9, 20, 12, false)))
			whole(t, s, all...)
			if len(seen) < 12 {
				t.Fatalf("%d steps were shared", len(seen))
			}
			for i, n := range seen[2:] {
				if i%64 == 0 && n == 0 {
					continue // what a step takes without them is measured
				}
				if n > tt.beside && !tt.least || n < tt.beside && tt.least {
					t.Errorf("rows of the background beside a reply are %v, want %d", seen, tt.beside)
					break
				}
			}
		})
	}
}

// TestBackgroundGivesUp: a step that is the background's alone ends when a request comes,
// which is in the next one; nothing of what is drawn changes. Where sequences carry states, the
// step goes on.
func TestBackgroundGivesUp(t *testing.T) {
	for _, states := range []bool{false, true} {
		o := Options{Blocks: 64, BlockSize: 4, Budget: 32, Slots: 4, States: states,
			Drafters: []Drafter{&knowing{wrong: 0.5, rng: rand.New(rand.NewPCG(3, 4))}}}
		s, e := lanes(t, o)
		masked := request(1, 9, 12, true)
		made := 0
		masked.Mask = func() sample.Mask { made++; return &alphabet{left: 40} }
		all := []*client{ask(t, s, masked), ask(t, s, request(2, 30, 20, true))}
		came, gave := 0, 0
		e.until = func(ctx context.Context) error {
			if len(s.running) > 0 && foreground(s.running) == 0 && came < 6 {
				came++
				all = append(all, ask(t, s, request(uint64(10+came), 5, 4, false)))
				if ctx.Err() != nil {
					gave++
				}
			}
			return ctx.Err()
		}
		whole(t, s, all...)
		if want := map[bool]int{false: 6}[states]; gave != want || came != 6 {
			t.Errorf("states %v: %d of %d steps were given up, want %d", states, gave, came, want)
		}
		if made != 2 { // whole makes one too
			t.Errorf("the Mask was made %d times", made-1)
		}
	}
}

// TestBackgroundStats: those of the background that wait are counted apart.
func TestBackgroundStats(t *testing.T) {
	s, _ := lanes(t, Options{Blocks: 64, BlockSize: 4, Budget: 32, Slots: 2, Queue: 4})
	var all []*client
	for i := range 7 {
		all = append(all, ask(t, s, request(uint64(i), 5, 4, i < 4)))
	}
	turns(t, s, 1, all...)
	if got := s.Stats(); got.Waiting != 1 || got.Background != 4 || got.Running != 2 {
		t.Errorf("%d wait, %d in the background, %d run; want 1, 4 and 2", got.Waiting, got.Background, got.Running)
	}
	whole(t, s, all...)
}

// TestBackgroundQueue: the background takes no place in the queue, and its slots count as
// free.
func TestBackgroundQueue(t *testing.T) {
	s, _ := lanes(t, Options{Blocks: 64, BlockSize: 4, Budget: 32, Slots: 2})
	var all []*client
	for i := range 8 {
		all = append(all, ask(t, s, request(uint64(i), 5, 4, true)))
	}
	turns(t, s, 3, all...)
	for i := range 2 {
		all = append(all, ask(t, s, request(uint64(100+i), 5, 4, false)))
	}
	if _, err := s.Submit(t.Context(), request(200, 5, 4, false)); err == nil {
		t.Error("a third request of two slots without a queue was taken")
	}
	whole(t, s, all...)
}
