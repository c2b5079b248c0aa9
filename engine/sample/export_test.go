package sample

import "quern/engine/token"

// Kept returns what may be drawn from logits and how probable it is.
func Kept(p Params, logits []float32) map[token.ID]float64 {
	work := append([]float32(nil), logits...)
	s := New(p, nil, nil)
	s.buf = new(Buffers)
	kept, sum := map[token.ID]float64{}, 0.0
	scale := 1 / float64(p.Temperature)
	if f := p.filters(len(logits)); f != (filters{}) {
		var c []cand
		var err error
		if c, sum, _, err = s.filter(work, scale, f); err != nil {
			panic(err)
		}
		for _, c := range c {
			kept[c.id] = c.w
		}
	} else {
		if _, err := s.drawAll(work, scale); err != nil {
			panic(err)
		}
		for i, w := range work {
			kept[token.ID(i)] = float64(w)
			sum += float64(w)
		}
	}
	for id := range kept {
		kept[id] /= sum
	}
	return kept
}
