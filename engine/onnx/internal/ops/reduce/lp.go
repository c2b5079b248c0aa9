package reduce

import (
	"math"
)

// Norm is the p-norm of a row.
func Norm(row []float64, p float64) float64 {
	s := 0.0
	for _, v := range row {
		s += Power(math.Abs(v), p)
	}
	return Root(s, p)
}

// Power is vᵖ, Root its inverse; both do the two norms that are in use without math.Pow.
func Power(v, p float64) float64 {
	switch p {
	case 1:
		return v
	case 2:
		return v * v
	}
	return math.Pow(v, p)
}

// Root is the p-th root of v.
func Root(v, p float64) float64 {
	switch p {
	case 1:
		return v
	case 2:
		return math.Sqrt(v)
	}
	return math.Pow(v, 1/p)
}
