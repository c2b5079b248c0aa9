package cpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/matmul"
	"quern/kernels/quant"
)

// repacked is a matrix large enough to be copied, with rows left over, and a part of it.
func repacked() (whole, part *weights.Tensor) {
	const out, in = 16*8 + 5, 1024
	whole = tensor(rand.New(rand.NewPCG(4, 4)), "w", quant.Q4_K, out, in)
	row := len(whole.Data) / out
	return whole, &weights.Tensor{Name: "part", Type: quant.Q4_K, Shape: []int{out - 3, in}, Data: whole.Data[:(out-3)*row]}
}

// record compiles a Program of one product with each of the matrices.
func record(t *testing.T, b *Backend, w graph.Watch, matrices ...*weights.Tensor) graph.Exec {
	t.Helper()
	g := graph.NewBuilder(20, 20)
	x := g.Embed(g.Tokens(), tensor(rand.New(rand.NewPCG(5, 5)), "embed", quant.F32, 11, 1024))
	var y []graph.Value
	for _, m := range matrices {
		y = append(y, g.Take(g.Linear(x, m, nil), g.Wanted()))
	}
	p, err := g.Compile(y...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Compile(t.Context(), p, w)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// results runs batches of one row and of several.
func results(t *testing.T, e graph.Exec) (out []float32) {
	t.Helper()
	for _, rows := range []int{1, 2, 20} {
		in := &graph.Batch{Tables: [][]int32{nil}}
		for i := range rows {
			in.Tokens, in.Positions = append(in.Tokens, int32(i*3%11)), append(in.Positions, int32(i))
			in.Seq, in.Want = append(in.Seq, 0), append(in.Want, int32(i))
		}
		got, err := e.Run(t.Context(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range got {
			out = append(out, g...)
		}
	}
	return out
}

// Copies change no bit, are shared by Programs, are reported to Watch.Copied once, and are freed.
func TestRepack(t *testing.T) {
	whole, part := repacked()
	if matmul.Interleaves(quant.Q4_K, 16, 1024) == 0 {
		t.Skip("this CPU multiplies no type faster in another order")
	}
	plain := Open(2).InFileOrder()
	defer plain.Close()
	want := results(t, record(t, plain, graph.Watch{}, whole, part, whole))
	if len(plain.copies.of) != 0 {
		t.Errorf("in file order: %d copies", len(plain.copies.of))
	}

	b := Open(2)
	defer b.Close()
	var told []int
	w := graph.Watch{Copied: func(data []byte) {
		if &data[0] != &whole.Data[0] {
			t.Error("Copied was called with other weights")
		}
		told = append(told, len(data))
	}}
	first, second := record(t, b, w, whole, part, whole), record(t, b, w, whole)
	row := len(whole.Data) / whole.Shape[0]
	if wants := []int{128 * row, 128 * row}; !slices.Equal(told, wants) {
		t.Errorf("Copied was called with %d bytes, want %d: the whole and its part, once each", told, wants)
	}
	if !slices.Equal(results(t, first), want) {
		t.Error("results differ from those in file order")
	}
	var in *arena // one mapping, so that huge pages cover it
	for _, k := range b.copies.of {
		if in == nil {
			in = k.in
		}
		if k.in != in || in.matrices != 2 {
			t.Errorf("copies of one Exec in several arenas, or in one of %d matrices; want one of 2", in.matrices)
		}
	}
	if err := first.Close(); err != nil || len(b.copies.of) != 1 {
		t.Errorf("after the first was closed: %d copies, %v; want that of the second", len(b.copies.of), err)
	}
	if in.matrices != 1 {
		t.Errorf("after the first was closed: an arena of %d matrices, want 1", in.matrices)
	}
	results(t, second)
	if err := second.Close(); err != nil || len(b.copies.of) != 0 {
		t.Errorf("after both were closed: %d copies, %v", len(b.copies.of), err)
	}
}

// A matrix that embeds tokens too is read from its copy for that, so that the file's rows need
// not be in memory.
func TestRepackTied(t *testing.T) {
	const vocab, width = 131, 1024
	if matmul.Interleaves(quant.Q6_K, vocab, width) == 0 {
		t.Skip("this CPU multiplies no type faster in another order")
	}
	tied := tensor(rand.New(rand.NewPCG(9, 9)), "tied", quant.Q6_K, vocab, width)
	run := func(b *Backend, w graph.Watch) []float32 {
		g := graph.NewBuilder(vocab, vocab)
		x := g.Embed(g.Tokens(), tied)
		p, err := g.Compile(g.Take(g.Linear(x, tied, nil), g.Wanted()))
		if err != nil {
			t.Fatal(err)
		}
		e, err := b.Compile(t.Context(), p, w)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		in := &graph.Batch{Tables: [][]int32{nil}}
		for i := range int32(vocab) {
			in.Tokens, in.Positions, in.Seq, in.Want = append(in.Tokens, i), append(in.Positions, i), append(in.Seq, 0), append(in.Want, i)
		}
		out, err := e.Run(t.Context(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(out[0])
	}
	plain, b := Open(2).InFileOrder(), Open(2)
	defer plain.Close()
	defer b.Close()
	want := run(plain, graph.Watch{})
	if !slices.Equal(run(b, graph.Watch{Copied: func(data []byte) { clear(data) }}), want) {
		t.Error("results differ where the file's rows are gone")
	}
}

// Experts' matrices are copied like others, also where those of two stacks lie by turns; not
// those that were made, which would be in memory twice.
func TestRepackExperts(t *testing.T) {
	if matmul.Interleaves(quant.Q4_K, 16, 1024) == 0 {
		t.Skip("this CPU multiplies no type faster in another order")
	}
	const n, in, ff = 3, 1024, 256
	r := rand.New(rand.NewPCG(6, 6))
	both := tensor(r, "both", quant.Q4_K, 2*n*ff, in)
	size := len(both.Data) / (2 * n)
	view := func(name string, at int) *weights.Tensor {
		return &weights.Tensor{Name: name, Type: quant.Q4_K, Shape: []int{n, ff, in}, Data: both.Data[at : at+(2*n-1)*size], Step: 2 * size}
	}
	gate, up := view("gate", 0), view("up", size)
	down := tensor(r, "down", quant.Q5_K, n*(in+3), ff)
	down.Shape = []int{n, in + 3, ff}
	made := &weights.Tensor{Name: "made", Type: down.Type, Shape: down.Shape}
	made.Later(func(dst []byte) error { copy(dst, down.Data); return nil })
	set := &weights.Set{}
	set.Add(made)
	if err := set.FillContext(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	exec := func(b *Backend, w graph.Watch, down *weights.Tensor) graph.Exec {
		g := graph.NewBuilder(20, 20)
		x := g.Embed(g.Tokens(), tensor(rand.New(rand.NewPCG(5, 5)), "embed", quant.F32, 11, in))
		router := g.Linear(x, tensor(rand.New(rand.NewPCG(7, 7)), "router", quant.F32, n, in), nil)
		y := g.Experts(x, router, graph.Experts{Gate: gate, Up: up, Down: down, Routing: graph.Routing{Used: 2}, Act: graph.SiLU})
		p, err := g.Compile(g.Take(y, g.Wanted()))
		if err != nil {
			t.Fatal(err)
		}
		e, err := b.Compile(t.Context(), p, w)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	plain := Open(2).InFileOrder()
	defer plain.Close()
	want := results(t, exec(plain, graph.Watch{}, down))
	b := Open(2)
	defer b.Close()
	told := 0
	e := exec(b, graph.Watch{Copied: func(data []byte) { told += len(data) }}, down)
	row := len(down.Data) / (n * (in + 3))
	if len(b.copies.of) != 3 || told != len(both.Data)+n*in*row {
		t.Errorf("%d copies, Copied was called with %d bytes; want 3 and %d", len(b.copies.of), told, len(both.Data)+n*in*row)
	}
	if !slices.Equal(results(t, e), want) {
		t.Error("results differ from those in file order")
	}
	of := exec(b, graph.Watch{}, made)
	if len(b.copies.of) != 3 {
		t.Errorf("%d copies with experts that were made, want those of the others", len(b.copies.of))
	}
	if !slices.Equal(results(t, of), want) {
		t.Error("results of experts that were made differ")
	}
	e.Close()
	of.Close()
	if len(b.copies.of) != 0 {
		t.Errorf("%d copies are left", len(b.copies.of))
	}
}

// A load that is given up leaves no copies.
func TestRepackCancelled(t *testing.T) {
	whole, part := repacked()
	if matmul.Interleaves(quant.Q4_K, 16, 1024) == 0 {
		t.Skip("this CPU multiplies no type faster in another order")
	}
	b := Open(1)
	defer b.Close()
	g := graph.NewBuilder(2, 2)
	x := g.Embed(g.Tokens(), tensor(rand.New(rand.NewPCG(5, 5)), "embed", quant.F32, 11, 1024))
	p, err := g.Compile(g.Linear(x, whole, nil), g.Linear(x, part, nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	_, err = b.Compile(ctx, p, graph.Watch{Copied: func([]byte) { stop() }})
	if !errors.Is(err, context.Canceled) || len(b.copies.of) != 0 {
		t.Errorf("Compile = %v with %d copies left, want %v and none", err, len(b.copies.of), context.Canceled)
	}
}
