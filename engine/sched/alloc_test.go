package sched

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
)

// A flatExec gives the same logits always and allocates nothing.
type flatExec struct {
	rows    []graph.Row
	handout graph.Handout
}

func (e *flatExec) Run(_ context.Context, in *graph.Batch, _ graph.Cache) ([][]float32, error) {
	for i := range in.Want {
		for k := range e.rows[i].Logits {
			e.rows[i].Logits[k] = float32(k)
		}
	}
	e.handout.Give(in.Take, e.rows[:len(in.Want)])
	return nil, nil
}

func (e *flatExec) Close() error { return nil }

// newFlat returns a Scheduler with seqs endless sequences, decoding, and a
// function that makes a step and reads all that came of it.
func newFlat(t testing.TB, seqs int, edit func(*Request), drafters ...Drafter) func() {
	near := []graph.Near{{Reach: graph.Reach{Window: 50}, Blocks: 6 * seqs}}
	o := Options{Blocks: 1 << 16, BlockSize: 16, Near: near, Budget: seqs, Slots: seqs, Queue: seqs, Adapters: 1, Drafters: drafters}
	if len(drafters) > 0 {
		o.Budget = 8 * seqs
	}
	s, _ := newFake(t, o)
	e := &flatExec{rows: make([]graph.Row, o.Budget)}
	for i := range e.rows {
		e.rows[i].Logits = make([]float32, fakeVocab)
	}
	s.o.Exec = e
	all := make([]*Stream, seqs)
	for i := range all {
		r := Request{Prompt: prompt(1), EOG: []token.ID{0}, NoPromptCache: i%2 == 1, Adapter: int32(i % 2), Sample: sample.Params{Seed: uint64(i)}}
		edit(&r)
		all[i] = submit(t, s, r)
	}
	ctx := t.Context()
	one := func() {
		s.turn(ctx)
		for _, st := range all {
			for more := true; more; {
				select {
				case ev := <-st.events:
					st.took(&ev)
				default:
					more = false
				}
			}
		}
	}
	for s.stats.generated.Load() == 0 || len(s.running) < seqs {
		one()
	}
	for range 3 {
		one()
	}
	return one
}

func TestNoAllocations(t *testing.T) {
	one := newFlat(t, 8, func(*Request) {})
	// Blocks fill up and are cached on the way. Room for a reply's tokens is
	// set aside for its first thousand.
	if n := testing.AllocsPerRun(900, one); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
	var before, after runtime.MemStats
	one = newFlat(t, 8, func(*Request) {})
	runtime.ReadMemStats(&before)
	for range 900 {
		one()
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > 20 { // the runtime makes some of its own
		t.Errorf("%d allocations in 900 steps", n)
	}
}

func BenchmarkStep(b *testing.B) {
	for _, seqs := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("sequences %d", seqs), func(b *testing.B) {
			one := newFlat(b, seqs, func(*Request) {})
			b.ReportAllocs()
			for b.Loop() {
				one()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(seqs), "ns/token")
		})
	}
}
