package onnx

import (
	"math"
)

// norm is the p-norm of a row.
func norm(row []float64, p float64) float64 {
	s := 0.0
	for _, v := range row {
		s += power(math.Abs(v), p)
	}
	return root(s, p)
}

// power and root have the two norms that are in use without math.Pow.
func power(v, p float64) float64 {
	switch p {
	case 1:
		return v
	case 2:
		return v * v
	}
	return math.Pow(v, p)
}

func root(v, p float64) float64 {
	switch p {
	case 1:
		return v
	case 2:
		return math.Sqrt(v)
	}
	return math.Pow(v, 1/p)
}
