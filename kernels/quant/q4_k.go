package quant

import "encoding/binary"

// Q4_K packs 256 weights in 144 bytes:
//
//	 0  F16        d
//	 2  F16        dmin
//	 4  12 bytes   8 scales and 8 mins of six bits, per 32 weights (scalesMins)
//	16  128 bytes  q; byte 32g+l holds weight 64g+l low, weight 64g+32+l high
//
// w = d·scale·q − dmin·min.
const q4_KBytes = 144

// scalesMins unpacks the scales and mins of Q4_K and Q5_K; byte j of each
// result is for sub-block j. The first four scales and the first four mins are
// the low six bits of bytes 0-3 and 4-7. Of the other four the low nibbles
// share bytes 8-11, scale below min, and the two bits above those are on top of
// bytes 0-3 and 4-7.
func scalesMins(p []byte) (scales, mins uint64) {
	const six, four, two = 0x3f3f3f3f, 0x0f0f0f0f, 0x03030303
	a := binary.LittleEndian.Uint32(p)
	b := binary.LittleEndian.Uint32(p[4:])
	c := binary.LittleEndian.Uint32(p[8:])
	scales = uint64(a&six) | uint64(c&four|a>>6&two<<4)<<32
	mins = uint64(b&six) | uint64(c>>4&four|b>>6&two<<4)<<32
	return scales, mins
}

func decodeQ4_K(dst []float32, src []byte) {
	for b := range checkDecode(Q4_K, len(dst), len(src), 256, q4_KBytes) {
		p := (*[q4_KBytes]byte)(src[b*q4_KBytes:])
		d, dmin := getHalf(p[:]), getHalf(p[2:])
		scales, mins := scalesMins(p[4:])
		for j := range 4 {
			y := (*[64]float32)(dst[b*256+64*j:])
			qs := (*[32]byte)(p[16+32*j:])
			d0, m0 := d*float32(scales&63), float32(dmin*float32(mins&63))
			d1, m1 := d*float32(scales>>8&63), float32(dmin*float32(mins>>8&63))
			for i, q := range qs {
				y[i] = float32(d0*float32(q&15)) - m0
				y[i+32] = float32(d1*float32(q>>4)) - m1
			}
			scales >>= 16
			mins >>= 16
		}
	}
}

func dotQ4_K(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q4_K, ActQ8_256, n, w, x, 256, q4_KBytes) {
		p := (*[q4_KBytes]byte)(w[b*q4_KBytes:])
		g, dx := actGroup(x, b)
		scales, ms := scalesMins(p[4:])
		var sum, mins int32
		for j := range 4 {
			y := (*[64]byte)(g[64*j:])
			qs := (*[32]byte)(p[16+32*j:])
			var lo, hi int32
			for i, q := range qs {
				lo += int32(q&15) * int32(int8(y[i]))
				hi += int32(q>>4) * int32(int8(y[i+32]))
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

func encodeQ4_K(dst []byte, src []float32) {
	for n := range checkEncode(Q4_K, len(src), len(dst), 256, q4_KBytes) {
		var b minBlock
		fitMins(&b, src[n*256:n*256+256], 15)
		p := (*[q4_KBytes]byte)(dst[n*q4_KBytes:])
		binary.LittleEndian.PutUint16(p[:], b.d)
		binary.LittleEndian.PutUint16(p[2:], b.dmin)
		putScalesMins(p[4:16], &b.scales, &b.mins)
		for i := range 128 {
			lo := i/32*64 + i%32
			p[16+i] = b.quants[lo] | b.quants[lo+32]<<4
		}
	}
}

// putScalesMins is the inverse of scalesMins.
func putScalesMins(p []byte, scales, mins *[8]uint8) {
	for j := range 4 {
		p[j] = scales[j] | scales[j+4]>>4<<6
		p[4+j] = mins[j] | mins[j+4]>>4<<6
		p[8+j] = scales[j+4]&15 | mins[j+4]<<4
	}
}
