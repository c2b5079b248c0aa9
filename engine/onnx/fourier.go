package onnx

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// maxFourier bounds the length of a transform.
const maxFourier = 1 << 24

// A fourier is the discrete Fourier transform of n numbers: by halves where n
// is a power of two, else as a convolution done by one that is.
//
// Cooley & Tukey, "An Algorithm for the Machine Calculation of Complex Fourier
// Series", 1965; Bluestein, "A Linear Filtering Approach to the Computation of
// Discrete Fourier Transform", 1970.
type fourier struct {
	n       int
	turns   []complex128 // e^(-2πi·k/n) for k below n/2, where n is a power of two
	half    *fourier     // of the convolution
	chirp   []complex128 // e^(-πi·k²/n)
	filter  []complex128 // the transform of its conjugate
	scratch []complex128
}

func newFourier(n int) *fourier {
	f := &fourier{n: n}
	if n&(n-1) == 0 {
		f.turns = make([]complex128, n/2)
		for k := range f.turns {
			f.turns[k] = cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n))
		}
		return f
	}
	size := 1 << bits.Len(uint(2*n-2))
	f.half, f.chirp, f.filter = newFourier(size), make([]complex128, n), make([]complex128, size)
	for k := range f.chirp {
		// k² mod 2n keeps the angle small, and with it exact.
		f.chirp[k] = cmplx.Rect(1, -math.Pi*float64(k*k%(2*n))/float64(n))
		f.filter[k] = cmplx.Conj(f.chirp[k])
		if k > 0 {
			f.filter[size-k] = f.filter[k]
		}
	}
	f.half.run(f.filter, false)
	return f
}

// fork returns a transform for another goroutine.
func (f *fourier) fork() *fourier {
	c := *f
	if f.half != nil {
		c.scratch = make([]complex128, f.half.n)
	}
	return &c
}

// run transforms x in place; the inverse is divided by n.
func (f *fourier) run(x []complex128, inverse bool) {
	if inverse {
		for i, v := range x {
			x[i] = cmplx.Conj(v)
		}
		f.run(x, false)
		for i, v := range x {
			x[i] = cmplx.Conj(v) / complex(float64(f.n), 0)
		}
		return
	}
	if f.half != nil {
		s := f.scratch
		clear(s)
		for k, v := range x {
			s[k] = v * f.chirp[k]
		}
		f.half.run(s, false)
		for k, v := range f.filter {
			s[k] *= v
		}
		f.half.run(s, true)
		for k := range x {
			x[k] = s[k] * f.chirp[k]
		}
		return
	}
	shift := 64 - bits.Len(uint(f.n-1))
	for i := range x {
		if f.n == 1 {
			return
		}
		if j := int(bits.Reverse64(uint64(i)) >> shift); j > i {
			x[i], x[j] = x[j], x[i]
		}
	}
	for size := 2; size <= f.n; size *= 2 {
		by := f.n / size
		for start := 0; start < f.n; start += size {
			a, b := x[start:start+size/2], x[start+size/2:start+size]
			for k := range a {
				v := b[k] * f.turns[k*by]
				a[k], b[k] = a[k]+v, a[k]-v
			}
		}
	}
}
