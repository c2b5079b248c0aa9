package quant

import (
	"encoding/binary"
	"math"
)

// Q8_0 packs 32 weights in 34 bytes:
//
//	0  F16      d
//	2  32 int8  q
//
// w = d·q.
const q8_0Bytes = 34

func decodeQ8_0(dst []float32, src []byte) {
	for b := range checkDecode(Q8_0, len(dst), len(src), 32, q8_0Bytes) {
		p := (*[q8_0Bytes]byte)(src[b*q8_0Bytes:])
		y := (*[32]float32)(dst[b*32:])
		d := getHalf(p[:])
		for i, q := range p[2:] {
			y[i] = float32(int8(q)) * d
		}
	}
}

func dotQ8_0(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q8_0, ActQ8_32, n, w, x, 32, q8_0Bytes) {
		p := (*[q8_0Bytes]byte)(w[b*q8_0Bytes:])
		y, dx, _ := actBlock(x, b)
		var sum int32
		for i, q := range p[2:] {
			sum += int32(int8(q)) * int32(int8(y[i]))
		}
		acc += float32(float32(getHalf(p[:])*dx) * float32(sum))
	}
	return acc
}

func encodeQ8_0(dst []byte, src []float32) {
	for b := range checkEncode(Q8_0, len(src), len(dst), 32, q8_0Bytes) {
		p := (*[q8_0Bytes]byte)(dst[b*q8_0Bytes:])
		x := (*[32]float32)(src[b*32:])
		d := math.Float32frombits(topBits(x[:])) / 127
		id := inverse(d)
		binary.LittleEndian.PutUint16(p[:], halfScale(float64(d)))
		for i, v := range x {
			p[2+i] = byte(eightBits(v * id))
		}
	}
}

// eightBits rounds with halves away from zero, as GGML does: in float64 half of one more is exact.
// What is not a number is 0.
func eightBits(v float32) int8 {
	q := min(max(float64(v), -127), 127)
	return int8(int32(q + math.Copysign(0.5, q)))
}
