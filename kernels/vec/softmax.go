package vec

import (
	"fmt"
	"math"
)

// Softmax replaces x by exp(x - top) / Σ exp(x - top), where top is its largest
// value, and returns top and the sum. An exponential's relative error is below
// 2·2⁻²³; values more than 87 below the largest give e⁻⁸⁷, which is
// below the last bit of any sum. Without a finite value the result is NaN.
func Softmax(x []float32) (top, sum float32) {
	top, sum = SoftmaxWeights(x, nil, 1)
	Scale(x, x, 1/sum)
	return top, sum
}

// SoftmaxWeights replaces x by exp(y - top), where y is x · by + bias and top its
// largest value, and returns top and the sum: a softmax without its
// division. bias has the length of x or is nil. Bounds are those of Softmax.
func SoftmaxWeights(x, bias []float32, by float32) (top, sum float32) {
	if bias == nil {
		top = ScaleMax(x, by)
		return top, ExpSum(x, top)
	}
	if len(bias) != len(x) {
		panic(fmt.Sprintf("vec: softmax of %d scores with %d of a mask", len(x), len(bias)))
	}
	top = float32(math.Inf(-1))
	done := maskMaxFast(x, bias, by, &top)
	for i := done; i < len(x); i++ {
		x[i] = float32(x[i]*by) + bias[i]
		if x[i] > top {
			top = x[i]
		}
	}
	return top, ExpSum(x, top)
}

// ScaleMax multiplies x by by and returns the largest, -Inf if x is empty or all NaN.
func ScaleMax(x []float32, by float32) float32 {
	v := vectors()
	done, top := v.whole(len(x)), float32(math.Inf(-1))
	if done > 0 {
		top = v.scaleMax(&x[0], done, by)
	}
	for i, f := range x[done:] {
		f *= by
		x[done+i] = f
		if f > top {
			top = f
		}
	}
	return top
}
