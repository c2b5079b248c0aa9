package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
)

// Sums, products and the like of two vectors, at all lengths around a vector's, into memory of
// their own and into an operand's.
func TestArithmetic(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 1))
		for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, 33, 200, mostPoints + 19} {
			x, y := kerneltest.Floats(r, n), kerneltest.Floats(r, n)
			for _, tt := range []struct {
				name string
				f    func(dst, x, y []float32)
				want func(x, y float64) float64
			}{
				{"Add", Add, func(x, y float64) float64 { return x + y }},
				{"Mul", Mul, func(x, y float64) float64 { return x * y }},
				{"Max", Max, math.Max},
				{"Plus", func(dst, x, y []float32) { copy(dst, y); Plus(dst, x, -1.7) }, func(x, y float64) float64 { return y - float64(float32(1.7))*x }},
				{"Bend", func(dst, x, _ []float32) { Bend(dst, x, 1.5, -0.25, 0.125) }, func(x, _ float64) float64 {
					if x = 1.5*x - 0.25; x < 0 {
						x *= 0.125
					}
					return x
				}},
			} {
				dst := kerneltest.Guarded(1, n+1)
				tt.f(dst[:n], x, y)
				for i := range n {
					want := tt.want(float64(x[i]), float64(y[i]))
					kerneltest.Within(t, dst[i], want, 1e-6*(1+math.Abs(want)), "%s of %d [%d]", tt.name, n, i)
				}
				if dst[n] != kerneltest.Guard {
					t.Fatalf("%s of %d wrote past the end", tt.name, n)
				}
				if tt.name != "Plus" {
					in := slices.Clone(x)
					if tt.f(in, in, y); !slices.Equal(in, dst[:n]) {
						t.Errorf("%s of %d is another in place", tt.name, n)
					}
				}
			}
		}
	})
}

// What is not a number wins, wherever it stands.
func TestMaxNaN(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const n = 37
		nan := float32(math.NaN())
		for at := range n {
			for which := range 2 {
				var x, y, dst [n]float32
				if x[at] = nan; which == 1 {
					x, y = y, x
				}
				Max(dst[:], x[:], y[:])
				for i, v := range dst {
					if (v != v) != (i == at) {
						t.Fatalf("operand %d has NaN at %d: [%d] = %g", which, at, i, v)
					}
				}
				if Bend(dst[:], dst[:], 1, 0, 0.5); dst[at] == dst[at] {
					t.Fatalf("Bend of NaN at %d is %g", at, dst[at])
				}
			}
		}
	})
}

func TestMoments(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 2))
		if mean, variance := Moments(nil); mean != 0 || variance != 0 {
			t.Errorf("nothing has mean %g and variance %g", mean, variance)
		}
		for _, n := range []int{1, 2, 15, 100, momentSpan, momentSpan + 1, 3*momentSpan + 77} {
			for _, shift := range []float32{0, 3, -1000} {
				x := kerneltest.Floats(r, n)
				var mean, variance, mass float64
				for i := range x {
					x[i] += shift
					mean += float64(x[i])
					mass += math.Abs(float64(x[i]))
				}
				mean /= float64(n)
				for _, v := range x {
					variance += (float64(v) - mean) * (float64(v) - mean)
				}
				variance /= float64(n)
				got, spread := Moments(x)
				kerneltest.Within(t, float32(got), mean, 1e-5*mass/float64(n), "mean of %d about %g", n, shift)
				// A mean that is off by one part in 2²³ adds its square.
				kerneltest.Within(t, float32(spread), variance, 1e-5*variance+1e-9*float64(shift*shift), "variance of %d about %g", n, shift)
			}
		}
		if mean, variance := Moments([]float32{1, float32(math.NaN())}); mean == mean || variance == variance {
			t.Errorf("NaN has mean %g and variance %g", mean, variance)
		}
	})
}
