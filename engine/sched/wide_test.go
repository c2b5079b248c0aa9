package sched

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
	"quern/kernels/threads"
)

// A wideExec has logits as of a model with a large vocabulary, and gives them away on
// its pool, or by a Handout.
type wideExec struct {
	vocab   int
	pool    *threads.Pool
	source  []float32
	in      *graph.Batch
	rows    []graph.Row
	region  threads.Region
	handout graph.Handout
	ready   time.Time // when the last Run had its logits
	turned  int
}

func newWide(vocab int, pool *threads.Pool) *wideExec {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &wideExec{vocab: vocab, pool: pool, source: make([]float32, 3*vocab)}
	for i := range e.source {
		e.source[i] = float32(rng.NormFloat64() * 4)
	}
	e.region.F = func(_, want int) { e.in.Take(want, e.rows[want]) }
	return e
}

func (e *wideExec) Run(_ context.Context, in *graph.Batch, _ graph.Cache) ([][]float32, error) {
	n := len(in.Want)
	for len(e.rows) < n {
		e.rows = append(e.rows, graph.Row{Logits: make([]float32, e.vocab)})
	}
	e.in = in
	for i := range n {
		e.turned++
		copy(e.rows[i].Logits, e.source[e.turned*4099%(2*e.vocab):])
	}
	e.ready = time.Now()
	if e.pool != nil {
		e.pool.Run(n, &e.region)
	} else {
		e.handout.Give(in.Take, e.rows[:n])
	}
	return nil, nil
}

func (e *wideExec) Close() error { return nil }

// newWideSteps returns a Scheduler with seqs sequences, decoding with e, and a
// function that makes a step and returns the tokens.
func newWideSteps(t testing.TB, e *wideExec, seqs int, p sample.Params) (one func(tokens []token.ID) []token.ID) {
	s, _ := newFake(t, Options{Blocks: 1 << 15, BlockSize: 16, Budget: seqs, Slots: seqs, Queue: seqs})
	s.o.Exec = e
	all := make([]*Stream, seqs)
	for i := range all {
		p.Seed = uint64(i)
		all[i] = submit(t, s, Request{Prompt: prompt(1), NoPromptCache: true, Sample: p})
	}
	ctx := t.Context()
	one = func(tokens []token.ID) []token.ID {
		s.turn(ctx)
		for _, st := range all {
			select {
			case ev := <-st.events:
				if st.took(&ev); ev.Type == Token {
					tokens = append(tokens, ev.Token.ID)
				}
			default:
			}
		}
		return tokens
	}
	for s.stats.generated.Load() < int64(3*seqs) {
		one(nil)
	}
	return one
}

var wideParams = []struct {
	name string
	p    sample.Params
}{
	{"temperature", sample.Params{Temperature: 0.8}},
	{"top-p 0.9", sample.Params{Temperature: 0.8, TopP: 0.9}},
	{"top-k 40 top-p 0.9", sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.9}},
	{"repeat 1.1 top-p 0.9", sample.Params{Temperature: 0.8, TopP: 0.9, RepeatPenalty: 1.1}},
	{"min-p 0.05", sample.Params{Temperature: 0.8, MinP: 0.05}},
	{"typical-p 0.9", sample.Params{Temperature: 0.8, TypicalP: 0.9}},
}

// TestDrawsAnywhere: which goroutines draw, and how many, changes no token, and none
// of them allocates.
func TestDrawsAnywhere(t *testing.T) {
	const seqs, vocab = 9, 1 << 15
	for _, tt := range wideParams {
		t.Run(tt.name, func(t *testing.T) {
			var want []token.ID
			for _, workers := range []int{1, 0, 2, 5} { // 0: those of a Handout
				var pool *threads.Pool
				if workers > 0 {
					pool = threads.NewPool(workers)
					defer pool.Close()
				}
				one := newWideSteps(t, newWide(vocab, pool), seqs, tt.p)
				var got []token.ID
				for range 4 {
					got = one(got)
				}
				if want == nil {
					want = got
				}
				if len(got) != 4*seqs || !slices.Equal(got, want) {
					t.Errorf("%d threads drew %v, one %v", workers, got, want)
				}
				if tt.p.RepeatPenalty != 0 {
					continue // its windows fill up for a while
				}
				room := make([]token.ID, 0, seqs)
				// A thread may come late to its first row, for which it takes memory.
				allocs := 1.0
				for try := 0; try < 5 && allocs > 0; try++ {
					allocs = testing.AllocsPerRun(8, func() { one(room) })
				}
				if allocs != 0 {
					t.Errorf("%d threads: %v allocations a step", workers, allocs)
				}
			}
		})
	}
}

// BenchmarkDraw is what a step of 64 sequences takes behind the model.
func BenchmarkDraw(b *testing.B) {
	const seqs, vocab = 64, 128_256
	for _, tt := range wideParams {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads %d", tt.name, workers), func(b *testing.B) {
				pool := threads.NewPool(workers)
				defer pool.Close()
				e := newWide(vocab, pool)
				one := newWideSteps(b, e, seqs, tt.p)
				best := time.Hour
				var tokens []token.ID
				b.ReportAllocs()
				for b.Loop() {
					tokens = one(tokens[:0])
					best = min(best, time.Since(e.ready))
				}
				b.ReportMetric(best.Seconds()*1e3, "best-ms")
			})
		}
	}
}
