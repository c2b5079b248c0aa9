package sample_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/sample"
	"quern/engine/token"
)

// ranking returns the first n logits, as NextOf takes them.
func ranking(logits []float32, n int) (ids []token.ID, values []float32) {
	all := make([]token.ID, len(logits))
	for i := range all {
		all[i] = token.ID(i)
	}
	slices.SortFunc(all, func(a, b token.ID) int {
		x, y := logits[a], logits[b]
		if (x != x) != (y != y) {
			if x != x {
				return -1
			}
			return 1
		}
		if x != x {
			return cmp.Compare(a, b)
		}
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(a, b))
	})
	for _, id := range all[:n] {
		ids, values = append(ids, id), append(values, logits[id])
	}
	return ids, values
}

// The largest logits give the token that all of them give, draw after draw.
func TestNextOf(t *testing.T) {
	const vocab = 500
	for _, p := range []sample.Params{
		{},
		{TopK: 40, TopP: 0.9},
		{Temperature: 1e-40},
		{Temperature: 1, TopK: 1},
		{Temperature: 0.7, TopK: 40},
		{Temperature: 1, TopK: 40, TopP: 0.9},
		{Temperature: 1.5, TopK: 200, MinP: 0.05},
		{Temperature: 1, TopK: 100, TypicalP: 0.8, TopP: 0.95, MinP: 0.01},
	} {
		for _, ban := range [][]token.ID{nil, {7, 3, 499, 1000}} {
			t.Run(fmt.Sprintf("%+v without %v", p, ban), func(t *testing.T) {
				p.Seed = 5
				all, some := sample.New(p, nil, nil), sample.New(p, nil, nil)
				r := rand.New(rand.NewPCG(1, 2))
				need := p.Needs(len(ban))
				if need == 0 {
					t.Fatal("needs all logits")
				}
				for step := range 300 {
					logits := make([]float32, vocab)
					for i := range logits {
						logits[i] = float32(r.NormFloat64() * 2)
						if step%3 == 0 {
							logits[i] = float32(math.Round(float64(logits[i]))) // many equals
						}
					}
					logits[3], logits[7] = 9, 9
					ids, values := ranking(logits, need+step%2*20)
					want, err := all.Next(logits, ban)
					if err != nil {
						t.Fatal(err)
					}
					got, err := some.NextOf(ids, values, ban)
					if err != nil || got.ID != want.ID {
						t.Fatalf("step %d: token %d, %v; want %d", step, got.ID, err, want.ID)
					}
				}
			})
		}
	}
}

// What is no number, and what is impossible, is refused alike.
func TestNextOfErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		name   string
		logits []float32
		want   error
	}{
		{"NaN", []float32{1, nan, 2, 0, 0, 0, 0, 0}, sample.ErrLogits},
		{"infinite", []float32{1, inf, 2, 0, 0, 0, 0, 0}, sample.ErrLogits},
		{"NaN, banned", []float32{nan, 1, 2, 0, 0, 0, 0, 0}, nil},
		{"impossible", []float32{1, -inf, -inf, -inf, -inf, -inf, -inf, -inf}, sample.ErrBarred},
		{"one is possible", []float32{1, -inf, 3, -inf, -inf, -inf, -inf, -inf}, nil},
	} {
		for _, p := range []sample.Params{{}, {Temperature: 1, TopK: 3}} {
			ban := []token.ID{0}
			ids, values := ranking(tt.logits, p.Needs(1))
			got, err := sample.New(p, nil, nil).NextOf(ids, values, ban)
			want, wantErr := sample.New(p, nil, nil).Next(slices.Clone(tt.logits), ban)
			if !errors.Is(err, tt.want) || !errors.Is(wantErr, tt.want) || got.ID != want.ID {
				t.Errorf("%s, %+v: token %d, %v; of all %d, %v; want %v", tt.name, p, got.ID, err, want.ID, wantErr, tt.want)
			}
		}
	}
}

func TestNeeds(t *testing.T) {
	for _, tt := range []struct {
		p    sample.Params
		want int
	}{
		{sample.Params{}, 3},
		{sample.Params{RepeatPenalty: 1, RepeatLastN: 64}, 3},
		{sample.Params{Temperature: 1, TopK: 40}, 42},
		{sample.Params{Temperature: 1}, 0},
		{sample.Params{Temperature: 1, TopP: 0.9}, 0},
		{sample.Params{Logprobs: true}, 0},
		{sample.Params{Bias: map[token.ID]float32{1: 1}}, 0},
		{sample.Params{RepeatPenalty: 1.1}, 0},
		{sample.Params{FrequencyPenalty: 0.1}, 0},
		{sample.Params{PresencePenalty: -0.1}, 0},
	} {
		if got := tt.p.Needs(2); got != tt.want {
			t.Errorf("%+v needs %d, want %d", tt.p, got, tt.want)
		}
	}
}
