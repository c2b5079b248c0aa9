package sched

import (
	"context"
	"math/rand/v2"
	"slices"

	"quern/engine/token"
)

// A knowing Drafter was told what replies will be, and is wrong about a share of their tokens.
type knowing struct {
	wrong   float64
	rng     *rand.Rand
	replies [][]token.ID // prompts too
	err     error
}

func (k *knowing) learn(prompt []token.ID, r reply) {
	all := slices.Clone(prompt)
	for _, t := range r.tokens {
		all = append(all, t.ID)
	}
	if r.stopID != token.None {
		all = append(all, r.stopID)
	}
	k.replies = append(k.replies, all)
}

// Offer implements Drafter.
func (k *knowing) Offer(place int, t Text, n int) (tokens, rank int) {
	return n, len(t.Tokens) % Ranks
}

// Draft implements Drafter.
func (k *knowing) Draft(_ context.Context, asks []Ask) error {
	for i := range asks {
		a := &asks[i]
		for range a.N {
			next := token.ID(k.rng.IntN(fakeVocab))
			if k.rng.Float64() >= k.wrong {
				so := slices.Concat(a.Tokens, a.Draft)
				for _, r := range k.replies {
					if len(r) > len(so) && slices.Equal(r[:len(so)], so) {
						next = r[len(so)]
					}
				}
			}
			a.Draft = append(a.Draft, next)
		}
	}
	return k.err
}

// Forget implements Drafter.
func (k *knowing) Forget(int) {}
