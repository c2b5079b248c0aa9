package quant

import "encoding/binary"

// Q5_1 packs 32 weights in 24 bytes:
//
//	0  F16       d
//	2  F16       m
//	4  uint32    bit i is the fifth bit of weight i
//	8  16 bytes  low four bits; byte i holds weight i low, weight i+16 high
//
// w = d·q + m.
const q5_1Bytes = 24

func decodeQ5_1(dst []float32, src []byte) {
	for b := range checkDecode(Q5_1, len(dst), len(src), 32, q5_1Bytes) {
		p := (*[q5_1Bytes]byte)(src[b*q5_1Bytes:])
		y := (*[32]float32)(dst[b*32:])
		d, m := getHalf(p[:]), getHalf(p[2:])
		high := binary.LittleEndian.Uint32(p[4:])
		for i, q := range p[8:] {
			y[i] = float32(float32(int32(uint32(q&15)|high<<4&16))*d) + m
			y[i+16] = float32(float32(int32(uint32(q>>4)|high>>12&16))*d) + m
			high >>= 1
		}
	}
}

func dotQ5_1(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q5_1, ActQ8_32, n, w, x, 32, q5_1Bytes) {
		p := (*[q5_1Bytes]byte)(w[b*q5_1Bytes:])
		y, dx, sx := actBlock(x, b)
		high := binary.LittleEndian.Uint32(p[4:])
		var sum int32
		for i, q := range p[8:] {
			sum += int32(uint32(q&15)|high<<4&16) * int32(int8(y[i]))
			sum += int32(uint32(q>>4)|high>>12&16) * int32(int8(y[i+16]))
			high >>= 1
		}
		acc += float32(dx * (float32(getHalf(p[:])*float32(sum)) + float32(getHalf(p[2:])*float32(sx))))
	}
	return acc
}
