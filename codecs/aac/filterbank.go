package aac

import "math"

// Window sequences of a unit, as the stream numbers them.
const (
	onlyLong = iota
	longStart
	eightShort
	longStop
)

// A filterbank turns spectra of n coefficients into n samples each, and holds
// what channels of a decoder share: transforms, windows and a buffer.
//
// ISO/IEC 14496-3, 4.6.11.
type filterbank struct {
	long, short         *transform
	longRise, shortRise [2][]float32 // the rising half of a window, by shape
	samples             []float32    // of eight short windows
}

// A tail is what a channel keeps from one unit to the next: the part of its
// output that the next one completes.
//
// Where the last unit ends in a long slope it is the third quarter of the
// transform, which the next window folds in; after short windows all but the
// last part is final samples, which is where a slope to a long window is flat.
type tail struct {
	x        []float32 // n/2
	sequence int
	shape    int
}

func newFilterbank(n int) *filterbank {
	return &filterbank{
		long:      newIMDCT(n),
		short:     newIMDCT(n / 8),
		longRise:  [2][]float32{sine(n), kaiser(n, 4)},
		shortRise: [2][]float32{sine(n / 8), kaiser(n/8, 6)},
		samples:   make([]float32, n+n/2-n/16),
	}
}

// sine is the rising half of a window of 2n samples.
func sine(n int) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(math.Sin(math.Pi / float64(2*n) * (float64(i) + 0.5)))
	}
	return w
}

// kaiser is the rising half of a window of 2n samples derived from a Kaiser
// window with parameter alpha.
func kaiser(n int, alpha float64) []float32 {
	sums := make([]float64, n+1)
	var sum float64
	for i := range sums {
		r := 2*float64(i)/float64(n) - 1
		sum += bessel(math.Pi * alpha * math.Sqrt(1-r*r))
		sums[i] = sum
	}
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(math.Sqrt(sums[i] / sum))
	}
	return w
}

// bessel is the modified Bessel function of the first kind and order 0, by its
// power series.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-17; k++ {
		term *= (x / 2 / k) * (x / 2 / k)
		sum += term
	}
	return sum
}

// run turns the spectrum x, eight of them for a sequence of short windows, into
// samples: dst[0], dst[stride], ... It overwrites x.
func (f *filterbank) run(dst []float32, stride int, x []float32, sequence, shape int, t *tail) {
	var (
		n    = len(x)
		half = n / 2
		m    = n / 8
		flat = half - m/2 // of a slope between a long and a short window
		y    = f.samples
	)
	if sequence == eightShort {
		for i := range 8 {
			f.short.run(x[i*m:][:m], x[i*m:][:m])
		}
		copy(y, t.x[:flat])
		overlap(y[flat:][:m], t.x[flat:], x[:m/2], f.shortRise[t.shape])
		for i := 1; i < 8; i++ {
			overlap(y[flat+i*m:][:m], x[i*m-m/2:][:m/2], x[i*m:][:m/2], f.shortRise[shape])
		}
		copy(t.x, y[n:n+flat])
		copy(t.x[flat:], x[n-m/2:])
	} else {
		f.long.run(x, x)
		// Windows that do not fit each other are the encoder's mistake, and
		// the shorter slope is the one that sounds better.
		if sequence == longStop || t.sequence == longStart || t.sequence == eightShort {
			copy(y, t.x[:flat])
			overlap(y[flat:][:m], t.x[flat:], x[:m/2], f.shortRise[t.shape])
			copy(y[flat+m:n], x[m/2:half])
		} else {
			overlap(y[:n], t.x, x[:half], f.longRise[t.shape])
		}
		copy(t.x, x[half:])
	}
	t.sequence, t.shape = sequence, shape
	for i, v := range y[:n] {
		dst[i*stride] = v
	}
}

// overlap adds what the falling half of one window leaves of its block and what
// the rising half of the next one leaves of its own.
//
// before is the third quarter of the first block's transform and after the
// second quarter of the second one's, each half as long as dst and rise.
func overlap(dst, before, after, rise []float32) {
	h := len(dst) / 2
	up, down := dst[h:][:h], dst[:h]
	before, after = before[:h], after[:h]
	far, near := rise[h:][:h], rise[:h]
	for i, a := range after {
		b := before[h-1-i]
		wf, wn := far[i], near[h-1-i]
		down[h-1-i] = b*wf - a*wn
		up[i] = b*wn + a*wf
	}
}
