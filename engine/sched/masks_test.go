package sched

import (
	"errors"
	"testing"
	"testing/synctest"

	"quern/engine/graph"
	"quern/engine/sample"
	"quern/engine/token"
)

// A toldMask allows one token for ever, and closes a channel when its bits were made.
type toldMask struct {
	alphabet
	made  chan struct{}
	ready bool
	whole bool // MayEnd
}

func (m *toldMask) Bits() ([]uint32, error) {
	if !m.ready && m.made != nil {
		m.ready = true
		m.made <- struct{}{}
	}
	m.words = [len(m.words)]uint32{1 << 0}
	return m.words[:], nil
}

func (m *toldMask) Allows(id token.ID) bool             { return id == 0 }
func (m *toldMask) Accept(token.ID) error               { m.ready = false; return nil }
func (m *toldMask) MayEnd() bool                        { return m.whole }
func (m *toldMask) Forced(dst, _ []token.ID) []token.ID { return dst }
func (m *toldMask) Ended() bool                         { return false }

// TestMasksMadeMeanwhile: the masks of a step's draws are made while the engine computes it, for
// one that ranks what they allow those of greedy draws too. This engine gives no logits
// before they are there.
func TestMasksMadeMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		name        string
		temperature float32
		most, n     int
	}{{"drawn", 1, 0, 2}, {"greedy and ranked", 0, 5, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, e := newFake(t, small)
				e.most = tt.most
				made := make(chan struct{}, 100)
				e.fail = func(in *graph.Batch) error {
					if in.Positions[0] > 2 { // the first mask is made with the first logits
						for range in.Want {
							<-made
						}
					}
					return nil
				}
				start(t, s)
				r := Request{Prompt: prompt(3), N: tt.n, Max: 5, Sample: sample.Params{Temperature: tt.temperature}, Mask: func() sample.Mask { return &toldMask{made: made} }}
				st := submit(t, s, r)
				for range r.N { // of the first masks
					go func() { <-made }()
				}
				got, _, err := collect(st)
				if err != nil {
					t.Fatal(err)
				}
				for _, q := range got {
					if len(q.tokens) != 5 {
						t.Errorf("got %v", got)
					}
				}
			})
		})
	}
}

// TestMaskPanicsEarly: a mask that panics while it is made early fails its request only.
func TestMaskPanicsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newFake(t, small)
		e.fail = func(*graph.Batch) error {
			synctest.Wait() // helpers are done
			return nil
		}
		start(t, s)
		r := Request{Prompt: prompt(9), Max: 10, Sample: sample.Params{Temperature: 1}}
		bad := r
		bad.Mask = func() sample.Mask { return new(badMask) }
		one, two := submit(t, s, bad), submit(t, s, r)
		if got, _, err := collect(one); err == nil || len(got[0].tokens) != 2 {
			t.Errorf("got %v, %v", got, err)
		}
		if got, _, err := collect(two); err != nil || !got[0].equal(oracle(&s.o, r, 0)) {
			t.Errorf("its neighbour got %v, %v", got, err)
		}
	})
}

// TestNothingLeft: a request that bars the only token its Mask allows has its reply if
// the text is whole, and else an error.
func TestNothingLeft(t *testing.T) {
	for _, whole := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := newFake(t, small)
			start(t, s)
			r := Request{Prompt: prompt(3), Max: 5, EOG: []token.ID{0}, IgnoreEOS: true, Mask: func() sample.Mask { return &toldMask{whole: whole} }}
			got, _, err := collect(submit(t, s, r))
			if whole && (err != nil || got[0].reason != Stop) || !whole && !errors.Is(err, sample.ErrBarred) {
				t.Errorf("whole %v: got %v, %v", whole, got, err)
			}
		})
	}
}

// TestEndedStops: when nothing but the end may come no step is made to draw it.
func TestEndedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newFake(t, small)
		start(t, s)
		r := Request{Prompt: prompt(3), EOG: []token.ID{0}, IgnoreEOS: true, Mask: func() sample.Mask { return &alphabet{n: 1, left: 4} }}
		got, _, err := collect(submit(t, s, r))
		if err != nil || got[0].reason != Stop || got[0].stopID != token.None || len(got[0].tokens) != 4 {
			t.Errorf("got %v, %v", got, err)
		}
		if e.steps != 4 {
			t.Errorf("%d steps for 4 tokens", e.steps)
		}
	})
}

// TestMasksAllocateNothing: nor do goroutines that make masks early.
func TestMasksAllocateNothing(t *testing.T) {
	one := newFlat(t, 8, func(r *Request) {
		r.EOG, r.Sample.Temperature, r.Mask = nil, 1, func() sample.Mask { return new(toldMask) }
	})
	if n := testing.AllocsPerRun(900, one); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
}
