package attention

import (
	"math"

	"quern/kernels/vec"
)

// A softmaxVector is the assembly of a softmax at one level; see
// kernels/_gen/attend_softmax.go. It takes a multiple of lanes.
type softmaxVector struct {
	lanes   int // 0 where there is none
	largest func(x *float32, n int) float32
	expTop  func(x *float32, n int, top float32) float32
}

// largest returns the largest of x, -Inf if x is empty or all NaN.
func largest(x []float32) float32 {
	done, top := 0, float32(math.Inf(-1))
	if v := softmaxVectors(); v.lanes > 0 && len(x) >= v.lanes {
		done = len(x) / v.lanes * v.lanes
		top = v.largest(&x[0], done)
	}
	for _, f := range x[done:] {
		if f > top {
			top = f
		}
	}
	return top
}

// expTop is ExpSum for values that are at most top, with the same error bounds.
func expTop(x []float32, top float32) float32 {
	v := softmaxVectors()
	if v.lanes == 0 {
		return vec.ExpSum(x, top)
	}
	done, sum := len(x)/v.lanes*v.lanes, float32(0)
	if done > 0 {
		sum = v.expTop(&x[0], done, top)
	}
	for i := done; i < len(x); i++ {
		x[i] = vec.ExpScalar(x[i] - top)
		sum += x[i]
	}
	return sum
}
