package onnx

import (
	"math"

	"quern/formats/onnx"
)

// mod takes the sign of the divisor, with fmod that of the dividend.
func mod(c *call) []*Tensor {
	a, b := c.x(0), c.x(1)
	c.noZeros(b)
	f := pairwise{
		d: func(a, b float64) float64 {
			m := math.Mod(a, b)
			if m != 0 && m < 0 != (b < 0) {
				m += b
			}
			return m
		},
		i: func(a, b int64) int64 {
			m := a % b
			if m != 0 && m < 0 != (b < 0) {
				m += b
			}
			return m
		},
		u: func(a, b uint64) uint64 { return a % b },
	}
	if c.int("fmod", 0) != 0 {
		f.d, f.i = math.Mod, func(a, b int64) int64 { return a % b }
	}
	return []*Tensor{c.binary(f, a, b)}
}

// pow has the type of the base, whatever that of the exponent is.
func pow(c *call) []*Tensor {
	x, y := c.x(0), c.x(1)
	if y.S != nil || y.Seq != nil {
		fail("%w: Pow by %v", onnx.ErrFormat, y.Type)
	}
	if x.F != nil && y.len() == 1 && len(y.Shape) <= len(x.Shape) {
		if row, ok := powers[y.at(0)]; ok {
			return []*Tensor{c.unary(x, unary{fast: row})}
		}
	}
	if x.I != nil && y.I == nil {
		wide := c.binary(pairwise{d: math.Pow}, cast(x, onnx.Double, castOptions{}), cast(y, onnx.Double, castOptions{}))
		return []*Tensor{cast(wide, x.Type, castOptions{})}
	}
	if x.Type != y.Type {
		y = cast(y, x.Type, castOptions{saturate: true})
	}
	return []*Tensor{c.binary(pairwise{d: math.Pow, i: intPow, u: func(a, b uint64) uint64 { return uint64(intPow(int64(a), int64(b))) }}, x, y)}
}

// powers are the exponents that need no logarithm.
var powers = map[float64]func(dst, x []float32){
	1: func(dst, x []float32) { copy(dst, x) },
	2: func(dst, x []float32) {
		for i, v := range x {
			dst[i] = v * v
		}
	},
	3: func(dst, x []float32) {
		for i, v := range x {
			dst[i] = v * v * v
		}
	},
}

// intPow is 0 for exponents below 0 of what is not 1 or -1.
func intPow(x, n int64) int64 {
	if n < 0 {
		switch x {
		case 1:
			return 1
		case -1:
			return 1 - 2*(n&1)
		}
		return 0
	}
	out := int64(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			out *= x
		}
		x *= x
	}
	return out
}

func bitShift(c *call) []*Tensor {
	if c.x(0).I == nil || !unsigned(c.x(0).Type) {
		fail("%w: BitShift of %v", onnx.ErrFormat, c.x(0).Type)
	}
	shift := func(a, b uint64) uint64 { return a << b }
	switch dir := c.text("direction", ""); dir {
	case "LEFT":
	case "RIGHT":
		shift = func(a, b uint64) uint64 { return a >> b }
	default:
		fail("%w: BitShift to %.100q", onnx.ErrFormat, dir)
	}
	return []*Tensor{c.binary(pairwise{u: shift, i: func(a, b int64) int64 { return int64(shift(uint64(a), uint64(b))) }}, c.x(0), c.x(1))}
}
