package vec

import (
	"fmt"
	"math"
)

// Exp writes eˣ to dst with a relative error below 4·2⁻²³ for x from -87 to 88.
// Beyond that it is the result at the limit, or 0 and +Inf. dst may be x.
func Exp(dst, x []float32) {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("vec: Exp of %d floats into %d", len(x), len(dst)))
	}
	copy(dst, x)
	exps(dst)
}

// Tanh writes the hyperbolic tangent of x to dst, within 4·2⁻²³. dst may be x.
func Tanh(dst, x []float32) {
	done := pointwise("Tanh", dst, x, func(v *vector) func(dst, x *float32, n int) { return v.tanh })
	for i := done; i < len(x); i++ {
		dst[i] = 1 - 2/(1+ExpScalar(2*x[i]))
	}
}

// Sigmoid writes 1 / (1 + e⁻ˣ) to dst with a relative error below 4·2⁻²³ where
// x > -87. dst may be x.
func Sigmoid(dst, x []float32) {
	done := pointwise("Sigmoid", dst, x, func(v *vector) func(dst, x *float32, n int) { return v.sigmoid })
	for i := done; i < len(x); i++ {
		dst[i] = 1 / (1 + ExpScalar(-x[i]))
	}
}

// Sin writes the sine of x to dst, within 3·10⁻⁷ for |x| ≤ 2²². dst may be x.
func Sin(dst, x []float32) {
	done := pointwise("Sin", dst, x, func(v *vector) func(dst, x *float32, n int) { return v.sin })
	for i := done; i < len(x); i++ {
		dst[i] = sin(x[i])
	}
}

// pointwise computes the leading values that fill whole vectors by function f of the level
// in force, and returns their number.
func pointwise(name string, dst, x []float32, f func(*vector) func(dst, x *float32, n int)) int {
	if len(dst) != len(x) {
		panic(fmt.Sprintf("vec: %s of %d floats into %d", name, len(x), len(dst)))
	}
	v := vectors()
	done := v.whole(len(x))
	for at := 0; at < done; at += mostPoints {
		f(v)(&dst[at], &x[at], min(mostPoints, done-at))
	}
	return done
}

// sin is within 3·10⁻⁷ of the sine for |x| ≤ 2²². The multiple of π is subtracted in
// two steps: Cody & Waite, "Software Manual for the Elementary Functions", 1980,
// chapter 8.
func sin(x float32) float32 {
	k := math.RoundToEven(float64(x) * (1 / math.Pi))
	r := float64(x) - k*math.Pi
	s := r * r
	y := float32(r + r*s*(-1.0/6+s*(1.0/120+s*(-1.0/5040+s*(1.0/362880+s*(-1.0/39916800))))))
	if int64(k)&1 != 0 {
		return -y
	}
	return y
}
