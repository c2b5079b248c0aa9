package cpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

const (
	hidden, ff, vocab = 64, 96, 50
	heads, kvHeads    = 4, 2
	headDim           = 16
)

func tensor(r *rand.Rand, name string, typ quant.Type, shape ...int) *weights.Tensor {
	t := &weights.Tensor{Name: name, Type: typ, Shape: shape}
	f := make([]float32, t.Elems())
	for i := range f {
		f[i] = float32(r.NormFloat64()) / 8
	}
	n, ok := typ.Size(len(f))
	if !ok {
		panic(name)
	}
	t.Data = make([]byte, n)
	typ.Layout().Encode(t.Data, f)
	return t
}

// tiny records a two-layer model and compiles it for rows rows.
func tiny(t testing.TB, b *Backend, typ quant.Type, rows, want int) graph.Exec {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	g := graph.NewBuilder(rows, want)
	freqs := []float64{1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001}
	x := g.Embed(g.Tokens(), tensor(r, "embed", typ, vocab, hidden))
	for i := range 2 {
		h := g.RMSNorm(x, tensor(r, "norm", quant.F32, hidden), 1e-5)
		rope := graph.Rope{HeadDim: headDim, Freqs: freqs, Magnitude: 1}
		q := g.Rope(g.Linear(h, tensor(r, "q", typ, heads*headDim, hidden), tensor(r, "qb", quant.F32, heads*headDim)), g.Positions(), rope)
		k := g.Rope(g.Linear(h, tensor(r, "k", typ, kvHeads*headDim, hidden), nil), g.Positions(), rope)
		v := g.Linear(h, tensor(r, "v", typ, kvHeads*headDim, hidden), nil)
		a := g.Attention(q, k, v, graph.Attention{Layer: i, Heads: heads, KVHeads: kvHeads, HeadDim: headDim, Scale: 0.25, Window: 5 * i, SoftCap: float32(4 * i), Sinks: tensor(r, "sinks", quant.F32, heads)})
		x = g.Add(x, g.Linear(a, tensor(r, "o", typ, hidden, heads*headDim), nil))
		h = g.Gate(g.Linear(x, tensor(r, "gate", typ, ff, hidden), nil), g.Linear(x, tensor(r, "up", typ, ff, hidden), nil), graph.SiLU)
		x = g.Add(x, g.Linear(h, tensor(r, "down", typ, hidden, ff), nil))
		h = g.Bias(g.LayerNorm(x, tensor(r, "ln", quant.F32, hidden), tensor(r, "lnb", quant.F32, hidden), 1e-5), tensor(r, "bias", quant.F32, hidden))
		moe := g.Experts(h, g.Linear(h, tensor(r, "router", quant.F32, 4, hidden), nil), graph.Experts{
			Gate: tensor(r, "gates", typ, 4, ff, hidden), Up: tensor(r, "ups", typ, 4, ff, hidden), Down: tensor(r, "downs", typ, 4, hidden, ff),
			UpBias: tensor(r, "upbias", quant.F32, 4, ff), Routing: graph.Routing{Used: 2}, Act: graph.SwiGLUClamped,
		})
		u := g.Linear(g.Activate(g.Linear(h, tensor(r, "u", typ, ff, hidden), nil), graph.GELUTanh), tensor(r, "d", typ, hidden, ff), nil)
		u = g.Weigh(u, g.Linear(h, tensor(r, "w", quant.F32, 1, hidden), nil))
		x = g.Add(x, g.Scale(g.SoftCap(g.Add(moe, u), 3), 0.5))
	}
	p, err := g.Compile(g.Linear(g.Take(x, g.Wanted()), tensor(r, "out", typ, vocab, hidden), nil))
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func newCache(t testing.TB, b *Backend) graph.Cache {
	t.Helper()
	c, err := b.NewCache(graph.CacheSpec{Layers: graph.Alike(2, kvHeads, headDim), Blocks: 16, BlockSize: 4, Type: quant.F16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A row's result must not depend on how its sequence was cut into batches, on
// the other sequences in them, or on its blocks.
func TestBatchingChangesNothing(t *testing.T) {
	for _, typ := range []quant.Type{quant.F32, quant.F16, quant.Q8_0} {
		t.Run(typ.String(), func(t *testing.T) {
			b := Open(2)
			defer b.Close()
			e := tiny(t, b, typ, 32, 32)
			ctx := context.Background()
			tokens := []int32{3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 9, 7, 9}

			one := &graph.Batch{Tables: [][]int32{{0, 1, 2, 3}}}
			for i, id := range tokens {
				one.Tokens, one.Positions, one.Seq, one.Want = append(one.Tokens, id), append(one.Positions, int32(i)), append(one.Seq, 0), append(one.Want, int32(i))
			}
			out, err := e.Run(ctx, one, newCache(t, b))
			if err != nil {
				t.Fatal(err)
			}
			whole := append([]float32(nil), out[0]...)

			// The same sequence twice at once, in steps of different sizes.
			c := newCache(t, b)
			tables := [][]int32{{9, 4, 11, 7}, {2, 3, 8, 14}}
			for at, n := [2]int{}, 1; at[0] < len(tokens) || at[1] < len(tokens); n++ {
				in := &graph.Batch{Tables: tables}
				for s := range 2 {
					for k := 0; k < n+s && at[s] < len(tokens); k++ {
						in.Want = append(in.Want, int32(len(in.Tokens)))
						in.Tokens, in.Positions, in.Seq = append(in.Tokens, tokens[at[s]]), append(in.Positions, int32(at[s])), append(in.Seq, int32(s))
						at[s]++
					}
				}
				out, err := e.Run(ctx, in, c)
				if err != nil {
					t.Fatal(err)
				}
				for i, pos := range in.Positions {
					for k := range vocab {
						got, want := out[0][i*vocab+k], whole[int(pos)*vocab+k]
						if got != want {
							t.Fatalf("sequence %d position %d: logit %d is %g alone, %g batched", in.Seq[i], pos, k, want, got)
						}
					}
				}
			}
		})
	}
}

// Rows of a bidirectional pass see their whole sequence, or what is within half a window
// of them, and their bits do not depend on the sequences beside it.
func TestBidirectional(t *testing.T) {
	for _, tt := range []struct {
		name   string
		window int
		sees   int // how many rows, itself included, see the last of five
	}{
		{"whole", 0, 5}, {"window", 4, 3}, {"odd window", 3, 2}, {"wide window", 32, 5},
	} {
		t.Run(tt.name, func(t *testing.T) { bidirectional(t, tt.window, tt.sees) })
	}
}

func bidirectional(t *testing.T, window, sees int) {
	b := Open(2)
	defer b.Close()
	r := rand.New(rand.NewPCG(8, 8))
	g := graph.NewBuilder(16, 16)
	const width, places = heads * headDim, 8
	x := g.Add(g.Embed(g.Tokens(), tensor(r, "embed", quant.F32, vocab, width)), g.Embed(g.Positions(), tensor(r, "places", quant.F32, places, width)))
	o := graph.Attention{Heads: heads, KVHeads: heads, HeadDim: headDim, Scale: 0.25, Window: window, Bidirectional: true}
	for range heads {
		o.Slopes = append(o.Slopes, r.Float32())
	}
	a := g.Attention(x, x, x, o)
	p, err := g.Compile(g.Take(a, g.Wanted()))
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.NewCache(graph.CacheSpec{Layers: graph.Alike(1, heads, headDim), Blocks: 8, BlockSize: 4, Type: quant.F32})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	run := func(texts ...[]int32) []float32 {
		t.Helper()
		in := &graph.Batch{}
		for s, text := range texts {
			in.Tables = append(in.Tables, []int32{int32(2 * s), int32(2*s + 1)})
			for i, id := range text {
				in.Want = append(in.Want, int32(len(in.Tokens)))
				in.Tokens, in.Positions, in.Seq = append(in.Tokens, id), append(in.Positions, int32(i)), append(in.Seq, int32(s))
			}
		}
		out, err := e.Run(context.Background(), in, c)
		if err != nil {
			t.Fatal(err)
		}
		return append([]float32(nil), out[0]...)
	}
	one, two := []int32{3, 1, 4, 1, 5}, []int32{9, 2, 6}
	together := run(one, two)
	alone := append(run(one), run(two)...)
	for i := range alone {
		if together[i] != alone[i] {
			t.Fatalf("[%d] = %g together, %g alone", i, together[i], alone[i])
		}
	}
	changed := run([]int32{3, 1, 4, 1, 6})
	for i := range one {
		if see := changed[i*width] != alone[i*width]; see != (i >= len(one)-sees) {
			t.Errorf("row %d sees the last: %v", i, see)
		}
	}
	for name, in := range map[string]*graph.Batch{
		"a sequence from its middle": {Tokens: []int32{1}, Positions: []int32{1}, Seq: []int32{0}, Tables: [][]int32{{0}}},
		"a position too far":         {Tokens: []int32{1}, Positions: []int32{8}, Seq: []int32{0}, Tables: [][]int32{{0, 1, 2}}},
	} {
		if _, err := e.Run(context.Background(), in, c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	b := Open(2)
	defer b.Close()
	for _, typ := range []quant.Type{quant.F16, quant.Q8_0} {
		e, c := tiny(t, b, typ, 8, 8), newCache(t, b)
		in := &graph.Batch{Tokens: []int32{1, 2}, Positions: []int32{0, 0}, Seq: []int32{0, 1}, Tables: [][]int32{{0, 1}, {2, 3}}, Want: []int32{0, 1}}
		ctx := context.Background()
		run := func() {
			if _, err := e.Run(ctx, in, c); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%v: a decode step allocates %v times", typ, n)
		}
	}
}

// Rows are taken in Run, each once, on the pool, and not of a run that ends early.
func TestRunGives(t *testing.T) {
	for _, threads := range []int{1, 2, 4} {
		b := Open(threads)
		defer b.Close()
		e, c := tiny(t, b, quant.F32, 8, 8), newCache(t, b)
		in := &graph.Batch{Tokens: []int32{1, 2, 3, 4}, Positions: []int32{0, 0, 0, 0}, Seq: []int32{0, 1, 2, 3}, Tables: [][]int32{{0}, {1}, {2}, {3}}, Want: []int32{0, 2, 3}}
		out, err := e.Run(context.Background(), in, c)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(out[0])
		var calls [3]atomic.Int32
		got := make([]float32, len(want))
		width := len(want) / 3
		in.Take = func(i int, row graph.Row) {
			calls[i].Add(1)
			copy(got[i*width:(i+1)*width], row.Logits)
		}
		run := func() {
			if _, err := e.Run(context.Background(), in, c); err != nil {
				t.Fatal(err)
			}
		}
		run()
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("%d threads: row %d was taken %d times", threads, i, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d threads: took %v, want %v", threads, got, want)
		}
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%d threads: a run whose rows are taken allocates %v times", threads, n)
		}
		in.Want = nil
		in.Take = func(int, graph.Row) { t.Error("taken without a wanted row") }
		run()
		in.Want = []int32{1}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := e.Run(ctx, in, c); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	}
}

func TestRunChecksTheBatch(t *testing.T) {
	b := Open(1)
	defer b.Close()
	e, c := tiny(t, b, quant.F32, 4, 2), newCache(t, b)
	good := func() *graph.Batch {
		return &graph.Batch{Tokens: []int32{1, 2}, Positions: []int32{0, 1}, Seq: []int32{0, 0}, Tables: [][]int32{{0}}, Want: []int32{1}}
	}
	for _, tt := range []struct {
		name, want string
		spoil      func(*graph.Batch)
	}{
		{"empty", "a batch of 0 tokens", func(b *graph.Batch) { *b = graph.Batch{} }},
		{"too many rows", "a batch of 5 tokens", func(b *graph.Batch) { b.Tokens = make([]int32, 5) }},
		{"lengths differ", "1 positions", func(b *graph.Batch) { b.Positions = b.Positions[:1] }},
		{"token", "token 50 of a vocabulary of 50", func(b *graph.Batch) { b.Tokens[0] = vocab }},
		{"negative token", "token -1", func(b *graph.Batch) { b.Tokens[0] = -1 }},
		{"wanted row", "row 2 wanted of 2", func(b *graph.Batch) { b.Want[0] = 2 }},
		{"position past the table", "position 4 of sequence 0", func(b *graph.Batch) { b.Positions[1] = 4 }},
		{"sequence", "sequence 1", func(b *graph.Batch) { b.Seq[1] = 1 }},
		{"block", "block 16 of 16", func(b *graph.Batch) { b.Tables[0][0] = 16 }},
	} {
		in := good()
		tt.spoil(in)
		if _, err := e.Run(context.Background(), in, c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Run(ctx, good(), c); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled run: %v", err)
	}
	if _, err := e.Run(context.Background(), good(), c); err != nil {
		t.Errorf("after the errors: %v", err)
	}
}

// Every op has its row: a missing one would be found by the first request that needs it.
func TestEveryOp(t *testing.T) {
	for _, op := range graph.Ops() {
		if _, ok := ops[reflect.TypeOf(op)]; !ok {
			t.Errorf("no row for %T", op)
		}
	}
	if len(ops) != len(graph.Ops()) {
		t.Errorf("%d rows for %d ops", len(ops), len(graph.Ops()))
	}
}

func BenchmarkDecodeStep(b *testing.B) {
	be := Open(2)
	defer be.Close()
	e, c := tiny(b, be, quant.Q8_0, 1, 1), newCache(b, be)
	in := &graph.Batch{Tokens: []int32{1}, Positions: []int32{0}, Seq: []int32{0}, Tables: [][]int32{{0}}, Want: []int32{0}}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Run(ctx, in, c); err != nil {
			b.Fatal(err)
		}
	}
}
