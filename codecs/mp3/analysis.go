package mp3

import (
	"math"
	"sync"
)

// analysis is the encoder's filter bank of one channel: polyphase, then MDCT.
type analysis struct {
	past [512]float32 // the last input samples, newest first
	// Subband samples of the granule before the frame, of the frame's own (one or
	// two), and of the one after, which has its say in the last one's block type.
	sub [4][18][subbands]float32
}

// analysisTables are what the encoder computes once.
type analysisTables struct {
	window [512]float32
	matrix [subbands][subbands]float32
	long   [4][18][36]float32 // MDCT with the window of each block type
	short  [6][12]float32
}

var analysisShared = sync.OnceValue(func() *analysisTables {
	t := new(analysisTables)
	for i := range t.window {
		v := synthWindow[min(i, 512-i)]
		if i > 256 && i%64 != 0 {
			v = -v
		}
		t.window[i] = float32(v) / 65536 / 32
	}
	for i := range t.matrix {
		for m := range t.matrix[i] {
			t.matrix[i][m] = float32(math.Cos(float64((2*i+1)*m) * math.Pi / 64))
		}
	}
	// The decoder's transform has no factor of its own: 1/9 and 1/3 make the
	// overlapping windows add up to one.
	for typ := range t.long {
		for k := range 18 {
			for n := range 36 {
				t.long[typ][k][n] = float32(blockWindow(typ, n) / 9 * math.Cos(math.Pi/72*float64((2*n+19)*(2*k+1))))
			}
		}
	}
	for k := range 6 {
		for n := range 12 {
			t.short[k][n] = float32(blockWindow(2, n) / 3 * math.Cos(math.Pi/24*float64((2*n+7)*(2*k+1))))
		}
	}
	return t
})

// polyphase splits 576 samples of x, step apart, into 18 of every subband.
//
// The standard, C.1.3; the matrix of 64 columns is folded to 32.
func (a *analysis) polyphase(t *analysisTables, x []float32, step int, out *[18][subbands]float32) {
	for slot := range out {
		copy(a.past[subbands:], a.past[:512-subbands])
		for i := range subbands {
			a.past[31-i] = x[(slot*subbands+i)*step]
		}
		var y [64]float32
		for i := range y {
			var sum float32
			for j := i; j < 512; j += 64 {
				sum += t.window[j] * a.past[j]
			}
			y[i] = sum
		}
		var f [subbands]float32
		f[0] = y[16]
		for m := 1; m <= 16; m++ {
			f[m] = y[16+m] + y[16-m]
		}
		for m := 17; m < 32; m++ {
			f[m] = y[16+m] - y[80-m]
		}
		for i := range out[slot] {
			row := &t.matrix[i]
			var s0, s1 float32
			for m := 0; m < subbands; m += 2 {
				s0 += row[m] * f[m]
				s1 += row[m+1] * f[m+1]
			}
			v := s0 + s1
			if i&slot&1 != 0 { // frequency inversion
				v = -v
			}
			out[slot][i] = v
		}
	}
}

// mdct writes the lines of subband samples a then b, with the windows of typ,
// to x: in the order of the filter bank, three windows beside each other where
// typ is 2. Lines from limit on are zero.
//
// The standard, C.1.5.3.3.
func mdct(t *analysisTables, a, b *[18][subbands]float32, typ, limit int, x *[lines]float32) {
	*x = [lines]float32{}
	used := min((limit+17)/18+1, subbands)
	for sb := range used {
		var z [36]float32
		for i := range 18 {
			z[i], z[18+i] = a[i][sb], b[i][sb]
		}
		out := x[18*sb : 18*sb+18]
		if typ == 2 {
			for k := range 6 {
				for w := range 3 {
					var sum float32
					for n, c := range t.short[k] {
						sum += c * z[6+6*w+n]
					}
					out[3*k+w] = sum
				}
			}
			continue
		}
		for k := range out {
			row := &t.long[typ][k]
			var s0, s1 float32
			for n := 0; n < 36; n += 2 {
				s0 += row[n] * z[n]
				s1 += row[n+1] * z[n+1]
			}
			out[k] = s0 + s1
		}
	}
	if typ != 2 {
		s := shared()
		for sb := 1; sb < used; sb++ {
			for i := range 8 {
				p, q := &x[18*sb-1-i], &x[18*sb+i]
				*p, *q = *p*s.cs[i]+*q*s.ca[i], *q*s.cs[i]-*p*s.ca[i]
			}
		}
	}
	clear(x[limit:])
}

// attackRatio is how many times the energy of the third of a granule must
// exceed the mean of the three before to be worth short blocks.
const attackRatio = 12

// attack tells whether the windows of a granule whose samples are cur, and
// before that prev, should be short: whether the energy jumps where the short
// windows can part before and after. Subband 0, where voices have their pitch,
// does not count.
func attack(before, prev, cur *[18][subbands]float32) bool {
	var e [9]float64
	for g, s := range [3]*[18][subbands]float32{before, prev, cur} {
		for i := range s {
			for _, v := range s[i][1:] {
				e[3*g+i/6] += float64(v) * float64(v)
			}
		}
	}
	const floor = 1e-6 // about -70 dB of full scale
	for k := 5; k < 8; k++ {
		if e[k] > floor && e[k]*3 > attackRatio*(e[k-1]+e[k-2]+e[k-3]) {
			return true
		}
	}
	return false
}
