// Package formant is a voice without a model file: a formant synthesiser with
// rules for durations and intonation, in ten voices.
//
// It is intelligible and plainly robotic. Phonemes come in Kokoro's alphabet
// (one symbol a code point, stress marks directly before their vowel), so the
// same pronunciation serves this voice and the neural one.
package formant

import (
	"context"
	"fmt"
	"math"
)

// MaxSymbols is the longest utterance Speak takes. It bounds memory; the caller
// splits texts into sentences anyway.
const MaxSymbols = 2000

// Speak renders an utterance of phoneme symbols at the given speed (1 is the
// voice's own tempo). It returns mono samples in [-0.95, 0.95] at Rate, and how
// many samples each symbol got: spans[0] is the silence in front, spans[1+i]
// belongs to symbols[i], the last entry to the silence behind; they add up to
// len(samples). Symbols without a sound get none.
//
// Equal arguments give equal samples; seed only moves the noise. Silence is digital:
// Floor is for the whole answer.
func (v *Voice) Speak(ctx context.Context, symbols []rune, speed float64, seed uint64) (samples []float32, spans []int, err error) {
	if len(symbols) > MaxSymbols {
		return nil, nil, fmt.Errorf("formant: an utterance of %d symbols; the longest is %d", len(symbols), MaxSymbols)
	}
	if !(speed >= 0.25 && speed <= 4) {
		return nil, nil, fmt.Errorf("formant: speed %g is outside 0.25 to 4", speed)
	}
	segs := plan(listen(symbols))
	tempo := speed * v.Rate
	for i := range segs {
		segs[i].ms /= tempo
	}
	m := melody{points: contour(segs, symbols, v.Range)}
	t := newTract(v, seed)
	spans = make([]int, len(symbols)+2)
	from := segs[0].target
	at := 0.0     // ms, where the segment begins
	rendered := 0 // samples so far
	for i := range segs {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		g := &segs[i]
		end := int((at + g.ms) * Rate / 1000)
		n := end - rendered
		samples = append(samples, make([]float32, n)...)
		track := newTrack(segs, i, from)
		for off := 0; off < n; off += step {
			k := min(step, n-off)
			p := track.at(float64(off) * 1000 / Rate)
			f0 := v.Pitch * math.Exp2(m.at(float64(rendered+off)*1000/Rate)/12)
			t.render(samples[rendered+off:rendered+off+k], &p, f0)
			from = p
		}
		switch {
		case g.symbol >= 0:
			spans[1+g.symbol] += n
		case g.symbol == -1:
			spans[0] += n
		default:
			spans[len(spans)-1] += n
		}
		rendered, at = end, at+g.ms
	}
	return samples, spans, nil
}

// A track moves the parameters through one segment: formants from the border
// with the previous segment to the target and on to the border with the next,
// amplitudes from where they were to the target within the part's edge.
type track struct {
	g       *segment
	from    frame // at the start; its amplitudes come from the previous segment
	to      frame // at the end
	in, out float64
}

func newTrack(segs []segment, i int, last frame) track {
	g := &segs[i]
	k := track{g: g, from: last, to: g.target}
	if i > 0 {
		border(&k.from, &segs[i-1], g)
		k.in = reach(&segs[i-1], g, g)
	}
	if i+1 < len(segs) {
		border(&k.to, g, &segs[i+1])
		k.out = reach(g, &segs[i+1], g)
	}
	// Transitions that do not fit share what there is.
	if sum := k.in + k.out; sum > g.ms && sum > 0 {
		k.in, k.out = k.in*g.ms/sum, k.out*g.ms/sum
	}
	return k
}

// border writes the formants at the border of a and b to p.
func border(p *frame, a, b *segment) {
	rule, other := a, b
	if b.part.rank > a.part.rank {
		rule, other = b, a
	}
	w := rule.part.blend
	for i := range p.f {
		p.f[i] = (1-w)*rule.target.f[i] + w*other.target.f[i]
		p.b[i] = (1-w)*rule.target.b[i] + w*other.target.b[i]
	}
}

// reach is how many ms the transition at the border of a and b takes inside g,
// which is one of them.
func reach(a, b, g *segment) float64 {
	rule := a
	if b.part.rank > a.part.rank {
		rule = b
	}
	if rule == g {
		return rule.part.into
	}
	return rule.part.out
}

// at returns the parameters ms after the segment's start.
func (k *track) at(ms float64) frame {
	g := k.g
	p := g.target
	if ms < g.part.edge {
		p = lerp(&k.from, &g.target, ms/g.part.edge)
	}
	var side *frame
	var w float64 // share of the target
	// A segment's samples are whole, so its last ones may lie past its end.
	switch left := max(g.ms-ms, 0); {
	case ms < k.in:
		side, w = &k.from, ms/k.in
	case left < k.out:
		side, w = &k.to, left/k.out
	default:
		p.f, p.b = g.target.f, g.target.b
		return p
	}
	for i := range p.f {
		p.f[i] = side.f[i] + (g.target.f[i]-side.f[i])*w
		p.b[i] = side.b[i] + (g.target.b[i]-side.b[i])*w
	}
	return p
}
