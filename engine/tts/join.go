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
// front and out seconds behind, adding zeros where there is less behind. What is left
// is faded in and out, cut or not: a synthesiser may begin and end in full. It returns
// the result and how many samples were cut off the front.
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
	sound := samples[cut:min(end, len(samples))]
	ramp := int(fade * float64(rate))
	for i := range min(ramp, len(sound)) {
		sound[len(sound)-1-i] *= rise(i, ramp)
		sound[i] *= rise(i, ramp)
	}
	return append(sound, make([]float32, end-cut-len(sound))...), cut
}

// rise is step i of a fade over n samples with equal power.
func rise(i, n int) float32 {
	return float32(math.Sin(math.Pi / 2 * (float64(i) + 0.5) / float64(n)))
}
