package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"quern/engine/draft"
	"quern/engine/sched"
	"quern/engine/token"
)

// A script is a Mask that allows one token at a time. It forces none, so that each is drawn.
type script struct {
	ids   []token.ID
	words []uint32
}

// Bits implements sample.Mask.
func (s *script) Bits() ([]uint32, error) {
	clear(s.words)
	if len(s.ids) > 0 {
		s.words[s.ids[0]/32] = 1 << (s.ids[0] % 32)
	}
	return s.words, nil
}

// Allows implements sample.Mask.
func (s *script) Allows(id token.ID) bool { return len(s.ids) > 0 && id == s.ids[0] }

// Forced implements sample.Mask.
func (s *script) Forced(dst, _ []token.ID) []token.ID { return dst }

// Accept implements sample.Mask.
func (s *script) Accept(id token.ID) error {
	if !s.Allows(id) {
		return fmt.Errorf("token %d is not in the script", id)
	}
	s.ids = s.ids[1:]
	return nil
}

// MayEnd implements sample.Mask.
func (s *script) MayEnd() bool { return len(s.ids) == 0 }

// Ended implements sample.Mask.
func (s *script) Ended() bool { return len(s.ids) == 0 }

// An oracle is a Drafter that knows the reply, and is wrong about a share of its tokens.
type oracle struct {
	wrong float64
	rng   *rand.Rand
	all   []token.ID // prompt and reply
	other token.ID   // what it says where it is wrong
}

// Offer implements sched.Drafter.
func (o *oracle) Offer(_ int, t sched.Text, n int) (tokens, rank int) {
	return min(n, len(o.all)-len(t.Tokens)), 1
}

// Draft implements sched.Drafter.
func (o *oracle) Draft(_ context.Context, asks []sched.Ask) error {
	for i := range asks {
		a := &asks[i]
		if at := len(a.Tokens); at < len(o.all) && slices.Equal(a.Tokens[at-4:], o.all[at-4:at]) {
			for _, id := range o.all[at:min(at+a.N, len(o.all))] {
				if o.rng.Float64() < o.wrong {
					id = o.other
				}
				a.Draft = append(a.Draft, id)
			}
		}
	}
	return nil
}

// Forget implements sched.Drafter.
func (o *oracle) Forget(int) {}

// A guided drafter is a model's own layer that says what the oracle does, in place of its own: that
// costs what its drafts cost, and is right as often as one likes.
type guided struct {
	*draft.MTP
	oracle *oracle
}

// Draft implements sched.Drafter.
func (g guided) Draft(ctx context.Context, asks []sched.Ask) error {
	if err := g.MTP.Draft(ctx, asks); err != nil {
		return err
	}
	for i := range asks {
		a := &asks[i]
		a.N, a.Draft = len(a.Draft), a.Draft[:0]
	}
	return g.oracle.Draft(ctx, asks)
}
