package vec

import (
	"fmt"
	"math"
)

// Rows of several streams, side by side. All of these work on one row.

// Blend writes x_o + Σ_j c[o·m+j] · y_j for the streams of width values that x and y have.
// dst must not overlap x or y.
//
// Baykal et al., "Alternating Updates for Efficient Transformers", 2023, §3.
func Blend(dst, x, y, c []float32, width int) {
	streams, m := len(x)/width, len(y)/width
	if len(dst) != len(x) || len(x)%width != 0 || len(y)%width != 0 || len(c) != streams*m {
		panic(fmt.Sprintf("vec: Blend of %d and %d floats by %d in streams of %d", len(x), len(y), len(c), width))
	}
	copy(dst, x)
	for o := range streams {
		to := dst[o*width : (o+1)*width]
		for j := range m {
			by := c[o*m+j]
			for i, v := range y[j*width : (j+1)*width] {
				to[i] += float32(by * v)
			}
		}
	}
}

// MatchRMS writes x scaled to the root mean square of y; the square of x's own is no less than
// eps. dst may be x.
func MatchRMS(dst, x, y []float32, eps float32) {
	n := float64(len(x))
	own := max(float64(squares(x, 0))/n, float64(eps))
	Scale(dst, x, float32(math.Sqrt(float64(squares(y, 0))/n/own)))
}

// Sparsify writes max(0, x − mean − deviations · standard deviation). dst may be x.
func Sparsify(dst, x []float32, deviations float32) {
	n := float32(len(x))
	mean := sum(x) / n
	cut := mean + deviations*float32(math.Sqrt(float64(squares(x, mean)/n)))
	for i, v := range x {
		dst[i] = max(v-cut, 0)
	}
}
