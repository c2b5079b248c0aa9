package asr

import "math"

// Rate is the rate of the audio this package reads, in Hz.
const Rate = 16000

// The spectrogram: 400 samples under a Hann window every 160, so 100 frames a
// second; 201 bins up to 8 kHz. Of a frame the window is centred on its start.
const (
	fftSize    = 400
	hop        = 160
	frameRate  = Rate / hop
	spectrum   = fftSize/2 + 1
	pastOfTime = fftSize / 2 // samples a frame sees before its time, and after it
)

// A melBank turns samples into the logarithms of mel bands.
//
// Slaney, "Auditory Toolbox", 1998: triangles of equal area over a scale that
// is linear below 1 kHz and logarithmic above.
type melBank struct {
	bands   int
	hann    [fftSize]float64
	first   []int       // bin each triangle begins at
	weights [][]float32 // and its values from there on
	fft     *fft
}

func newMelBank(bands int) *melBank {
	m := &melBank{bands: bands, fft: newFFT(fftSize / 2)}
	for i := range m.hann {
		m.hann[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/fftSize)
	}
	edges := make([]float64, bands+2) // Hz
	top := toMel(Rate / 2)
	for i := range edges {
		edges[i] = toHz(top * float64(i) / float64(bands+1))
	}
	for b := range bands {
		low, mid, high := edges[b], edges[b+1], edges[b+2]
		first, w := 0, []float32(nil)
		for bin := range spectrum {
			hz := float64(bin) * Rate / fftSize
			v := min((hz-low)/(mid-low), (high-hz)/(high-mid))
			if v <= 0 {
				continue
			}
			if w == nil {
				first = bin
			}
			w = append(w, float32(v*2/(high-low)))
		}
		m.first, m.weights = append(m.first, first), append(m.weights, w)
	}
	return m
}

// MelFilters returns the triangles of a number of bands, (bands, bins), as ggml
// files carry them.
func MelFilters(bands int) (filters []float32, bins int) {
	m := newMelBank(bands)
	filters = make([]float32, bands*spectrum)
	for b, w := range m.weights {
		copy(filters[b*spectrum+m.first[b]:], w)
	}
	return filters, spectrum
}

// The scale: 3 mel for 200 Hz up to 1 kHz, then 27 mel for a factor of 6.4.
const (
	melPerHz = 3.0 / 200
	kneeHz   = 1000.0
	kneeMel  = kneeHz * melPerHz
)

var melPerLog = 27 / math.Log(6.4)

func toMel(hz float64) float64 {
	if hz < kneeHz {
		return hz * melPerHz
	}
	return kneeMel + math.Log(hz/kneeHz)*melPerLog
}

func toHz(mel float64) float64 {
	if mel < kneeMel {
		return mel / melPerHz
	}
	return kneeHz * math.Exp((mel-kneeMel)/melPerLog)
}

// floor is the least power a band is said to have.
const floor = 1e-10

// frame writes log₁₀ of the power in each band of fftSize samples to dst and
// returns the largest.
func (m *melBank) frame(dst, x []float32) float32 {
	// The transform of a real signal as one of half the length, with even
	// samples for real parts and odd ones for imaginary parts.
	const half = fftSize / 2
	var z, f [half]complex128
	for i := range z {
		z[i] = complex(float64(x[2*i])*m.hann[2*i], float64(x[2*i+1])*m.hann[2*i+1])
	}
	m.fft.transform(f[:], z[:])
	var power [spectrum]float32
	for k := range spectrum {
		a, b := f[k%half], f[(half-k)%half]
		b = complex(real(b), -imag(b))
		even, odd := (a+b)*0.5, (a-b)*complex(0, -0.5)
		// Power does not care which of the two conjugates it is.
		v := even + odd*m.fft.turn(k)
		power[k] = float32(real(v)*real(v) + imag(v)*imag(v))
	}
	top := float32(math.Inf(-1))
	for b := range m.bands {
		var sum float32
		first := m.first[b]
		for i, w := range m.weights[b] {
			sum += w * power[first+i]
		}
		dst[b] = float32(math.Log10(float64(max(sum, floor))))
		top = max(top, dst[b])
	}
	return top
}

// normalise writes the features of log bands to dst: what lies more than eight
// powers of ten below top is cut off, and the rest is moved to about [-1, 1].
func normalise(dst, x []float32, top float32) {
	for i, v := range x {
		dst[i] = (max(v, top-8) + 4) / 4
	}
}

// An fft transforms sequences of one length.
//
// Cooley & Tukey, "An Algorithm for the Machine Calculation of Complex Fourier
// Series", 1965, by decimation in time with the prime factors of the length.
type fft struct {
	n       int
	factors []int
	roots   []complex128 // e^(-2πi·k/2n), for turn too
}

func newFFT(n int) *fft {
	f := &fft{n: n, roots: make([]complex128, 2*n)}
	for i := range f.roots {
		sin, cos := math.Sincos(-math.Pi * float64(i) / float64(n))
		f.roots[i] = complex(cos, sin)
	}
	for left, p := n, 2; left > 1; p++ {
		for left%p == 0 {
			f.factors = append(f.factors, p)
			left /= p
		}
	}
	return f
}

// turn is e^(-πi·k/n) for k ≤ n.
func (f *fft) turn(k int) complex128 { return f.roots[k] }

// transform writes the transform of in to out, which do not overlap.
func (f *fft) transform(out, in []complex128) { f.step(out, in, f.n, 1, f.factors) }

// step transforms every stride-th of in, n of them.
func (f *fft) step(out, in []complex128, n, stride int, factors []int) {
	if n == 1 {
		out[0] = in[0]
		return
	}
	r := factors[0]
	m := n / r
	for q := range r {
		f.step(out[q*m:(q+1)*m], in[q*stride:], m, stride*r, factors[1:])
	}
	unit := 2 * stride // roots a turn of 1/n takes
	var t [8]complex128
	for k := range m {
		for q := range r {
			t[q] = out[q*m+k] * f.roots[q*k*unit]
		}
		switch r {
		case 2:
			out[k], out[k+m] = t[0]+t[1], t[0]-t[1]
		default:
			for j := range r {
				sum := t[0]
				for q := 1; q < r; q++ {
					sum += t[q] * f.roots[q*j%r*m*unit]
				}
				out[k+j*m] = sum
			}
		}
	}
}
