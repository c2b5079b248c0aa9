package sample_test

import (
	"math"
	"slices"

	"quern/engine/sample"
	"quern/engine/token"
)

// The oracle is the definition of every stage, written without regard to cost:
// full sorts, float64, math.Exp.

// penalised returns logits after bias and penalties.
func penalised(p sample.Params, logits []float32, prompt, generated []token.ID) []float64 {
	l := make([]float64, len(logits))
	for i, v := range logits {
		l[i] = float64(v)
	}
	for id, b := range p.Bias {
		if int(id) < len(l) {
			if b <= -100 {
				b = float32(math.Inf(-1))
			}
			l[id] += float64(b)
		}
	}
	all := slices.Concat(prompt, generated)
	n := p.RepeatLastN
	if n == 0 {
		n = 64
	}
	if n > 0 && len(all) > n {
		all = all[len(all)-n:]
	}
	for id := range l {
		if p.RepeatPenalty != 0 && slices.Contains(all, token.ID(id)) {
			if l[id] > 0 {
				l[id] /= float64(p.RepeatPenalty)
			} else {
				l[id] *= float64(p.RepeatPenalty)
			}
		}
		count := 0
		for _, g := range generated {
			if int(g) == id {
				count++
			}
		}
		if count > 0 {
			l[id] -= float64(count)*float64(p.FrequencyPenalty) + float64(p.PresencePenalty)
		}
	}
	return l
}

// softmax returns the distribution of the logits of ids; all others have 0.
func softmax(l []float64, ids []int, temperature float64) []float64 {
	p := make([]float64, len(l))
	top, sum := math.Inf(-1), 0.0
	for _, id := range ids {
		top = max(top, l[id])
	}
	for _, id := range ids {
		p[id] = math.Exp((l[id] - top) / temperature)
		sum += p[id]
	}
	for _, id := range ids {
		p[id] /= sum
	}
	return p
}

// shortest sorts ids by key and keeps the shortest run with at least mass.
func shortest(ids []int, p []float64, mass float64, key func(id int) float64) []int {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b int) int {
		switch {
		case key(a) < key(b):
			return -1
		case key(a) > key(b):
			return 1
		}
		return a - b
	})
	sum := 0.0
	for i, id := range ids {
		// Adding up equal shares must not miss the mass by rounding.
		if sum += p[id]; sum >= mass*(1-1e-12) {
			return ids[:i+1]
		}
	}
	return ids
}

// distribution returns the probability of every token to be drawn.
func distribution(p sample.Params, l []float64) []float64 {
	var ids []int
	for id, v := range l {
		if !math.IsInf(v, -1) {
			ids = append(ids, id)
		}
	}
	byLogit := func(id int) float64 { return -l[id] }
	if p.Temperature == 0 {
		ids = shortest(ids, make([]float64, len(l)), math.Inf(1), byLogit)[:1]
		return softmax(l, ids, 1)
	}
	if p.TopK > 0 && p.TopK < len(ids) {
		ids = shortest(ids, make([]float64, len(l)), math.Inf(1), byLogit)[:p.TopK]
	}
	if p.TypicalP > 0 && p.TypicalP < 1 {
		q := softmax(l, ids, 1)
		entropy := 0.0
		for _, id := range ids {
			if q[id] > 0 {
				entropy -= q[id] * math.Log(q[id])
			}
		}
		ids = shortest(ids, q, float64(p.TypicalP), func(id int) float64 {
			return math.Abs(-math.Log(q[id]) - entropy)
		})
	}
	if p.TopP > 0 && p.TopP < 1 {
		ids = shortest(ids, softmax(l, ids, 1), float64(p.TopP), byLogit)
	}
	if p.MinP > 0 {
		q := softmax(l, ids, 1)
		least := slices.Max(q) * float64(p.MinP)
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return q[id] < least })
	}
	return softmax(l, ids, float64(p.Temperature))
}
