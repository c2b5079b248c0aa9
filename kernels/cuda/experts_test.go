package cuda_test

import (
	"fmt"
	"math"
	"testing"

	"quern/kernels/cuda"
	"quern/kernels/matmul"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// TestExperts runs a whole MoE layer on the GPU's kernels and on kernels.Experts.
func TestExperts(t *testing.T) {
	const in, ff, out, rows = 64, 32, 7, 3
	p := threads.NewPool(1)
	defer p.Close()
	for _, tt := range []struct {
		experts, used       int
		renormalise, sparse bool
		t                   quant.Type
		bias                bool
	}{
		{4, 2, true, false, quant.F32, true},
		{40, 3, false, false, quant.Q8_0, false},
		{33, 1, false, true, quant.F16, true},
		{8, 2, false, true, quant.BF16, false},
		{5, 5, true, false, quant.Q4_0, true},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			stack := func(seed uint64, out, in int) (matmul.Stack, []float32) {
				s := matmul.Stack{Type: tt.t, Data: encode(tt.t, random(seed, tt.experts*out*in)), Out: out, In: in}
				if tt.bias {
					s.Bias = random(seed+9, tt.experts*out)
				}
				return s, s.Bias
			}
			gate, gb := stack(1, ff, in)
			up, ub := stack(2, ff, in)
			down, db := stack(3, out, ff)
			x, router := random(4, rows*in), random(5, rows*tt.experts)
			router[1], router[2], router[0] = 3, 3, 3 // equals: the lower wins
			o := matmul.ExpertsOptions{Gate: gate, Up: up, Down: down, Routing: matmul.Routing{Used: tt.used, Renormalise: tt.renormalise, SparseMixer: tt.sparse, Jitter: 0.1}, Act: vec.SiLUGate}
			want := make([]float32, rows*out)
			matmul.NewExperts(o, tt.experts, rows).Run(p, want, x, router, rows, nil)

			g := newGPU(t)
			flag := map[bool]int{true: 1}
			vec := func(v []float32) uint64 {
				if v == nil {
					return none
				}
				return g.floats(v)
			}
			acts := func(p uint64, rows, n int) uint64 {
				if !cuda.Quantised(tt.t) {
					return p
				}
				q := g.Alloc(rows * quant.ActBytes(quant.ActQ8_32, n))
				g.run("quantize", cuda.Dims{In: n, Rows: rows}, q, p, n)
				return q
			}
			slots := rows * tt.used
			chosen, weight := g.Alloc(4*slots), g.Alloc(4*slots)
			g.run("experts_choose", cuda.Dims{Rows: rows}, chosen, weight, g.floats(router), tt.experts, tt.used, flag[tt.renormalise], flag[tt.sparse], float32(0.1))
			if got := g.gotInts(chosen, tt.used); got[0] != 0 && router[0] >= 3 {
				t.Errorf("row 0 goes to %v first, not to the lowest of equals", got)
			}
			h, u, y, dst := g.Alloc(4*slots*ff), g.Alloc(4*slots*ff), g.Alloc(4*slots*out), g.Alloc(4*rows*out)
			name, ax := cuda.Name("expert_gemv", tt.t), acts(g.floats(x), rows, in)
			g.run(name, cuda.Dims{Rows: slots, Out: ff}, h, g.bytes(gate.Data), ax, vec(gb), chosen, ff, in, tt.used)
			g.run(name, cuda.Dims{Rows: slots, Out: ff}, u, g.bytes(up.Data), ax, vec(ub), chosen, ff, in, tt.used)
			g.run("gate", cuda.Dims{Rows: slots, Out: ff}, h, h, u, slots*ff, 0)
			g.run(name, cuda.Dims{Rows: slots, Out: out}, y, g.bytes(down.Data), acts(h, slots, ff), vec(db), chosen, out, ff, 1)
			g.run("experts_combine", cuda.Dims{Rows: rows, Out: out}, dst, y, weight, out, tt.used)
			// In two launches come the same bits.
			for blocks := 1; blocks <= 3; blocks += 2 {
				d := cuda.Dims{Rows: rows, Blocks: blocks}
				n, fused, sum := cuda.TypeNumber(tt.t), g.Alloc(4*slots*ff), g.Alloc(4*rows*out)
				g.runWith(cuda.ExpertsHeld("gated", tt.t, tt.used, in), cuda.ExpertsName("gated", tt.t), d, fused, g.bytes(gate.Data), vec(gb), n, g.bytes(up.Data), vec(ub), n,
					g.floats(x), chosen, 0, tt.used, ff, in, rows)
				same(t, "gated", g.got(fused, slots*ff), g.got(h, slots*ff))
				room := tt.used + 1 // makes several turns of it
				g.runWith(cuda.ExpertsHeld("down", tt.t, tt.used, ff), cuda.ExpertsName("down", tt.t), d, sum, g.bytes(down.Data), vec(db), n, fused, chosen, weight, tt.used, room, out, ff, rows)
				same(t, "down", g.got(sum, rows*out), g.got(dst, rows*out))
			}
			largest := 0.0
			for _, v := range want {
				largest = max(largest, math.Abs(float64(v)))
			}
			near(t, "MoE layer", g.got(dst, rows*out), want, func(int) float64 {
				if cuda.Quantised(tt.t) { // a value half way is rounded either way
					return 0.01 * largest
				}
				return 2e-5 * largest
			})
		})
	}
}

// TestRoute holds routings that are not plain against those of a whole mixture on the CPU: its
// experts give ones, so a row's result is what they weigh together.
func TestRoute(t *testing.T) {
	const n, rows = 40, 3
	bias, scales := random(7, n), random(8, n)
	p := threads.NewPool(1)
	defer p.Close()
	for name, o := range map[string]matmul.Routing{
		"sigmoids":             {Used: 3, Sigmoid: true},
		"sigmoids and a bias":  {Used: 4, Sigmoid: true, Bias: bias, Renormalise: true, Scale: 2.5},
		"groups":               {Used: 5, Sigmoid: true, Bias: bias, Groups: 8, UsedGroups: 3, Renormalise: true},
		"groups by their best": {Used: 3, Groups: 5, UsedGroups: 1, GroupMax: true, Scale: 16},
		"groups of one":        {Used: 2, Groups: 40, UsedGroups: 7},
		"factors":              {Used: 2, Renormalise: true, Factors: scales},
		"a bias on a softmax":  {Used: 6, Bias: bias},
	} {
		t.Run(name, func(t *testing.T) {
			router := random(9, rows*n)
			router[1], router[2], router[0] = 3, 3, 3 // equals: the lower wins
			// Expert i gives one in column i: a row's result is the weight of each.
			eye := make([]float32, n*n)
			for i := range n {
				eye[i*n+i] = 1
			}
			up := make([]float32, n)
			for i := range up {
				up[i] = 1
			}
			stack := func(v []float32, out int) matmul.Stack {
				return matmul.Stack{Type: quant.F32, Data: quant.Floats(v), Out: out, In: 1}
			}
			x := []float32{1, 1, 1}
			want := make([]float32, rows*n)
			matmul.NewExperts(matmul.ExpertsOptions{Up: stack(up, 1), Down: stack(eye, n), Routing: o, Act: func(dst, g, _ []float32) { copy(dst, g) }}, n, rows).Run(p, want, x, router, rows, nil)

			g := newGPU(t)
			flag := map[bool]int{true: 1}
			vector := func(v []float32) uint64 {
				if v == nil {
					return none
				}
				return g.floats(v)
			}
			for _, onInput := range []bool{false, true} {
				chosen, weight, by := g.Alloc(4*rows*o.Used), g.Alloc(4*rows*o.Used), none
				if onInput {
					by = g.Alloc(4 * rows * o.Used)
				}
				g.run("experts_route", cuda.Dims{Rows: rows}, chosen, weight, by, g.floats(router), vector(o.Bias), vector(o.Factors), n, o.Used,
					flag[o.Sigmoid], max(1, o.Groups), o.UsedGroups, flag[o.GroupMax], flag[o.Renormalise], o.Scale)
				weights := g.got(weight, rows*o.Used)
				if onInput {
					for i, w := range weights {
						if w != 1 {
							t.Fatalf("slot %d counts %g, want 1", i, w)
						}
					}
					weights = g.got(by, rows*o.Used)
					dst := g.Alloc(4 * rows * o.Used * 2)
					g.run("experts_inputs", cuda.Dims{Rows: rows * o.Used, Out: 2}, dst, g.floats([]float32{1, 2, 3, 4, 5, 6}), by, 2, o.Used)
					for i, v := range g.got(dst, rows*o.Used*2) {
						if want := weights[i/2] * float32(i/2/o.Used*2+i%2+1); v != want {
							t.Fatalf("input %d is %g, want %g", i, v, want)
						}
					}
				}
				got := make([]float32, rows*n)
				for i, e := range g.gotInts(chosen, rows*o.Used) {
					got[i/o.Used*n+int(e)] = weights[i]
				}
				near(t, name, got, want, func(i int) float64 { return 2e-5 * math.Abs(float64(want[i])) })
			}
		})
	}
}

// Heads that have a matrix each go through expert_gemv without a choice.
func TestHeadMatrices(t *testing.T) {
	const heads, out, in, rows = 3, 5, 64, 2
	for _, typ := range []quant.Type{quant.F32, quant.Q8_0} {
		w, x := encode(typ, random(1, heads*out*in)), random(2, rows*heads*in)
		g := newGPU(t)
		px, dst := g.floats(x), g.Alloc(4*rows*heads*out)
		if cuda.Quantised(typ) {
			px = g.Alloc(rows * heads * quant.ActBytes(quant.ActQ8_32, in))
			g.run("quantize", cuda.Dims{In: in, Rows: rows * heads}, px, g.floats(x), in)
		}
		g.run(cuda.Name("expert_gemv", typ), cuda.Dims{Rows: rows * heads, Out: out}, dst, g.bytes(w), px, none, none, out, in, heads)
		plain, want := decode(typ, w, heads*out*in), make([]float32, rows*heads*out)
		for i := range want {
			for k := range in {
				want[i] += plain[i%(heads*out)*in+k] * x[i/out*in+k]
			}
		}
		near(t, "heads by "+typ.String(), g.got(dst, len(want)), want, func(int) float64 { return map[bool]float64{false: 1e-4, true: 0.4}[cuda.Quantised(typ)] })
	}
}

// Rows of two adapters, of one that changes nothing and of none.
func TestAdapters(t *testing.T) {
	const in, out, vocab, room = 70, 300, 5, 9
	ranks, scales := []int{3, 0, room}, []float32{0.5, 1, 2}
	g := newGPU(t)
	adapters := []int32{1, 0, 3, 2}
	x, y, ids := random(1, len(adapters)*in), random(2, len(adapters)*out), []int32{4, 1, 0, 2}
	for _, lookup := range []bool{false, true} {
		width := in
		if lookup {
			width = vocab
		}
		var table []int32
		as, bs := make([][]float32, len(ranks)), make([][]float32, len(ranks))
		for i, rank := range ranks {
			var at [2]uint64
			if rank > 0 {
				as[i], bs[i] = random(uint64(3+i), rank*width), random(uint64(8+i), rank*out)
				at = [2]uint64{g.floats(as[i]), g.floats(bs[i])}
			}
			for _, p := range at {
				table = append(table, int32(p), int32(p>>32))
			}
			table = append(table, int32(rank), int32(math.Float32bits(scales[i])))
		}
		want := make([]float32, len(y))
		copy(want, y)
		for r, n := range adapters {
			if n == 0 {
				continue
			}
			a, b, rank := as[n-1], bs[n-1], ranks[n-1]
			for k := range rank {
				low := 0.0
				for i := range in {
					if lookup {
						low = float64(a[int(ids[r])*rank+k])
						break
					}
					low += float64(a[k*in+i]) * float64(x[r*in+i])
				}
				for i := range out {
					want[r*out+i] += float32(float64(scales[n-1]) * low * float64(b[k*out+i]))
				}
			}
		}
		changes, of, dst, low, at := g.ints(table...), g.ints(adapters...), g.floats(y), none, none
		if lookup {
			at = g.ints(ids...)
		} else {
			low = g.Alloc(4 * len(adapters) * room)
			g.run("adapt_down", cuda.Dims{Rows: len(adapters), Out: room}, low, g.floats(x), changes, of, in, room, 1)
		}
		g.run("adapt_up", cuda.Dims{Rows: len(adapters), Out: out}, dst, low, changes, of, at, out, room)
		near(t, fmt.Sprintf("adapters, lookup %v", lookup), g.got(dst, len(y)), want, func(i int) float64 { return 1e-5 * (20 + math.Abs(float64(want[i]))) })
		same(t, "a row without", g.got(dst, len(y))[out:2*out], y[out:2*out])
	}
}
