package sched

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quern/engine/sample"
	"quern/engine/token"
)

// A knowing Drafter drafts the replies that it was given, with a share of wrong tokens.
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

// A steady Drafter says the same token always.
type steady token.ID

// Offer implements Drafter.
func (d steady) Offer(_ int, _ Text, n int) (tokens, rank int) { return n, 0 }

// Draft implements Drafter.
func (d steady) Draft(_ context.Context, asks []Ask) error {
	for i := range asks {
		for range asks[i].N {
			asks[i].Draft = append(asks[i].Draft, token.ID(d))
		}
	}
	return nil
}

// Forget implements Drafter.
func (d steady) Forget(int) {}

// TestDraftsAllocateNothing, right or wrong.
func TestDraftsAllocateNothing(t *testing.T) {
	for _, d := range []Drafter{steady(fakeVocab - 1), steady(3)} {
		one := newFlat(t, 4, func(r *Request) { r.EOG = nil }, d)
		if n := testing.AllocsPerRun(60, one); n != 0 {
			t.Errorf("drafting %d: %v allocations a step", d, n)
		}
	}
}

// TestDraftWorth: by the time that steps take, drafts that are right save most of it, and
// others cost next to nothing, also where they were right for a while.
func TestDraftWorth(t *testing.T) {
	if testing.Short() {
		t.Skip("virtual time, of one goroutine")
	}
	const most = 2000
	type model struct{ step, row time.Duration } // what a step takes, and each of its rows
	memory, arithmetic := model{step: 10 * time.Millisecond, row: time.Millisecond}, model{row: 10 * time.Millisecond}
	for _, tt := range []struct {
		name      string
		model     model
		wrong     func(done float64) float64 // the share of wrong tokens, by how much of the reply there is
		slots     int
		draft     int
		less, few float64 // of the time without, at most and at least
		states    bool
		noise     bool // other programs make steps take up to nine times as long, in phases and at random
	}{
		{name: "right", model: memory, wrong: func(float64) float64 { return 0 }, slots: 1, less: 0.25},
		{name: "mostly right", model: memory, wrong: func(float64) float64 { return 0.2 }, slots: 1, less: 0.62},
		{name: "half right", model: memory, wrong: func(float64) float64 { return 0.5 }, slots: 1, less: 0.85},
		{name: "wrong", model: memory, wrong: func(float64) float64 { return 1 }, slots: 1, less: 1.02},
		{name: "wrong, of eight", model: memory, wrong: func(float64) float64 { return 1 }, slots: 8, less: 1.02},
		{name: "right, of eight", model: memory, wrong: func(float64) float64 { return 0 }, slots: 8, less: 0.75},
		{name: "rows are all that costs", model: arithmetic, wrong: func(float64) float64 { return 0.3 }, slots: 1, less: 1.02},
		{name: "right, then wrong", model: memory, wrong: func(done float64) float64 { return min(1, max(0, (done-0.5)*1e6)) }, slots: 1, less: 0.7},
		{name: "wrong, then right", model: memory, wrong: func(done float64) float64 { return min(1, max(0, (0.5-done)*1e6)) }, slots: 1, less: 0.85},
		{name: "switched off by the request", model: memory, wrong: func(float64) float64 { return 0 }, slots: 1, draft: -1, less: 1, few: 1},
		{name: "one token by the request", model: memory, wrong: func(float64) float64 { return 0 }, slots: 1, draft: 1, less: 0.57, few: 0.54},
		{name: "states, right", model: memory, wrong: func(float64) float64 { return 0 }, slots: 1, states: true, less: 0.5},
		{name: "states, wrong", model: memory, wrong: func(float64) float64 { return 1 }, slots: 1, states: true, less: 1.02},
		{name: "wrong, on a busy machine", model: memory, wrong: func(float64) float64 { return 1 }, slots: 2, noise: true, less: 1.03},
		{name: "right, on a busy machine", model: memory, wrong: func(float64) float64 { return 0 }, slots: 2, noise: true, less: 0.45},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(drafters ...Drafter) time.Duration {
				var clock time.Time
				o := Options{Blocks: 4000, BlockSize: 16, Budget: 64, Slots: tt.slots, Queue: 9, Drafters: drafters, Now: func() time.Time { return clock }}
				if o.States = tt.states; tt.states {
					o.Snapshots, o.Spares = 4, 1
				}
				s, e := newFake(t, o)
				var spent time.Duration
				rng := rand.New(rand.NewPCG(5, 6))
				e.took = func(rows int) {
					took := tt.model.step + time.Duration(rows)*tt.model.row
					spent += took
					if tt.noise {
						took = time.Duration(float64(took) * (1 + 4*rng.Float64()*rng.Float64()*float64(e.steps/70%3)))
					}
					clock = clock.Add(took)
				}
				var all []*Stream
				for i := range tt.slots {
					r := Request{Prompt: append(prompt(5), token.ID(i)), Max: most / tt.slots, MaxDraft: tt.draft, Sample: sample.Params{Temperature: 1, Seed: uint64(i)}}
					if len(drafters) > 0 {
						drafters[0].(*changing).learn(r.Prompt, oracle(&s.o, r, 0))
					}
					all = append(all, submit(t, s, r))
				}
				for live := len(all); live > 0; {
					s.turn(t.Context())
					live = len(all)
					for _, st := range all {
						for more := true; more; {
							select {
							case ev, ok := <-st.events:
								if more = ok; ok {
									st.took(&ev)
								} else {
									live--
								}
							default:
								more = false
							}
						}
					}
				}
				return spent
			}
			without := run()
			with := run(&changing{knowing: knowing{rng: rand.New(rand.NewPCG(1, 2))}, by: tt.wrong})
			if ratio := with.Seconds() / without.Seconds(); ratio > tt.less || ratio < tt.few {
				t.Errorf("%v with drafts, %v without: %.3f, at most %v", with, without, ratio, tt.less)
			}
		})
	}
}

// A changing Drafter is wrong more or less often as replies go on.
type changing struct {
	knowing
	by func(done float64) float64
}

// Draft implements Drafter.
func (c *changing) Draft(ctx context.Context, asks []Ask) error {
	for i := range asks {
		c.wrong = c.by(float64(len(asks[i].Tokens)) / float64(len(c.replies[0])))
		if err := c.knowing.Draft(ctx, asks[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// TestDrafterFails: replies go on without.
func TestDrafterFails(t *testing.T) {
	o := small
	o.Drafters = []Drafter{&knowing{rng: rand.New(rand.NewPCG(1, 2)), err: errors.New("it is gone")}}
	s, _ := newFake(t, o)
	start(t, s)
	r := Request{Prompt: prompt(9), Max: 30}
	got, _, err := collect(submit(t, s, r))
	if want := oracle(&s.o, r, 0); err != nil || !got[0].equal(want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}
