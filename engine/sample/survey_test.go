package sample_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/engine/sample"
	"quern/engine/token"
)

func TestSurvey(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 21))
	for _, n := range []int{1, 3, 4, 5, 7, 8, 9, sample.BlockLen - 1, sample.BlockLen, sample.BlockLen + 1, 5000} {
		for _, width := range []float64{0, 1, 4, 40, 1e4} {
			for _, barred := range []float64{0, 0.5, 0.99} {
				logits := normal(rng, n, width)
				for i := range logits {
					if rng.Float64() < barred {
						logits[i] = -inf
					}
				}
				logits[rng.IntN(n)] = -3
				top, sum := slices.Max(logits), 0.0
				for _, v := range logits {
					sum += math.Exp(float64(v) - float64(top))
				}
				got := sample.TakeSurvey(logits)
				if !got.OK || got.Top != top || math.Abs(got.Sum-sum) > sample.Doubt*sum {
					t.Errorf("%d logits, width %v, %v barred: got %v, %v, %v; want %v, %v", n, width, barred, got.OK, got.Top, got.Sum, top, sum)
				}
				for k, peak := range got.Peaks {
					if want := slices.Max(logits[k*sample.BlockLen : min((k+1)*sample.BlockLen, n)]); peak != want {
						t.Errorf("%d logits, width %v: peak %d is %v, want %v", n, width, k, peak, want)
					}
				}
			}
		}
	}
	for _, logits := range [][]float32{nil, {-inf}, slices.Repeat([]float32{-inf}, 1000)} {
		if sample.TakeSurvey(logits).OK {
			t.Errorf("%d logits without a possible one were surveyed", len(logits))
		}
	}
}

// TestNucleus: what is drawn from, and in which order, does not depend on how the
// survey rounds.
func TestNucleus(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 23))
	sures, doubts := 0, 0
	for _, n := range []int{1, 2, 20, 1000, 20000} {
		for _, width := range []float64{0, 0.01, 1, 3, 6, 20} {
			for _, p := range []float64{1e-6, 0.1, 0.5, 0.9, 0.95, 0.9999} {
				logits := normal(rng, n, width)
				if rng.IntN(2) == 0 { // ties
					for i, v := range logits {
						logits[i] = float32(math.Round(float64(v) * 4))
					}
				}
				got, want, sure := sample.Nucleus(logits, p)
				if sure {
					sures++
				} else {
					doubts++
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d logits, width %v, p %v: %d tokens, want %d, or in another order", n, width, p, len(got), len(want))
				}
			}
		}
	}
	if sures == 0 || doubts == 0 {
		t.Errorf("the survey was enough %d times and was not %d times; want some of both", sures, doubts)
	}
}

// What is not a number is found wherever it stands in a row that passes look at in
// blocks, and so is the first of the largest.
func TestLongRows(t *testing.T) {
	const n = 2*sample.BlockLen + 5
	rng := rand.New(rand.NewPCG(24, 25))
	for _, p := range []sample.Params{
		{}, {Temperature: 1}, {Temperature: 1, TopK: 2}, {Temperature: 1, TopP: 0.5}, {Temperature: 1, MinP: 0.5}, {Temperature: 1, TypicalP: 0.5},
	} {
		for at := range n {
			for _, v := range []float32{float32(math.NaN()), -float32(math.NaN()), inf} {
				logits := normal(rng, n, 1)
				logits[at] = v
				want := fmt.Sprintf("token %d has %v", at, v)
				_, err := sample.New(p, nil, nil).Next(logits, nil)
				if !errors.Is(err, sample.ErrLogits) || err.Error() != sample.ErrLogits.Error()+": "+want {
					t.Fatalf("%+v: got %v, want %s", p, err, want)
				}
			}
		}
	}
	for at := range n {
		logits := slices.Repeat([]float32{-2}, n)
		for i := at; i < n; i += 7 {
			logits[i] = 5
		}
		if got := next(t, sample.New(sample.Params{}, nil, nil), logits); got != token.ID(at) {
			t.Fatalf("greedy drew %d, want %d", got, at)
		}
	}
}
