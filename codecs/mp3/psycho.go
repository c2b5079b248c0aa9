package mp3

import "math"

// The ear's part in the encoder: how much noise each band of a granule bears,
// relative to the others. The rate loop finds how much there is to be.
//
// A band's energy masks noise masking dB below, falling by upward dB a Bark
// towards higher bands and downward towards lower ones (the slopes of
// ISO/IEC 11172-3, annex D, in round numbers). The noise that a band gets is between what
// would be masked equally everywhere (1) and white noise (0): shaping.
const (
	masking  = 12
	upward   = 12
	downward = 27
	shaping  = 0.45
	quiet    = 1e-11 // of a line: about -110 dB of full scale
)

// bark is Zwicker's critical-band rate of f Hz. Traunmüller, 1990, eq. 6.
func bark(f float64) float64 { return 26.81*f/(1960+f) - 0.53 }

// spreading[b][c] is how much of band c's energy a line counts as masker in b.
type spreading [39][39]float64

// newSpreading returns the matrix for a layout of rate Hz.
func newSpreading(l *layout, rate int) *spreading {
	s := new(spreading)
	perLine := float64(rate) / 2 / lines
	middle := func(i int) float64 {
		if i >= l.long {
			perLine := perLine * 3
			first := int(l.start[i-int(l.win[i])]) / 3
			return bark(perLine * (float64(first) + float64(l.width[i])/2))
		}
		return bark(perLine * (float64(l.start[i]) + float64(l.width[i])/2))
	}
	for b := range l.n {
		for c := range l.n {
			if b >= l.long && l.win[b] != l.win[c] {
				continue
			}
			d := middle(b) - middle(c)
			db := -masking - d*upward
			if d < 0 {
				db = -masking + d*downward
			}
			s[b][c] = math.Pow(10, db/10)
		}
	}
	return s
}

// noiseTargets writes to target the noise of a line of every band, up to a
// common factor, and to energy the mean energy of the band's lines x.
func noiseTargets(x *[lines]float32, l *layout, s *spreading, target, energy *[39]float64) {
	for b := range l.n {
		sum := 0.0
		for _, v := range x[l.start[b]:l.start[b+1]] {
			sum += float64(v) * float64(v)
		}
		energy[b] = sum / float64(l.width[b])
	}
	logs := 0.0
	for b := range l.n {
		sum := quiet
		for c, e := range energy[:l.n] {
			sum += e * s[b][c]
		}
		target[b] = math.Log2(sum)
		logs += target[b] * float64(l.width[b])
	}
	mean := logs / lines
	for b := range l.n {
		target[b] = math.Exp2(mean + shaping*(target[b]-mean))
	}
}

// entropy estimates the bits of lines of the given energies over noise.
func entropy(l *layout, energy, noise *[39]float64) float64 {
	sum := 0.0
	for b := range l.n {
		sum += float64(l.width[b]) * math.Log2(1+energy[b]/noise[b])
	}
	return sum / 2
}
