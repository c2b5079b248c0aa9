package token

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

const (
	// maxTokens and maxTokenLen are far above any published vocabulary
	// (about 300 thousand tokens of at most 1 KiB) and far below what would
	// make the tables here a burden.
	maxTokens   = 1 << 22
	maxTokenLen = 1 << 14
)

// A Spec is the tokenizer of a model file, free of container
// conventions: absent flags are already resolved. New trusts nothing in it.
type Spec struct {
	Model string // family: "llama", "gpt2", "gemma4", "bert", "t5" or "rwkv"
	Pre   string // pre-tokenizer of byte-level BPE; "" is "default"

	Tokens []string  // by id; empty ones are never produced
	Scores []float32 // by id; nil or as long as Tokens
	Kinds  []Kind    // by id; nil or as long as Tokens

	// Merges are pairs of token texts, best first.
	Merges [][2]string

	// Special maps roles to ids. A role that is absent has no token.
	Special map[Role]ID

	AddBOS bool // a sequence starts with BOS
	AddEOS bool // a sequence ends with EOS
	AddSEP bool // a pair of texts is divided by SEP

	SpacePrefix  bool // text is encoded as if a space stood before it
	MergeSpaces  bool // unigram: runs of spaces count as one
	IgnoreMerges bool // a whole word that is a token is taken as it is
	Lowercase    bool // WordPiece
	StripAccents bool // WordPiece

	// Charsmap is SentencePiece's compiled normalisation, unigram only.
	Charsmap []byte

	// LStrip and RStrip list special tokens that swallow the white space
	// before or after them.
	LStrip, RStrip []ID

	// Ending lists tokens that finish a text, beside those with a role.
	Ending []ID

	singleWord []ID // special tokens that must not touch letters or digits
	pipeline   *pipeline
}

// Cut leaves out the tokens from n on: those no model has an embedding of, as
// of images in Gemma 3. They must be tokens that no plain text is spelled with.
func (s *Spec) Cut(n int) error {
	if err := s.check(); err != nil {
		return err
	}
	for id := n; id < len(s.Tokens); id++ {
		switch k := s.kind(ID(id)); k {
		case Control, UserDefined, Unused:
		default:
			return fmt.Errorf("%w: a vocabulary of %d tokens with %d embeddings, and token %d is a %s one", ErrFormat, len(s.Tokens), n, id, k)
		}
	}
	s.Tokens = s.Tokens[:min(n, len(s.Tokens))]
	s.Scores, s.Kinds = s.Scores[:min(n, len(s.Scores))], s.Kinds[:min(n, len(s.Kinds))]
	gone := func(id ID) bool { return int(id) >= n }
	maps.DeleteFunc(s.Special, func(_ Role, id ID) bool { return gone(id) })
	lists := []*[]ID{&s.LStrip, &s.RStrip, &s.Ending, &s.singleWord}
	if s.pipeline != nil {
		lists = append(lists, &s.pipeline.normalized)
	}
	for _, list := range lists {
		*list = slices.DeleteFunc(*list, gone)
	}
	return nil
}

// check compares every count, id and length with the data it refers to.
func (s *Spec) check() error {
	n := len(s.Tokens)
	if n == 0 {
		return fmt.Errorf("%w: no tokens", ErrFormat)
	}
	if n > maxTokens {
		return fmt.Errorf("%w: %d tokens, limit %d", ErrFormat, n, maxTokens)
	}
	if s.Scores != nil && len(s.Scores) != n {
		return fmt.Errorf("%w: %d scores for %d tokens", ErrFormat, len(s.Scores), n)
	}
	if s.Kinds != nil && len(s.Kinds) != n {
		return fmt.Errorf("%w: %d token types for %d tokens", ErrFormat, len(s.Kinds), n)
	}
	for i, t := range s.Tokens {
		if len(t) > maxTokenLen {
			return fmt.Errorf("%w: token %d has %d bytes, limit %d", ErrFormat, i, len(t), maxTokenLen)
		}
	}
	for i, x := range s.Scores {
		if math.IsNaN(float64(x)) {
			return fmt.Errorf("%w: score of token %d is not a number", ErrFormat, i)
		}
	}
	for i, k := range s.Kinds {
		if k > Byte {
			return fmt.Errorf("%w: token %d has type %d", ErrFormat, i, k)
		}
	}
	for r, id := range s.Special {
		if r >= roles {
			return fmt.Errorf("%w: role %d", ErrFormat, r)
		}
		if id < 0 || int(id) >= n {
			return fmt.Errorf("%w: %s is token %d of %d", ErrFormat, r, id, n)
		}
	}
	for _, ids := range [][]ID{s.LStrip, s.RStrip, s.Ending} {
		for _, id := range ids {
			if id < 0 || int(id) >= n {
				return fmt.Errorf("%w: a list names token %d of %d", ErrFormat, id, n)
			}
		}
	}
	for _, x := range []struct {
		on   bool
		role Role
	}{{s.AddBOS, BOS}, {s.AddEOS, EOS}, {s.AddSEP, SEP}} {
		if _, ok := s.Special[x.role]; x.on && !ok {
			return fmt.Errorf("%w: sequences want %s, which no token is", ErrFormat, x.role)
		}
	}
	return nil
}

// strips returns the rules of special tokens about white space and words around them.
func (s *Spec) strips() map[ID]strip {
	m := make(map[ID]strip)
	for _, id := range s.LStrip {
		m[id] = strip{left: true}
	}
	for _, id := range s.RStrip {
		x := m[id]
		x.right = true
		m[id] = x
	}
	for _, id := range s.singleWord {
		x := m[id]
		x.word = true
		m[id] = x
	}
	if s.pipeline != nil {
		for id, x := range m {
			x.wide = true
			m[id] = x
		}
	}
	return m
}

// kind returns the kind of id with the zero value resolved.
func (s *Spec) kind(id ID) Kind {
	if s.Kinds == nil || s.Kinds[id] == 0 {
		return Normal
	}
	return s.Kinds[id]
}
