package quant

import "math"

// F8_E4M3 is the eight-bit float with four bits of exponent, biased by 7, and
// three of mantissa; it has no infinities and one NaN of either sign. KV caches
// on GPUs use it.
//
// Micikevicius et al., "FP8 Formats for Deep Learning", 2022, table 1.

// F8ToF32 converts exactly.
func F8ToF32(h uint8) float32 {
	b := uint32(h & 0x7f)
	f := math.Float32frombits(b<<20) * 0x1p120 // the two exponents' biases differ by 120
	if b == 0x7f {
		f = float32(math.NaN())
	}
	return math.Float32frombits(math.Float32bits(f) | uint32(h&0x80)<<24)
}

// F32ToF8 rounds to nearest even. What lies beyond 448, infinity too, becomes
// 448; a NaN stays one.
func F32ToF8(f float32) uint8 {
	b := math.Float32bits(f)
	sign := uint8(b >> 24 & 0x80)
	b &^= 1 << 31
	switch {
	case b > 0x7f800000:
		return sign | 0x7f
	case b >= 0x43e00000: // 448
		return sign | 0x7e
	case b < 0x3c800000: // 2⁻⁶: subnormal, and the addition does the rounding
		return sign | uint8(math.Float32bits(math.Float32frombits(b)+0x1p14)-0x46800000)
	}
	b += 0x7ffff + b>>20&1
	return sign | uint8((b-120<<23)>>20)
}

func decodeF8(dst []float32, src []byte) {
	checkDecode(F8_E4M3, len(dst), len(src), 1, 1)
	for i := range dst {
		dst[i] = F8ToF32(src[i])
	}
}

func encodeF8(dst []byte, src []float32) {
	checkEncode(F8_E4M3, len(src), len(dst), 1, 1)
	for i, f := range src {
		dst[i] = F32ToF8(f)
	}
}
