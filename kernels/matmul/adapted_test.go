package matmul

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// TestExpertsAdapted holds experts with the changes of two adapters, of which the second leaves
// gates alone and one expert's up, against merged weights in float64, and every row against the
// same row alone and beside others, bit for bit.
func TestExpertsAdapted(t *testing.T) {
	for _, tt := range []struct {
		name           string
		gate, up, down quant.Type
		onInput        bool
		bound          float64 // of the result's rms
	}{
		{"F32", quant.F32, quant.F32, quant.F32, false, 1e-5},
		{"F16", quant.F16, quant.F16, quant.F16, false, 4e-5},
		{"one of them as floats", quant.Q8_0, quant.F32, quant.Q8_0, false, 1e-1},
		{"Q8_0, weighed before", quant.Q8_0, quant.Q8_0, quant.Q8_0, true, 0},
		{"Q4_K", quant.Q4_K, quant.Q4_K, quant.Q4_K, false, 1e-1},
	} {
		const n, in, ff, out, most = 4, 256, 256, 256, 11
		r := rand.New(rand.NewPCG(3, 8))
		o := ExpertsOptions{Routing: Routing{Used: 2, Renormalise: !tt.onInput, OnInput: tt.onInput}, Act: vec.SiLUGate}
		var w [3][]float32
		o.Gate, w[0] = stack(r, tt.gate, n, ff, in, false)
		o.Up, w[1] = stack(r, tt.up, n, ff, in, true)
		o.Down, w[2] = stack(r, tt.down, n, out, ff, true)
		merged := [3][3][]float32{w, {slices.Clone(w[0]), slices.Clone(w[1]), slices.Clone(w[2])}, {w[0], slices.Clone(w[1]), slices.Clone(w[2])}}
		for i, of := range []struct {
			s  *Stack
			to *[]Change
		}{{&o.Gate, &o.GateChanges}, {&o.Up, &o.UpChanges}, {&o.Down, &o.DownChanges}} {
			for a, rank := range []int{3, 20} {
				for x := range n {
					if a == 1 && (i == 0 || i == 1 && x == 2) {
						*of.to = append(*of.to, Change{})
						continue
					}
					c, fa, fb := madeChange(r, quant.F16, quant.F32, of.s.Out, of.s.In, rank)
					c.Scale = 0.02
					*of.to = append(*of.to, c)
					m := merged[1+a][i][x*of.s.Out*of.s.In:]
					for row := range of.s.Out {
						for k := range rank {
							by := 0.02 * fb[k*of.s.Out+row]
							for col, v := range fa[k*of.s.In : (k+1)*of.s.In] {
								m[row*of.s.In+col] += by * v
							}
						}
					}
				}
			}
		}
		x, router := kerneltest.Floats(r, most*in), kerneltest.Floats(r, most*n)
		for i := range x {
			x[i] /= 16
		}
		runs := []Run{{0, 2, 0}, {2, 3, -1}, {3, 7, 1}, {7, 10, 0}, {10, 11, -1}}
		var wants [most][]float64 // slowExperts weighs results, so not of what is weighed before
		for _, run := range runs {
			m := merged[1+run.Change]
			for row := run.From; row < run.To && !tt.onInput; row++ {
				wants[row] = slowExperts(&o, m[0], m[1], m[2], n, x[row*in:(row+1)*in], router[row*n:(row+1)*n])
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			isatest.Each(t, func(t *testing.T) {
				p := threads.NewPool(2)
				defer p.Close()
				e := NewExperts(o, n, most)
				whole, plain := make([]float32, most*out), make([]float32, most*out)
				e.Run(p, whole, x, router, most, runs)
				e.Run(p, plain, x, router, most, nil)
				for _, run := range runs {
					for row := run.From; row < run.To; row++ {
						got, want := whole[row*out:(row+1)*out], wants[row]
						var ss float64
						for _, v := range want {
							ss += v * v
						}
						for i := range want {
							kerneltest.Within(t, got[i], want[i], math.Sqrt(ss/out)*tt.bound, "row %d [%d]", row, i)
						}
						one := make([]float32, out)
						e.Run(p, one, x[row*in:(row+1)*in], router[row*n:(row+1)*n], 1, []Run{{0, 1, run.Change}})
						if !slices.Equal(one, got) {
							t.Fatalf("row %d has other bits alone", row)
						}
						if same := slices.Equal(got, plain[row*out:(row+1)*out]); same != (run.Change < 0) {
							t.Errorf("row %d with adapter %d: as without, %v", row, run.Change, same)
						}
					}
				}
				if a := testing.AllocsPerRun(2, func() { e.Run(p, whole, x, router, most, runs) }); a != 0 && runtime.GOOS != "js" {
					t.Errorf("a run allocates %v times", a)
				}
			})
		})
	}
}
