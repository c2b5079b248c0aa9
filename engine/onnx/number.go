package onnx

import (
	"math"

	"quern/formats/onnx"
	"quern/kernels/quant"
)

// isFloat reports whether a type is kept in F: a switch, as every tensor asks.
func isFloat(t onnx.DType) bool {
	switch t {
	case onnx.Float, onnx.Float16, onnx.BFloat16, onnx.Float8E4M3FN, onnx.Float8E4M3FNUZ,
		onnx.Float8E5M2, onnx.Float8E5M2FNUZ, onnx.Float8E8M0, onnx.Float4E2M1:
		return true
	}
	return false
}

// narrow are the floats kept in F: bits of the mantissa, smallest exponent and
// largest value. Those with sat have no infinity that Cast saturates to.
// Float8E8M0, powers of two without a sign, is apart.
//
// ONNX, docs/docsgen/source/technical/float8.md and float4.md.
var narrow = map[onnx.DType]struct {
	exp, man, emin int
	max            float64
	sat            bool
}{
	onnx.Float16:        {5, 10, -14, 65504, false},
	onnx.BFloat16:       {8, 7, -126, 0x1.fep127, false},
	onnx.Float8E4M3FN:   {4, 3, -6, 448, true},
	onnx.Float8E4M3FNUZ: {4, 3, -7, 240, true},
	onnx.Float8E5M2:     {5, 2, -14, 57344, true},
	onnx.Float8E5M2FNUZ: {5, 2, -15, 57344, true},
	onnx.Float4E2M1:     {2, 1, 0, 6, true},
}

// fnuz reports whether the bits of minus zero are the only NaN, and there is no
// infinity.
func fnuz(t onnx.DType) bool { return t == onnx.Float8E4M3FNUZ || t == onnx.Float8E5M2FNUZ }

// round rounds v to the nearest number of t, ties to even.
func round(t onnx.DType, v float64) float64 { return roundTo(t, v, true) }

// roundTo is round; without saturate what is too large for a float of 8 bits
// becomes infinity, or NaN where the type has none.
func roundTo(t onnx.DType, v float64, saturate bool) float64 {
	if t == onnx.Float8E8M0 {
		return roundPower(v, "up", saturate)
	}
	n, ok := narrow[t]
	if !ok {
		return v
	}
	if math.IsNaN(v) {
		if t == onnx.Float4E2M1 { // has none
			return math.Copysign(0, -1)
		}
		return v
	}
	if v == 0 {
		if fnuz(t) {
			return 0 // the bits of minus zero are NaN
		}
		return v
	}
	infinite := math.IsInf(v, 0)
	if !infinite {
		_, e := math.Frexp(v)
		step := math.Ldexp(1, max(e-1, n.emin)-n.man)
		v = math.RoundToEven(v/step) * step
		if v == 0 && fnuz(t) {
			return 0
		}
	}
	if math.Abs(v) <= n.max {
		return v
	}
	switch {
	case t == onnx.Float4E2M1, n.sat && saturate:
		return math.Copysign(n.max, v)
	case !n.sat || t == onnx.Float8E5M2:
		return math.Inf(int(math.Copysign(1, v)))
	}
	return math.NaN()
}

// roundPower rounds to a power of two from 2⁻¹²⁷ to 2¹²⁷.
func roundPower(v float64, mode string, saturate bool) float64 {
	v = math.Abs(v)
	if math.IsNaN(v) {
		return v
	}
	if math.IsInf(v, 0) {
		if saturate {
			return 0x1p127
		}
		return math.NaN()
	}
	if v == 0 {
		return 0x1p-127
	}
	f, e := math.Frexp(v) // v = f·2ᵉ, f in [½, 1)
	e--
	if f > 0.5 && mode == "up" || mode == "nearest" && f >= 0.75 {
		e++
	}
	if e > 127 && !saturate {
		return math.NaN()
	}
	return math.Ldexp(1, min(max(e, -127), 127))
}

// decode returns the number with those bits, of a float of 8 bits or 4.
func decode(t onnx.DType, bits uint32) float32 {
	switch {
	case t == onnx.Float8E4M3FN:
		return quant.F8ToF32(uint8(bits))
	case t == onnx.Float8E5M2: // the upper half of a float16
		return quant.F16ToF32(uint16(bits) << 8)
	case t == onnx.Float8E8M0 && bits == 0xff, fnuz(t) && bits == 0x80:
		return float32(math.NaN())
	case t == onnx.Float8E8M0:
		return float32(math.Ldexp(1, int(bits)-127))
	}
	n := narrow[t]
	v, e := float64(bits&(1<<n.man-1)), int(bits>>n.man)&(1<<n.exp-1)
	if e > 0 {
		v += float64(int(1) << n.man)
		e--
	}
	v = math.Ldexp(v, e+n.emin-n.man)
	if bits>>(n.exp+n.man)&1 != 0 {
		v = -v
	}
	return float32(v)
}

// encode returns the bits of v, a number of t.
func encode(t onnx.DType, v float64) uint32 {
	if t == onnx.Float8E8M0 {
		if math.IsNaN(v) {
			return 0xff
		}
		return uint32(math.Ilogb(v) + 127)
	}
	n := narrow[t]
	sign := uint32(0)
	if math.Signbit(v) {
		sign = 1 << (n.exp + n.man)
	}
	top := uint32(1<<n.exp-1) << n.man
	switch {
	case math.IsNaN(v) && fnuz(t):
		return 0x80
	case math.IsNaN(v) && t == onnx.Float8E4M3FN:
		return 0x7f
	case math.IsNaN(v):
		return top | 1<<(n.man-1)
	case math.IsInf(v, 0):
		return sign | top
	case v == 0:
		return sign
	}
	e := max(math.Ilogb(v), n.emin)
	man := uint32(math.Abs(math.Ldexp(v, n.man-e)))
	if man < 1<<n.man {
		return sign | man // subnormal
	}
	return sign | uint32(e-n.emin+1)<<n.man | man&(1<<n.man-1)
}

// wrap cuts v to the bits of an integer type.
func wrap(t onnx.DType, v int64) int64 {
	switch t {
	case onnx.Bool:
		if v != 0 {
			return 1
		}
		return 0
	case onnx.Int64, onnx.Uint64:
		return v
	}
	s := 64 - t.Bits()
	if unsigned(t) {
		return int64(uint64(v) << s >> s)
	}
	return v << s >> s
}

func unsigned(t onnx.DType) bool {
	switch t {
	case onnx.Uint2, onnx.Uint4, onnx.Uint8, onnx.Uint16, onnx.Uint32, onnx.Uint64, onnx.Bool:
		return true
	}
	return false
}

// bounds returns the smallest and largest number of an integer type.
func bounds(t onnx.DType) (float64, float64) {
	b := t.Bits()
	if unsigned(t) {
		return 0, math.Ldexp(1, b) - 1
	}
	return -math.Ldexp(1, b-1), math.Ldexp(1, b-1) - 1
}
