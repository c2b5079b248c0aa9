package quant

// IQ4_NL packs 32 weights in 18 bytes:
//
//	0  F16       d
//	2  16 bytes  q; byte i holds weight i low, weight i+16 high
//
// w = d·iq4Values[q].
const iq4_NLBytes = 18

// iq4Values are the sixteen levels of IQ4_NL and IQ4_XS, closer together near
// zero as weights are.
var iq4Values = [16]int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func decodeIQ4_NL(dst []float32, src []byte) {
	for b := range checkDecode(IQ4_NL, len(dst), len(src), 32, iq4_NLBytes) {
		p := (*[iq4_NLBytes]byte)(src[b*iq4_NLBytes:])
		y := (*[32]float32)(dst[b*32:])
		d := getHalf(p[:])
		for i, q := range p[2:] {
			y[i] = d * float32(iq4Values[q&15])
			y[i+16] = d * float32(iq4Values[q>>4])
		}
	}
}

func dotIQ4_NL(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(IQ4_NL, ActQ8_32, n, w, x, 32, iq4_NLBytes) {
		p := (*[iq4_NLBytes]byte)(w[b*iq4_NLBytes:])
		y, dx, _ := actBlock(x, b)
		var sum int32
		for i, q := range p[2:] {
			sum += int32(iq4Values[q&15]) * int32(int8(y[i]))
			sum += int32(iq4Values[q>>4]) * int32(int8(y[i+16]))
		}
		acc += float32(float32(getHalf(p[:])*dx) * float32(sum))
	}
	return acc
}
