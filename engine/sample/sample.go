// Package sample turns logits into tokens.
package sample

import "quern/engine/token"

// Params says how a reply is drawn. The zero value is greedy decoding.
//
// The order is: bias, penalties, mask, top-k, typical-p, top-p, min-p,
// temperature, draw.
type Params struct {
	Temperature float32 // 0 is greedy: the seed and the filters below do not matter
	TopK        int     // keep the k likeliest; 0 is off
	TopP        float32 // nucleus: keep the likeliest up to this mass; 0 or 1 is off
	MinP        float32 // drop what is below MinP times the likeliest; 0 is off
	TypicalP    float32 // locally typical sampling; 0 or 1 is off

	RepeatPenalty    float32 // divides positive and multiplies negative logits of recent tokens; 0 or 1 is off
	RepeatLastN      int     // how many recent tokens (prompt included) RepeatPenalty looks at; 0 means 64, -1 the whole context
	FrequencyPenalty float32 // times the count in the generated text, subtracted
	PresencePenalty  float32 // subtracted once for every generated token

	Bias map[token.ID]float32 // added to logits; -100 bans, +100 forces

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
// after bias and before every filter and the temperature.
type Token struct {
	ID      token.ID
	Logprob float32     // meaningful only with Params.Logprobs
	Top     []Candidate // best first; nil without Params.Logprobs
}
