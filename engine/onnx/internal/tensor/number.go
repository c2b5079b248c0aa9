package tensor

import (
	"math"

	"quern/formats/onnx"
	"quern/kernels/quant"
)

// IsFloat reports whether a type is kept in F: a switch, as every tensor asks.
func IsFloat(t onnx.DType) bool {
	switch t {
	case onnx.Float, onnx.Float16, onnx.BFloat16, onnx.Float8E4M3FN, onnx.Float8E4M3FNUZ,
		onnx.Float8E5M2, onnx.Float8E5M2FNUZ, onnx.Float8E8M0, onnx.Float4E2M1:
		return true
	}
	return false
}

// narrows are the floats kept in F, but float32 and Float8E8M0, powers of two
// without a sign.
//
// ONNX, docs/docsgen/source/technical/float8.md and float4.md.
var narrows = [...]quant.Narrow{
	onnx.Float16: quant.E5M10, onnx.BFloat16: quant.E8M7,
	onnx.Float8E4M3FN: quant.E4M3, onnx.Float8E4M3FNUZ: quant.E4M3FNUZ,
	onnx.Float8E5M2: quant.E5M2, onnx.Float8E5M2FNUZ: quant.E5M2FNUZ,
	onnx.Float4E2M1: quant.E2M1,
}

// Narrow returns the type of t's numbers, or zero.
func Narrow(t onnx.DType) quant.Narrow {
	if int(t) < len(narrows) {
		return narrows[t]
	}
	return 0
}

// Round rounds v to the nearest number of t, ties to even.
func Round(t onnx.DType, v float64) float64 { return RoundTo(t, v, true) }

// RoundTo is Round; without saturate what is too large for a float of 8 bits
// becomes infinity, or NaN where the type has none.
func RoundTo(t onnx.DType, v float64, saturate bool) float64 {
	if t == onnx.Float8E8M0 {
		return roundPower(v, "up", saturate)
	}
	n := Narrow(t)
	if n == 0 {
		return v
	}
	return float64(n.Decode(n.Encode(v, saturate && t.Bits() <= 8)))
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

// decode returns the number with those bits, of a float of 16 bits or fewer.
func decode(t onnx.DType, bits uint16) float32 {
	if t == onnx.Float8E8M0 {
		return quant.E8M0ToF32(uint8(bits))
	}
	return Narrow(t).Decode(bits)
}

// encode returns the bits of v, a number of t.
func encode(t onnx.DType, v float32) uint16 {
	if t == onnx.Float8E8M0 {
		return uint16(quant.F32ToE8M0(v))
	}
	return Narrow(t).Encode(float64(v), false)
}

// Wrap cuts v to the bits of an integer type.
func Wrap(t onnx.DType, v int64) int64 {
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
	if Unsigned(t) {
		return int64(uint64(v) << s >> s)
	}
	return v << s >> s
}

// Unsigned reports whether an integer type has no negative numbers, as bool has none.
func Unsigned(t onnx.DType) bool {
	switch t {
	case onnx.Uint2, onnx.Uint4, onnx.Uint8, onnx.Uint16, onnx.Uint32, onnx.Uint64, onnx.Bool:
		return true
	}
	return false
}

// Bounds returns the smallest and largest number of an integer type.
func Bounds(t onnx.DType) (float64, float64) {
	b := t.Bits()
	if Unsigned(t) {
		return 0, math.Ldexp(1, b) - 1
	}
	return -math.Ldexp(1, b-1), math.Ldexp(1, b-1) - 1
}
