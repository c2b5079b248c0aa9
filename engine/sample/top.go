package sample

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"quern/engine/token"
)

// Needs returns how many of the largest logits, taken in the order of NextOf, a draw
// needs to see while so many tokens are banned; 0 means all of them. Masks are the
// caller's to think of.
func (p *Params) Needs(banned int) int {
	if len(p.Bias) > 0 || p.Logprobs || p.RepeatPenalty != 0 && p.RepeatPenalty != 1 || p.FrequencyPenalty != 0 || p.PresencePenalty != 0 {
		return 0
	}
	if _, greedy := p.scale(); greedy {
		return 1 + banned
	}
	if p.TopK > 0 {
		return p.TopK + banned
	}
	return 0
}

// NextOf is Next for a caller who has only the largest logits: those of ids, at
// least Needs(len(ban)) and not all there are, the larger first, of equals the lower
// id, NaN before all. It draws what Next would have drawn from all of them, and
// reads its arguments only.
func (s *Sampler) NextOf(ids []token.ID, logits []float32, ban []token.ID) (Token, error) {
	if need := s.p.Needs(len(ban)); need == 0 || s.mask != nil || len(ids) < need || len(ids) != len(logits) {
		panic(fmt.Sprintf("sample: a draw from %d of the logits, which takes %d", len(ids), need))
	}
	if s.buf == nil {
		s.buf = new(Buffers)
	}
	scale, greedy := s.p.scale()
	k := s.p.TopK
	if greedy {
		k = 1
	}
	c := s.buf.cands[:0]
	for i, id := range ids {
		v := logits[i]
		if slices.Contains(ban, id) {
			continue
		}
		if bad(v) {
			return Token{}, badLogit(int(id), v)
		}
		if len(c) == k || math.IsInf(float64(v), -1) {
			break
		}
		c = append(c, cand{id: id, logit: v, key: -float64(v)})
	}
	if cap(c) > cap(s.buf.cands) {
		s.buf.cands = c
	}
	if len(c) == 0 {
		return Token{}, ErrBarred
	}
	if greedy {
		return Token{ID: c[0].id}, nil
	}
	c, sum, best := s.keep(c, weigh(c), scale, s.p.filters(math.MaxInt))
	return Token{ID: s.drawOf(c, sum, best)}, nil
}

// order sorts c, likeliest first.
func order(c []cand) {
	slices.SortFunc(c, func(a, b cand) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
}
