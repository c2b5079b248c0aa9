package vec

import (
	"fmt"
	"math"
)

// Add writes x + y to dst. The three have one length; dst may be x or y.
func Add(dst, x, y []float32) {
	if len(dst) != len(x) || len(dst) != len(y) {
		panic(fmt.Sprintf("vec: Add of %d and %d floats into %d", len(x), len(y), len(dst)))
	}
	v := vectors()
	done := v.whole(len(x))
	for at := 0; at < done; at += mostPoints {
		v.add(&dst[at], &x[at], &y[at], min(mostPoints, done-at))
	}
	for i := done; i < len(x); i++ {
		dst[i] = x[i] + y[i]
	}
}

// Bias writes x + v to dst, row by row of len(v) values. dst may be x.
func Bias(dst, x, v []float32) {
	n := len(v)
	if len(dst) != len(x) || n == 0 || len(x)%n != 0 {
		panic(fmt.Sprintf("vec: Bias of %d floats by %d into %d", len(x), n, len(dst)))
	}
	for i := 0; i < len(x); i += n {
		Add(dst[i:i+n], x[i:i+n], v)
	}
}

// Mul writes x · y to dst. The three have one length; dst may be x or y.
func Mul(dst, x, y []float32) {
	if len(dst) != len(x) || len(dst) != len(y) {
		panic(fmt.Sprintf("vec: Mul of %d and %d floats into %d", len(x), len(y), len(dst)))
	}
	v := vectors()
	done := v.whole(len(x))
	for at := 0; at < done; at += mostPoints {
		v.mul(&dst[at], &x[at], &y[at], min(mostPoints, done-at))
	}
	for i := done; i < len(x); i++ {
		dst[i] = x[i] * y[i]
	}
}

// Max writes the larger of x and y to dst, and what is not a number where either is none.
// The three have one length; dst may be x or y.
func Max(dst, x, y []float32) {
	if len(dst) != len(x) || len(dst) != len(y) {
		panic(fmt.Sprintf("vec: Max of %d and %d floats into %d", len(x), len(y), len(dst)))
	}
	v := vectors()
	done := v.whole(len(x))
	for at := 0; at < done; at += mostPoints {
		v.max(&dst[at], &x[at], &y[at], min(mostPoints, done-at))
	}
	for i := done; i < len(x); i++ {
		dst[i] = max(x[i], y[i])
	}
}

// Scale writes x · by to dst. dst may be x.
func Scale(dst, x []float32, by float32) {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("vec: Scale of %d floats into %d", len(x), len(dst)))
	}
	v := vectors()
	done := v.whole(len(x))
	for at := 0; at < done; at += mostPoints {
		v.scale(&dst[at], &x[at], min(mostPoints, done-at), by)
	}
	for i := done; i < len(x); i++ {
		dst[i] = x[i] * by
	}
}

// Plus adds x · by to dst. By assembly the product is not rounded.
func Plus(dst, x []float32, by float32) {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("vec: Plus of %d floats into %d", len(x), len(dst)))
	}
	v := vectors()
	done := v.whole(len(x))
	for at := 0; at < done; at += mostPoints {
		v.plus(&dst[at], &x[at], min(mostPoints, done-at), by)
	}
	for i := done; i < len(x); i++ {
		dst[i] += float32(x[i] * by)
	}
}

// Affine writes max(x · by + add, floor) to dst: a floor of 0 is that of a ReLU, one of −∞
// none. dst may be x. What is not a number stays so. By assembly the product is not rounded.
func Affine(dst, x []float32, by, add, floor float32) {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("vec: Affine of %d floats into %d", len(x), len(dst)))
	}
	v := vectors()
	done := v.whole(len(x))
	for at := 0; at < done; at += mostPoints {
		v.affine(&dst[at], &x[at], min(mostPoints, done-at), by, add, floor)
	}
	for i := done; i < len(x); i++ {
		dst[i] = max(float32(x[i]*by)+add, floor)
	}
}

// Bend writes t = x · by + add to dst, and slope · t where that is negative: a leaky ReLU.
// dst may be x. What is not a number stays so. By assembly the first product is not rounded.
func Bend(dst, x []float32, by, add, slope float32) {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("vec: Bend of %d floats into %d", len(x), len(dst)))
	}
	v := vectors()
	done := v.whole(len(x))
	for at := 0; at < done; at += mostPoints {
		v.bend(&dst[at], &x[at], min(mostPoints, done-at), by, add, slope)
	}
	for i := done; i < len(x); i++ {
		t := float32(x[i]*by) + add
		dst[i] = max(t, 0) + float32(slope*min(t, 0))
	}
}

// Sum returns the sum of x, taken in an order that depends on the length and the CPU level
// only: eight running sums or more, which are then added.
func Sum(x []float32) float32 { return sum(x) }

// momentSpan is how many values Moments reads at a time, so that they are in the cache when
// they are read again.
const momentSpan = 4096

// Moments returns the mean of x and its variance, that of all there is: 0 where x is empty.
// Sums are float32 over spans of 4096 values, with each span's own mean, and float64 over the
// spans: Chan, Golub & LeVeque, "Algorithms for Computing the Sample Variance", 1983, eq. 2.1.
func Moments(x []float32) (mean, variance float64) {
	n := float64(len(x))
	before, m2 := 0.0, 0.0
	for len(x) > 0 {
		part := x[:min(momentSpan, len(x))]
		x = x[len(part):]
		count := float64(len(part))
		of := float64(sum(part)) / count
		less := float32(of)
		// About what the mean is rounded to, which is put right here.
		off := of - float64(less)
		d := of - mean
		m2 += float64(squares(part, less)) - count*off*off + d*d*before*count/(before+count)
		mean += d * count / (before + count)
		before += count
	}
	return mean, max(0, m2) / math.Max(1, n)
}
