package mp3

import "quern/codecs/internal/psycho"

const quiet = 1e-11 // of a line: about -110 dB of full scale

// newModel returns the psychoacoustic model of a layout of rate Hz.
func newModel(l *layout, rate int) *psycho.Model {
	perLine := float64(rate) / 2 / lines
	middle := make([]float64, l.n)
	for i := range middle {
		if i >= l.long {
			perLine := perLine * 3
			first := int(l.start[i-int(l.win[i])]) / 3
			middle[i] = perLine * (float64(first) + float64(l.width[i])/2)
			continue
		}
		middle[i] = perLine * (float64(l.start[i]) + float64(l.width[i])/2)
	}
	return psycho.New(middle, l.win[:l.n], quiet)
}

// noiseTargets sets energy, the mean energy of the lines of every band, and target.
func (p *part) noiseTargets(m *psycho.Model) {
	l := p.l
	for b := range l.n {
		sum := 0.0
		for _, v := range p.x[l.start[b]:l.start[b+1]] {
			sum += float64(v) * float64(v)
		}
		p.energy[b] = sum / float64(l.width[b])
	}
	m.Targets(p.target[:l.n], p.energy[:l.n], l.width[:l.n])
}
