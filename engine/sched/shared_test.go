package sched

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"quern/bench/poll"
	"quern/engine/sample"
	"quern/engine/token"
)

// TestLatePrefix: prompts that start alike and come together share blocks as
// soon as one of them has them.
func TestLatePrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small
		o.Budget = 16
		s, _ := newFake(t, o)
		trunk := prompt(80)
		var all []*Stream
		for i := range 4 {
			all = append(all, submit(t, s, Request{Prompt: append(slices.Clone(trunk), token.ID(i)), Max: 3}))
		}
		start(t, s)
		var cached []int
		for _, st := range all {
			_, p, err := collect(st)
			if err != nil {
				t.Fatal(err)
			}
			cached = append(cached, p.Cached)
		}
		sum := 0
		for _, n := range cached {
			sum += n
		}
		if sum < 3*80*3/4 {
			t.Errorf("%v tokens came from the cache", cached)
		}
	})
}

// TestShared: forks hold the blocks of their prompt together.
func TestShared(t *testing.T) {
	o := small
	s, _ := newFake(t, o)
	st := submit(t, s, Request{Prompt: prompt(30), N: 4, Max: 8, NoPromptCache: true})
	for range 3 {
		s.turn(t.Context())
	}
	// 7 whole blocks, and for each sequence a block with 2 prompt tokens and 2 more.
	if got, want := s.pool.Used(), 7+4; got != want {
		t.Errorf("%d blocks are used, want %d", got, want)
	}
	st.Close()
	s.turn(t.Context())
	if got := s.pool.Used(); got != 0 {
		t.Errorf("%d blocks are used after the end", got)
	}
}

// TestTight: more sequences than the blocks can hold all get there.
func TestTight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Blocks: 12, BlockSize: 4, Budget: 16, Slots: 8, Queue: 64}
		s, _ := newFake(t, o)
		start(t, s)
		var rs []Request
		var all []*Stream
		for i := range 8 {
			r := Request{Prompt: prompt(3 + i), Max: 30, Sample: sample.Params{Temperature: 1, Seed: uint64(i)}}
			rs, all = append(rs, r), append(all, submit(t, s, r))
		}
		for i, st := range all {
			if got, _, err := collect(st); err != nil || !got[0].equal(oracle(&s.o, rs[i], 0)) {
				t.Errorf("%d: got %v, %v", i, got, err)
			}
		}
		if s.Stats().Preemptions == 0 {
			t.Error("no sequence was preempted")
		}
		// A sequence that outgrows everything ends.
		r := Request{Prompt: prompt(5)}
		s.o.Context = 1 << 20
		got, _, err := collect(submit(t, s, r))
		if err != nil || got[0].reason != Length || len(got[0].tokens) != 12*4-5+1 {
			t.Errorf("got %d tokens, %q, %v", len(got[0].tokens), got[0].reason, err)
		}
	})
}

// TestConcurrent uses many goroutines at once; the race detector watches.
func TestConcurrent(t *testing.T) {
	o := Options{Blocks: 60, BlockSize: 4, Budget: 24, Slots: 6, Queue: 100, StreamDepth: 4}
	s, _ := newFake(t, o)
	before := runtime.NumGoroutine()
	stop := start(t, s)
	clients, each := 16, 30
	if testing.Short() {
		each = 6
	}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 1))
			for range each {
				r := Request{
					Prompt: prompt(1 + rng.IntN(40)), N: 1 + rng.IntN(3), Max: 1 + rng.IntN(20), EOG: []token.ID{0},
					Sample: sample.Params{Temperature: 1, Seed: rng.Uint64()},
				}
				ctx, cancel := context.WithCancel(context.Background())
				st, err := s.Submit(ctx, r)
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				fate, after, n := rng.IntN(6), rng.IntN(20), 0
				got := make([]reply, r.N)
				for ev, err := range st.Events() {
					if err != nil {
						if fate != 0 {
							t.Error(err)
						}
						break
					}
					switch ev.Type {
					case Token:
						got[ev.Seq].tokens = append(got[ev.Seq].tokens, ev.Token)
					case Finish:
						got[ev.Seq].reason, got[ev.Seq].stopID = ev.Reason, ev.StopID
					}
					if n++; n == after {
						switch fate {
						case 0:
							cancel()
						case 1:
							st.Stop(0)
						case 2:
							for range 100 { // a reader that is slow
								runtime.Gosched()
							}
						}
						if fate == 3 {
							break
						}
					}
					s.Stats()
				}
				cancel()
				for i := range got {
					if fate > 3 && !got[i].equal(oracle(&s.o, r, i)) {
						t.Errorf("sequence %d of %+v: got %v, want %v", i, r, got[i], oracle(&s.o, r, i))
					}
				}
			}
		})
	}
	wg.Wait()
	stop()
	poll.Goroutines(t, before)
}
