package quant

import (
	"encoding/binary"
	"math"
)

// BF16 is the upper half of a little-endian float32.

// BF16ToF32 converts exactly, whatever the value.
func BF16ToF32(h uint16) float32 {
	return math.Float32frombits(uint32(h) << 16)
}

// F32ToBF16 rounds to nearest even. A NaN stays one, quiet, with the upper
// bits of its payload.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&^(1<<31) > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func decodeBF16(dst []float32, src []byte) {
	checkDecode(BF16, len(dst), len(src), 1, 2)
	for i := range dst {
		dst[i] = BF16ToF32(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

func encodeBF16(dst []byte, src []float32) {
	checkEncode(BF16, len(src), len(dst), 1, 2)
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], F32ToBF16(f))
	}
}

func dotBF16(n int, w, x []byte) float32 {
	checkDot(BF16, F32, n, w, x, 1, 2)
	var s [4]float32
	for ; len(w) >= 8 && len(x) >= 16; w, x = w[8:], x[16:] {
		s[0] += float32(getBrain(w) * getFloat(x))
		s[1] += float32(getBrain(w[2:]) * getFloat(x[4:]))
		s[2] += float32(getBrain(w[4:]) * getFloat(x[8:]))
		s[3] += float32(getBrain(w[6:]) * getFloat(x[12:]))
	}
	for i := 0; i < len(w); i += 2 {
		s[i/2] += float32(getBrain(w[i:]) * getFloat(x[2*i:]))
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func getBrain(p []byte) float32 {
	return BF16ToF32(binary.LittleEndian.Uint16(p))
}
