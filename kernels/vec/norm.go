package vec

import (
	"fmt"
	"math"
)

// RMSNorm writes x / rms(x) · w to dst, group by group.
//
// dst and x have one shape, a multiple of len(w) values; dst may be x. Sums
// are float32, in an order that the CPU level fixes: eight running sums or more, which
// are then added, so the error is at most (len(w)/8 + 8)·2⁻²⁴ of the sum of squares.
//
// Zhang & Sennrich, "Root Mean Square Layer Normalization", 2019, eq. 4.
func RMSNorm(dst, x, w []float32, eps float32) {
	n := len(w)
	if len(dst) != len(x) || n == 0 || len(x)%n != 0 {
		panic(fmt.Sprintf("vec: RMSNorm of %d floats by %d into %d", len(x), n, len(dst)))
	}
	for i := 0; i < len(x); i += n {
		row := x[i : i+n]
		mean := squares(row, 0) / float32(n)
		scale := float32(1 / math.Sqrt(float64(mean+eps)))
		normalise(dst[i:i+n], row, w, nil, 0, scale)
	}
}

// normalise writes (x - less)·by·w + bias to dst; a nil bias is zeros.
func normalise(dst, x, w, bias []float32, less, by float32) {
	v := vectors()
	done := v.whole(len(x))
	if done > 0 {
		v.normal(&dst[0], &x[0], &w[0], first(bias), done, less, by)
	}
	for i := done; i < len(x); i++ {
		dst[i] = float32(float32(x[i]-less)*by) * w[i]
		if bias != nil {
			dst[i] += bias[i]
		}
	}
}

// LayerNorm writes (x - mean) / √(variance + eps) · w + bias to dst, row by row
// of len(w) values. dst may be x; bias may be nil. Sums are those of RMSNorm;
// the variance is computed from x - mean.
//
// Ba, Kiros & Hinton, "Layer Normalization", 2016, eq. 4.
func LayerNorm(dst, x, w, bias []float32, eps float32) {
	n := len(w)
	if len(dst) != len(x) || n == 0 || len(x)%n != 0 || bias != nil && len(bias) != n {
		panic(fmt.Sprintf("vec: LayerNorm of %d floats by %d and %d into %d", len(x), n, len(bias), len(dst)))
	}
	for i := 0; i < len(x); i += n {
		row := x[i : i+n]
		mean := sum(row) / float32(n)
		variance := squares(row, mean) / float32(n)
		normalise(dst[i:i+n], row, w, bias, mean, float32(1/math.Sqrt(float64(variance)+float64(eps))))
	}
}

// sum returns the sum of x.
func sum(x []float32) float32 {
	v := vectors()
	done, s := v.whole(len(x)), float32(0)
	if done > 0 {
		s = v.sum(&x[0], done)
	}
	return s + sumGo(x[done:])
}

func sumGo(x []float32) float32 {
	var s [8]float32
	for len(x) >= 8 {
		for i, v := range (*[8]float32)(x) {
			s[i] += v
		}
		x = x[8:]
	}
	for i, v := range x {
		s[i] += v
	}
	return fold(&s)
}

// squares returns the sum of (x - less)².
func squares(x []float32, less float32) float32 {
	v := vectors()
	done, s := v.whole(len(x)), float32(0)
	if done > 0 {
		s = v.squares(&x[0], done, less)
	}
	return s + squaresGo(x[done:], less)
}

func squaresGo(x []float32, less float32) float32 {
	var s [8]float32
	for len(x) >= 8 {
		for i, v := range (*[8]float32)(x) {
			d := v - less
			s[i] += float32(d * d)
		}
		x = x[8:]
	}
	for i, v := range x {
		d := v - less
		s[i] += float32(d * d)
	}
	return fold(&s)
}

func fold(s *[8]float32) float32 {
	var sum float32
	for _, v := range s {
		sum += v
	}
	return sum
}
