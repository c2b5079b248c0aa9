package draft_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"quern/engine/cpu"
	"quern/engine/draft"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/engine/sample"
	"quern/engine/sched"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/kernels/quant"
)

const size = 4 // of blocks

// A machine compiles one tiny model as often as asked for.
type machine struct {
	t  *testing.T
	lm model.LM
	be *cpu.Backend
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	set, err := gguf.Open("../model/testdata/llama-Q4_K_M.gguf")
	if err != nil {
		t.Fatal(err)
	}
	lm, err := model.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, lm: lm, be: cpu.Open(2)}
	t.Cleanup(func() {
		m.be.Close()
		set.Close()
	})
	return m
}

func (m *machine) compile(rows, want, blocks int) (graph.Exec, graph.Cache) {
	m.t.Helper()
	b := graph.NewBuilder(rows, want)
	p, err := b.Compile(m.lm.Logits(b, m.lm.Hidden(b)))
	if err != nil {
		m.t.Fatal(err)
	}
	exec, err := m.be.Compile(m.t.Context(), p, graph.Watch{})
	if err != nil {
		m.t.Fatal(err)
	}
	cache, err := m.be.NewCache(p.CacheSpec(blocks, size, 1, quant.F32))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		cache.Close()
		exec.Close()
	})
	return exec, cache
}

// drafter drafts with the model itself.
func (m *machine) drafter(rows, places, blocks int) *draft.Model {
	exec, cache := m.compile(rows, places, blocks)
	return draft.NewModel(draft.ModelOptions{Exec: exec, Cache: cache, Blocks: blocks, BlockSize: size, Rows: rows, Places: places, Context: 200, Vocab: m.lm.Config().Vocab})
}

// replies runs requests in a scheduler with as many blocks.
func (m *machine) replies(requests []sched.Request, blocks int, drafters ...sched.Drafter) ([][]sample.Token, sched.Stats) {
	m.t.Helper()
	const rows, slots = 32, 4
	exec, cache := m.compile(rows, rows, blocks)
	s, err := sched.New(sched.Options{Exec: exec, Cache: cache, Blocks: blocks, BlockSize: size, Budget: rows, Slots: slots, Queue: 100,
		Drafters: drafters, Now: func() time.Time { return time.Time{} }})
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(m.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	out := make([][]sample.Token, 2*len(requests))
	var readers sync.WaitGroup
	for i, r := range requests {
		st, err := s.Submit(ctx, r)
		if err != nil {
			m.t.Fatal(err)
		}
		readers.Go(func() {
			for e, err := range st.Events() {
				if err != nil {
					m.t.Error(err)
				}
				if e.Type == sched.Token {
					out[2*i+e.Seq] = append(out[2*i+e.Seq], e.Token)
				}
			}
		})
	}
	readers.Wait()
	return out, s.Stats()
}

// TestModel: what a model drafts for itself is what it says, as long as it is greedy: with
// prompts longer than a step, replies that share a prompt, places used again, preempted
// sequences and blocks that do not suffice. Otherwise replies are those without drafts still.
func TestModel(t *testing.T) {
	m := newMachine(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var greedy, drawn []sched.Request
	for i := range 24 {
		r := sched.Request{N: 1 + i%2, Max: 20}
		if i%5 == 4 {
			r.Prompt = slices.Clone(greedy[i-2].Prompt)
		}
		for range 1 + rng.IntN(40) {
			r.Prompt = append(r.Prompt, token.ID(rng.IntN(m.lm.Config().Vocab)))
		}
		greedy = append(greedy, r)
		r.Sample = sample.Params{Temperature: 0.7, Seed: uint64(i), Logprobs: true}
		drawn = append(drawn, r)
	}
	for _, tt := range []struct {
		name         string
		requests     []sched.Request
		rows, blocks int // of what drafts
		all          bool
	}{
		{"greedy", greedy, 32, 200, true},
		{"prompts longer than a step", greedy, 6, 200, true},
		{"too few blocks", greedy, 32, 24, true},
		{"drawn at random", drawn, 32, 200, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, _ := m.replies(tt.requests, 200)
			got, s := m.replies(tt.requests, 50, m.drafter(tt.rows, 4, tt.blocks))
			for i := range want {
				if !slices.EqualFunc(got[i], want[i], func(a, b sample.Token) bool { return a.ID == b.ID && a.Logprob == b.Logprob }) {
					t.Errorf("reply %d: %v, want %v", i, got[i], want[i])
				}
			}
			if s.AcceptedTokens < 20 || tt.all && s.AcceptedTokens != s.DraftTokens {
				t.Errorf("%d of %d drafted tokens came", s.AcceptedTokens, s.DraftTokens)
			}
		})
	}
}

// TestModelFails: a draft that fails leaves nothing behind, and the next is right again.
func TestModelFails(t *testing.T) {
	m := newMachine(t)
	exec, cache := m.compile(16, 1, 50)
	broken := &failing{Exec: exec}
	d := draft.NewModel(draft.ModelOptions{Exec: broken, Cache: cache, Blocks: 50, BlockSize: size, Rows: 16, Places: 1, Context: 100, Vocab: m.lm.Config().Vocab})
	x := sched.Text{Tokens: []token.ID{5, 6, 7, 8, 9, 10, 11, 12, 13}}
	ask := func() ([]token.ID, error) {
		d.Offer(0, x, 4)
		asks := []sched.Ask{{Text: x, N: 4}}
		err := d.Draft(t.Context(), asks)
		return asks[0].Draft, err
	}
	want, err := ask()
	if err != nil || len(want) != 4 {
		t.Fatal(want, err)
	}
	for at := range 4 {
		d.Forget(0)
		broken.at = at + 1
		if got, err := ask(); err == nil || len(got) > 0 {
			t.Errorf("%v, %v of a draft that fails at its step %d", got, err, at)
		}
		if got, err := ask(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v after a draft that failed, want %v", got, err, want)
		}
	}
	x.Tokens = append(x.Tokens, token.ID(m.lm.Config().Vocab))
	if n, _ := d.Offer(0, x, 4); n != 0 {
		t.Errorf("%d tokens are offered behind one that the model does not know", n)
	}
}

// A failing Exec fails once, at the at-th run from now on.
type failing struct {
	graph.Exec
	at int
}

func (f *failing) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	if f.at--; f.at == 0 {
		return nil, errors.New("the device is on fire")
	}
	return f.Exec.Run(ctx, in, kv)
}
