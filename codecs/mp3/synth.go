package mp3

import "math"

// synthesis is the polyphase filter bank of one channel. history holds, for
// each of the 32 values of the DCT of a time slot, the last 15 slots and then
// those of the granule at work: the taps of the window lie side by side.
//
// The standard, 2.4.3.2.2, with its 64 matrixed values expressed by the 32
// that differ: V[i] is D[16+i] up to 15, 0 at 16, -D[48-i] to 48 and -D[i-48]
// from there, D being a DCT-II.
type synthesis struct {
	history [subbands][15 + 18]float32
}

// synthWindows splits the window by what it multiplies: t.synth[j] are the
// taps of sample j on D[16+j] (even delays) and D[16-j] (odd delays), then those of
// sample 32-j; signs included. The first tap is the newest.
func (t *tables) synthWindows() {
	d := func(i int) float32 {
		v := synthWindow[min(i, 512-i)]
		if i > 256 && i%64 != 0 {
			v = -v
		}
		return float32(v) / 65536
	}
	for a := range 8 {
		for j := range 16 {
			t.synth[j][0][a] = d(j + 64*a)
			t.synth[j][1][a] = -d(j + 32 + 64*a)
			if j > 0 {
				t.synth[j][2][a] = -d(32 - j + 64*a)
				t.synth[j][3][a] = -d(64 - j + 64*a)
			}
		}
		t.center[a] = -d(48 + 64*a)
	}
}

// run writes the 576 samples that in stands for to out, step floats apart.
func (s *synthesis) run(t *tables, in *[18][subbands]float32, out []float32, step int) {
	for slot := range in {
		dct32(&in[slot], &s.history, 15+slot)
	}
	for slot := range 18 {
		o := out[slot*subbands*step:]
		o = o[:31*step+1]
		mid := (*[16]float32)(s.history[16][slot:])
		w := &t.synth[0]
		o[0] = even(mid, &w[0]) + odd(mid, &w[1])
		o[16*step] = odd((*[16]float32)(s.history[0][slot:]), &t.center)
		for j := 1; j < 16; j++ {
			hi, lo := (*[16]float32)(s.history[16+j][slot:]), (*[16]float32)(s.history[16-j][slot:])
			w := &t.synth[j]
			a, b := even(hi, &w[0]), odd(lo, &w[1])
			c, d := even(hi, &w[2]), odd(lo, &w[3])
			o[j*step] = a + b
			o[(32-j)*step] = c + d
		}
	}
	for i := range s.history {
		h := &s.history[i]
		copy(h[:15], h[18:])
	}
}

// even applies taps w to the newest value of h and every second before.
func even(h *[16]float32, w *[8]float32) float32 {
	return h[15]*w[0] + h[13]*w[1] + h[11]*w[2] + h[9]*w[3] + h[7]*w[4] + h[5]*w[5] + h[3]*w[6] + h[1]*w[7]
}

// odd is even one slot earlier.
func odd(h *[16]float32, w *[8]float32) float32 {
	return h[14]*w[0] + h[12]*w[1] + h[10]*w[2] + h[8]*w[3] + h[6]*w[4] + h[4]*w[5] + h[2]*w[6] + h[0]*w[7]
}

// dct32 writes D[n] = Σ x[k]·cos(πn(2k+1)/64) to out[n][at].
//
// Lee, "A new algorithm to compute the discrete cosine transform", 1984: the
// even values are the transform of half the length of the sums x[k] + x[31-k],
// the odd ones sums of neighbours in that of the scaled differences.
func dct32(x *[subbands]float32, out *[subbands][15 + 18]float32, at int) {
	var s, d [16]float32
	for k := range 16 {
		u, v := x[k], x[31-k]
		s[k], d[k] = u+v, (u-v)*sec64[k]
	}
	dct16(&s)
	dct16(&d)
	for n := range 15 {
		out[2*n][at] = s[n]
		out[2*n+1][at] = d[n] + d[n+1]
	}
	out[30][at], out[31][at] = s[15], d[15]
}

func dct16(x *[16]float32) {
	var s, d [8]float32
	for k := range 8 {
		u, v := x[k], x[15-k]
		s[k], d[k] = u+v, (u-v)*sec32[k]
	}
	dct8(&s)
	dct8(&d)
	for n := range 7 {
		x[2*n] = s[n]
		x[2*n+1] = d[n] + d[n+1]
	}
	x[14], x[15] = s[7], d[7]
}

func dct8(x *[8]float32) {
	s0, s1, s2, s3 := x[0]+x[7], x[1]+x[6], x[2]+x[5], x[3]+x[4]
	d0, d1, d2, d3 := (x[0]-x[7])*sec16[0], (x[1]-x[6])*sec16[1], (x[2]-x[5])*sec16[2], (x[3]-x[4])*sec16[3]
	const (
		c45   = 0.7071067811865476
		sec8a = 0.5411961001461970 // 1/(2·cos(π/8))
		sec8b = 1.3065629648763766 // 1/(2·cos(3π/8))
	)
	p, q := s0+s3, s1+s2
	r, t := (s0-s3)*sec8a, (s1-s2)*sec8b
	rt := (r - t) * c45
	x[0], x[2], x[4], x[6] = p+q, r+t+rt, (p-q)*c45, rt
	p, q = d0+d3, d1+d2
	r, t = (d0-d3)*sec8a, (d1-d2)*sec8b
	rt = (r - t) * c45
	g0, g1, g2, g3 := p+q, r+t+rt, (p-q)*c45, rt
	x[1], x[3], x[5], x[7] = g0+g1, g1+g2, g2+g3, g3
}

// secN[k] = 1 / (2·cos((2k+1)π/N)).
var sec16, sec32, sec64 = secants(16), secants(32), secants(64)

func secants(n int) (s [16]float32) {
	for k := range n / 4 {
		s[k] = float32(1 / (2 * math.Cos(float64(2*k+1)*math.Pi/float64(n))))
	}
	return s
}
