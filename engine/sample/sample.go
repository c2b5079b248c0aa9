// Package sample turns logits into tokens.
package sample

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"quern/engine/token"
)

// Errors of Sampler.Next. Both mean that nothing was drawn.
var (
	// ErrLogits: the model produced NaN or +Inf.
	ErrLogits = errors.New("sample: logits are not numbers")
	// ErrBarred: bias, mask and ban left no token to draw.
	ErrBarred = errors.New("sample: every token is barred")
)

// Params are the parameters of drawing a reply. The zero value is greedy decoding.
//
// The order is: bias, penalties, mask, top-k, typical-p, top-p, min-p,
// temperature, draw. Each filter sees the distribution the one before it left,
// made to sum to 1 again; all of them see it at temperature 1. Tokens that are
// equally good are taken by ascending id.
type Params struct {
	Temperature float32 // 0 is greedy: the seed and the filters below do not matter
	TopK        int     // keep the k likeliest; 0 is off
	TopP        float32 // nucleus: keep the likeliest up to this mass; 0 or 1 is off
	MinP        float32 // drop tokens below MinP times the likeliest; 0 is off
	TypicalP    float32 // locally typical sampling; 0 or 1 is off

	RepeatPenalty    float32 // divides positive and multiplies negative logits of recent tokens; 0 or 1 is off
	RepeatLastN      int     // how many recent tokens (prompt included) RepeatPenalty looks at; 0 means 64, -1 the whole context
	FrequencyPenalty float32 // times the count in the generated text, subtracted
	PresencePenalty  float32 // subtracted once for every different token of the generated text

	Bias map[token.ID]float32 // added to logits; -100 and less bars the token, +100 all but forces it

	Seed uint64 // of the request's own generator; equal seeds give equal replies

	Logprobs bool // report log-probabilities
	Top      int  // with Logprobs: how many alternatives to report, at most 20
}

// A Candidate is a token with its log-probability.
type Candidate struct {
	ID      token.ID
	Logprob float32 // natural logarithm; -Inf when the token was impossible
}

// A Token is one drawn token. Log-probabilities are those of the distribution
// after bias and before penalties, mask, filters and temperature.
type Token struct {
	ID      token.ID
	Logprob float32     // meaningful only with Params.Logprobs
	Top     []Candidate // best first, equals by id; nil without Params.Logprobs or with Top 0
}

// maxTop bounds Params.Top and the top of Logprobs.
const maxTop = 20

// A Sampler draws the tokens of one sequence. It is not safe for concurrent
// use. Its draws depend on its Params, the prompt, its Mask and the logits,
// and on nothing else.
type Sampler struct {
	p    Params
	bias []Candidate // Params.Bias by ascending id
	pen  penalties
	mask Mask
	run  run // with a mask
	rng  rand.PCG
	buf  *Buffers

	ended bool // the Mask allows nothing but the end
}

// Buffers are the working memory of Samplers: up to a few megabytes for a large
// vocabulary and flat distributions. The zero value is ready to use.
type Buffers struct {
	cands  []cand
	raw    []float32
	sums   []float64 // of the weights of each block
	down   [sumBlock]float32
	survey survey
}

// New returns the Sampler of a sequence that starts with prompt, which is only
// read. A nil m allows everything.
func New(p Params, prompt []token.ID, m Mask) *Sampler {
	s := &Sampler{p: p, mask: m, pen: newPenalties(&p, prompt)}
	if m != nil {
		s.run = newRun(prompt)
	}
	s.p.Bias = nil
	for id, b := range p.Bias {
		if b <= -100 {
			b = float32(math.Inf(-1))
		}
		s.bias = append(s.bias, Candidate{id, b})
	}
	slices.SortFunc(s.bias, func(a, b Candidate) int { return int(a.ID) - int(b.ID) })
	// Seeds that differ by one must not give related streams.
	s.rng.Seed(mix(p.Seed), mix(p.Seed+1<<63))
	return s
}

// Share makes s work in b, which saves memory when many Samplers are used in
// turn. Samplers that share Buffers must not be used at the same time.
func (s *Sampler) Share(b *Buffers) { s.buf = b }

// Next draws the token that follows, given the model's logits for it, and
// remembers it. Tokens in ban are barred this once. It may overwrite logits.
//
// Without Params.Logprobs it allocates nothing once its buffers have grown.
func (s *Sampler) Next(logits []float32, ban []token.ID) (Token, error) {
	if s.buf == nil {
		s.buf = new(Buffers)
	}
	for _, b := range s.bias {
		if uint(b.ID) < uint(len(logits)) {
			logits[b.ID] += b.Logprob
		}
	}
	if s.p.Logprobs {
		s.buf.raw = append(s.buf.raw[:0], logits...)
	}
	s.pen.apply(logits)
	for _, id := range ban {
		if uint(id) < uint(len(logits)) {
			logits[id] = float32(math.Inf(-1))
		}
	}
	id, err := s.allowed(logits)
	if err != nil {
		return Token{}, err
	}
	t := Token{ID: id}
	if s.p.Logprobs {
		t = Logprobs(s.buf.raw, id, s.p.Top)
	}
	if err := s.accept(id); err != nil {
		return Token{}, err
	}
	return t, nil
}

// accept moves on by a token.
func (s *Sampler) accept(id token.ID) error {
	s.pen.accept(id)
	if s.mask == nil {
		return nil
	}
	if err := s.mask.Accept(id); err != nil {
		return fmt.Errorf("sample: mask refused token %d: %w", id, err)
	}
	s.ended = s.mask.Ended()
	s.run.accept(id)
	return nil
}

// pick draws from logits as they are, through filters and temperature. It may
// overwrite them.
func (s *Sampler) pick(logits []float32) (token.ID, error) {
	scale, greedy := s.p.scale()
	if greedy {
		id, _, err := argmax(logits)
		return id, err
	}
	if f := s.p.filters(len(logits)); f != (filters{}) {
		return s.drawFiltered(logits, scale, f)
	}
	return s.drawAll(logits, scale)
}

// scale is the reciprocal of the temperature. One that overflows is no different
// from a temperature of 0.
func (p *Params) scale() (scale float64, greedy bool) {
	scale = 1 / float64(p.Temperature)
	return scale, !(p.Temperature > 0) || float32(scale) > math.MaxFloat32
}

// uniform returns a number in [0, 1) with 53 random bits.
func (s *Sampler) uniform() float64 {
	return float64(s.rng.Uint64()>>11) * 0x1p-53
}

// argmax returns the first of the largest logits.
func argmax(logits []float32) (token.ID, float32, error) {
	best, at := float32(math.Inf(-1)), -1
	for from := 0; from < len(logits); from += few {
		if len(logits)-from >= few && noneAbove((*[few]float32)(logits[from:]), best) {
			continue
		}
		for i, v := range logits[from:min(from+few, len(logits))] {
			// Written so that NaN, too, enters the branch.
			if !(v <= best) {
				if bad(v) {
					return 0, 0, badLogit(from+i, v)
				}
				best, at = v, from+i
			}
		}
	}
	if at < 0 {
		return 0, 0, ErrBarred
	}
	return token.ID(at), best, nil
}

// few is how many logits are passed over at a time.
const few = 8

// noneAbove reports whether all of x are at most floor, which NaN is not.
func noneAbove(x *[few]float32, floor float32) bool {
	return x[0] <= floor && x[1] <= floor && x[2] <= floor && x[3] <= floor &&
		x[4] <= floor && x[5] <= floor && x[6] <= floor && x[7] <= floor
}

func bad(v float32) bool { return v != v || v > math.MaxFloat32 }

func badLogit(i int, v float32) error {
	return fmt.Errorf("%w: token %d has %v", ErrLogits, i, v)
}

// mix spreads the bits of x: the finaliser of splitmix64 (Steele, Lea & Flood,
// "Fast splittable pseudorandom number generators", 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
