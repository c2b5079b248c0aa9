package quant

import "math"

// F32 is little-endian IEEE 754 single precision.

func decodeF32(dst []float32, src []byte) {
	checkDecode(F32, len(dst), len(src), 1, 4)
	copy(Floats(dst), src)
}

func encodeF32(dst []byte, src []float32) {
	checkEncode(F32, len(src), len(dst), 1, 4)
	copy(dst, Floats(src))
}

// Finite reports whether x holds neither an infinity nor what is not a number.
func Finite(x []float32) bool { return topBits(x) < 0x7f800000 }

// topBits returns the bits of the largest magnitude, which have the order of the floats: that of an
// infinity is above those of numbers, and those that are no number above that.
func topBits(x []float32) uint32 {
	top, n := fastTop(x)
	for _, v := range x[n:] {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	return top
}

func dotF32(n int, w, x []byte) float32 {
	checkDot(F32, F32, n, w, x, 1, 4)
	var s0, s1, s2, s3 float32 // variables, since the compiler keeps arrays in memory
	for ; len(w) >= 16 && len(x) >= 16; w, x = w[16:], x[16:] {
		a, b := (*[16]byte)(w), (*[16]byte)(x)
		s0 += float32(getFloat(a[:]) * getFloat(b[:]))
		s1 += float32(getFloat(a[4:]) * getFloat(b[4:]))
		s2 += float32(getFloat(a[8:]) * getFloat(b[8:]))
		s3 += float32(getFloat(a[12:]) * getFloat(b[12:]))
	}
	s := [4]float32{s0, s1, s2, s3}
	for i := 0; i < len(w); i += 4 {
		s[i/4] += float32(getFloat(w[i:]) * getFloat(x[i:]))
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}
