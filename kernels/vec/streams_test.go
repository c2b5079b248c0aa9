package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
)

// TestStreams holds what works on rows of several streams against float64.
func TestStreams(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 5))
		for _, n := range []int{1, 7, 8, 17, 64, 300} {
			x, y := kerneltest.Floats(r, 3*n), kerneltest.Floats(r, 2*n)
			c := kerneltest.Floats(r, 6)
			got := append(make([]float32, 3*n), 7)
			Blend(got[:3*n], x, y, c, n)
			for k := range 3 * n {
				o, i := k/n, k%n
				want := float64(x[k]) + float64(c[2*o])*float64(y[i]) + float64(c[2*o+1])*float64(y[n+i])
				kerneltest.Within(t, got[k], want, 1e-5, "Blend")
			}

			moments := func(x []float32) (mean, square float64) {
				for _, v := range x {
					mean += float64(v) / float64(len(x))
				}
				for _, v := range x {
					square += float64(v) * float64(v) / float64(len(x))
				}
				return mean, square
			}
			for _, eps := range []float32{0, 1e6} {
				MatchRMS(got[:n], x[:n], y[:n], eps)
				_, own := moments(x[:n])
				_, as := moments(y[:n])
				for i, v := range x[:n] {
					want := float64(v) * math.Sqrt(as/max(own, float64(eps)))
					kerneltest.Within(t, got[i], want, 1e-5*(1+math.Abs(want)), "MatchRMS")
				}
			}

			Sparsify(got[:n], x[:n], 0.7)
			mean, square := moments(x[:n])
			cut := mean + 0.7*math.Sqrt(max(0, square-mean*mean))
			for i, v := range x[:n] {
				kerneltest.Within(t, got[i], max(0, float64(v)-cut), 1e-4, "Sparsify")
			}
			if got[3*n] != 7 {
				t.Fatal("written behind the end")
			}
		}
	})
}
