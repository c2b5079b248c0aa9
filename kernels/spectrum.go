package kernels

import (
	"fmt"
	"math"
)

// A Spectrum computes short-time Fourier transforms of real signals, as a
// product of overlapping frames with a matrix that holds window, cosines and
// sines: no copy of frames is made, any length serves, and at 400 samples the
// product takes a third of a millisecond per second of 16 kHz sound. It is made
// once and is not safe for concurrent use.
type Spectrum struct {
	size, hop, bins int
	dft             *Gemm
}

// NewSpectrum prepares frames of len(window) samples, hop apart.
func NewSpectrum(window []float32, hop int) *Spectrum {
	n := len(window)
	if n == 0 || hop <= 0 {
		panic(fmt.Sprintf("kernels: a spectrum of frames of %d, %d apart", n, hop))
	}
	s := &Spectrum{size: n, hop: hop, bins: n/2 + 1}
	w := make([]float32, 2*s.bins*n)
	for k := range s.bins {
		for i, v := range window {
			sin, cos := math.Sincos(2 * math.Pi * float64(k*i%n) / float64(n))
			w[k*n+i] = float32(float64(v) * cos)
			if k > 0 && 2*k < n { // the others are zero, exactly
				w[(s.bins+k)*n+i] = float32(float64(v) * -sin)
			}
		}
	}
	p := NewPanels(2*s.bins, n)
	p.PackRows(w, n)
	s.dft = NewGemm(p, nil)
	return s
}

// Bins returns how many frequencies there are: 0 up to half the sampling rate.
func (s *Spectrum) Bins() int { return s.bins }

// Frames returns how many whole frames that many samples have.
func (s *Spectrum) Frames(samples int) int {
	if samples < s.size {
		return 0
	}
	return (samples-s.size)/s.hop + 1
}

// Run writes each frame's real parts, then its imaginary parts, to dst, which
// is (Frames(len(x)), 2, Bins()):
//
//	Σ_i window[i] · x[frame·hop + i] · e^(-2πi·bin·i/size)
//
// An imaginary part that is zero for every signal is +0 or -0. Against float64
// a value is within size·2⁻²⁴ of Σ|window·x|.
func (s *Spectrum) Run(p *Pool, dst, x []float32) {
	frames := s.Frames(len(x))
	if len(dst) != frames*2*s.bins {
		panic(fmt.Sprintf("kernels: %d frames of %d bins into %d floats", frames, s.bins, len(dst)))
	}
	s.dft.Run(p, dst, 2*s.bins, x, s.hop, frames, false)
}

// Power writes re² + im² of spectra, as Run leaves them, to dst (frames, bins).
// dst may be the start of spectra.
func (s *Spectrum) Power(dst, spectra []float32) {
	n := s.bins
	if len(spectra) != 2*len(dst) || len(dst)%n != 0 {
		panic(fmt.Sprintf("kernels: power of %d floats of %d bins into %d", len(spectra), n, len(dst)))
	}
	for i := 0; i < len(dst); i += n {
		re, im, out := spectra[2*i:2*i+n], spectra[2*i+n:2*i+2*n], dst[i:i+n]
		for k, v := range re {
			out[k] = float32(v*v) + float32(im[k]*im[k])
		}
	}
}
