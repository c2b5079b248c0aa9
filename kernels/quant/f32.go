package quant

// F32 is little-endian IEEE 754 single precision.

func decodeF32(dst []float32, src []byte) {
	checkDecode(F32, len(dst), len(src), 1, 4)
	for i := range dst {
		dst[i] = getFloat(src[4*i:])
	}
}

func encodeF32(dst []byte, src []float32) {
	checkEncode(F32, len(src), len(dst), 1, 4)
	for i, f := range src {
		putFloat(dst[4*i:], f)
	}
}

func dotF32(n int, w, x []byte) float32 {
	checkDot(F32, F32, n, w, x, 1, 4)
	var s [4]float32
	for ; len(w) >= 16 && len(x) >= 16; w, x = w[16:], x[16:] {
		s[0] += float32(getFloat(w) * getFloat(x))
		s[1] += float32(getFloat(w[4:]) * getFloat(x[4:]))
		s[2] += float32(getFloat(w[8:]) * getFloat(x[8:]))
		s[3] += float32(getFloat(w[12:]) * getFloat(x[12:]))
	}
	for i := 0; i < len(w); i += 4 {
		s[i/4] += float32(getFloat(w[i:]) * getFloat(x[i:]))
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}
