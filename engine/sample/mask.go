package sample

import (
	"math"
	"math/bits"

	"quern/engine/token"
)

// A Mask bars tokens by what came before, as a grammar does. Its methods are called
// one at a time, from any goroutine.
type Mask interface {
	// Bits are the tokens that may come next, bit id%32 of word id/32; what is past the
	// end is barred. They are valid until Accept or Forced, and not changed. With an error
	// nothing may be drawn.
	Bits() ([]uint32, error)
	// Allows reports whether one token is in Bits, which costs less than those.
	Allows(token.ID) bool
	// Forced appends to dst the tokens that must come next, as far as that is certain and
	// in the split the model would make of their text: each may be accepted behind the ones
	// before it. before are the last tokens so far, at least 16 of prompt and reply if there
	// are so many.
	Forced(dst, before []token.ID) []token.ID
	// Accept moves on by one token of Bits.
	Accept(token.ID) error
	// MayEnd reports whether the text is whole as it is.
	MayEnd() bool
	// Ended reports whether the text is whole and no token but the end may come.
	Ended() bool
}

// allowed draws from the logits that the mask allows. It may overwrite logits.
func (s *Sampler) allowed(logits []float32) (token.ID, error) {
	if s.mask == nil {
		return s.pick(logits)
	}
	if _, greedy := s.p.scale(); greedy {
		// Mostly the likeliest token is allowed, and then it is also the likeliest of
		// those that are.
		if id, _, err := argmax(logits); err == nil && s.mask.Allows(id) {
			return id, nil
		}
	}
	words, err := s.mask.Bits()
	if err != nil {
		return 0, err
	}
	bar(logits, words)
	return s.pick(logits)
}

// bar sets the logits of tokens whose bits are not set to -Inf.
func bar(logits []float32, words []uint32) {
	barred := float32(math.Inf(-1))
	for w, word := range words {
		if w*32 >= len(logits) {
			return
		}
		block := logits[w*32 : min(w*32+32, len(logits))]
		if word == 0 {
			for i := range block {
				block[i] = barred
			}
			continue
		}
		for word = ^word; word != 0; word &= word - 1 {
			if i := bits.TrailingZeros32(word); i < len(block) {
				block[i] = barred
			}
		}
	}
	for i := len(words) * 32; i < len(logits); i++ {
		logits[i] = barred
	}
}

// Bits makes the Mask's bits ahead of a draw; nil without a Mask, or if it has ended.
func (s *Sampler) Bits() ([]uint32, error) {
	if s.mask == nil || s.ended {
		return nil, nil
	}
	return s.mask.Bits()
}

// Ended reports whether the Mask allows no token but the end after the last draw.
func (s *Sampler) Ended() bool { return s.ended }

// MayEnd reports whether the text is whole as it is by the Mask, if there is one.
func (s *Sampler) MayEnd() bool { return s.mask == nil || s.mask.MayEnd() }
