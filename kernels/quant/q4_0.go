package quant

import (
	"encoding/binary"
	"math"
)

// Q4_0 packs 32 weights in 18 bytes:
//
//	0  F16       d
//	2  16 bytes  q; byte i holds weight i low, weight i+16 high
//
// w = d·(q − 8).
const q4_0Bytes = 18

func decodeQ4_0(dst []float32, src []byte) {
	for b := range checkDecode(Q4_0, len(dst), len(src), 32, q4_0Bytes) {
		p := (*[q4_0Bytes]byte)(src[b*q4_0Bytes:])
		y := (*[32]float32)(dst[b*32:])
		d := getHalf(p[:])
		for i, q := range p[2:] {
			y[i] = float32(int32(q&15)-8) * d
			y[i+16] = float32(int32(q>>4)-8) * d
		}
	}
}

func dotQ4_0(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q4_0, ActQ8_32, n, w, x, 32, q4_0Bytes) {
		p := (*[q4_0Bytes]byte)(w[b*q4_0Bytes:])
		y, dx, _ := actBlock(x, b)
		var sum int32
		for i, q := range p[2:] {
			sum += (int32(q&15) - 8) * int32(int8(y[i]))
			sum += (int32(q>>4) - 8) * int32(int8(y[i+16]))
		}
		acc += float32(float32(getHalf(p[:])*dx) * float32(sum))
	}
	return acc
}

func encodeQ4_0(dst []byte, src []float32) {
	for b := range checkEncode(Q4_0, len(src), len(dst), 32, q4_0Bytes) {
		p := (*[q4_0Bytes]byte)(dst[b*q4_0Bytes:])
		x := (*[32]float32)(src[b*32:])
		// The value of largest magnitude takes quant −8, whatever its sign:
		// there is one more step on that side.
		var top, magnitude float32
		for _, v := range x {
			if a := float32(math.Abs(float64(v))); a > magnitude {
				top, magnitude = v, a
			}
		}
		d := top / -8
		id := inverse(d)
		binary.LittleEndian.PutUint16(p[:], halfScale(float64(d)))
		for i := range 16 {
			p[2+i] = byte(fourBits(x[i], id)) | byte(fourBits(x[i+16], id))<<4
		}
	}
}

// fourBits rounds in float32 with halves going up, as GGML does.
func fourBits(v, id float32) int32 {
	return min(max(int32(float32(v*id)+8.5), 0), 15)
}
