package quant

import "encoding/binary"

// Q5_0 packs 32 weights in 22 bytes:
//
//	0  F16       d
//	2  uint32    bit i is the fifth bit of weight i
//	6  16 bytes  low four bits; byte i holds weight i low, weight i+16 high
//
// w = d·(q − 16).
const q5_0Bytes = 22

func decodeQ5_0(dst []float32, src []byte) {
	for b := range checkDecode(Q5_0, len(dst), len(src), 32, q5_0Bytes) {
		p := (*[q5_0Bytes]byte)(src[b*q5_0Bytes:])
		y := (*[32]float32)(dst[b*32:])
		d := getHalf(p[:])
		high := binary.LittleEndian.Uint32(p[2:])
		for i, q := range p[6:] {
			y[i] = float32(int32(uint32(q&15)|high<<4&16)-16) * d
			y[i+16] = float32(int32(uint32(q>>4)|high>>12&16)-16) * d
			high >>= 1
		}
	}
}

func dotQ5_0(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q5_0, ActQ8_32, n, w, x, 32, q5_0Bytes) {
		p := (*[q5_0Bytes]byte)(w[b*q5_0Bytes:])
		y, dx, _ := actBlock(x, b)
		high := binary.LittleEndian.Uint32(p[2:])
		var sum int32
		for i, q := range p[6:] {
			sum += (int32(uint32(q&15)|high<<4&16) - 16) * int32(int8(y[i]))
			sum += (int32(uint32(q>>4)|high>>12&16) - 16) * int32(int8(y[i+16]))
			high >>= 1
		}
		acc += float32(float32(getHalf(p[:])*dx) * float32(sum))
	}
	return acc
}
