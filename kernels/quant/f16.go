package quant

import (
	"encoding/binary"
	"math"
)

// F16 is little-endian IEEE 754 half precision.

// F16ToF32 converts exactly. A signalling NaN becomes the quiet NaN with the
// same payload, as the conversion instructions of amd64 and arm64 do it.
func F16ToF32(h uint16) float32 {
	b := uint32(h & 0x7fff)
	f := b<<13 + 112<<23 // the two exponents' biases differ by 112
	if b < 0x400 {
		// m·2⁻²⁴, taken as the fraction of 0.5 + m·2⁻²⁴: no subnormal float32
		// appears, on which processors are slow, and small scales are common.
		f = math.Float32bits(math.Float32frombits(0x3f000000|b) - 0.5)
	}
	if b >= 0x7c00 {
		f += 112 << 23
		if b > 0x7c00 {
			f |= 1 << 22
		}
	}
	return math.Float32frombits(f | uint32(h&0x8000)<<16)
}

// F32ToF16 rounds to nearest even. What rounds past 65504 becomes infinite. A
// NaN stays one, quiet, with the upper bits of its payload.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &^= 1 << 31
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= 0x477ff000: // 65520, halfway to the number after 65504
		return sign | 0x7c00
	case b < 0x38800000: // 2⁻¹⁴: subnormal, and the addition does the rounding
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-112<<23)>>13)
}

func decodeF16(dst []float32, src []byte) {
	checkDecode(F16, len(dst), len(src), 1, 2)
	for i := fastFloats(dst, src); i < len(dst); i++ {
		dst[i] = getHalf(src[2*i:])
	}
}

func encodeF16(dst []byte, src []float32) {
	checkEncode(F16, len(src), len(dst), 1, 2)
	for i := fastHalves(dst, src); i < len(src); i++ {
		binary.LittleEndian.PutUint16(dst[2*i:], F32ToF16(src[i]))
	}
}

func dotF16(n int, w, x []byte) float32 {
	checkDot(F16, F32, n, w, x, 1, 2)
	var s [4]float32
	for ; len(w) >= 8 && len(x) >= 16; w, x = w[8:], x[16:] {
		s[0] += float32(getHalf(w) * getFloat(x))
		s[1] += float32(getHalf(w[2:]) * getFloat(x[4:]))
		s[2] += float32(getHalf(w[4:]) * getFloat(x[8:]))
		s[3] += float32(getHalf(w[6:]) * getFloat(x[12:]))
	}
	for i := 0; i < len(w); i += 2 {
		s[i/2] += float32(getHalf(w[i:]) * getFloat(x[2*i:]))
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}
