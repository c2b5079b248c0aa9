package main

import "fmt"

// The control tokens, as SentencePiece numbers them.
const (
	unknownID = iota
	bosID
	eosID
)

// GGUF's numbers for kinds of tokens.
const (
	typeNormal  = 1
	typeUnknown = 2
	typeControl = 3
	typeByte    = 6
)

type vocab struct {
	tokens []string
	scores []float64
	types  []int64
}

// letters is the alphabet of generated pieces, the commonest in English first
// so that pieces cut short by the size of a vocabulary are the rare ones.
const letters = "etaoinshrdlucmfwypvbgkjqxz"

// space is what SentencePiece writes for a blank.
const space = "▁"

// vocabulary makes a vocabulary of n tokens: control tokens, a token for every
// byte, one for every printable ASCII character, then all words of one, two,
// three… letters, inside and at the start of a word. Scores fall, so short
// pieces merge first; every piece can be reached, since all its parts are
// pieces too.
func vocabulary(n int) vocab {
	v := vocab{}
	add := func(token string, score float64, typ int64) {
		if len(v.tokens) < n {
			v.tokens = append(v.tokens, token)
			v.scores = append(v.scores, score)
			v.types = append(v.types, typ)
		}
	}
	add("<unk>", 0, typeUnknown)
	add("<s>", 0, typeControl)
	add("</s>", 0, typeControl)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), 0, typeByte)
	}
	normal := func(piece string) { add(piece, -float64(len(v.tokens)), typeNormal) }
	normal(space)
	for c := byte('!'); c <= '~'; c++ {
		normal(string(rune(c)))
	}
	words := []string{""}
	for length := 1; len(v.tokens) < n; length++ {
		longer := make([]string, 0, len(words)*len(letters))
		for _, w := range words {
			for _, c := range letters {
				longer = append(longer, w+string(c))
			}
		}
		words = longer
		for _, w := range words {
			normal(space + w)
		}
		if length > 1 { // single letters are there already
			for _, w := range words {
				normal(w)
			}
		}
	}
	return v
}
