package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
)

func TestRMSNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, 8, 9, 64, 2048} {
		for _, groups := range []int{0, 1, 3} {
			x, w := kerneltest.Floats(r, n*groups), kerneltest.Floats(r, n)
			dst := make([]float32, len(x))
			RMSNorm(dst, x, w, 1e-5)
			for i := range x {
				var ss float64
				for _, v := range x[i/n*n : i/n*n+n] {
					ss += float64(v) * float64(v)
				}
				want := float64(x[i]) / math.Sqrt(ss/float64(n)+1e-5) * float64(w[i%n])
				kerneltest.Within(t, dst[i], want, math.Abs(want)*float64(n/8+16)*0x1p-24, "n=%d [%d]", n, i)
			}
		}
	}
}

func TestLayerNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 7, 8, 9, 768} {
		for _, rows := range []int{0, 1, 3} {
			for _, biased := range []bool{true, false} {
				x, w, bias := kerneltest.Floats(r, n*rows), kerneltest.Floats(r, n), kerneltest.Floats(r, n)
				for i := range x {
					x[i] += 50 // a mean far from 0
				}
				if !biased {
					bias = nil
				}
				dst := make([]float32, len(x))
				LayerNorm(dst, x, w, bias, 1e-5)
				for i := range x {
					var mean, ss float64
					row := x[i/n*n : i/n*n+n]
					for _, v := range row {
						mean += float64(v) / float64(n)
					}
					for _, v := range row {
						ss += (float64(v) - mean) * (float64(v) - mean)
					}
					want := (float64(x[i]) - mean) / math.Sqrt(ss/float64(n)+1e-5) * float64(w[i%n])
					if biased {
						want += float64(bias[i%n])
					}
					kerneltest.Within(t, dst[i], want, 2e-5*(1+math.Abs(want)), "n=%d [%d]", n, i)
				}
				LayerNorm(x, x, w, bias, 1e-5)
				for i := range x {
					if x[i] != dst[i] {
						t.Fatalf("in place: [%d] = %g, want %g", i, x[i], dst[i])
					}
				}
			}
		}
	}
}

func TestLayerNormLevels(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 2))
		for _, n := range []int{1, 7, 16, 33, 512, 1000} {
			x, w, bias := kerneltest.Floats(r, 3*n), kerneltest.Floats(r, n), kerneltest.Floats(r, n)
			for i := range x {
				x[i] += 5
			}
			dst := make([]float32, 3*n)
			for _, b := range [][]float32{nil, bias} {
				LayerNorm(dst, x, w, b, 1e-5)
				for row := range 3 {
					var mean, ss float64
					for _, v := range x[row*n : row*n+n] {
						mean += float64(v) / float64(n)
					}
					for _, v := range x[row*n : row*n+n] {
						ss += (float64(v) - mean) * (float64(v) - mean) / float64(n)
					}
					for i := range n {
						want := (float64(x[row*n+i]) - mean) / math.Sqrt(ss+1e-5) * float64(w[i])
						if b != nil {
							want += float64(b[i])
						}
						if n == 1 {
							continue // nothing is left but rounding, times 1/√eps
						}
						kerneltest.Within(t, dst[row*n+i], want, 2e-5, "n=%d row %d [%d]", n, row, i)
					}
				}
			}
		}
	})
}
