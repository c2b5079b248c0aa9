package tts

import "math"

// What is left around an utterance when it is joined to the next, in seconds.
// The numbers are those SPEECH.md 1.7 collects from Kokoro's servers.
const (
	leadIn  = 0.050
	lastOut = 0.050 // behind the last utterance
	fade    = 0.008
)

// floor is the level below which a sample is silence: -45 dBFS.
var floor = float32(math.Pow(10, -45.0/20))

// tail returns the silence behind an utterance that ends with mark, at speed 1.
func tail(mark rune) float64 {
	switch mark {
	case '.', '?', '…':
		return 0.410
	case '!':
		return 0.370
	case ',', ';', ':', '—':
		return 0.330
	}
	return 0.150
}

// trim cuts the silence around samples, so that lead seconds of it are left in
// front and out seconds behind, adding zeros where there is less behind. Cuts are
// faded. It returns the result and how many samples were cut off the front.
//
// The result aliases samples.
func trim(samples []float32, rate int, lead, out float64) ([]float32, int) {
	first, last := len(samples), -1
	for i, x := range samples {
		if x > floor || x < -floor {
			first = min(first, i)
			last = i
		}
	}
	if last < 0 {
		first = 0
	}
	cut := max(0, first-int(lead*float64(rate)))
	end := last + 1 + int(out*float64(rate))
	ramp := int(fade * float64(rate))
	if end < len(samples) {
		samples = samples[:end]
		for i := range min(ramp, end-cut) {
			samples[end-1-i] *= rise(i, ramp)
		}
	} else {
		samples = append(samples, make([]float32, end-len(samples))...)
	}
	samples = samples[cut:]
	if cut > 0 {
		for i := range min(ramp, len(samples)) {
			samples[i] *= rise(i, ramp)
		}
	}
	return samples, cut
}

// rise is step i of a fade over n samples with equal power.
func rise(i, n int) float32 {
	return float32(math.Sin(math.Pi / 2 * (float64(i) + 0.5) / float64(n)))
}
