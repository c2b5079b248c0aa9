package kernels

import (
	"fmt"
	"math"
)

// RMSNorm writes x / rms(x) · w to dst, group by group.
//
// dst and x have one shape, a multiple of len(w) values; dst may be x. Sums
// are kept in float32 in a fixed order: eight running sums, then those in
// order, so the error is at most (len(w)/8 + 8)·2⁻²⁴ of the sum of squares.
//
// Zhang & Sennrich, "Root Mean Square Layer Normalization", 2019, eq. 4.
func RMSNorm(dst, x, w []float32, eps float32) {
	n := len(w)
	if len(dst) != len(x) || n == 0 || len(x)%n != 0 {
		panic(fmt.Sprintf("kernels: RMSNorm of %d floats by %d into %d", len(x), n, len(dst)))
	}
	for i := 0; i < len(x); i += n {
		row := x[i : i+n]
		mean := sumSquares(row) / float32(n)
		scale := float32(1 / math.Sqrt(float64(mean+eps)))
		out := dst[i : i+n]
		for k, v := range row {
			out[k] = v * scale * w[k]
		}
	}
}

// LayerNorm writes (x - mean) / √(variance + eps) · w + bias to dst, row by row
// of len(w) values. dst may be x; bias may be nil. Mean and variance are summed
// in float64.
//
// Ba, Kiros & Hinton, "Layer Normalization", 2016, eq. 4.
func LayerNorm(dst, x, w, bias []float32, eps float32) {
	n := len(w)
	if len(dst) != len(x) || n == 0 || len(x)%n != 0 || bias != nil && len(bias) != n {
		panic(fmt.Sprintf("kernels: LayerNorm of %d floats by %d and %d into %d", len(x), n, len(bias), len(dst)))
	}
	for i := 0; i < len(x); i += n {
		row, out := x[i:i+n], dst[i:i+n]
		var sum, ss float64
		for _, v := range row {
			sum += float64(v)
		}
		mean := sum / float64(n)
		for _, v := range row {
			d := float64(v) - mean
			ss += d * d
		}
		shift, scale := float32(mean), float32(1/math.Sqrt(ss/float64(n)+float64(eps)))
		for k, v := range row {
			out[k] = (v - shift) * scale * w[k]
		}
		if bias != nil {
			Add(out, out, bias)
		}
	}
}

func sumSquares(x []float32) float32 {
	var s [8]float32
	for len(x) >= 8 {
		v := (*[8]float32)(x)
		s[0] += v[0] * v[0]
		s[1] += v[1] * v[1]
		s[2] += v[2] * v[2]
		s[3] += v[3] * v[3]
		s[4] += v[4] * v[4]
		s[5] += v[5] * v[5]
		s[6] += v[6] * v[6]
		s[7] += v[7] * v[7]
		x = x[8:]
	}
	for i, v := range x {
		s[i] += v * v
	}
	var sum float32
	for _, v := range s {
		sum += v
	}
	return sum
}
