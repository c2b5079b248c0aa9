package sample

import (
	"math"

	"quern/engine/token"
)

// Logprobs describes chosen as a draw from logits: its log-probability and the
// top likeliest tokens (at most 20). It only reads logits. When one of them is
// NaN or +Inf the Logprob is NaN; a token outside the vocabulary has -Inf.
func Logprobs(logits []float32, chosen token.ID, top int) Token {
	t := Token{ID: chosen, Logprob: float32(math.Inf(-1))}
	_, most, err := argmax(logits)
	if err != nil && err != ErrBarred {
		t.Logprob = float32(math.NaN())
		return t
	}
	norm := 0.0
	if err == nil {
		norm = math.Log(expSum(logits, most)) + float64(most)
	}
	logprob := func(v float32) float32 { return float32(float64(v) - norm) }
	if uint(chosen) < uint(len(logits)) {
		t.Logprob = logprob(logits[chosen])
	}
	top = min(top, maxTop, len(logits))
	if top <= 0 {
		return t
	}
	var room [64]cand // the candidates of topCands for the largest top
	c, _ := topCands(room[:0], logits, top)
	insertionSort(c)
	t.Top = make([]Candidate, 0, top)
	for i := range c {
		t.Top = append(t.Top, Candidate{c[i].id, logprob(c[i].logit)})
	}
	for i := 0; len(t.Top) < top; i++ {
		if math.IsInf(float64(logits[i]), -1) {
			t.Top = append(t.Top, Candidate{token.ID(i), logits[i]})
		}
	}
	return t
}
