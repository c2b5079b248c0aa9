package cuda_test

import (
	"fmt"
	"math"
	"testing"

	"quern/kernels"
	"quern/kernels/cuda"
	"quern/kernels/quant"
)

// TestExperts runs a whole mixture on the GPU's kernels and on kernels.Experts.
func TestExperts(t *testing.T) {
	const in, ff, out, rows = 64, 32, 7, 3
	p := kernels.NewPool(1)
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
			stack := func(seed uint64, out, in int) (kernels.Stack, []float32) {
				s := kernels.Stack{Type: tt.t, Data: encode(tt.t, random(seed, tt.experts*out*in)), Out: out, In: in}
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
			o := kernels.ExpertsOptions{Gate: gate, Up: up, Down: down, Used: tt.used, Renormalise: tt.renormalise, SparseMixer: tt.sparse, Jitter: 0.1, Act: kernels.SiLUGate}
			want := make([]float32, rows*out)
			kernels.NewExperts(o, tt.experts, rows).Run(p, want, x, router, rows)

			g := &gpu{TB: t}
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
				q := g.Alloc(rows * quant.ActBytes(quant.X32, n))
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
			largest := 0.0
			for _, v := range want {
				largest = max(largest, math.Abs(float64(v)))
			}
			near(t, "mixture", g.got(dst, rows*out), want, func(int) float64 {
				if cuda.Quantised(tt.t) { // a value half way is rounded either way
					return 0.01 * largest
				}
				return 2e-5 * largest
			})
		})
	}
}

func TestSample(t *testing.T) {
	const n, rows = 1003, 3
	logits := random(1, n*rows)
	logits[17], logits[900] = 9, 9
	logits[n] = float32(math.NaN())
	logits[n+5] = 8
	logits[2*n+1002] = 7
	g := &gpu{TB: t}
	p, dst := g.floats(logits), g.Alloc(4*rows)
	g.run("argmax", cuda.Dims{Rows: rows}, dst, p, n)
	if got, want := fmt.Sprint(g.gotInts(dst, rows)), "[17 5 1002]"; got != want {
		t.Errorf("argmax is %s, want %s", got, want)
	}
	// Of row 0's two best, equal ones, u above a half takes the second; k of 1
	// leaves no choice; a low temperature leaves none in effect.
	g.run("sample", cuda.Dims{Rows: rows}, dst, p, g.floats([]float32{0.6, 0.99, 0.9999}), g.floats([]float32{1, 1, 0.01}), g.ints(2, 1, 40), n)
	if got, want := fmt.Sprint(g.gotInts(dst, rows)), "[900 5 1002]"; got != want {
		t.Errorf("sample is %s, want %s", got, want)
	}
	// Many draws follow the softmax.
	small := []float32{1, 3, 2, -1}
	weights, sum := make([]float64, 4), 0.0
	for i, v := range small {
		weights[i] = math.Exp(float64(v) / 0.7)
		sum += weights[i]
	}
	const draws = 400
	var all, u, temperature []float32
	var k []int32
	for i := range draws {
		all = append(all, small...)
		u = append(u, (float32(i)+0.5)/draws)
		temperature = append(temperature, 0.7)
		k = append(k, 9)
	}
	dst = g.Alloc(4 * draws)
	g.run("sample", cuda.Dims{Rows: draws}, dst, g.floats(all), g.floats(u), g.floats(temperature), g.ints(k...), 4)
	counts := make([]float64, 4)
	for _, token := range g.gotInts(dst, draws) {
		counts[token]++
	}
	for i, c := range counts {
		if want := weights[i] / sum * draws; math.Abs(c-want) > 1.01 {
			t.Errorf("token %d drawn %g times of %d, want %g", i, c, draws, want)
		}
	}
}
