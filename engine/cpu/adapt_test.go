package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// TestAdapted holds a batch whose sequences carry different adapters against the same
// weights merged, and each sequence against itself alone, bit for bit.
func TestAdapted(t *testing.T) {
	const vocab, hidden, out = 11, 64, 48
	r := rand.New(rand.NewPCG(3, 9))
	e, w := tensor(r, "embed", quant.F32, vocab, hidden), tensor(r, "w", quant.F32, out, hidden)
	change := func(lookup bool, rows, in int, typ quant.Type, rank int) graph.Change {
		a := tensor(r, "a", typ, rank, in)
		if lookup {
			a = tensor(r, "a", typ, in, rank)
		}
		return graph.Change{A: a, B: tensor(r, "b", quant.F16, rank, rows), Scale: 0.5}
	}
	changes := graph.Changes{
		Embed:  map[*weights.Tensor][]graph.Change{e: {change(true, hidden, vocab, quant.F32, 3), {}, {}}},
		Linear: map[*weights.Tensor][]graph.Change{w: {change(false, out, hidden, quant.F16, 8), {}, change(false, out, hidden, quant.BF16, 4)}},
	}
	be := Open(2)
	defer be.Close()
	record := func(c graph.Changes, e, w *weights.Tensor, taken bool) graph.Exec {
		g := graph.NewBuilder(40, 40)
		g.Adapt(c)
		x := g.Embed(g.Tokens(), e)
		if taken {
			x = g.Take(x, g.Wanted())
		}
		y := g.Linear(x, w, nil)
		if !taken {
			y = g.Take(y, g.Wanted())
		}
		p, err := g.Compile(y)
		if err != nil {
			t.Fatal(err)
		}
		exec, err := be.Compile(t.Context(), p, graph.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		return exec
	}
	run := func(exec graph.Exec, adapters []int32, lengths ...int) [][]float32 {
		b := &graph.Batch{Adapters: adapters}
		for s, n := range lengths {
			b.Tables = append(b.Tables, nil)
			for i := range n {
				b.Tokens, b.Positions, b.Seq = append(b.Tokens, int32((i*7+n)%vocab)), append(b.Positions, int32(i)), append(b.Seq, int32(s))
				if i%3 == n%3 {
					b.Want = append(b.Want, int32(len(b.Tokens)-1))
				}
			}
		}
		res, err := exec.Run(t.Context(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		by := make([][]float32, len(lengths))
		for i, row := range b.Want {
			by[b.Seq[row]] = append(by[b.Seq[row]], res[0][i*out:(i+1)*out]...)
		}
		return by
	}
	adapters, lengths := []int32{0, 1, 3, 1, 2, 3}, []int{4, 9, 5, 1, 6, 13}
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprint("taken first ", taken), func(t *testing.T) {
			exec := record(changes, e, w, taken)
			got := run(exec, adapters, lengths...)
			if none := run(exec, nil, lengths...); !slices.Equal(none[0], got[0]) || slices.Equal(none[1], got[1]) {
				t.Error("a batch without adapters is not that of the base")
			}
			for s, a := range adapters {
				if alone := run(exec, []int32{a}, lengths[s]); !slices.Equal(alone[0], got[s]) {
					t.Errorf("sequence %d, adapter %d: alone it has other bits", s, a)
				}
				me, mw := e, w
				if a > 0 {
					me, mw = merged(e, changes.Embed[e][a-1], true), merged(w, changes.Linear[w][a-1], false)
				}
				want := run(record(graph.Changes{}, me, mw, taken), nil, lengths[s])
				for i, v := range want[0] {
					if d := math.Abs(float64(v - got[s][i])); !(d <= 1e-4*(1+math.Abs(float64(v)))) {
						t.Fatalf("sequence %d, adapter %d, value %d: %g, merged %g", s, a, i, got[s][i], v)
					}
				}
			}
			b := &graph.Batch{Tokens: []int32{1, 2}, Positions: []int32{0, 0}, Seq: []int32{0, 1}, Tables: make([][]int32, 2), Want: []int32{0, 1}, Adapters: []int32{3, 1}}
			if n := testing.AllocsPerRun(10, func() { exec.Run(t.Context(), b, nil) }); n != 0 {
				t.Errorf("%g allocations a step", n)
			}
			for _, bad := range [][]int32{{1}, {4, 0}, {-1, 0}} {
				b.Adapters = bad
				if _, err := exec.Run(t.Context(), b, nil); err == nil {
					t.Errorf("a batch of adapters %v ran", bad)
				}
			}
		})
	}
}

// merged is w with a change added to it.
func merged(w *weights.Tensor, c graph.Change, lookup bool) *weights.Tensor {
	if c.A == nil {
		return w
	}
	floats := func(t *weights.Tensor) []float32 {
		f := make([]float32, t.Elems())
		t.Type.Layout().Decode(f, t.Data)
		return f
	}
	sum, a, b := floats(w), floats(c.A), floats(c.B)
	rank := c.B.Shape[0]
	rows, cols := w.Shape[0], w.Shape[1]
	for i := range rows {
		for j := range cols {
			d := 0.0
			for k := range rank {
				if lookup {
					d += float64(a[i*rank+k]) * float64(b[k*cols+j])
				} else {
					d += float64(b[k*rows+i]) * float64(a[k*cols+j])
				}
			}
			sum[i*cols+j] += float32(float64(c.Scale) * d)
		}
	}
	return &weights.Tensor{Name: "merged", Type: quant.F32, Shape: w.Shape, Data: quant.Floats(sum)}
}

// TestAdaptedExperts holds a mixture whose sequences carry different adapters against merged
// weights, and each sequence against itself alone, bit for bit; a step allocates nothing.
func TestAdaptedExperts(t *testing.T) {
	const vocab, hidden, ff, experts = 11, 64, 32, 6
	r := rand.New(rand.NewPCG(3, 11))
	e, router := tensor(r, "embed", quant.F32, vocab, hidden), tensor(r, "router", quant.F32, experts, hidden)
	stacks := []*weights.Tensor{tensor(r, "gate", quant.F32, experts, ff, hidden), tensor(r, "up", quant.F32, experts, ff, hidden), tensor(r, "down", quant.F32, experts, hidden, ff)}
	change := func(w *weights.Tensor, rank int) graph.Change {
		return graph.Change{A: tensor(r, "a", quant.F16, experts, rank, w.Shape[2]), B: tensor(r, "b", quant.F32, experts, rank, w.Shape[1]), Scale: 4}
	}
	changes := map[*weights.Tensor][]graph.Change{
		stacks[0]: {change(stacks[0], 3), {}},
		stacks[1]: {change(stacks[1], 5), change(stacks[1], 2)},
		stacks[2]: {{}, change(stacks[2], 7)},
	}
	be := Open(2)
	defer be.Close()
	record := func(c graph.Changes, w []*weights.Tensor) graph.Exec {
		g := graph.NewBuilder(40, 40)
		g.Adapt(c)
		x := g.Embed(g.Tokens(), e)
		y := g.Experts(x, g.Linear(x, router, nil), graph.Experts{Gate: w[0], Up: w[1], Down: w[2], Act: graph.SiLU, Routing: graph.Routing{Used: 2, Renormalise: true}})
		p, err := g.Compile(g.Take(y, g.Wanted()))
		if err != nil {
			t.Fatal(err)
		}
		exec, err := be.Compile(t.Context(), p, graph.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		return exec
	}
	batch := func(adapters []int32, lengths ...int) *graph.Batch {
		b := &graph.Batch{Adapters: adapters}
		for s, n := range lengths {
			b.Tables = append(b.Tables, nil)
			for i := range n {
				b.Tokens, b.Positions, b.Seq = append(b.Tokens, int32((i*7+n)%vocab)), append(b.Positions, int32(i)), append(b.Seq, int32(s))
				b.Want = append(b.Want, int32(len(b.Tokens)-1))
			}
		}
		return b
	}
	run := func(exec graph.Exec, b *graph.Batch) []float32 {
		res, err := exec.Run(t.Context(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(res[0])
	}
	adapters, lengths := []int32{0, 1, 2, 1, 2, 0}, []int{4, 9, 5, 1, 6, 13}
	exec := record(graph.Changes{Linear: changes}, stacks)
	together := batch(adapters, lengths...)
	got := run(exec, together)
	for s, a := range adapters {
		mine := got[:lengths[s]*hidden]
		got = got[lengths[s]*hidden:]
		if alone := run(exec, batch([]int32{a}, lengths[s])); !slices.Equal(alone, mine) {
			t.Errorf("sequence %d, adapter %d: alone it has other bits", s, a)
		}
		w := slices.Clone(stacks)
		for i := range w {
			if a > 0 {
				w[i] = mergedStack(w[i], changes[w[i]][a-1])
			}
		}
		want := run(record(graph.Changes{}, w), batch(nil, lengths[s]))
		for i, v := range want {
			if d := math.Abs(float64(v - mine[i])); !(d <= 1e-4*(1+math.Abs(float64(v)))) {
				t.Fatalf("sequence %d, adapter %d, value %d: %g, merged %g", s, a, i, mine[i], v)
			}
		}
		if a > 0 && slices.Equal(mine, run(exec, batch([]int32{0}, lengths[s]))) {
			t.Errorf("adapter %d changes nothing", a)
		}
	}
	if n := testing.AllocsPerRun(10, func() { exec.Run(t.Context(), together, nil) }); n != 0 {
		t.Errorf("%g allocations a step", n)
	}
}

// mergedStack is a stack with a change added to each of its matrices.
func mergedStack(w *weights.Tensor, c graph.Change) *weights.Tensor {
	if c.A == nil {
		return w
	}
	n := w.Shape[0]
	part := func(t *weights.Tensor, x int) *weights.Tensor {
		size := len(t.Data) / n
		return &weights.Tensor{Type: t.Type, Shape: t.Shape[1:], Data: t.Data[x*size : (x+1)*size]}
	}
	out := &weights.Tensor{Name: "merged", Type: quant.F32, Shape: w.Shape}
	for x := range n {
		out.Data = append(out.Data, merged(part(w, x), graph.Change{A: part(c.A, x), B: part(c.B, x), Scale: c.Scale}, false).Data...)
	}
	return out
}
