package quant

// Q4_1 packs 32 weights in 20 bytes:
//
//	0  F16       d
//	2  F16       m
//	4  16 bytes  q; byte i holds weight i low, weight i+16 high
//
// w = d·q + m.
const q4_1Bytes = 20

func decodeQ4_1(dst []float32, src []byte) {
	for b := range checkDecode(Q4_1, len(dst), len(src), 32, q4_1Bytes) {
		p := (*[q4_1Bytes]byte)(src[b*q4_1Bytes:])
		y := (*[32]float32)(dst[b*32:])
		d, m := getHalf(p[:]), getHalf(p[2:])
		for i, q := range p[4:] {
			y[i] = float32(float32(q&15)*d) + m
			y[i+16] = float32(float32(q>>4)*d) + m
		}
	}
}

func dotQ4_1(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q4_1, ActQ8_32, n, w, x, 32, q4_1Bytes) {
		p := (*[q4_1Bytes]byte)(w[b*q4_1Bytes:])
		y, dx, sx := actBlock(x, b)
		var sum int32
		for i, q := range p[4:] {
			sum += int32(q&15) * int32(int8(y[i]))
			sum += int32(q>>4) * int32(int8(y[i+16]))
		}
		acc += float32(dx * (float32(getHalf(p[:])*float32(sum)) + float32(getHalf(p[2:])*float32(sx))))
	}
	return acc
}
