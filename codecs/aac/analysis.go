package aac

import "slices"

// An analysis turns samples into spectra: what a filterbank turns back. Its windows
// are sines, whose spectra are the narrowest near a tone.
//
// ISO/IEC 14496-3, 4.6.11.
type analysis struct {
	long, short         *transform
	longRise, shortRise []float32
	z                   []float32 // a block in its window
	u                   []float32 // and folded
}

func newAnalysis() *analysis {
	const n = maxFrame
	return &analysis{
		long: newTransform(n, 2*fullScale), short: newTransform(n/8, 2*fullScale),
		longRise: sine(n), shortRise: sine(n / 8),
		z: make([]float32, 2*n), u: make([]float32, n),
	}
}

// run writes the spectrum of the 2048 samples x to dst: of a sequence of short windows
// eight spectra after one another.
func (a *analysis) run(dst, x []float32, sequence int) {
	const n, m, flat = maxFrame, maxFrame / 8, (maxFrame - maxFrame/8) / 2
	if sequence == eightShort {
		for i := range 8 {
			z := a.z[:2*m]
			copy(z, x[flat+i*m:])
			rise(z[:m], a.shortRise)
			fall(z[m:], a.shortRise)
			a.spectrum(a.short, dst[i*m:][:m], z)
		}
		return
	}
	z := a.z
	copy(z, x[:2*n])
	if sequence == longStop {
		clear(z[:flat])
		rise(z[flat:][:m], a.shortRise)
	} else {
		rise(z[:n], a.longRise)
	}
	if sequence == longStart {
		fall(z[n+flat:][:m], a.shortRise)
		clear(z[n+flat+m:])
	} else {
		fall(z[n:], a.longRise)
	}
	a.spectrum(a.long, dst[:n], z)
}

func rise(z, w []float32) {
	for i, v := range w {
		z[i] *= v
	}
}

func fall(z, w []float32) {
	n := len(w)
	for i, v := range w {
		z[n-1-i] *= v
	}
}

// spectrum folds the 2n values of z to n, and transforms them.
func (a *analysis) spectrum(t *transform, dst, z []float32) {
	n := t.n
	h := n / 2
	u := a.u[:n]
	for i := range h {
		u[i] = -z[3*h-1-i] - z[3*h+i]
		u[h+i] = z[i] - z[n-1-i]
	}
	t.run(dst, u)
	slices.Reverse(dst)
	for i, v := range dst {
		dst[i] = -v
	}
}
