package quant

// Q2_K packs 256 weights in 84 bytes:
//
//	 0  16 bytes  per 16 weights: scale in the low four bits, min in the high
//	16  64 bytes  q; byte 32h+l holds weights 128h+l, +32, +64, +96, low bits first
//	80  F16       d
//	82  F16       dmin
//
// w = d·scale·q − dmin·min.
const q2_KBytes = 84

func decodeQ2_K(dst []float32, src []byte) {
	for b := range checkDecode(Q2_K, len(dst), len(src), 256, q2_KBytes) {
		p := (*[q2_KBytes]byte)(src[b*q2_KBytes:])
		d, dmin := getHalf(p[80:]), getHalf(p[82:])
		for j, s := range p[:16] {
			y := (*[16]float32)(dst[b*256+16*j:])
			qs := (*[16]byte)(p[16+32*(j/8)+16*(j%2):])
			shift := j / 2 % 4 * 2
			scale, m := float32(d*float32(s&15)), float32(dmin*float32(s>>4))
			// Four quants, four values: a table saves the conversions.
			t := [4]float32{
				float32(scale*0) - m, // not a number where the scale is none
				scale - m,
				float32(scale*2) - m,
				float32(scale*3) - m,
			}
			for i, q := range qs {
				y[i] = t[q>>shift&3]
			}
		}
	}
}

func dotQ2_K(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q2_K, ActQ8_256, n, w, x, 256, q2_KBytes) {
		p := (*[q2_KBytes]byte)(w[b*q2_KBytes:])
		g, dx := actGroup(x, b)
		var sum, mins int32
		for j, s := range p[:16] {
			y := (*[16]byte)(g[16*j:])
			qs := (*[16]byte)(p[16+32*(j/8)+16*(j%2):])
			shift := j / 2 % 4 * 2
			var part int32
			for i, q := range qs {
				part += int32(q>>shift&3) * int32(int8(y[i]))
			}
			sum += int32(s&15) * part
			mins += int32(s>>4) * sum16(g, j)
		}
		acc += float32(dx * (float32(getHalf(p[80:])*float32(sum)) - float32(getHalf(p[82:])*float32(mins))))
	}
	return acc
}
