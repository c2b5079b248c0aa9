package quant

import (
	"encoding/binary"
	"math"
)

// encodeQ5_0 gives the value of largest magnitude the quant −16, whatever its
// sign: there is one more step on that side. It rounds in float32 with halves
// going up, as GGML does.
func encodeQ5_0(dst []byte, src []float32) {
	for b := range checkEncode(Q5_0, len(src), len(dst), 32, q5_0Bytes) {
		p := (*[q5_0Bytes]byte)(dst[b*q5_0Bytes:])
		x := (*[32]float32)(src[b*32:])
		var top, magnitude float32
		for _, v := range x {
			if a := float32(math.Abs(float64(v))); a > magnitude {
				top, magnitude = v, a
			}
		}
		d := top / -16
		id := inverse(d)
		binary.LittleEndian.PutUint16(p[:], halfScale(float64(d)))
		putFiveBits(p[2:], x, func(v float32) uint32 { return fiveBits(float32(v*id) + 16.5) })
	}
}

// encodeQ5_1 spreads the quants over exactly the range of a block.
func encodeQ5_1(dst []byte, src []float32) {
	for b := range checkEncode(Q5_1, len(src), len(dst), 32, q5_1Bytes) {
		p := (*[q5_1Bytes]byte)(dst[b*q5_1Bytes:])
		x := (*[32]float32)(src[b*32:])
		low, high := x[0], x[0]
		for _, v := range x {
			low, high = min(low, v), max(high, v)
		}
		// In float64: the range of finite numbers need not be finite in 32 bits.
		d := float32((float64(high) - float64(low)) / 31)
		id := inverse(d)
		binary.LittleEndian.PutUint16(p[:], halfScale(float64(d)))
		binary.LittleEndian.PutUint16(p[2:], halfScale(float64(low)))
		putFiveBits(p[4:], x, func(v float32) uint32 { return fiveBits(float32(float32(v-low)*id) + 0.5) })
	}
}

// putFiveBits writes the fifth bits of 32 quants, then their low four.
func putFiveBits(p []byte, x *[32]float32, quant func(float32) uint32) {
	var high uint32
	for i := range 16 {
		lo, hi := quant(x[i]), quant(x[i+16])
		p[4+i] = byte(lo&15 | hi&15<<4)
		high |= lo>>4<<i | hi>>4<<(i+16)
	}
	binary.LittleEndian.PutUint32(p, high)
}

// fiveBits cuts v to a whole number from 0 to 31.
func fiveBits(v float32) uint32 {
	if !(v > 0) { // NaN too
		return 0
	}
	return uint32(min(v, 31))
}
