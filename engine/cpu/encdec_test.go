package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

func values(t *weights.Tensor) []float64 {
	f := make([]float32, t.Elems())
	t.Type.Layout().Decode(f, t.Data)
	x := make([]float64, len(f))
	for i, v := range f {
		x[i] = float64(v)
	}
	return x
}

func compileFor(t *testing.T, b *Backend, g *graph.Builder, results ...graph.Value) graph.Exec {
	t.Helper()
	p, err := g.Compile(results...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// window is a batch of one sequence of features.
func window(rows, width int) *graph.Batch {
	r := rand.New(rand.NewPCG(1, 2))
	in := &graph.Batch{Positions: make([]int32, rows), Seq: make([]int32, rows), Tables: [][]int32{{3, 1, 2}}}
	for i := range rows {
		in.Positions[i] = int32(i)
		in.Want = append(in.Want, int32(i))
	}
	for range rows * width {
		in.Features = append(in.Features, float32(r.NormFloat64()))
	}
	return in
}

func closeTo(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", name, len(got), len(want))
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d < 1e-5*(1+math.Abs(w))) {
			t.Fatalf("%s: [%d] = %g, want %g", name, i, got[i], w)
		}
	}
}

// Two convolutions over rows of two steps, of which the second halves the steps.
func TestConv1D(t *testing.T) {
	b := Open(2)
	defer b.Close()
	const rows, in, mid, out, taps = 9, 3, 5, 4, 3
	r := rand.New(rand.NewPCG(3, 3))
	w1, b1 := tensor(r, "w1", quant.F16, mid, in, taps), tensor(r, "b1", quant.F32, mid, 1)
	w2 := tensor(r, "w2", quant.F32, out, mid, taps)
	g := graph.NewBuilder(rows, rows)
	x := g.Conv1D(g.Features(2*in), graph.Conv1D{Weight: w1, Bias: b1, Steps: 2, Stride: 1})
	e := compileFor(t, b, g, g.Conv1D(x, graph.Conv1D{Weight: w2, Steps: 2, Stride: 2}))

	naive := func(x []float64, w, bias *weights.Tensor, stride int) []float64 {
		out, in, steps := w.Shape[0], w.Shape[1], len(x)/w.Shape[1]
		k := values(w)
		var y []float64
		for t := 0; t < steps; t += stride {
			for o := range out {
				sum := 0.0
				if bias != nil {
					sum = values(bias)[o]
				}
				for tap := range taps {
					if at := t + tap - 1; at >= 0 && at < steps {
						for i := range in {
							sum += k[(o*in+i)*taps+tap] * x[at*in+i]
						}
					}
				}
				y = append(y, sum)
			}
		}
		return y
	}
	// Two sequences in a batch do not touch.
	batch := window(rows, 2*in)
	for i := 4; i < rows; i++ {
		batch.Seq[i], batch.Positions[i] = 1, int32(i-4)
	}
	got, err := e.Run(context.Background(), batch, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	for _, part := range [][]float32{batch.Features[:4*2*in], batch.Features[4*2*in:]} {
		x := make([]float64, len(part))
		for i, v := range part {
			x[i] = float64(v)
		}
		want = append(want, naive(naive(x, w1, b1, 1), w2, nil, 2)...)
	}
	closeTo(t, "convolution", got[0], want)
}

// softmaxed is attention in float64: rows of q to rows of k and v.
func softmaxed(q, k, v []float64, heads, dim int, scale float64) []float64 {
	width := heads * dim
	y := make([]float64, len(q))
	for r := range len(q) / width {
		for h := range heads {
			n := len(k) / width
			p, sum := make([]float64, n), 0.0
			for i := range n {
				s := 0.0
				for d := range dim {
					s += q[r*width+h*dim+d] * k[i*width+h*dim+d]
				}
				p[i] = math.Exp(s * scale)
				sum += p[i]
			}
			for i := range n {
				for d := range dim {
					y[r*width+h*dim+d] += p[i] / sum * v[i*width+h*dim+d]
				}
			}
		}
	}
	return y
}

func product(x []float64, w *weights.Tensor) []float64 {
	out, in, k := w.Shape[0], w.Shape[1], values(w)
	var y []float64
	for r := range len(x) / in {
		for o := range out {
			sum := 0.0
			for i := range in {
				sum += x[r*in+i] * k[o*in+i]
			}
			y = append(y, sum)
		}
	}
	return y
}

// An encoder attends to itself and stores keys and values; a decoder attends to
// them, and its scores are those of the attention.
func TestEncoderAndDecoder(t *testing.T) {
	b := Open(2)
	defer b.Close()
	const rows, hd, dim, width = 10, 2, 4, 8
	r := rand.New(rand.NewPCG(4, 4))
	for _, typ := range []quant.Type{quant.F32, quant.F16} {
		wq, wk, wv := tensor(r, "q", typ, width, width), tensor(r, "k", typ, width, width), tensor(r, "v", typ, width, width)
		g := graph.NewBuilder(rows, 1)
		x := g.Features(width)
		q, k, v := g.Linear(x, wq, nil), g.Linear(x, wk, nil), g.Linear(x, wv, nil)
		a := g.DenseAttention(q, k, v, graph.DenseAttention{Heads: hd, HeadDim: dim, Scale: 0.5})
		encoder := compileFor(t, b, g, g.Store(a, k, v, 1))
		cache, err := b.NewCache(graph.CacheSpec{Layers: graph.Alike(2, hd, dim), Blocks: 6, BlockSize: 4, Type: quant.F32})
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		in := window(rows, width)
		in.Want = nil
		out, err := encoder.Run(context.Background(), in, cache)
		if err != nil {
			t.Fatal(err)
		}
		f := make([]float64, len(in.Features))
		for i, v := range in.Features {
			f[i] = float64(v)
		}
		keys, vals := product(f, wk), product(f, wv)
		closeTo(t, "dense attention", out[0], softmaxed(product(f, wq), keys, vals, hd, dim, 0.5))

		embed := tensor(r, "embed", quant.F32, vocab, width)
		g = graph.NewBuilder(8, 8)
		cross := graph.CrossAttention{Layer: 1, Heads: hd, HeadDim: dim, Tokens: rows, Scale: 0.5}
		y := g.Embed(g.Tokens(), embed)
		decoder := compileFor(t, b, g, g.CrossAttention(y, cross), g.CrossScores(y, graph.CrossScores{CrossAttention: cross, Of: []int{1}}))
		step := &graph.Batch{
			Tokens: []int32{3, 1, 4, 1}, Positions: []int32{0, 1, 0, 0}, Seq: []int32{0, 0, 1, 2},
			Tables: [][]int32{{0}, {4}, {5}}, Memory: [][]int32{in.Tables[0], in.Tables[0], in.Tables[0]},
		}
		out, err = decoder.Run(context.Background(), step, cache)
		if err != nil {
			t.Fatal(err)
		}
		var queries []float64
		all := values(embed)
		for _, id := range step.Tokens {
			queries = append(queries, all[int(id)*width:(int(id)+1)*width]...)
		}
		closeTo(t, "cross attention", out[0], softmaxed(queries, keys, vals, hd, dim, 0.5))
		var scores []float64
		for r := range step.Tokens {
			for i := range rows {
				s := 0.0
				for d := range dim {
					s += queries[r*width+dim+d] * keys[i*width+dim+d]
				}
				scores = append(scores, s*0.5)
			}
		}
		closeTo(t, "scores", out[1], scores)

		// A row's bits do not depend on the other rows of its memory.
		together := append([]float32(nil), out[0][3*width:4*width]...)
		one := &graph.Batch{Tokens: []int32{1}, Positions: []int32{0}, Seq: []int32{0}, Tables: [][]int32{{5}}, Memory: [][]int32{in.Tables[0]}}
		if out, err = decoder.Run(context.Background(), one, cache); err != nil {
			t.Fatal(err)
		}
		for i, v := range out[0] {
			if v != together[i] {
				t.Fatalf("[%d] = %g alone, %g together", i, v, together[i])
			}
		}

		for _, bad := range []struct {
			name, want string
			exec       graph.Exec
			spoil      func() *graph.Batch
		}{
			{"no memory", "0 memories for 1 sequences", decoder, func() *graph.Batch { c := *one; c.Memory = nil; return &c }},
			{"short memory", "attends to 2 blocks of 4", decoder, func() *graph.Batch { c := *one; c.Memory = [][]int32{{3, 1}}; return &c }},
			{"a block too many", "block 6 of 6", decoder, func() *graph.Batch { c := *one; c.Memory = [][]int32{{3, 1, 6}}; return &c }},
			{"few features", "79 features for 10 rows of 8", encoder, func() *graph.Batch { c := *in; c.Features = c.Features[1:]; return &c }},
			{"part of a window", "a batch of 9 rows", encoder, func() *graph.Batch {
				c := *in
				c.Positions, c.Seq, c.Features = c.Positions[1:], c.Seq[1:], c.Features[width:]
				return &c
			}},
		} {
			if _, err := bad.exec.Run(context.Background(), bad.spoil(), cache); err == nil || !strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: error %v, want %q", bad.name, err, bad.want)
			}
		}
	}
}

// Waiters acquire the turn in order, before its holder does again.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := newTurn()
		turn.take()
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				turn.take()
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				turn.give()
			}()
			synctest.Wait() // until it waits
		}
		start := time.Now()
		if got := turn.yield(start); got != start {
			t.Error("a turn that just began was given up")
		}
		time.Sleep(quantum)
		if got := turn.yield(start); !got.After(start) || len(order) != 3 {
			t.Error("a long turn was not given up")
		}
		turn.give()
		wg.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 1 || order[2] != 2 {
			t.Errorf("turns went to %v", order)
		}
	})
}
