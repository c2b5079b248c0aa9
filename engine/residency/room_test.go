package residency

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine"
)

// TestMemoryIsWaitedFor: a model whose memory another one uses is loaded when that
// one's requests have ended, however many come for it meanwhile, and then it is
// their turn.
func TestMemoryIsWaitedFor(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		a1, a2 := h.ask("a", "a1"), h.ask("a", "a2")
		b1 := h.ask("b", "b1")
		a3 := h.ask("a", "a3")
		b2, a4 := h.ask("b", "b2"), h.ask("a", "a4")
		for _, g := range []*testRequest{b1, a3, b2, a4} {
			g.want("waiting")
		}
		for _, id := range []string{"a", "b"} {
			if s := h.State(h.find(id)); s.Waiting != 2 {
				t.Errorf("%d requests wait for %s, want 2", s.Waiting, id)
			}
		}
		looked := 0
		for _, id := range []string{"a", "b"} {
			h.Look(h.find(id), func(_ Model, waiting int) {
				if looked++; waiting != 2 {
					t.Errorf("%d requests wait for %s, want 2", waiting, id)
				}
			})
		}
		if looked != 1 {
			t.Errorf("%d models are loaded, want 1", looked)
		}
		a1.end()
		b1.want("waiting")
		a2.end()
		b1.want("served")
		b2.want("served") // it shares the load
		a3.want("waiting")
		b3 := h.ask("b", "b3")
		b3.want("waiting") // a3 and a4 came before it
		b1.end()
		b2.end()
		a3.want("served")
		a4.want("served")
		b3.want("waiting")
		a3.end()
		a4.end()
		b3.want("served")
		b3.end()
		if want := []string{"a", "b", "a", "b"}; !slices.Equal(h.opened, want) {
			t.Errorf("loaded %v, want %v", h.opened, want)
		}
	})
}

// TestMemoryIsFreeBeforeItIsGiven: a model that is being closed still holds memory.
func TestMemoryIsFreeBeforeItIsGiven(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		free := make(chan struct{})
		h.shutting = func(id string) {
			if id == "a" {
				<-free
			}
		}
		h.ask("a", "a1").end()
		b := h.ask("b", "b1")
		b.want("waiting")
		close(free)
		synctest.Wait()
		b.want("served")
		b.end()
	})
}

// TestThreeModels: of two models in use the one that is free first goes, and the
// other serves again at once. What need not go serves all the time.
func TestThreeModels(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 5, "b": 5, "c": 5}, func(h *testKeeper) {
		a1, b1 := h.ask("a", "a1"), h.ask("b", "b1")
		c1 := h.ask("c", "c1")
		a2, b2 := h.ask("a", "a2"), h.ask("b", "b2")
		c1.want("waiting")
		a2.want("waiting")
		b2.want("waiting")
		b1.end()
		c1.want("served")
		b2.want("waiting") // behind a2, which needs no memory, and for what a or c hold
		a2.want("served")
		a1.end()
		b2.want("waiting")
		a2.end()
		b2.want("served")
		c1.end()
		b2.end()
	})
	bubble(t, 10, map[string]int64{"big": 8, "other": 8, "small": 1}, func(h *testKeeper) {
		big, small := h.ask("big", "big"), h.ask("small", "small")
		other := h.ask("other", "other")
		other.want("waiting")
		again := h.ask("small", "again")
		again.want("served") // other needs big's memory, and that is enough
		small.end()
		again.end()
		h.ask("small", "third").end()
		big.end()
		other.want("served")
		other.end()
		if want := []string{"big", "small", "other"}; !slices.Equal(h.opened, want) {
			t.Errorf("loaded %v, want %v", h.opened, want)
		}
	})
	bubble(t, 10, map[string]int64{"big": 7, "other": 8, "small": 2}, func(h *testKeeper) {
		big := h.ask("big", "big")
		other := h.ask("other", "other")
		small := h.ask("small", "small")
		small.want("served") // there is room beside big, and beside other
		big.end()
		other.want("served")
		small.end()
		other.end()
	})
	bubble(t, 10, map[string]int64{"big": 7, "other": 8, "third": 3}, func(h *testKeeper) {
		big := h.ask("big", "big")
		other := h.ask("other", "other")
		third := h.ask("third", "third")
		third.want("waiting") // there is room now, but not beside other, which came first
		big.end()
		other.want("served")
		third.want("waiting")
		other.end()
		third.want("served")
		third.end()
	})
}

// TestWaitersLeave: a load that no request waits for any more does not keep others out.
func TestWaitersLeave(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		a1 := h.ask("a", "a1")
		b1, b2 := h.ask("b", "b1"), h.ask("b", "b2")
		a2 := h.ask("a", "a2")
		b1.leave()
		b1.want(context.Canceled.Error())
		a2.want("waiting")
		b2.leave()
		a2.want("served")
		h.ask("a", "a3").end()
		b3 := h.ask("b", "b3")
		a4 := h.ask("a", "a4")
		a4.leave()
		a1.end()
		a2.end()
		b3.want("served")
		b3.end()
		if want := []string{"a", "b"}; !slices.Equal(h.opened, want) {
			t.Errorf("loaded %v, want %v", h.opened, want)
		}
	})
}

// TestAbandonedLoad: a request that comes when the last waiter has just left gets a load that
// goes on.
func TestAbandonedLoad(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		a, b1 := h.ask("a", "a"), h.ask("b", "b1")
		h.mu.Lock() // the load cannot end yet
		l := h.place("b").loading
		h.Keeper.leave(l, l.waiters[0], nil)
		if h.place("b").loading != nil {
			t.Error("the next request would wait for a load that has been given up")
		}
		h.mu.Unlock()
		b2 := h.ask("b", "b2")
		synctest.Wait()
		b1.want(context.Canceled.Error())
		b2.want("waiting")
		a.end()
		b2.want("served")
		b2.end()
	})
}

// TestMemoryWaitIsBounded: in time and in number, and both say so.
func TestMemoryWaitIsBounded(t *testing.T) {
	const mib = 1 << 20
	bubble(t, 10*mib, map[string]int64{"a": 6 * mib, "b": 6 * mib, "huge": 11 * mib}, func(h *testKeeper) {
		a1, a2 := h.ask("a", "a1"), h.ask("a", "a2")
		b1 := h.ask("b", "b1")
		time.Sleep(40 * time.Second)
		b2 := h.ask("b", "b2")
		time.Sleep(time.Second)
		a3 := h.ask("a", "a3")
		time.Sleep(time.Second)
		b3 := h.ask("b", "b3")
		time.Sleep(18 * time.Second)
		synctest.Wait()
		b1.want("out_of_memory")
		b2.want("waiting") // its own minute is not over
		a3.want("waiting")
		var known *engine.Error
		if !errors.As(b1.err, &known) || known.RetryAfter <= 0 {
			t.Errorf("%+v, want a time to try again", b1.err)
		}
		for _, want := range []string{`"b" needs 6 MiB`, `memory_limit (10 MiB)`, `"a" holds 6 MiB for 2 requests`, "memory_wait (1m0s)", "context_length"} {
			if !strings.Contains(known.Message, want) {
				t.Errorf("%q does not say %s", known.Message, want)
			}
		}
		time.Sleep(40 * time.Second)
		synctest.Wait()
		b2.want("out_of_memory")
		a3.want("served") // b3 came after it
		b3.want("waiting")
		b3.leave()

		huge := h.ask("huge", "huge")
		huge.want("out_of_memory")
		if !errors.As(huge.err, &known) || known.RetryAfter != 0 || !strings.Contains(known.Message, `"huge" needs 11 MiB and memory_limit is 10 MiB`) {
			t.Errorf("%+v, want sizes and no time to try again", huge.err)
		}

		var all []*testRequest
		most := Admits(h.find("b"))
		for i := range most + 1 {
			all = append(all, h.ask("b", fmt.Sprint("many", i)))
		}
		all[most].want("queue_full")
		if !errors.As(all[most].err, &known) || known.RetryAfter <= 0 || !strings.Contains(known.Message, fmt.Sprint(most)) {
			t.Errorf("%+v", all[most].err)
		}
		for _, g := range []*testRequest{a1, a2, a3} {
			g.end()
		}
		for _, g := range all[:most] {
			g.want("served")
			g.end()
		}
		if want := []string{"a", "b"}; !slices.Equal(h.opened, want) {
			t.Errorf("loaded %v, want %v: all share one load", h.opened, want)
		}
	})
}

// TestLoadingIsNoWait: the minute is for memory, not for the load itself.
func TestLoadingIsNoWait(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		gate := make(chan struct{})
		h.opening["b"] = gate
		a := h.ask("a", "a")
		b := h.ask("b", "b")
		time.Sleep(50 * time.Second)
		a.end()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		b.want("waiting")
		a2 := h.ask("a", "a2")
		time.Sleep(30 * time.Second)
		close(gate)
		synctest.Wait()
		b.want("served")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		a2.want("out_of_memory")
		b.end()
	})
}

// TestMemoryOfLoads: what a load was promised no other gets.
func TestMemoryOfLoads(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		gate := make(chan struct{})
		h.opening["a"] = gate
		a, b := h.ask("a", "a"), h.ask("b", "b")
		close(gate)
		synctest.Wait()
		a.want("served")
		b.want("waiting")
		a.end()
		b.want("served")
		b.end()
	})
}

// TestGrowingLoads: two loads that want more than they have cannot wait for each
// other.
func TestGrowingLoads(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 4, "b": 4, "c": 2}, func(h *testKeeper) {
		h.grow["a"], h.grow["b"] = 4, 4
		gate := make(chan struct{})
		h.opening["a"], h.opening["b"] = gate, gate
		c, a, b := h.ask("c", "c"), h.ask("a", "a"), h.ask("b", "b")
		close(gate)
		synctest.Wait()
		served, failed := a, b
		if b.state() == "served" || b.state() == "waiting" && a.state() != "waiting" {
			served, failed = b, a
		}
		failed.want("out_of_memory")
		c.end()
		served.want("served")
		served.end()
	})
	// One that wants more does not wait for a load that needs what it has.
	bubble(t, 10, map[string]int64{"a": 1, "c": 2, "all": 10}, func(h *testKeeper) {
		h.grow["a"] = 8
		gate := make(chan struct{})
		h.opening["a"] = gate
		c, first, all := h.ask("c", "c"), h.ask("a", "first"), h.ask("all", "all")
		a := h.ask("a", "a")
		first.leave() // requests that still wait for this load came after those of the other
		close(gate)
		synctest.Wait()
		a.want("waiting")
		c.end()
		a.want("served")
		all.want("waiting")
		a.end()
		all.want("served")
		all.end()
	})
}

// TestReleaseTwice: a lease ends once.
func TestReleaseTwice(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		a := h.ask("a", "a")
		b := h.ask("b", "b")
		h.mu.Lock()
		if held := h.holders(nil); !strings.Contains(held, "for 1 request") {
			t.Errorf("%q, want one request", held)
		}
		h.mu.Unlock()
		b.want("waiting")
		a.end()
		b.want("served")
		b.end()
		b.end()
		if n := h.place("b"); n.users != 0 {
			t.Errorf("%d users", n.users)
		}
	})
}

// TestCloseWhileWaiting: Close answers the requests that wait.
func TestCloseWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestKeeper(t, 10, map[string]int64{"a": 6, "b": 6, "c": 3, "d": 9})
		h.o.KeepAlive = time.Minute
		gate := make(chan struct{})
		h.opening["c"] = gate
		a := h.ask("a", "a")
		waiting := []*testRequest{h.ask("c", "c"), h.ask("b", "b"), h.ask("d", "d"), h.ask("a", "a2")}
		h.shut()
		synctest.Wait()
		for _, g := range waiting {
			g.want("shutting_down")
		}
		a.end()
		time.Sleep(2 * time.Minute) // nothing is left to unload
		late := h.ask("a", "late")
		late.want("shutting_down")
	})
}

// TestLostWhileWaiting: a discarded model is unloaded when its requests have failed,
// and the load that waits for its memory gets it.
func TestLostWhileWaiting(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		a := h.ask("a", "a")
		b, a2 := h.ask("b", "b"), h.ask("a", "a2")
		h.Discard(h.find("a"))
		b.want("waiting")
		h.ask("a", "a3").want("model_loading")
		a.end()
		b.want("served")
		a2.want("waiting")
		b.end()
		a2.want("served")
		h.Discard(h.find("a"))
		b2 := h.ask("b", "b2")
		b2.want("waiting")
		b2.leave()
		a2.end()
		a3 := h.ask("a", "a3")
		a3.want("served")
		h.Discard(h.find("a"))
		// Close closes a discarded model that is in use; the end of its requests frees nothing.
		h.Close()
		a3.end()
	})
}

// TestLostAndWanted: no request is given a model that is lost though it need not go for
// others any more.
func TestLostAndWanted(t *testing.T) {
	bubble(t, 10, map[string]int64{"a": 6, "b": 6}, func(h *testKeeper) {
		a1, b, a2 := h.ask("a", "a1"), h.ask("b", "b"), h.ask("a", "a2")
		h.Discard(h.find("a"))
		b.leave()
		a2.want("waiting")
		a1.end()
		a2.want("served")
		a2.end()
		if want := []string{"a", "a"}; !slices.Equal(h.opened, want) {
			t.Errorf("loaded %v, want %v", h.opened, want)
		}
	})
}

// TestManyModels: whatever requests do, memory stays within its limit and each is
// answered. A deadlock fails the bubble.
func TestManyModels(t *testing.T) {
	for seed := range uint64(30) {
		sizes := map[string]int64{"a": 6, "b": 5, "c": 4, "d": 3, "e": 1}
		bubble(t, 10, sizes, func(h *testKeeper) {
			h.grow["d"] = 2
			r := rand.New(rand.NewPCG(seed, 1))
			ids := []string{"a", "b", "c", "d", "e"}
			var wg sync.WaitGroup
			for range 150 {
				id := ids[r.IntN(len(ids))]
				begin, patience, work := time.Duration(r.IntN(60)), time.Duration(5+r.IntN(200)), time.Duration(r.IntN(8))
				lose := r.IntN(40) == 0
				wg.Go(func() {
					time.Sleep(begin * time.Second)
					ctx, cancel := context.WithTimeout(context.Background(), patience*time.Second)
					defer cancel()
					lease, err := h.Acquire(ctx, h.find(id))
					var known *engine.Error
					if err != nil {
						if !errors.As(err, &known) && !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("seed %d: %v", seed, err)
						}
						return
					}
					defer lease.Release()
					time.Sleep(work * time.Second)
					if lose {
						h.Discard(h.find(id))
					}
				})
			}
			wg.Wait()
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(h.loads) > 0 {
				t.Errorf("seed %d: %d loads are left", seed, len(h.loads))
			}
			for _, n := range h.residents {
				if n.users != 0 || n.leaves != nil || n.loading != nil {
					t.Errorf("seed %d: model %s has %d users, leaves for %v", seed, n.ID, n.users, n.leaves)
				}
			}
		})
	}
}
