package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// Rows of several adapters, and of none, give what the processor does; so do steps that are
// recorded with adapters and without.
func TestAdapted(t *testing.T) {
	const hidden, out = 64, 48
	r := rand.New(rand.NewPCG(3, 9))
	e, w := tensor(r, "embed", quant.F32, vocab, hidden), tensor(r, "w", quant.F32, out, hidden)
	change := func(rows, in int, typ quant.Type, a, b int) graph.Change {
		return graph.Change{A: tensor(r, "a", typ, a, b), B: tensor(r, "b", quant.F16, min(a, b), rows), Scale: 4}
	}
	changes := graph.Changes{
		Embed:  map[*weights.Tensor][]graph.Change{e: {change(hidden, vocab, quant.F32, vocab, 3), {}, {}}},
		Linear: map[*weights.Tensor][]graph.Change{w: {change(out, hidden, quant.F16, 8, hidden), {}, change(out, hidden, quant.BF16, 11, hidden)}},
	}
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprint("taken first ", taken), func(t *testing.T) {
			g := graph.NewBuilder(16, 8)
			g.Adapt(changes)
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
			var batches []*graph.Batch
			for _, adapters := range [][]int32{{0, 1, 3}, nil, {0, 0, 0}, {2, 3, 1}, nil} {
				in := step([3]int{0, 0, 3}, [3]int{1, 0, 1}, [3]int{2, 0, 4})
				in.Adapters = adapters
				batches = append(batches, in)
			}
			for _, adapters := range [][]int32{nil, nil, {3, 0, 1}, {1, 3, 0}, {0, 3, 0}, nil} {
				in := step([3]int{0, 3, 1}, [3]int{1, 1, 1}, [3]int{2, 4, 1})
				in.Adapters = adapters
				batches = append(batches, in)
			}
			f := driver.NewFake(1, gigabyte)
			counts := counted(f)
			compare(t, open(t, f, AllLayers), p, p.CacheSpec(16, 8, 1, quant.F32), batches, 1e-4)
			if f.Replays != 4 { // two without adapters, and two with
				t.Errorf("%d steps were replayed, want 4", f.Replays)
			}
			if n := counts["adapt_down"]; n == 0 || n >= len(batches) {
				t.Errorf("%d launches of adapt_down in %d steps", n, len(batches))
			}
		})
	}
}

// Experts of rows of several adapters, and of none, give what the processor does, whether
// weights of experts multiply what they are given or what they give.
func TestAdaptedExperts(t *testing.T) {
	const hidden, ff, experts = 64, 32, 6
	for _, onInput := range []bool{false, true} {
		t.Run(fmt.Sprint("on input ", onInput), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 10))
			e, router := tensor(r, "embed", quant.F32, vocab, hidden), tensor(r, "router", quant.F32, experts, hidden)
			gate, up := tensor(r, "gate", quant.Q8_0, experts, ff, hidden), tensor(r, "up", quant.F32, experts, ff, hidden)
			down := tensor(r, "down", quant.Q8_0, experts, hidden, ff)
			change := func(w *weights.Tensor, typ quant.Type, rank int) graph.Change {
				return graph.Change{A: tensor(r, "a", typ, experts, rank, w.Shape[2]), B: tensor(r, "b", quant.F16, experts, rank, w.Shape[1]), Scale: 4}
			}
			g := graph.NewBuilder(16, 8)
			g.Adapt(graph.Changes{Linear: map[*weights.Tensor][]graph.Change{
				gate: {change(gate, quant.F32, 3), {}, {}},
				up:   {change(up, quant.F16, 5), {}, change(up, quant.BF16, 9)},
				down: {{}, change(down, quant.F32, 2), change(down, quant.F32, 4)},
			}})
			x := g.Embed(g.Tokens(), e)
			y := g.Experts(x, g.Linear(x, router, nil), graph.Experts{Gate: gate, Up: up, Down: down, Act: graph.SiLU, Routing: graph.Routing{Used: 2, Sigmoid: onInput, OnInput: onInput, Renormalise: !onInput}})
			p, err := g.Compile(g.Take(y, g.Wanted()))
			if err != nil {
				t.Fatal(err)
			}
			var batches []*graph.Batch
			for _, adapters := range [][]int32{{0, 1, 3}, nil, {2, 3, 1}} {
				in := step([3]int{0, 0, 3}, [3]int{1, 0, 1}, [3]int{2, 0, 4})
				in.Adapters = adapters
				batches = append(batches, in)
			}
			f := driver.NewFake(1, gigabyte)
			counts := counted(f)
			compare(t, open(t, f, AllLayers), p, p.CacheSpec(16, 8, 1, quant.F32), batches, 1e-3)
			if n := counts["adapt_experts"]; n != 2 {
				t.Errorf("%d launches of adapt_experts in %d steps", n, len(batches))
			}
		})
	}
}
