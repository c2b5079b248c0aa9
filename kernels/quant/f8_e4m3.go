package quant

// F8_E4M3 is E4M3, and what lies beyond 448, infinity too, becomes 448. KV caches
// on GPUs use it.

func decodeF8(dst []float32, src []byte) {
	checkDecode(F8_E4M3, len(dst), len(src), 1, 1)
	for i := range dst {
		dst[i] = E4M3.Decode(uint16(src[i]))
	}
}

func encodeF8(dst []byte, src []float32) {
	checkEncode(F8_E4M3, len(src), len(dst), 1, 1)
	for i, f := range src {
		dst[i] = byte(E4M3.Encode(float64(f), true))
	}
}
