// Package g2p turns English text into phonemes in Kokoro's symbols, US or
// British: one code point a symbol, stress marks directly before their vowel.
//
// Text is read left to right into words and punctuation (numbers, dates, money,
// units and the like become words), then pronounced right to left, because "the",
// "to" and the homographs depend on what follows. Every token keeps the bytes of
// the text it came from.
//
// The rules restate those of hexgrad/misaki (Apache-2.0), which Kokoro was
// trained with; the dictionary is CMUdict (data/LICENSE).
package g2p

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"quern/engine/tts/g2p/graphone"
)

//go:generate go run ./_gen

// An Accent is a variety of English.
type Accent int

const (
	US Accent = iota
	British
)

// A Kind says what a token is.
type Kind int

const (
	Word        Kind = iota
	Punctuation      // Phonemes is the symbol Kokoro knows it by
	Pause            // silence asked for by [pause:1.5s]
)

// A Source says where the phonemes of a word came from.
type Source int

const (
	None       Source = iota // no word
	Lexicon                  // a dictionary has the word
	Rule                     // derived from words of the dictionary, or a special word
	Guess                    // the model of unknown words
	Spelled                  // letter by letter
	Given                    // the text said so, [word](/ipa/), or the user's lexicon
	Unreadable               // a script this package cannot read: said as "character"
)

// A Token is one spoken word, punctuation mark or pause.
type Token struct {
	Text       string // as it is spoken: "five" of "$5"
	Start, End int    // bytes of the text it came from; tokens of one number share them
	Phonemes   string // never empty in a word
	Space      bool   // a space follows
	Pause      time.Duration
	Kind       Kind
	Source     Source
	Delivery   Delivery
}

// Options of New; the zero value works.
type Options struct {
	// Dictionaries may hold misaki's us_gold.json, us_silver.json, gb_gold.json and
	// gb_silver.json. Those that are there come before the dictionary built in.
	Dictionaries fs.FS
}

// A G2P pronounces English. Its methods may be called at the same time.
type G2P struct {
	words   *lexicon
	gb      map[string]string    // British words the rules get wrong
	pairs   map[string]homograph // by lower-case word
	near    map[string][]collocation
	names   map[string]string    // that spelling and dictionary get wrong, US
	misaki  [2]map[string]tagged // by accent; nil without dictionaries
	model   *graphone.Model
	guesses memory
}

// New unpacks the dictionary, which takes about 3 MB, and reads Dictionaries.
func New(o Options) (*G2P, error) {
	g := &G2P{}
	lexicon, graphones, err := packed()
	if err != nil {
		return nil, fmt.Errorf("g2p: %w", err)
	}
	if g.words, err = openLexicon(lexicon); err != nil {
		return nil, err
	}
	raw, err := inflate(graphones)
	if err != nil {
		return nil, err
	}
	if g.model, err = graphone.Parse(raw); err != nil {
		return nil, err
	}
	g.gb = wordList(britishData)
	g.pairs = homographs()
	g.near = collocations()
	g.names = wordList(nameData)
	if o.Dictionaries != nil {
		if g.misaki, err = readMisaki(o.Dictionaries); err != nil {
			return nil, fmt.Errorf("g2p: %w", err)
		}
	}
	return g, nil
}

// Phonemize returns the tokens of text in order. No word is left out: what
// nothing else pronounces is spelled. Time is linear in the length of text.
func (g *G2P) Phonemize(text string, accent Accent) []Token {
	tokens, _ := g.Read(context.Background(), text, Reading{Accent: accent})
	return tokens
}

// checkEvery is the words, or what else is read at once, between two questions
// whether to go on.
const checkEvery = 64
