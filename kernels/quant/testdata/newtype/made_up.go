package quant

import (
	"encoding/binary"
	"math"
)

// MADE_UP packs 32 weights in 36 bytes: an F32 d, then 32 int8. It is in no file
// format: .ci/steps/newtype.sh adds it to show what a new number type takes.
const madeUpBytes = 36

func decodeMadeUp(dst []float32, src []byte) {
	for b := range checkDecode(MADE_UP, len(dst), len(src), 32, madeUpBytes) {
		p := src[b*madeUpBytes:]
		for i := range 32 {
			dst[b*32+i] = getFloat(p) * float32(int8(p[4+i]))
		}
	}
}

func encodeMadeUp(dst []byte, src []float32) {
	for b := range checkEncode(MADE_UP, len(src), len(dst), 32, madeUpBytes) {
		p, x := dst[b*madeUpBytes:], src[b*32:][:32]
		top := 0.0
		for _, v := range x {
			top = max(top, math.Abs(float64(v)))
		}
		binary.LittleEndian.PutUint32(p, math.Float32bits(float32(top/127)))
		for i, v := range x {
			p[4+i] = byte(int8(math.Round(float64(v) * 127 / max(top, 1e-30))))
		}
	}
}

func dotMadeUp(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(MADE_UP, ActQ8_32, n, w, x, 32, madeUpBytes) {
		p := w[b*madeUpBytes:]
		y, d, _ := actBlock(x, b)
		var sum int32
		for i := range 32 {
			sum += int32(int8(p[4+i])) * int32(int8(y[i]))
		}
		acc += float32(getFloat(p)*d) * float32(sum)
	}
	return acc
}
