package sched

import (
	"slices"
	"testing"

	"quern/engine/graph"
	"quern/engine/token"
)

// windowed is small with layers that see 20 tokens, in as few blocks as one sequence needs.
func windowed() Options {
	o := small
	o.Blocks, o.Slots, o.Budget, o.Queue = 100, 4, 16, 16
	o.Near = []graph.Near{{Reach: graph.Reach{Window: 20}, Blocks: 6}}
	return o
}

// TestHeldByWindow: a long prompt and its reply take no more blocks of layers with a window
// than the window has, and so do its forks.
func TestHeldByWindow(t *testing.T) {
	o := windowed()
	s, _ := newFake(t, o)
	r := Request{Prompt: prompt(300), Max: 40}
	st := submit(t, s, r)
	most := 0
	for range 300 {
		s.turn(t.Context())
		most = max(most, s.near[0].Used())
		if err := s.audit(); err != nil {
			t.Fatal(err)
		}
		for len(st.events) > 1 {
			ev := <-st.events
			st.took(&ev)
		}
	}
	if most > 6 {
		t.Errorf("%d blocks are held, at most 6 are seen", most)
	}
	if s.stats.generated.Load() != 40 || s.near[0].Used() != 0 {
		t.Errorf("%d of 40 tokens came, %d blocks are held after", s.stats.generated.Load(), s.near[0].Used())
	}
}

// TestSecondTurnsNear: a further turn of a chat is found as far as the first went, though only
// the last window of it is left; when that is gone too, it is computed again.
func TestSecondTurnsNear(t *testing.T) {
	o := windowed()
	o.Near[0].Blocks = 2 * 6
	s, _ := newFake(t, o)
	start(t, s)
	answer := func(r Request) (reply, int) {
		replies, p, err := collect(submit(t, s, r))
		if err != nil {
			t.Fatal(err)
		}
		if want := oracle(&s.o, r, 0); !replies[0].equal(want) {
			t.Errorf("got %v, want %v", replies[0], want)
		}
		return replies[0], p.Cached
	}
	chat := prompt(203)
	for turn := range 4 {
		known := len(chat)
		reply, cached := answer(Request{Prompt: chat, Max: 9})
		if turn > 0 && cached <= known-10-2*o.BlockSize {
			t.Errorf("turn %d: %d of %d tokens were found", turn, cached, known)
		}
		for _, x := range reply.tokens {
			chat = append(chat, x.ID)
		}
		chat = append(chat, token.ID(turn))
	}
	// Another prompt takes the blocks of the window, but not those of what sees everything.
	other := slices.Repeat([]token.ID{3, 1}, 40)
	answer(Request{Prompt: other, Max: 9})
	if _, cached := answer(Request{Prompt: chat, Max: 9}); cached != 0 {
		t.Errorf("%d tokens were found without what they saw", cached)
	}
	if _, cached := answer(Request{Prompt: chat, Max: 9}); cached == 0 {
		t.Error("nothing was found of what was computed again")
	}
}

// TestChunks: at the start of a chunk nothing before it is held or asked for.
func TestChunks(t *testing.T) {
	o := windowed()
	o.Near = []graph.Near{{Reach: graph.Reach{Chunk: 16}, Blocks: 5}}
	s, _ := newFake(t, o)
	start(t, s)
	for i := range 3 {
		r := Request{Prompt: prompt(33), Max: 20}
		replies, p, err := collect(submit(t, s, r))
		if err != nil {
			t.Fatal(err)
		}
		if want := oracle(&s.o, r, 0); !replies[0].equal(want) {
			t.Errorf("got %v, want %v", replies[0], want)
		}
		// The reply has taken the blocks of the chunk before; behind 32 tokens none is seen.
		if i > 0 && p.Cached != 32 {
			t.Errorf("%d tokens were found, want 32", p.Cached)
		}
	}
}

// TestNearTooSmall: a pool that cannot hold what one row sees is refused.
func TestNearTooSmall(t *testing.T) {
	o := windowed()
	o.Near[0].Blocks--
	o.Exec, o.Cache = &fakeExec{}, &fakeCache{}
	if _, err := New(o); err == nil {
		t.Error("no error for a row that sees 20 tokens and has no room for them")
	}
}
