package sched

import (
	"errors"
	"slices"

	"quern/engine/sample"
	"quern/engine/token"
)

// A reply is all that becomes of one sequence.
type reply struct {
	tokens []sample.Token
	reason Reason
	stopID token.ID
}

func (r reply) equal(o reply) bool {
	return r.reason == o.reason && r.stopID == o.stopID && slices.EqualFunc(r.tokens, o.tokens, equalTokens)
}

func equalTokens(a, b sample.Token) bool {
	return a.ID == b.ID && a.Logprob == b.Logprob && slices.Equal(a.Top, b.Top)
}

// oracle answers sequence index of r all alone and in the plainest way.
func oracle(o *Options, r Request, index int) reply {
	if r.NoTokens {
		return reply{reason: Length, stopID: token.None}
	}
	most := min(o.Context-len(r.Prompt), o.Blocks*o.BlockSize-len(r.Prompt)+1)
	if r.Max > 0 {
		most = min(most, r.Max)
	}
	p := r.Sample
	p.Seed = seedOf(p.Seed, index)
	var mask sample.Mask
	if r.Mask != nil {
		mask = r.Mask()
	}
	s := sample.New(p, r.Prompt, mask)
	var out reply
	tokens := slices.Clone(r.Prompt)
	for len(out.tokens) < most {
		var ban []token.ID
		if r.IgnoreEOS || len(out.tokens) < r.Min {
			ban = append(ban, r.EOG...)
		}
		if len(out.tokens) < r.Min {
			ban = append(ban, r.StopIDs...)
		}
		var t sample.Token
		forced, err := s.Forced(1, ban)
		if len(forced) > 0 {
			t.ID = forced[0]
		} else if err == nil {
			t, err = s.Next(logitsAfter(r.Adapter, tokens), ban)
		}
		if errors.Is(err, sample.ErrBarred) && s.MayEnd() {
			out.reason, out.stopID = Stop, token.None
			return out
		}
		if err != nil {
			panic(err)
		}
		if slices.Contains(r.EOG, t.ID) || slices.Contains(r.StopIDs, t.ID) {
			out.reason, out.stopID = Stop, t.ID
			return out
		}
		out.tokens = append(out.tokens, t)
		tokens = append(tokens, t.ID)
		if s.Ended() {
			out.reason, out.stopID = Stop, token.None
			return out
		}
	}
	out.reason, out.stopID = Length, token.None
	return out
}

// scores is what PromptLogprobs should give.
func scores(r Request) []sample.Token {
	if !r.PromptLogprobs {
		return nil
	}
	out := []sample.Token{{ID: r.Prompt[0]}}
	for i := 1; i < len(r.Prompt); i++ {
		out = append(out, sample.Logprobs(logitsAfter(r.Adapter, r.Prompt[:i]), r.Prompt[i], r.Sample.Top))
	}
	return out
}
