package quant

// Q3_K packs 256 weights in 110 bytes:
//
//	  0  32 bytes  bit 4h+g of byte l is the third bit of weight 128h+32g+l
//	 32  64 bytes  low two bits; byte 32h+l holds weights 128h+l, +32, +64, +96
//	 96  12 bytes  16 scales of six bits, per 16 weights (see q3Scale)
//	108  F16       d
//
// w = d·(scale − 32)·(q − 4).
const q3_KBytes = 110

// q3Scale returns scale j less its offset. The low four bits of the sixteen
// fill the first eight bytes, low nibbles first; the high two the last four.
func q3Scale(s *[12]byte, j int) int32 {
	low := s[j%8] >> (j / 8 * 4) & 15
	high := s[8+j%4] >> (j / 4 * 2) & 3
	return int32(low|high<<4) - 32
}

func decodeQ3_K(dst []float32, src []byte) {
	for b := range checkDecode(Q3_K, len(dst), len(src), 256, q3_KBytes) {
		p := (*[q3_KBytes]byte)(src[b*q3_KBytes:])
		d := getHalf(p[108:])
		for j := range 16 {
			y := (*[16]float32)(dst[b*256+16*j:])
			qs := (*[16]byte)(p[32+32*(j/8)+16*(j%2):])
			hs := (*[16]byte)(p[16*(j%2):])
			shift, bit := j/2%4*2, j/2
			scale := d * float32(q3Scale((*[12]byte)(p[96:]), j))
			for i, q := range qs {
				v := int32(q>>shift&3 | hs[i]>>bit&1<<2)
				y[i] = scale * float32(v-4)
			}
		}
	}
}

func dotQ3_K(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q3_K, ActQ8_256, n, w, x, 256, q3_KBytes) {
		p := (*[q3_KBytes]byte)(w[b*q3_KBytes:])
		g, dx := actGroup(x, b)
		var sum int32
		for j := range 16 {
			y := (*[16]byte)(g[16*j:])
			qs := (*[16]byte)(p[32+32*(j/8)+16*(j%2):])
			hs := (*[16]byte)(p[16*(j%2):])
			shift, bit := j/2%4*2, j/2
			var part int32
			for i, q := range qs {
				v := int32(q>>shift&3 | hs[i]>>bit&1<<2)
				part += (v - 4) * int32(int8(y[i]))
			}
			sum += q3Scale((*[12]byte)(p[96:]), j) * part
		}
		acc += float32(dx * float32(getHalf(p[108:])*float32(sum)))
	}
	return acc
}
