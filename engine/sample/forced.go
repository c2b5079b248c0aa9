package sample

import (
	"slices"

	"quern/engine/token"
)

// before is how many of the last tokens Mask.Forced is called with.
const before = 16

// A run is a Sampler's state of tokens that its Mask forces.
type run struct {
	tail  []token.ID // the last tokens so far, those of the prompt too
	ids   []token.ID // forced
	given int        // of ids, those Forced has returned
	asked bool       // the Mask forces no more until a token is drawn
}

func newRun(prompt []token.ID) run {
	return run{tail: append(make([]token.ID, 0, 4*before), prompt[max(0, len(prompt)-before):]...)}
}

// accept adds a token of the reply.
func (r *run) accept(id token.ID) {
	if len(r.tail) == cap(r.tail) {
		r.tail = r.tail[:copy(r.tail, r.tail[len(r.tail)-before:])]
	}
	r.tail = append(r.tail, id)
	r.asked = false
}

// Forced returns the next tokens that the Mask leaves no choice about, at most n, and moves on
// over them as if each had been drawn; their log-probability is 0. They are valid until
// the next call.
//
// Where log-probabilities are asked for, there are none; a token that is in ban, or
// has a bias, ends them and is drawn.
func (s *Sampler) Forced(n int, ban []token.ID) ([]token.ID, error) {
	r := &s.run
	if s.mask == nil || s.p.Logprobs || s.ended || r.asked {
		return nil, nil
	}
	if r.given == len(r.ids) {
		r.ids, r.given = s.mask.Forced(r.ids[:0], r.tail), 0
	}
	from := r.given
	for r.given < len(r.ids) && r.given-from < n {
		id := r.ids[r.given]
		if slices.Contains(ban, id) || slices.ContainsFunc(s.bias, func(b Candidate) bool { return b.ID == id }) {
			r.ids = r.ids[:r.given]
			break
		}
		if err := s.accept(id); err != nil {
			return nil, err
		}
		r.given++
	}
	r.asked = r.given == len(r.ids)
	return r.ids[from:r.given], nil
}
