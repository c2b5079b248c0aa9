package quant

import "encoding/binary"

// Q6_K packs 256 weights in 210 bytes:
//
//	  0  128 bytes  low four bits; byte 64h+l holds weight 128h+l low and
//	                128h+64+l high, l up to 63
//	128  64 bytes   high two bits; byte 32h+l holds weights 128h+l, +32, +64, +96
//	192  16 int8    scales, per 16 weights
//	208  F16        d
//
// w = d·scale·(q − 32).
const q6_KBytes = 210

func decodeQ6_K(dst []float32, src []byte) {
	for b := range checkDecode(Q6_K, len(dst), len(src), 256, q6_KBytes) {
		p := (*[q6_KBytes]byte)(src[b*q6_KBytes:])
		d := getHalf(p[208:])
		// j counts half rows of 16: the four weights a column holds are 32
		// apart, and so their scales two.
		for j := range 4 {
			h, l := j/2, j%2*16
			y := (*[112]float32)(dst[b*256+128*h+l:])
			lo := (*[48]byte)(p[64*h+l:])
			hi := (*[16]byte)(p[128+32*h+l:])
			sc := (*[7]byte)(p[192+8*h+j%2:])
			d0, d1 := d*float32(int8(sc[0])), d*float32(int8(sc[2]))
			d2, d3 := d*float32(int8(sc[4])), d*float32(int8(sc[6]))
			for i, q := range hi {
				y[i] = d0 * float32(int32(lo[i]&15|q<<4&48)-32)
				y[i+32] = d1 * float32(int32(lo[i+32]&15|q<<2&48)-32)
				y[i+64] = d2 * float32(int32(lo[i]>>4|q&48)-32)
				y[i+96] = d3 * float32(int32(lo[i+32]>>4|q>>2&48)-32)
			}
		}
	}
}

func dotQ6_K(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q6_K, ActQ8_256, n, w, x, 256, q6_KBytes) {
		p := (*[q6_KBytes]byte)(w[b*q6_KBytes:])
		g, dx := actGroup(x, b)
		var sum int32
		for j := range 4 {
			h, l := j/2, j%2*16
			y := (*[112]byte)(g[128*h+l:])
			lo := (*[48]byte)(p[64*h+l:])
			hi := (*[16]byte)(p[128+32*h+l:])
			sc := (*[7]byte)(p[192+8*h+j%2:])
			var s0, s1, s2, s3 int32
			for i, q := range hi {
				s0 += (int32(lo[i]&15|q<<4&48) - 32) * int32(int8(y[i]))
				s1 += (int32(lo[i+32]&15|q<<2&48) - 32) * int32(int8(y[i+32]))
				s2 += (int32(lo[i]>>4|q&48) - 32) * int32(int8(y[i+64]))
				s3 += (int32(lo[i+32]>>4|q>>2&48) - 32) * int32(int8(y[i+96]))
			}
			sum += int32(int8(sc[0]))*s0 + int32(int8(sc[2]))*s1
			sum += int32(int8(sc[4]))*s2 + int32(int8(sc[6]))*s3
		}
		acc += float32(dx * float32(getHalf(p[208:])*float32(sum)))
	}
	return acc
}

func encodeQ6_K(dst []byte, src []float32) {
	for n := range checkEncode(Q6_K, len(src), len(dst), 256, q6_KBytes) {
		var b signedBlock
		fitScales(&b, src[n*256:n*256+256], 32)
		p := (*[q6_KBytes]byte)(dst[n*q6_KBytes:])
		for i := range 128 {
			lo := i/64*128 + i%64
			p[i] = b.quants[lo]&15 | b.quants[lo+64]<<4
		}
		for i := range 64 {
			q := b.quants[i/32*128+i%32:]
			p[128+i] = q[0]>>4 | q[32]>>4<<2 | q[64]>>4<<4 | q[96]>>4<<6
		}
		for j, s := range b.scales {
			p[192+j] = byte(s)
		}
		binary.LittleEndian.PutUint16(p[208:], b.d)
	}
}
