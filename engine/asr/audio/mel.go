package audio

import (
	"math"

	"quern/kernels/fourier"
)

// Rate is the rate of the audio this package reads, in Hz.
const Rate = 16000

// The spectrogram: 400 samples under a Hann window every 160, so 100 frames a
// second; 201 bins up to 8 kHz. Of a frame the window is centred on its start.
const (
	fftSize    = 400
	FrameStep  = 160              // samples from one frame to the next
	FrameRate  = Rate / FrameStep // frames of a second
	spectrum   = fftSize/2 + 1
	pastOfTime = fftSize / 2 // samples a frame sees before its time, and after it
)

// A MelBank turns samples into the logarithms of mel bands, whose triangles are
// Slaney's.
type MelBank struct {
	triangles
	bands int
	hann  [fftSize]float64
	plan  *fourier.Real[float64]
}

// NewMelBank returns the triangles of a number of bands.
func NewMelBank(bands int) *MelBank {
	m := &MelBank{bands: bands, plan: fourier.NewReal[float64](fftSize)}
	for i := range m.hann {
		m.hann[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/fftSize)
	}
	m.triangles = slaney(bands, fftSize)
	return m
}

// MelFilters returns the triangles of a number of bands, (bands, bins), as ggml
// files carry them.
func MelFilters(bands int) (filters []float32, bins int) {
	m := NewMelBank(bands)
	filters = make([]float32, bands*spectrum)
	for b, w := range m.weights {
		copy(filters[b*spectrum+m.first[b]:], w)
	}
	return filters, spectrum
}

// floor is the least power a band is said to have.
const floor = 1e-10

// frame writes log₁₀ of the power in each band of fftSize samples to dst and
// returns the largest.
func (m *MelBank) frame(dst, x []float32) float32 {
	var windowed [fftSize]float64
	for i, w := range &m.hann {
		windowed[i] = float64(x[i]) * w
	}
	var bins [spectrum]fourier.Complex[float64]
	var scratch [fftSize / 2]fourier.Complex[float64]
	m.plan.Forward(bins[:], windowed[:], scratch[:])
	var power [spectrum]float32
	for k, v := range &bins {
		power[k] = float32(v.Re*v.Re + v.Im*v.Im)
	}
	top := float32(math.Inf(-1))
	for b := range m.bands {
		dst[b] = float32(math.Log10(float64(max(m.sum(b, power[:]), floor))))
		top = max(top, dst[b])
	}
	return top
}

// normalise writes the features of log bands to dst: values more than eight
// powers of ten below top is cut off, and the rest is moved to about [-1, 1].
func normalise(dst, x []float32, top float32) {
	for i, v := range x {
		dst[i] = (max(v, top-8) + 4) / 4
	}
}
