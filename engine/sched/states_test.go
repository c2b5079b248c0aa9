package sched_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/sample"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/kernels/quant"
)

// TestStates: replies of a model that carries states do not depend on other requests of the
// batch, on preemption, nor on forks of a prompt, to the bit of every log-probability.
func TestStates(t *testing.T) {
	for _, name := range []string{"qwen35", "falcon-h1", "lfm2", "falcon-mamba", "rwkv7"} {
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
			alone, _ := replies(t, lm, 12, 400, 0, size, 1)
			together, s := replies(t, lm, 12, blocks, 0, size, slots)
			if s.Preemptions == 0 {
				t.Error("no preemptions")
			}
			for i := range alone {
				if !slices.EqualFunc(alone[i], together[i], func(a, b sample.Token) bool { return a.ID == b.ID && a.Logprob == b.Logprob }) {
					t.Errorf("reply %d is %v alone and %v in company", i, alone[i], together[i])
				}
			}
		})
	}
}

// TestSecondTurns: of each turn of a chat a model with states computes less than a block more
// than what is new, drafts or none, and says what it would say without the cache.
func TestSecondTurns(t *testing.T) {
	set, err := gguf.Open("../model/testdata/families/qwen35-Q4_0.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	lm, err := model.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	const size = 4
	knows := &guesser{wrong: 0.2, vocab: lm.Config().Vocab, rng: rand.New(rand.NewPCG(1, 2))}
	s := start(t, lm, 100, 0, size, 2, knows)
	s.begin()
	var chat []token.ID
	for turn := range 5 {
		known := len(chat)
		for k := range 9 + turn {
			chat = append(chat, token.ID(3+(turn*31+k*7)%300))
		}
		answer := func(fresh bool) (reply []token.ID, cached int) {
			st, err := s.Submit(t.Context(), sched.Request{Prompt: chat, Max: 11 + turn, NoPromptCache: fresh})
			if err != nil {
				t.Fatal(err)
			}
			for e, err := range st.Events() {
				switch {
				case err != nil:
					t.Fatal(err)
				case e.Type == sched.PromptDone:
					cached = e.Prompt.Cached
				case e.Type == sched.Token:
					reply = append(reply, e.Token.ID)
				}
			}
			return reply, cached
		}
		want, none := answer(true)
		knows.replies = append(knows.replies, slices.Concat(chat, want))
		reply, cached := answer(false)
		// The last token of a reply was never computed.
		if known > 0 && cached <= known-1-size {
			t.Errorf("turn %d: %d of %d known tokens were found", turn, cached, known)
		}
		if none > 0 || !slices.Equal(reply, want) {
			t.Errorf("turn %d: %v, want %v; %d tokens from the cache without it", turn, reply, want, none)
		}
		chat = append(chat, reply...)
	}
	if st := s.Stats(); st.AcceptedTokens == 0 || st.AcceptedTokens == st.DraftTokens {
		t.Errorf("%d drafted, %d of them drawn", st.DraftTokens, st.AcceptedTokens)
	}
}

// replies answers the same requests in as many slots as given.
func replies(t *testing.T, lm model.LM, requests, blocks, near, size, slots int) ([][]sample.Token, sched.Stats) {
	t.Helper()
	const n = 2
	s := start(t, lm, blocks, near, size, slots)
	out := make([][]sample.Token, requests*n)
	var streams []*sched.Stream
	for i := range requests {
		var prompt []token.ID
		for k := range 3 + 4*(i%12) {
			prompt = append(prompt, token.ID(3+(i*31+k*7)%(lm.Config().Vocab-20)))
		}
		st, err := s.Submit(t.Context(), sched.Request{Prompt: prompt, N: n, Max: 12, Sample: sample.Params{Temperature: 1, Seed: uint64(i), Logprobs: true}})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, st)
	}
	s.begin()
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
	return out, s.Stats()
}

// A late is a scheduler that starts when begin is called, with all requests submitted by then: its
// batches do not depend on which goroutine is faster.
type late struct {
	*sched.Scheduler
	begin func()
}

// start makes a scheduler of a model, which may run until the test ends. Layers that do not see everything
// have pools of near blocks, or share those of the others where that is 0.
func start(t *testing.T, lm model.LM, blocks, near, size, slots int, drafters ...sched.Drafter) late {
	t.Helper()
	return startTimed(t, lm, blocks, near, size, slots, func() time.Time { return time.Time{} }, drafters...)
}

// startTimed is start by a clock.
func startTimed(t *testing.T, lm model.LM, blocks, near, size, slots int, now func() time.Time, drafters ...sched.Drafter) late {
	t.Helper()
	return startPass(t, func(b *graph.Builder) []graph.Value { return []graph.Value{lm.Logits(b, lm.Hidden(b))} }, blocks, near, size, slots, now, drafters...)
}

// startPass is startTimed by what a step computes.
func startPass(t *testing.T, pass func(*graph.Builder) []graph.Value, blocks, near, size, slots int, now func() time.Time, drafters ...sched.Drafter) late {
	t.Helper()
	const rows, want = 16, 16
	b := graph.NewBuilder(rows, want)
	p, err := b.Compile(pass(b)...)
	if err != nil {
		t.Fatal(err)
	}
	be := cpu.Open(2)
	exec, err := be.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	spec := p.CacheSpec(blocks, size, 2*slots, quant.F32)
	if near > 0 {
		spec.Apart(p, blocks*size)
	}
	for i := range spec.Near {
		spec.Near[i].Blocks = near
	}
	cache, err := be.NewCache(spec)
	if err != nil {
		t.Fatal(err)
	}
	spares := slots / 2
	s, err := sched.New(sched.Options{Exec: exec, Cache: cache, Blocks: blocks, BlockSize: size, Near: spec.Near,
		Budget: rows, MaxWant: want, Slots: slots, Queue: 1000, States: spec.State > 0, Snapshots: slots - spares,
		Drafters: drafters, Spares: spares, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	begin := sync.OnceFunc(func() { runs.Go(func() { s.Run(ctx) }) })
	t.Cleanup(func() {
		stop()
		runs.Wait()
		cache.Close()
		exec.Close()
		be.Close()
	})
	return late{s, begin}
}
