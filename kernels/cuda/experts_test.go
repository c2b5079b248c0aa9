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
			matmul.NewExperts(o, tt.experts, rows).Run(p, want, x, router, rows)

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
