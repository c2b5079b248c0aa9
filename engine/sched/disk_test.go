package sched

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/bench/fixtures"
	"quern/engine/graph"
	"quern/engine/kv/disk"
	"quern/engine/kv/disk/disktest"
	"quern/engine/sample"
	"quern/engine/token"
)

// TestRandomOnDisk: as TestRandom, with a disk on which thousands of schedulers before have left
// blocks and on which there is room for few of them. Each schedule is run twice.
func TestRandomOnDisk(t *testing.T) {
	n := uint64(30)
	if fixtures.Whole {
		n = 300
	}
	store := disk.Open(disk.Options{Dir: "cache", Size: 1000 << 12, Patience: time.Hour, FS: disktest.New(".")})
	defer store.Close()
	var sum tally
	for seed := range n {
		for range 2 {
			one, err := simulate(t, seed, store)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			sum.add(one)
		}
	}
	st := store.Stats()
	t.Logf("%+v\n%+v", sum, st)
	if sum.disk == 0 || sum.preempted == 0 || sum.failed == 0 || sum.cancelled == 0 || st.Evicted == 0 || st.Damaged+st.Errors > 0 {
		t.Errorf("something never happened, or should not: %+v %+v", sum, st)
	}
}

// A visit is one run of a Scheduler over a Store.
type visit struct {
	s    *Scheduler
	e    *fakeExec
	stop func()
}

func run(t *testing.T, o Options, store *disk.Store) *visit {
	t.Helper()
	addDisk(&o, store)
	s, e := newFake(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	return &visit{s, e, func() { cancel(); <-done }}
}

// answer is a reply of so many tokens, and how many of the prompt's were found.
func (v *visit) answer(t *testing.T, prompt []token.ID, max int, adapter int32) (ids []token.ID, cached int) {
	t.Helper()
	st, err := v.s.Submit(t.Context(), Request{Prompt: prompt, Max: max, Adapter: adapter, Sample: sample.Params{Temperature: 1, Seed: 7}})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range st.Events() {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Type == PromptDone:
			cached = e.Prompt.Cached
		case e.Type == Token:
			ids = append(ids, e.Token.ID)
		}
	}
	return ids, cached
}

func longPrompt(n int) (p []token.ID) {
	for i := range n {
		p = append(p, token.ID(i*i%29))
	}
	return p
}

// TestRestart: what was computed before a restart is not computed again: prompts, replies that
// a next turn goes on from, under an adapter, of layers with a window, and states.
func TestRestart(t *testing.T) {
	plain := Options{Blocks: 300, BlockSize: 8, Budget: 64, Slots: 4, Queue: 8}
	adapted, near, states := plain, plain, plain
	adapted.Adapters = 2
	near.Near = []graph.Near{{Reach: graph.Reach{Window: 20}, Blocks: 20}, {Reach: graph.Reach{Chunk: 32}, Blocks: 20}}
	states.States, states.Snapshots = true, 8
	for _, tt := range []struct {
		name          string
		o             Options
		adapter       int32
		cached, again int // of a prompt of 1200 tokens, and with its reply and 20 more
	}{
		{"plain", plain, 0, 1192, 1240},
		{"adapted", adapted, 2, 1192, 1240},
		{"near", near, 0, 1192, 1240},
		{"states", states, 0, 1192, 1200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := disktest.New(".")
				open := func() (*disk.Store, *visit) {
					store := disk.Open(disk.Options{Dir: "cache", Size: 1 << 30, FS: files})
					return store, run(t, tt.o, store)
				}
				store, v := open()
				prompt := longPrompt(1200)
				want, cached := v.answer(t, prompt, 48, tt.adapter)
				if cached != 0 {
					t.Errorf("%d tokens are found at first", cached)
				}
				v.stop()
				store.Close()

				store, v = open()
				got, cached := v.answer(t, prompt, 48, tt.adapter)
				if !slices.Equal(got, want) || cached != tt.cached {
					t.Errorf("%v with %d tokens from the disk, want %v with %d", got, cached, want, tt.cached)
				}
				if n := v.s.Stats().DiskHits; n != int64(tt.cached) {
					t.Errorf("%d tokens are counted", n)
				}
				v.stop()
				store.Close()

				store, v = open()
				next := append(append(slices.Clone(prompt), want...), longPrompt(20)...)
				if _, cached := v.answer(t, next, 5, tt.adapter); cached != tt.again {
					t.Errorf("%d tokens of a next turn are found, want %d", cached, tt.again)
				}
				if tt.adapter > 0 {
					if _, cached := v.answer(t, prompt, 5, 1); cached != 0 {
						t.Errorf("%d tokens are found under another adapter", cached)
					}
				}
				v.stop()
				store.Close()
			})
		})
	}
}

// TestStalledDisk: while a disk does not answer for ten seconds others' steps go on at once,
// and a prompt whose blocks lie there waits half a second at most.
func TestStalledDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		store := disk.Open(disk.Options{Dir: "cache", Size: 1 << 30, FS: files})
		o := Options{Blocks: 300, BlockSize: 8, Budget: 64, Slots: 4, Queue: 8}
		v := run(t, o, store)
		prompt := longPrompt(400)
		want, _ := v.answer(t, prompt, 10, 0)
		synctest.Wait()
		v.stop()

		v = run(t, o, store)
		defer v.stop()
		var mu sync.Mutex
		stall := true
		files.Before = func(op, name string) error {
			mu.Lock()
			wait := stall
			mu.Unlock()
			if wait {
				time.Sleep(10 * time.Second)
			}
			return nil
		}
		begun := time.Now()
		var work sync.WaitGroup
		work.Go(func() {
			got, cached := v.answer(t, prompt, 10, 0)
			if took := time.Since(begun); !slices.Equal(got, want) || cached > 0 || took > 600*time.Millisecond {
				t.Errorf("after %v %v with %d tokens from the disk, want %v", took, got, cached, want)
			}
		})
		other, _ := v.s.Submit(t.Context(), Request{Prompt: longPrompt(5), Max: 1000, NoPromptCache: true})
		for _, err := range other.Events() {
			if err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("another reply took %v", took)
		}
		work.Wait()
		mu.Lock()
		stall = false
		mu.Unlock()
		time.Sleep(time.Minute)
		store.Close()
	})
}

// TestLeaving: a client that leaves while its blocks are read leaves nothing behind.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := disktest.New(".")
		store := disk.Open(disk.Options{Dir: "cache", Size: 1 << 30, FS: files})
		defer store.Close()
		o := Options{Blocks: 100, BlockSize: 8, Budget: 64, Slots: 2, Queue: 8}
		v := run(t, o, store)
		v.answer(t, longPrompt(400), 10, 0)
		synctest.Wait()
		v.stop()
		v = run(t, o, store)
		defer v.stop()
		files.Before = func(op, name string) error {
			time.Sleep(20 * time.Millisecond)
			return nil
		}
		for i := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*70*time.Millisecond)
			st, err := v.s.Submit(ctx, Request{Prompt: longPrompt(400), Max: 3})
			if err == nil {
				for range st.Events() {
				}
			}
			cancel()
			synctest.Wait()
			if st := v.s.Stats(); st.BlocksUsed != 0 || st.Running+st.Waiting != 0 {
				t.Fatalf("when a client left after %d steps of 70 ms: %+v", i, st)
			}
		}
		if _, cached := v.answer(t, longPrompt(400), 3, 0); cached != 392 {
			t.Errorf("%d tokens are found at last", cached)
		}
	})
}

// Options that do not fit are refused.
func TestDiskOptions(t *testing.T) {
	store := disk.Open(disk.Options{Dir: "cache", Size: 1 << 20, FS: disktest.New(".")})
	defer store.Close()
	for i, change := range []func(o *Options){
		func(o *Options) { o.Adapters = 3 },
		func(o *Options) { o.Cache = struct{ graph.Cache }{} },
		func(o *Options) { o.Near = []graph.Near{{Reach: graph.Reach{Window: 8}, Blocks: 10}} },
	} {
		o := Options{Blocks: 10, BlockSize: 4, Budget: 8, Slots: 2, Exec: &fakeExec{}, Cache: newFakeCache(10, 4)}
		addDisk(&o, store)
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("change %d is taken", i)
		} else if fmt.Sprint(err) == "" {
			t.Error("an error without words")
		}
	}
}
