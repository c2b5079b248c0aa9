// Package psycho is the ear's part in the encoders of MP3 and AAC: how much noise
// each band of a spectrum bears, relative to the others. A rate loop finds how much
// there is to be.
package psycho

import "math"

// A band's energy masks noise masking dB below, falling by upward dB a Bark
// towards higher bands and downward towards lower ones (the slopes of
// ISO/IEC 11172-3, annex D, in round numbers). The noise that a band gets is between what
// would be masked equally everywhere (1) and white noise (0): shaping.
const (
	masking  = 12
	upward   = 12
	downward = 27
	shaping  = 0.45
)

// bark is Zwicker's critical-band rate of f Hz. Traunmüller, 1990, eq. 6.
func bark(f float64) float64 { return 26.81*f/(1960+f) - 0.53 }

// A Model belongs to one division of a spectrum into bands. It does not change.
type Model struct {
	n      int
	spread []float64 // [b·n+c]: how much of c's energy a line counts as masker in b
	quiet  float64
}

// New returns the model of bands whose middles are at these frequencies, in Hz.
// Bands mask each other where they are of one window. quiet is the energy of a line that
// masks as silence does: about -110 dB of full scale.
func New(middle []float64, window []uint8, quiet float64) *Model {
	n := len(middle)
	m := &Model{n: n, spread: make([]float64, n*n), quiet: quiet}
	for b := range n {
		for c := range n {
			if window[b] != window[c] {
				continue
			}
			d := bark(middle[b]) - bark(middle[c])
			db := -masking - d*upward
			if d < 0 {
				db = -masking + d*downward
			}
			m.spread[b*n+c] = math.Pow(10, db/10)
		}
	}
	return m
}

// Targets writes the noise of a line of every band, up to a common factor. energy is the
// mean energy of the band's lines and width how many these are. The bands are the model's,
// once or several times over.
func (m *Model) Targets(target, energy []float64, width []uint16) {
	logs, lines := 0.0, 0
	for at := 0; at < len(energy); at += m.n {
		e := energy[at:][:m.n]
		for b := range m.n {
			sum := m.quiet
			for c, s := range m.spread[b*m.n:][:m.n] {
				sum += e[c] * s
			}
			log := math.Log2(sum)
			target[at+b] = log
			logs += log * float64(width[at+b])
			lines += int(width[at+b])
		}
	}
	mean := logs / float64(lines)
	for b, log := range target[:len(energy)] {
		target[b] = math.Exp2(mean + shaping*(log-mean))
	}
}

// Entropy estimates the bits of lines of the given energies over noise.
func Entropy(energy, noise []float64, width []uint16) float64 {
	sum := 0.0
	for b, e := range energy {
		sum += float64(width[b]) * math.Log2(1+e/noise[b])
	}
	return sum / 2
}

// Cutoff is the highest frequency worth coding at kbps a channel, in Hz.
func Cutoff(kbps int) float64 {
	for _, c := range []struct {
		kbps int
		hz   float64
	}{{8, 3000}, {16, 5000}, {20, 6200}, {24, 7500}, {32, 10500}, {40, 12000}, {48, 13500}, {56, 15000}, {64, 16000}, {80, 17500}, {96, 19000}} {
		if kbps <= c.kbps {
			return c.hz
		}
	}
	return 20500
}
