package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
)

func TestSoftmaxWeights(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 1))
		for _, n := range []int{1, 2, 15, 16, 17, 64, 129} {
			for _, masked := range []bool{false, true} {
				x, bias := kerneltest.Floats(r, n), kerneltest.Floats(r, n)
				want, total, most := make([]float64, n), 0.0, math.Inf(-1)
				for i := range x {
					v := float64(x[i]) * 3
					if masked {
						v += float64(bias[i])
					}
					want[i], most = v, max(most, v)
				}
				for i := range want {
					want[i] = math.Exp(want[i] - most)
					total += want[i]
				}
				got := append([]float32(nil), x...)
				var top, sum float32
				if masked {
					top, sum = SoftmaxWeights(got, bias, 3)
				} else {
					top, sum = SoftmaxWeights(got, nil, 3)
				}
				kerneltest.Within(t, top, most, 1e-6*math.Abs(most)+1e-6, "top")
				kerneltest.Within(t, sum, total, 1e-5*total, "sum")
				for i := range got {
					kerneltest.Within(t, got[i], want[i], 1e-5*want[i], "weight")
				}
			}
		}
		hidden := []float32{1, 2, 3}
		none := float32(math.Inf(-1))
		if top, _ := SoftmaxWeights(hidden, []float32{none, none, none}, 1); !math.IsInf(float64(top), -1) {
			t.Errorf("top of what is hidden: got %g", top)
		}
	})
}

func TestSoftmax(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(6, 2))
		for _, n := range []int{1, 7, 16, 100} {
			x := kerneltest.Floats(r, n)
			Softmax(x)
			sum := 0.0
			for _, v := range x {
				sum += float64(v)
			}
			kerneltest.Within(t, float32(sum), 1, 1e-5, "sum")
		}
	})
}
