package quant

import "encoding/binary"

// Q5_K packs 256 weights in 176 bytes:
//
//	 0  F16        d
//	 2  F16        dmin
//	 4  12 bytes   scales and mins as in Q4_K
//	16  32 bytes   bit j of byte l is the fifth bit of weight 32j+l
//	48  128 bytes  low four bits, as in Q4_K
//
// w = d·scale·q − dmin·min.
const q5_KBytes = 176

func decodeQ5_K(dst []float32, src []byte) {
	for b := range checkDecode(Q5_K, len(dst), len(src), 256, q5_KBytes) {
		p := (*[q5_KBytes]byte)(src[b*q5_KBytes:])
		d, dmin := getHalf(p[:]), getHalf(p[2:])
		scales, mins := scalesMins(p[4:])
		hs := (*[32]byte)(p[16:])
		for j := range 4 {
			y := (*[64]float32)(dst[b*256+64*j:])
			qs := (*[32]byte)(p[48+32*j:])
			d0, m0 := d*float32(scales&63), float32(dmin*float32(mins&63))
			d1, m1 := d*float32(scales>>8&63), float32(dmin*float32(mins>>8&63))
			for i, q := range qs {
				h := hs[i] >> (2 * j)
				y[i] = float32(d0*float32(q&15|h<<4&16)) - m0
				y[i+32] = float32(d1*float32(q>>4|h<<3&16)) - m1
			}
			scales >>= 16
			mins >>= 16
		}
	}
}

func dotQ5_K(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q5_K, ActQ8_256, n, w, x, 256, q5_KBytes) {
		p := (*[q5_KBytes]byte)(w[b*q5_KBytes:])
		g, dx := actGroup(x, b)
		scales, ms := scalesMins(p[4:])
		hs := (*[32]byte)(p[16:])
		var sum, mins int32
		for j := range 4 {
			y := (*[64]byte)(g[64*j:])
			qs := (*[32]byte)(p[48+32*j:])
			var lo, hi int32
			for i, q := range qs {
				h := hs[i] >> (2 * j)
				lo += int32(q&15|h<<4&16) * int32(int8(y[i]))
				hi += int32(q>>4|h<<3&16) * int32(int8(y[i+32]))
			}
			sum += int32(scales&63)*lo + int32(scales>>8&63)*hi
			mins += int32(ms&63)*sum32(g, 2*j) + int32(ms>>8&63)*sum32(g, 2*j+1)
			scales >>= 16
			ms >>= 16
		}
		acc += float32(dx * (float32(getHalf(p[:])*float32(sum)) - float32(getHalf(p[2:])*float32(mins))))
	}
	return acc
}

func encodeQ5_K(dst []byte, src []float32) {
	for n := range checkEncode(Q5_K, len(src), len(dst), 256, q5_KBytes) {
		var b minBlock
		fitMins(&b, src[n*256:n*256+256], 31)
		p := (*[q5_KBytes]byte)(dst[n*q5_KBytes:])
		binary.LittleEndian.PutUint16(p[:], b.d)
		binary.LittleEndian.PutUint16(p[2:], b.dmin)
		putScalesMins(p[4:16], &b.scales, &b.mins)
		for i := range 32 {
			var high byte
			for j := range 8 {
				high |= b.quants[32*j+i] >> 4 << j
			}
			p[16+i] = high
		}
		for i := range 128 {
			lo := i/32*64 + i%32
			p[48+i] = b.quants[lo]&15 | b.quants[lo+32]<<4
		}
	}
}
