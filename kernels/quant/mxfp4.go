package quant

import "math"

// MXFP4 packs 32 weights in 17 bytes:
//
//	0  E8M0      e
//	1  16 bytes  q; byte i holds weight i low, weight i+16 high
//
// w = 2^(e−128)·mxfp4Values[q]: the values are doubled to be whole and the
// scale halved. As in GGML, e = 255 is a scale like any other; the standard
// makes it a NaN.
//
// Open Compute Project, "OCP Microscaling Formats (MX) Specification", 2023.
const mxfp4Bytes = 17

// mxfp4Values are the E2M1 numbers times two.
var mxfp4Values = [16]int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

func decodeMXFP4(dst []float32, src []byte) {
	for b := range checkDecode(MXFP4, len(dst), len(src), 32, mxfp4Bytes) {
		p := (*[mxfp4Bytes]byte)(src[b*mxfp4Bytes:])
		y := (*[32]float32)(dst[b*32:])
		d := mxScale(p[0])
		for i, q := range p[1:] {
			y[i] = float32(mxfp4Values[q&15]) * d
			y[i+16] = float32(mxfp4Values[q>>4]) * d
		}
	}
}

func dotMXFP4(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(MXFP4, ActQ8_32, n, w, x, 32, mxfp4Bytes) {
		p := (*[mxfp4Bytes]byte)(w[b*mxfp4Bytes:])
		y, dx, _ := actBlock(x, b)
		var sum int32
		for i, q := range p[1:] {
			sum += int32(mxfp4Values[q&15]) * int32(int8(y[i]))
			sum += int32(mxfp4Values[q>>4]) * int32(int8(y[i+16]))
		}
		acc += float32(float32(mxScale(p[0])*dx) * float32(sum))
	}
	return acc
}

// mxScale returns 2^(e−128); the two least of them are subnormal.
func mxScale(e byte) float32 {
	if e < 2 {
		return math.Float32frombits(0x00200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}
