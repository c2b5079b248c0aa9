package quant

import "math"

// A Narrow is a type of floats of 16 bits or fewer: a sign, an exponent and a
// mantissa, from the highest bit down, in the low bits of a uint16. Zero is none.
type Narrow uint8

// The types are named by the bits of their exponents and mantissas. E5M10 is
// float16 and E8M7 bfloat16. Those and E5M2 have infinities and NaNs as IEEE 754
// has them. E4M3 has no infinities, and the bits of its NaNs are all ones. FNUZ
// types have no infinities, a bias that is larger by one, and for their only NaN
// the bits of minus zero, which they have not. E2M1 has numbers only.
//
// Micikevicius et al., "FP8 Formats for Deep Learning", 2022, table 1; Noune et
// al., "8-bit Numerical Formats for Deep Neural Networks", 2022 (FNUZ); Open
// Compute Project, "OCP Microscaling Formats (MX) Specification", 2023 (E2M1).
const (
	E5M10 Narrow = iota + 1
	E8M7
	E5M2
	E5M2FNUZ
	E4M3
	E4M3FNUZ
	E2M1
)

// What a Narrow has beside finite numbers.
const (
	likeIEEE = iota
	oneNaN
	minusZeroNaN
	finite
)

// narrows are the bits of exponent and mantissa, the smallest exponent of normal
// numbers, and the bits of the largest finite number, of each type.
var narrows = [...]struct {
	exp, man, least int
	largest         uint64
	has             int
}{
	E5M10:    {5, 10, -14, 0x7bff, likeIEEE},
	E8M7:     {8, 7, -126, 0x7f7f, likeIEEE},
	E5M2:     {5, 2, -14, 0x7b, likeIEEE},
	E5M2FNUZ: {5, 2, -15, 0x7f, minusZeroNaN},
	E4M3:     {4, 3, -6, 0x7e, oneNaN},
	E4M3FNUZ: {4, 3, -7, 0x7f, minusZeroNaN},
	E2M1:     {2, 1, 0, 0x7, finite},
}

// Largest is the largest finite number.
func (t Narrow) Largest() float32 { return t.Decode(uint16(narrows[t].largest)) }

// Decode returns the number with those bits, exactly. A NaN keeps its sign.
func (t Narrow) Decode(bits uint16) float32 {
	f := &narrows[t]
	minus := uint16(1) << (f.exp + f.man)
	code := bits & (minus - 1)
	// Exponents differ by their biases, and the product makes subnormals right.
	v := math.Float32frombits(uint32(code)<<(23-f.man)) * math.Float32frombits(uint32(253+f.least)<<23)
	switch {
	case f.has == likeIEEE && uint64(code) == f.largest+1:
		v = float32(math.Inf(1))
	case uint64(code) > f.largest, f.has == minusZeroNaN && bits&(2*minus-1) == minus:
		v = float32(math.NaN())
	}
	if bits&minus != 0 {
		v = math.Float32frombits(math.Float32bits(v) | 1<<31)
	}
	return v
}

// Encode returns the bits of the number nearest to v, of two the even one. What
// rounds past the largest becomes that where saturate says so or there is
// nothing else, and otherwise infinity, or NaN in types that have none. A NaN
// stays one; E2M1 has none and makes it minus zero.
func (t Narrow) Encode(v float64, saturate bool) uint16 {
	f := &narrows[t]
	b := math.Float64bits(v)
	sign := uint16(b>>63) << (f.exp + f.man)
	b &^= 1 << 63
	if v != v {
		// After the largest come infinity and, quiet from its upper half on, NaN.
		if f.has == likeIEEE {
			sign |= 1 << (f.man - 1)
		}
		return sign | uint16(f.largest+1)
	}
	var code uint64
	if b < uint64(1023+f.least)<<52 { // subnormal: a number of the smallest
		code = uint64(math.RoundToEven(math.Float64frombits(b) * math.Float64frombits(uint64(1023+f.man-f.least)<<52)))
	} else {
		cut := 52 - f.man
		b += 1<<(cut-1) - 1 + b>>cut&1
		code = b>>cut - uint64(1022+f.least)<<f.man
	}
	switch {
	case code == 0 && f.has == minusZeroNaN:
		return 0
	case code > f.largest && (saturate || f.has == finite):
		code = f.largest
	case code > f.largest:
		code = f.largest + 1
	}
	return sign | uint16(code)
}

// E8M0ToF32 returns 2^(e−127), or NaN of 255.
//
// Open Compute Project, "OCP Microscaling Formats (MX) Specification", 2023.
func E8M0ToF32(e uint8) float32 {
	switch e {
	case 0:
		return 0x1p-127 // subnormal
	case 255:
		return float32(math.NaN())
	}
	return math.Float32frombits(uint32(e) << 23)
}

// F32ToE8M0 is the inverse of E8M0ToF32, for powers of two and NaN.
func F32ToE8M0(f float32) uint8 { return uint8(math.Float32bits(f) >> 23) }
