package asr

import (
	"math"
	"slices"

	"quern/engine/token"
	"quern/kernels/vec"
)

// rules bar tokens by those before them, as the model was trained.
//
// Radford et al., 2022, §2.3; OpenAI, whisper, decoding.py.
type rules struct {
	suppress []token.ID // never, and nor are
	more     []token.ID // these
	begin    []token.ID // not at the beginning
	stamps   bool       // the transcript has times
	// firstStamp is the latest time at the beginning.
	firstStamp token.ID
	special    *specials
}

var never = float32(math.Inf(-1))

// apply sets the logits of tokens that may not follow sampled to -Inf.
func (r *rules) apply(logits []float32, sampled []token.ID) {
	if len(sampled) == 0 {
		for _, id := range r.begin {
			logits[id] = never
		}
	}
	for _, list := range [][]token.ID{r.suppress, r.more} {
		for _, id := range list {
			logits[id] = never
		}
	}
	if r.stamps {
		r.times(logits, sampled)
	}
}

func bar(logits []float32) {
	for i := range logits {
		logits[i] = never
	}
}

// times are in pairs, one ends a segment and one begins the next; the first
// stands at the beginning and the last at the end; and they do not go back.
func (r *rules) times(logits []float32, sampled []token.ID) {
	s := r.special
	logits[s.noTimestamps] = never
	n := len(sampled)
	last := n >= 1 && sampled[n-1] >= s.stamp0
	before := n < 2 || sampled[n-2] >= s.stamp0
	if last {
		if before {
			bar(logits[s.stamp0:])
		} else {
			bar(logits[:s.eot])
		}
	}
	for i := n - 1; i >= 0; i-- {
		if sampled[i] < s.stamp0 {
			continue
		}
		// A segment may be closed and the next begun at one time, but no segment
		// ends where it begins.
		next := sampled[i]
		if !last || before {
			next++
		}
		bar(logits[s.stamp0:min(int(next), len(logits))])
		break
	}
	if n == 0 {
		bar(logits[:s.stamp0])
		if int(r.firstStamp)+1 < len(logits) {
			bar(logits[r.firstStamp+1:])
		}
	}
	// Times together may be likelier than the likeliest word.
	best := never
	for _, v := range logits[:s.stamp0] {
		if v > best {
			best = v
		}
	}
	if logSumExp(logits[s.stamp0:]) > float64(best) {
		bar(logits[:s.stamp0])
	}
}

// logSumExp is log Σ eˣ, -Inf for nothing but -Inf, with a relative error below
// 10⁻⁶ of the sum.
func logSumExp(x []float32) float64 {
	top, sum := math.Inf(-1), 0.0
	var part [512]float32 // float32 adds so many terms well
	for len(x) > 0 {
		n := copy(part[:], x)
		peak, s := vec.SoftmaxWeights(part[:n], nil, 1)
		switch p := float64(peak); {
		case peak == never: // and the sum is no number, whether or not x has any
			if slices.ContainsFunc(x[:n], func(v float32) bool { return v != v }) {
				return math.NaN()
			}
		case p > top:
			top, sum = p, sum*math.Exp(top-p)+float64(s)
		default:
			sum += float64(s) * math.Exp(p-top)
		}
		x = x[n:]
	}
	return top + math.Log(sum)
}

// A ranking is a token with its log-probability.
type ranking struct {
	id      token.ID
	logprob float64
}

// best returns the n likeliest tokens, best first, of equals the lower id.
func best(logits []float32, n int) []ranking {
	list := make([]ranking, 0, n+1)
	least := never // of a full list
	for i, v := range logits {
		if !(v > least) {
			continue
		}
		at := len(list)
		for at > 0 && float64(v) > list[at-1].logprob {
			at--
		}
		list = append(list, ranking{})
		copy(list[at+1:], list[at:])
		list[at] = ranking{token.ID(i), float64(v)}
		if len(list) >= n {
			list = list[:n]
			least = logits[list[n-1].id]
		}
	}
	norm := logSumExp(logits)
	for i := range list {
		list[i].logprob -= norm
	}
	return list
}

// draw returns a token of softmax(logits / temperature) by u, a number in [0, 1),
// and its log-probability at temperature 1. One pass sums the weights of blocks, and
// the block that u falls into is looked through.
func draw(logits []float32, temperature, u float64) ranking {
	top := best(logits, 1)
	if len(top) == 0 {
		return ranking{token.None, math.Inf(-1)}
	}
	peak, scale := logits[top[0].id], float32(1/temperature)
	var weights [512]float32 // float32 adds so many terms well
	weigh := func(block []float32) float64 {
		for i, v := range block {
			weights[i] = (v - peak) * scale
		}
		return float64(vec.ExpSum(weights[:len(block)], 0))
	}
	sums, sum := make([]float64, 0, len(logits)/len(weights)+1), 0.0
	for block := range slices.Chunk(logits, len(weights)) {
		sums = append(sums, weigh(block))
		sum += sums[len(sums)-1]
	}
	u *= sum
	for k, part := range sums {
		if u >= part {
			u -= part
			continue
		}
		at := k * len(weights)
		block := logits[at:min(at+len(weights), len(logits))]
		weigh(block)
		last := top[0].id // where rounding eats the last weight
		for i := range block {
			if weights[i] <= impossible {
				continue
			}
			last = token.ID(at + i)
			if u -= float64(weights[i]); u < 0 {
				break
			}
		}
		return ranking{last, top[0].logprob + float64(logits[last]-peak)}
	}
	return top[0]
}

// impossible is a weight that no token of any use has: vectorised code gives it to barred tokens.
const impossible = 0x1p-125
