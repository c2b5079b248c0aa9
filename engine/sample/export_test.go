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

// A Survey is what the survey of logits has found.
type Survey struct {
	OK    bool
	Top   float32
	Sum   float64
	Peaks []float32
}

// TakeSurvey surveys logits.
func TakeSurvey(logits []float32) Survey {
	var s survey
	ok := s.take(logits)
	return Survey{ok, s.top, s.sum, s.peaks}
}

// The error of Survey.Sum, and how many logits share a peak.
const (
	Doubt    = doubt
	BlockLen = blockLen
)

// Nucleus returns the tokens of the nucleus as they are drawn from, those that the
// sum of all weights gives, and whether the survey's was enough.
func Nucleus(logits []float32, p float64) (got, want []token.ID, sure bool) {
	var s survey
	if !s.take(logits) {
		panic("no logits")
	}
	ids := func(c []cand) (ids []token.ID) {
		for _, c := range c {
			ids = append(ids, c.id)
		}
		return ids
	}
	exact, _ := s.likeliest(nil, logits, p, expSum(logits, s.top), 0)
	_, sure = s.likeliest(nil, logits, p, s.sum, doubt)
	kept, err := new(survey).nucleus(nil, logits, p)
	if err != nil {
		panic(err)
	}
	return ids(kept), ids(exact), sure
}
