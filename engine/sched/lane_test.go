package sched

import (
	"slices"
	"testing"

	"quern/engine/sample"
	"quern/engine/token"
)

// lanes is a Scheduler whose turns a test takes itself.
func lanes(t *testing.T, o Options) (*Scheduler, *fakeExec) {
	t.Helper()
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
	turns(t, s, 8, a, b)
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

// TestBackgroundRows: what of the background runs in a step beside others.
func TestBackgroundRows(t *testing.T) {
	s, _ := lanes(t, Options{Blocks: 64, BlockSize: 4, Budget: 32, Slots: 4})
	behind := ask(t, s, request(1, 40, 4, true))
	turns(t, s, 1, behind)
	if got := s.running[0].computed; got != 32/backgroundShare {
		t.Errorf("a prompt in the background had %d rows, want %d", got, 32/backgroundShare)
	}
	chat := ask(t, s, request(2, 60, 10, false))
	turns(t, s, 1, behind, chat)
	if got := s.running[1].computed; got != 32/backgroundShare || s.running[0].computed != 32 {
		t.Errorf("while a prompt is evaluated: %d rows in the background and %d of the prompt, want none more and all 32", got, s.running[0].computed)
	}
	turns(t, s, 1, behind, chat)
	turns(t, s, 1, behind, chat)
	if got := s.running[1].computed; got != 2*32/backgroundShare {
		t.Errorf("beside a reply the background has %d rows done, want %d", got, 2*32/backgroundShare)
	}
	whole(t, s, behind, chat)
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
