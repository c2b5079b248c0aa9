//go:build !noasm

package dot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// rounding runs a test with floats rounded, or skips it where vectors do not multiply bf16.
func rounding(t testing.TB) {
	t.Helper()
	if isa.Host() < isa.AVX512 {
		t.Skip("no AVX-512")
	}
	t.Cleanup(isa.Set(isa.AVX512))
	t.Cleanup(isa.RoundFloats(true))
	if !isa.Rounds() {
		t.Skip("no AVX512_BF16")
	}
}

// roundedBound is the error bound of SplitRows's comment.
func roundedBound(typ quant.Type, w, x []float32) (want, bound float64) {
	var mass, sums float64
	for i := range w {
		p := float64(w[i]) * float64(x[i])
		want += p
		mass += math.Abs(p)
		sums += math.Abs(float64(w[i])) + math.Abs(float64(x[i]))
	}
	steps := float64(len(w) / splitStep)
	relative := 0x1p-9 + (2*steps+22)*0x1p-24*1.01
	if typ == quant.F16 {
		relative = 0x1p-8 + 0x1p-18 + (2*steps+22)*0x1p-24*1.02
	}
	return want, relative*mass + 0x1p-125*(sums+2*float64(len(w)))
}

// roundedExact is the product of the rounded numbers, of which only the sums are rounded further,
// by at most bound.
func roundedExact(typ quant.Type, w, x []float32) (want, bound float64) {
	bf16 := func(v float32) float64 { return float64(quant.BF16ToF32(quant.F32ToBF16(v))) }
	whole := len(w) / splitStep * splitStep
	var mass, small float64
	for i := range w {
		p := float64(w[i]) * float64(x[i])
		if i < whole {
			p = bf16(w[i]) * bf16(x[i])
		}
		want += p
		mass += math.Abs(p)
		small += math.Abs(float64(w[i])) + math.Abs(float64(x[i])) + 2
	}
	return want, (2*float64(len(w)/splitStep)+22)*0x1p-24*1.02*mass + 0x1p-125*small
}

// TestRounded takes sizes at which tiles and steps are full and not.
func TestRounded(t *testing.T) {
	rounding(t)
	for _, typ := range splitTypes {
		r := rand.New(rand.NewPCG(31, uint64(typ)))
		for _, s := range []struct{ n, rows, batch int }{
			{0, 3, 2}, {1, 1, 1}, {31, 5, 16}, {32, 1, 1}, {32, 4, 2}, {33, 3, 3}, {64, 9, 1}, {64, 9, 6}, {96, 15, 13},
			{255, 31, 2}, {256, 33, 7}, {1000, 18, 4}, {40, 130, 34}, {4128, 33, 5}, {2048, 70, 40}, {70000, 9, 3},
		} {
			w := randomWeights(t, r, typ, s.rows, s.n)
			x, xs := activations(r, quant.F32, s.n, s.batch, 64)
			got := guardedSplit(t, typ, w, s.rows, s.n, x, xs, s.batch)
			wf, xf := make([]float32, s.rows*s.n), make([]float32, s.n)
			typ.Layout().Decode(wf, w)
			for b := range s.batch {
				quant.F32.Layout().Decode(xf, x[b*xs:b*xs+4*s.n])
				for r := range s.rows {
					got, wr := float64(got[b*s.rows+r]), wf[r*s.n:(r+1)*s.n]
					for what, bound := range map[string]func(quant.Type, []float32, []float32) (float64, float64){"exactly": roundedBound, "of rounded numbers": roundedExact} {
						if want, most := bound(typ, wr, xf); !(math.Abs(got-want) <= most) {
							t.Fatalf("%v %+v: weight row %d with row %d = %g, %s %g ± %g", typ, s, r, b, got, what, want, most)
						}
					}
				}
			}
		}
	}
}

// TestRoundedBatches holds a row to the bits it has alone, in every batch and however weight rows
// are cut.
func TestRoundedBatches(t *testing.T) {
	rounding(t)
	checkSplitBatches(t)
}

// TestRoundedExact: bf16 numbers whose sums are exact have no error at all, though they are F16.
func TestRoundedExact(t *testing.T) {
	rounding(t)
	const n, rows, batch = 320, 11, 9
	for _, typ := range splitTypes {
		r := rand.New(rand.NewPCG(33, uint64(typ)))
		wf, xf := make([]float32, rows*n), make([]float32, batch*n)
		for i := range wf {
			wf[i] = float32(r.IntN(255) - 127)
		}
		for i := range xf {
			xf[i] = float32(r.IntN(31)-15) / 16
		}
		w := make([]byte, 2*rows*n)
		typ.Layout().Encode(w, wf)
		got := guardedSplit(t, typ, w, rows, n, quant.Floats(xf), 4*n, batch)
		for b := range batch {
			for r := range rows {
				var want float32
				for i := range n {
					want += wf[r*n+i] * xf[b*n+i]
				}
				if got[b*rows+r] != want {
					t.Fatalf("%v: weight row %d with row %d = %g, want %g", typ, r, b, got[b*rows+r], want)
				}
			}
		}
	}
}

// TestRoundedWild: infinities and NaNs reach the results they belong to, and no others.
func TestRoundedWild(t *testing.T) {
	rounding(t)
	const n, rows, batch = 96, 7, 8
	inf := math.Inf(1)
	for _, typ := range splitTypes {
		for _, c := range []struct {
			name string
			w, x float64
			want func(float64) bool
		}{
			{"infinite weight", inf, 1, func(v float64) bool { return math.IsInf(v, 1) }},
			{"infinite activation", 1, -inf, func(v float64) bool { return math.IsInf(v, -1) }},
			{"infinity times zero", inf, 0, math.IsNaN},
			{"NaN weight", math.NaN(), 1, math.IsNaN},
			{"NaN activation", 1, math.NaN(), math.IsNaN},
		} {
			wf, xf := make([]float32, rows*n), make([]float32, batch*n)
			for i := range wf {
				wf[i] = 1
			}
			for i := range xf {
				xf[i] = 1
			}
			const row, act, at = 5, 3, 40
			wf[row*n+at], xf[act*n+at] = float32(c.w), float32(c.x)
			w := make([]byte, 2*rows*n)
			typ.Layout().Encode(w, wf)
			got := guardedSplit(t, typ, w, rows, n, quant.Floats(xf), 4*n, batch)
			if v := float64(got[act*rows+row]); !c.want(v) {
				t.Errorf("%v, %s: %g", typ, c.name, v)
			}
			for i, v := range got {
				if i%rows != row && i/rows != act && v != n {
					t.Errorf("%v, %s: result %d = %g, want %d", typ, c.name, i, v, n)
				}
			}
		}
	}
}

func TestRoundedAllocs(t *testing.T) {
	rounding(t)
	checkSplitAllocs(t)
}

// BenchmarkRounded has rounded products beside those of float32.
func BenchmarkRounded(b *testing.B) {
	if isa.Host() < isa.AVX512 {
		b.Skip("no AVX-512")
	}
	for _, typ := range splitTypes {
		for _, batch := range []int{1, 4, 16, 64, 512} {
			for _, on := range []bool{false, true} {
				b.Run(fmt.Sprintf("%v/batch=%d/rounded=%v", typ, batch, on), func(b *testing.B) {
					defer isa.RoundFloats(on)()
					benchRowsFloat(b, typ, isa.AVX512, 256, batch)
				})
			}
		}
	}
}
