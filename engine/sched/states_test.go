package sched_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/sample"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/kernels/quant"
)

// TestStates: replies of a model that carries states do not depend on who shares the
// batch, on preemption, nor on forks of a prompt, to the bit of every log-probability.
func TestStates(t *testing.T) {
	for _, name := range []string{"qwen35", "falcon-h1", "lfm2", "falcon-mamba"} {
		t.Run(name, func(t *testing.T) {
			set, err := gguf.Open("../model/testdata/families/" + name + "-Q4_0.gguf")
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			lm, err := model.Open(set)
			if err != nil {
				t.Fatal(err)
			}
			const blocks, size, slots = 24, 4, 6
			alone, _ := replies(t, lm, 400, size, 1)
			together, s := replies(t, lm, blocks, size, slots)
			if s.Preemptions == 0 || s.PrefixHits > 0 {
				t.Errorf("%d preemptions, %d prompt tokens from the cache", s.Preemptions, s.PrefixHits)
			}
			for i := range alone {
				if !slices.EqualFunc(alone[i], together[i], func(a, b sample.Token) bool { return a.ID == b.ID && a.Logprob == b.Logprob }) {
					t.Errorf("reply %d is %v alone and %v in company", i, alone[i], together[i])
				}
			}
		})
	}
}

// replies answers the same requests in as many slots as given.
func replies(t *testing.T, lm model.LM, blocks, size, slots int) ([][]sample.Token, sched.Stats) {
	t.Helper()
	const rows, want, requests, n = 8, 8, 12, 2
	b := graph.NewBuilder(rows, want)
	p, err := b.Compile(lm.Logits(b, lm.Hidden(b)))
	if err != nil {
		t.Fatal(err)
	}
	be := cpu.Open(2)
	defer be.Close()
	exec, err := be.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Close()
	c := lm.Config()
	cache, err := be.NewCache(c.CacheSpec(blocks, size, slots, quant.F32))
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	s, err := sched.New(sched.Options{Exec: exec, Cache: cache, Blocks: blocks, BlockSize: size, Budget: rows, MaxWant: want, Slots: slots, Queue: requests, States: c.State > 0})
	if err != nil {
		t.Fatal(err)
	}
	var loop sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	loop.Go(func() { s.Run(ctx) })
	out := make([][]sample.Token, requests*n)
	var streams []*sched.Stream
	for i := range requests {
		var prompt []token.ID
		for k := range 3 + 2*i {
			prompt = append(prompt, token.ID(3+(i*31+k*7)%300))
		}
		st, err := s.Submit(t.Context(), sched.Request{Prompt: prompt, N: n, Max: 12, Sample: sample.Params{Temperature: 1, Seed: uint64(i), Logprobs: true}})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, st)
	}
	var readers sync.WaitGroup
	for i, st := range streams {
		readers.Go(func() {
			for e, err := range st.Events() {
				if err != nil {
					t.Error(err)
				}
				if e.Type == sched.Token {
					out[i*n+e.Seq] = append(out[i*n+e.Seq], e.Token)
				}
			}
		})
	}
	readers.Wait()
	stop()
	loop.Wait()
	return out, s.Stats()
}
