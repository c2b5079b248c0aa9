package audio

import (
	"fmt"
	"math"

	"quern/kernels/fourier"
)

// Features turn a piece of audio as a whole into the rows a network was trained on:
// one of bands numbers every FrameStep samples. They do not change once they are
// made; any number of goroutines may use them.
type Features struct {
	variant
	bank   triangles
	window [fftSize]float64
	plan   *fourier.Real[float64]
}

// A variant is one way of the networks there are. Of a frame 400 samples under a
// window are transformed in 512.
type variant struct {
	name   string
	bands  int
	bank   func(bands, size int) triangles
	window func(phase float64) float64 // of 2πi/399
	// centred has frames begin 200 samples before their time, with zeros where there
	// is no audio; else they begin at it and none reaches beyond the end.
	centred bool
	// mirrored has frames begin 120 samples before their time, with the audio reflected at
	// its ends.
	mirrored bool
	// whole has the pre-emphasis go over the audio; else over every frame by itself,
	// whose mean is taken off before.
	whole     bool
	scale     float64 // of the samples
	log       func(power float64) float64
	normalise func(rows []float32, bands int)
}

// variants are the ways of NeMo (Parakeet and Canary; TitaNet) and of Kaldi as
// networks for speakers were trained on them; and as sherpa-onnx gives them to the latter,
// which is for comparing.
//
// NVIDIA, NeMo, collections/asr/parts/preprocessing/features.py; Kaldi,
// feat/feature-fbank.cc; WeSpeaker and 3D-Speaker, their extraction scripts.
var variants = []variant{
	{name: "nemo-128", bands: 128, bank: slaney, window: hann, centred: true, whole: true, scale: 1, log: logGuarded, normalise: standardise},
	{name: "nemo-80", bands: 80, bank: slaney, window: hann, centred: true, whole: true, scale: 1, log: logGuarded, normalise: standardise},
	{name: "kaldi-wespeaker", bands: 80, bank: kaldi, window: hamming, scale: 1 << 15, log: logFloored, normalise: centre},
	{name: "kaldi-3dspeaker", bands: 80, bank: kaldi, window: povey, scale: 1, log: logFloored, normalise: centre},
	{name: "kaldi-sherpa-wespeaker", bands: 80, bank: kaldiBelow, window: povey, mirrored: true, scale: 1 << 15, log: logFloored, normalise: keep},
	{name: "kaldi-sherpa-3dspeaker", bands: 80, bank: kaldiBelow, window: povey, mirrored: true, scale: 1, log: logFloored, normalise: centre},
}

func hann(phase float64) float64    { return 0.5 - 0.5*math.Cos(phase) }
func hamming(phase float64) float64 { return 0.54 - 0.46*math.Cos(phase) }
func povey(phase float64) float64   { return math.Pow(hann(phase), 0.85) }

func logGuarded(power float64) float64 { return math.Log(power + 1.0/(1<<24)) }
func logFloored(power float64) float64 { return math.Log(max(power, 1.0/(1<<23))) }

const (
	emphasis  = 0.97
	transform = 512 // samples of a frame, zeros included
)

// NewFeatures returns the features of a name in variants.
func NewFeatures(name string) (*Features, error) {
	for _, v := range variants {
		if v.name == name {
			f := &Features{variant: v, bank: v.bank(v.bands, transform), plan: fourier.NewReal[float64](transform)}
			for i := range f.window {
				f.window[i] = v.window(2 * math.Pi * float64(i) / (fftSize - 1))
			}
			return f, nil
		}
	}
	return nil, fmt.Errorf("asr: there are no features %q", name)
}

// Bands is how many numbers a row has.
func (f *Features) Bands() int { return f.bands }

// Plain returns the features without normalisation, which some networks do without.
func (f *Features) Plain() *Features {
	p := *f
	p.normalise = keep
	return &p
}

// Frames is how many rows n samples have.
func (f *Features) Frames(n int) int {
	if f.centred {
		return n / FrameStep
	}
	if f.mirrored {
		return (n + FrameStep/2) / FrameStep
	}
	return max(0, 1+(n-fftSize)/FrameStep)
}

// Of returns the rows of x, (Frames(len(x)), Bands).
func (f *Features) Of(x []float32) []float32 {
	rows := make([]float32, f.Frames(len(x))*f.bands)
	at := func(i int) float64 {
		for f.mirrored && (i < 0 || i >= len(x)) {
			if i = -i - 1; i < 0 {
				i += 2 * len(x)
			}
		}
		if i < 0 || i >= len(x) {
			return 0
		}
		return float64(x[i]) * f.scale
	}
	var samples [fftSize + 1]float64
	var frame [transform]float64
	var bins [transform/2 + 1]fourier.Complex[float64]
	var scratch [transform / 2]fourier.Complex[float64]
	var power [transform/2 + 1]float32
	for t := range len(rows) / f.bands {
		first := t * FrameStep
		if f.centred {
			first -= fftSize / 2
		}
		if f.mirrored {
			first -= (fftSize - FrameStep) / 2
		}
		// samples are those of the frame behind the one before it.
		if first > 0 && first+fftSize <= len(x) {
			for i, v := range x[first-1:][:len(samples)] {
				samples[i] = float64(v) * f.scale
			}
		} else {
			for i := range samples {
				samples[i] = at(first + i - 1)
			}
		}
		before, mean := samples[0], 0.0
		if !f.whole {
			mean = meanOfFrame((*[fftSize]float64)(samples[1:]))
			before = samples[1] - mean
		}
		for i, w := range f.window {
			v := samples[i+1] - mean
			frame[i] = (v - emphasis*before) * w
			before = v
		}
		if f.whole && first+fftSize > len(x) {
			clear(frame[max(0, len(x)-first):fftSize]) // what lies beyond the end, not what emphasis makes of it
		}
		f.plan.Forward(bins[:], frame[:], scratch[:])
		for k, v := range &bins {
			power[k] = float32(v.Re*v.Re + v.Im*v.Im)
		}
		for b := range f.bands {
			rows[t*f.bands+b] = float32(f.log(float64(f.bank.sum(b, power[:]))))
		}
	}
	f.normalise(rows, f.bands)
	return rows
}

// meanOfFrame adds in four sums, which a core can do at a time.
func meanOfFrame(x *[fftSize]float64) float64 {
	var a, b, c, d float64
	for i := 0; i < fftSize; i += 4 {
		a += x[i]
		b += x[i+1]
		c += x[i+2]
		d += x[i+3]
	}
	return (a + b + (c + d)) / fftSize
}

// keep leaves rows as they are.
func keep([]float32, int) {}

// centre takes from every band its mean.
func centre(rows []float32, bands int) {
	for b := range bands {
		mean := meanOf(rows, bands, b)
		for i := b; i < len(rows); i += bands {
			rows[i] -= float32(mean)
		}
	}
}

// standardise gives every band mean 0 and deviation 1.
func standardise(rows []float32, bands int) {
	n := len(rows) / max(1, bands)
	for b := range bands {
		mean, sum := meanOf(rows, bands, b), 0.0
		for i := b; i < len(rows); i += bands {
			d := float64(rows[i]) - mean
			sum += d * d
		}
		by := 1 / (math.Sqrt(sum/float64(max(1, n-1))) + 1e-5)
		for i := b; i < len(rows); i += bands {
			rows[i] = float32((float64(rows[i]) - mean) * by)
		}
	}
}

func meanOf(rows []float32, bands, b int) float64 {
	sum := 0.0
	for i := b; i < len(rows); i += bands {
		sum += float64(rows[i])
	}
	return sum * float64(bands) / float64(max(1, len(rows)))
}
