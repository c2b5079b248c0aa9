package conformer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// A ctc reads tokens off the labels of frames: repeats are one, blanks none. A token's
// time is the first frame of its run, and it lasts as long as that.
//
// Graves et al., "Connectionist Temporal Classification", 2006.
type ctc struct{ m *Model }

// check implements decoder.
func (c *ctc) check(*request) error { return nil }

// decode implements decoder.
func (c *ctc) decode(ctx context.Context, windows []*window) error {
	for _, w := range windows {
		if n := len(c.m.vocab.pieces); w.states.width != n {
			return fmt.Errorf("%w: the file of tokens has %d, and the graph gives %d numbers: they do not belong together", ErrFormat, n, w.states.width)
		}
		if w.beams > 1 {
			if err := c.beam(ctx, w); err != nil {
				return err
			}
			continue
		}
		c.greedy(w)
	}
	return nil
}

func (c *ctc) greedy(w *window) {
	before := c.m.vocab.blank
	for t := range w.states.frames {
		row := w.states.x[t*w.states.width:][:w.states.width]
		id := argmax(row)
		logprob := float64(row[id]) - logSum(row)
		switch {
		case id == c.m.vocab.blank:
		case id != before:
			w.tokens = append(w.tokens, spoken{id: id, at: t, frames: 1, logprob: logprob})
		default:
			last := &w.tokens[len(w.tokens)-1]
			last.frames++
			last.logprob = max(last.logprob, logprob)
		}
		before = id
	}
}

// A prefix is the beginning of a text with the probabilities of all ways to it that end in
// a blank, and that do not.
type prefix struct {
	tokens       *trail
	blank, token float64
}

func (p *prefix) score() float64 { return logAdd(p.blank, p.token) }

// logAdd is log(e^a + e^b).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// beam searches for the likeliest text over all ways to write it.
//
// Hannun et al., "First-Pass Large Vocabulary Continuous Speech Recognition using
// Bi-Directional Recurrent DNNs", 2014, algorithm 1, without a language model.
func (c *ctc) beam(ctx context.Context, w *window) error {
	none := math.Inf(-1)
	list := []*prefix{{blank: 0, token: none}}
	for t := range w.states.frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := w.states.x[t*w.states.width:][:w.states.width]
		sum := logSum(row)
		ids := largest(row, w.beams+1)
		if !slices.Contains(ids, c.m.vocab.blank) {
			ids = append(ids, c.m.vocab.blank)
		}
		var next []*prefix
		// of finds the prefix of tokens, which p with one more may be.
		of := func(tokens *trail) *prefix {
			for _, p := range next {
				if p.tokens.same(tokens) {
					return p
				}
			}
			p := &prefix{tokens: tokens, blank: none, token: none}
			next = append(next, p)
			return p
		}
		for _, p := range list {
			for _, id := range ids {
				logprob := float64(row[id]) - sum
				last := -1
				if p.tokens != nil {
					last = p.tokens.id
				}
				switch {
				case id == c.m.vocab.blank:
					q := of(p.tokens)
					q.blank = logAdd(q.blank, p.score()+logprob)
					continue
				case id == last:
					q := of(p.tokens)
					q.token = logAdd(q.token, p.token+logprob)
				}
				from := p.score()
				if id == last {
					from = p.blank // a token is written twice only behind a blank
				}
				if math.IsInf(from, -1) {
					continue
				}
				q := of(p.tokens.and(spoken{id: id, at: t, frames: 1, logprob: logprob}))
				q.token = logAdd(q.token, from+logprob)
			}
		}
		slices.SortStableFunc(next, func(a, b *prefix) int { return cmp.Compare(b.score(), a.score()) })
		list = next[:min(len(next), w.beams)]
	}
	w.tokens = list[0].tokens.list()
	c.align(w)
	return nil
}

// align gives the tokens of a window the times that they have in the likeliest labels which
// spell them. Places in those labels are numbered: an even one is a blank, an odd one the token
// of its half.
func (c *ctc) align(w *window) {
	places := 2*len(w.tokens) + 1
	label := func(place int) int {
		if place%2 == 0 {
			return c.m.vocab.blank
		}
		return w.tokens[place/2].id
	}
	score, next := make([]float64, places), make([]float64, places)
	for p := 1; p < places; p++ {
		score[p] = math.Inf(-1)
	}
	steps := make([]uint8, w.states.frames*places) // places from that of the frame before
	for t := range w.states.frames {
		row := w.states.x[t*w.states.width:][:w.states.width]
		for p := range places {
			best := uint8(0)
			for step := 1; step <= min(p, 1+p%2); step++ {
				between := step == 2 && label(p) == label(p-2) // equal tokens have a blank between them
				if (t > 0 || p == 1) && !between && score[p-step] > score[p-int(best)] {
					best = uint8(step)
				}
			}
			steps[t*places+p] = best
			next[p] = score[p-int(best)] + float64(row[label(p)])
		}
		score, next = next, score
	}
	p := places - 1
	if p > 0 && score[p-1] > score[p] {
		p--
	}
	for i := range w.tokens {
		w.tokens[i].frames, w.tokens[i].logprob = 0, math.Inf(-1)
	}
	for t := w.states.frames - 1; t >= 0; t-- {
		if p%2 == 1 {
			row := w.states.x[t*w.states.width:][:w.states.width]
			s := &w.tokens[p/2]
			s.at, s.frames, s.logprob = t, s.frames+1, max(s.logprob, float64(row[s.id])-logSum(row))
		}
		p -= int(steps[t*places+p])
	}
}
