package quant

// Q8_K packs 256 weights in 292 bytes:
//
//	  0  float32   d
//	  4  256 int8  q
//	260  16 int16  sums of 16 consecutive q, which nothing here needs
//
// w = d·q.
const q8_KBytes = 292

func decodeQ8_K(dst []float32, src []byte) {
	for b := range checkDecode(Q8_K, len(dst), len(src), 256, q8_KBytes) {
		p := (*[q8_KBytes]byte)(src[b*q8_KBytes:])
		y := (*[256]float32)(dst[b*256:])
		d := getFloat(p[:])
		for i, q := range p[4:260] {
			y[i] = d * float32(int8(q))
		}
	}
}

func dotQ8_K(n int, w, x []byte) float32 {
	var acc float32
	for b := range checkDot(Q8_K, ActQ8_256, n, w, x, 256, q8_KBytes) {
		p := (*[q8_KBytes]byte)(w[b*q8_KBytes:])
		g, dx := actGroup(x, b)
		var sum int32
		for i, q := range p[4:260] {
			sum += int32(int8(q)) * int32(int8(g[i]))
		}
		acc += float32(dx * float32(getFloat(p[:])*float32(sum)))
	}
	return acc
}
