package sched

import (
	"slices"
	"testing"
	"time"

	"quern/engine/token"
)

// TestAdapters: sequences of different adapters share no block, those of one do, and waiting
// and running sequences are counted by adapter.
func TestAdapters(t *testing.T) {
	o := small
	o.Adapters = 2
	o.Now = func() time.Time { return time.Time{} }
	s, _ := newFake(t, o)
	var all []*Stream
	for i, a := range []int32{1, 0, 2, 1} {
		all = append(all, submit(t, s, Request{Prompt: append(prompt(40), token.ID(i)), Max: 60, Adapter: a}))
	}
	if _, err := s.Submit(t.Context(), Request{Prompt: prompt(2), Adapter: 3}); err == nil {
		t.Error("an adapter that is not there was taken")
	}
	s.turn(t.Context())
	for range 20 {
		s.turn(t.Context())
	}
	if got, want := s.Adapters(), []AdapterStats{{0, 2}, {0, 1}}; !slices.Equal(got, want) {
		t.Errorf("adapters %v, want %v", got, want)
	}
	var cached []int
	for _, q := range s.running {
		cached = append(cached, q.cached)
	}
	// The one that has an adapter in common with the first has what that computed.
	if len(cached) != 4 || cached[0] != 0 || cached[1] != 0 || cached[2] != 0 || cached[3] == 0 {
		t.Errorf("%v tokens came from the cache", cached)
	}
	for _, st := range all {
		st.Close()
	}
	s.turn(t.Context())
	if got, want := s.Adapters(), []AdapterStats{{}, {}}; !slices.Equal(got, want) {
		t.Errorf("adapters %v at the end, want %v", got, want)
	}
}
