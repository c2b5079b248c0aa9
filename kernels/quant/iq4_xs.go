package quant

import "encoding/binary"

// IQ4_XS packs 256 weights in 136 bytes:
//
//	0  F16        d
//	2  uint16     bits 2j and 2j+1 are the high two bits of scale j
//	4  4 bytes    low four bits of the 8 scales, per 32 weights
//	8  128 bytes  q; byte 16j+i holds weight 32j+i low, weight 32j+16+i high
//
// w = d·(scale − 32)·iq4Values[q].
const iq4_XSBytes = 136

func decodeIQ4_XS(dst []float32, src []byte) {
	for b := range checkDecode(IQ4_XS, len(dst), len(src), 256, iq4_XSBytes) {
		p := (*[iq4_XSBytes]byte)(src[b*iq4_XSBytes:])
		d := getHalf(p[:])
		for j := range 8 {
			y := (*[32]float32)(dst[b*256+32*j:])
			qs := (*[16]byte)(p[8+16*j:])
			scale := d * float32(iq4Scale(p, j))
			for i, q := range qs {
				y[i] = scale * float32(iq4Values[q&15])
				y[i+16] = scale * float32(iq4Values[q>>4])
			}
		}
	}
}

func dotIQ4_XS(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(IQ4_XS, ActQ8_256, n, w, x, 256, iq4_XSBytes) {
		p := (*[iq4_XSBytes]byte)(w[b*iq4_XSBytes:])
		g, dx := actGroup(x, b)
		var sum int32
		for j := range 8 {
			y := (*[32]byte)(g[32*j:])
			qs := (*[16]byte)(p[8+16*j:])
			var part int32
			for i, q := range qs {
				part += int32(iq4Values[q&15]) * int32(int8(y[i]))
				part += int32(iq4Values[q>>4]) * int32(int8(y[i+16]))
			}
			sum += iq4Scale(p, j) * part
		}
		acc += float32(dx * float32(getHalf(p[:])*float32(sum)))
	}
	return acc
}

// iq4Scale returns scale j less its offset.
func iq4Scale(p *[iq4_XSBytes]byte, j int) int32 {
	low := int32(p[4+j/2] >> (j % 2 * 4) & 15)
	high := int32(binary.LittleEndian.Uint16(p[2:]) >> (2 * j) & 3)
	return low | high<<4 - 32
}
