package sample

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"quern/engine/token"
)

// Needs returns how many of the largest logits, taken in the order of NextOf, a draw
// needs to see while so many tokens are banned; 0 means all of them. With a Mask they are the
// largest it allows.
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

// NextOf is Next for a caller that has only the largest logits: those of ids, at
// least Needs(len(ban)) and not all there are, the larger first, of equals the lower
// id, NaN before all. With a Mask they are those it allows; others may follow as -Inf.
// It draws what Next would have drawn from all of them, and reads its arguments only.
func (s *Sampler) NextOf(ids []token.ID, logits []float32, ban []token.ID) (Token, error) {
	if need := s.p.Needs(len(ban)); need == 0 || len(ids) < need || len(ids) != len(logits) {
		panic(fmt.Sprintf("sample: a draw from %d of the logits, which takes %d", len(ids), need))
	}
	if s.buf == nil {
		s.buf = new(Buffers)
	}
	id, err := s.pickOf(ids, logits, ban)
	if err != nil {
		return Token{}, err
	}
	if err := s.accept(id); err != nil {
		return Token{}, err
	}
	return Token{ID: id}, nil
}

// pickOf is pick for NextOf.
func (s *Sampler) pickOf(ids []token.ID, logits []float32, ban []token.ID) (token.ID, error) {
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
			return 0, badLogit(int(id), v)
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
		return 0, ErrBarred
	}
	if greedy {
		return c[0].id, nil
	}
	c, sum, best := s.keep(c, weigh(c), scale, s.p.filters(math.MaxInt))
	return s.drawOf(c, sum, best), nil
}

// order sorts c, likeliest first.
func order(c []cand) {
	slices.SortFunc(c, func(a, b cand) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
}
