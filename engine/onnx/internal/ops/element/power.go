package element

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// mod takes the sign of the divisor, with fmod that of the dividend.
func mod(c *run.Call) []*tensor.Tensor {
	a, b := c.X(0), c.X(1)
	noZeros(c, b)
	f := Pairwise{
		D: func(a, b float64) float64 {
			m := math.Mod(a, b)
			if m != 0 && m < 0 != (b < 0) {
				m += b
			}
			return m
		},
		I: func(a, b int64) int64 {
			m := a % b
			if m != 0 && m < 0 != (b < 0) {
				m += b
			}
			return m
		},
		U: func(a, b uint64) uint64 { return a % b },
	}
	if c.Int("fmod", 0) != 0 {
		f.D, f.I = math.Mod, func(a, b int64) int64 { return a % b }
	}
	return run.One(Binary(c, f, a, b))
}

// pow has the type of the base, whatever that of the exponent is.
func pow(c *run.Call) []*tensor.Tensor {
	x, y := c.X(0), c.X(1)
	if y.S != nil || y.Seq != nil {
		tensor.Malformed("Pow by %v", y.Type)
	}
	if x.F != nil && y.Len() == 1 && len(y.Shape) <= len(x.Shape) {
		if row, ok := powers[y.At(0)]; ok {
			return run.One(mapped(c, x, unary{fast: row}))
		}
	}
	if x.I != nil && y.I == nil {
		wide := Binary(c, Pairwise{D: math.Pow}, tensor.Cast(x, onnx.Double, tensor.CastOptions{}), tensor.Cast(y, onnx.Double, tensor.CastOptions{}))
		return run.One(tensor.Cast(wide, x.Type, tensor.CastOptions{}))
	}
	if x.Type != y.Type {
		y = tensor.Cast(y, x.Type, tensor.CastOptions{Saturate: true})
	}
	return run.One(Binary(c, Pairwise{D: math.Pow, I: intPow, U: func(a, b uint64) uint64 { return uint64(intPow(int64(a), int64(b))) }}, x, y))
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

func bitShift(c *run.Call) []*tensor.Tensor {
	if c.X(0).I == nil || !tensor.Unsigned(c.X(0).Type) {
		tensor.Malformed("BitShift of %v", c.X(0).Type)
	}
	shift := func(a, b uint64) uint64 { return a << b }
	switch dir := c.Text("direction", ""); dir {
	case "LEFT":
	case "RIGHT":
		shift = func(a, b uint64) uint64 { return a >> b }
	default:
		tensor.Malformed("BitShift to %.100q", dir)
	}
	return run.One(Binary(c, Pairwise{U: shift, I: func(a, b int64) int64 { return int64(shift(uint64(a), uint64(b))) }}, c.X(0), c.X(1)))
}
