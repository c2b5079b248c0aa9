package tts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"quern/engine/tts/g2p"
)

// ErrLanguage is wrapped where a voice speaks a language whose pronunciation is
// not built in.
var ErrLanguage = errors.New("language without pronunciation")

// accents are the languages text can be pronounced in.
var accents = map[string]g2p.Accent{"en-us": g2p.US, "en-gb": g2p.British}

// A Pronouncer turns text into phonemes. It is safe for concurrent use.
type Pronouncer struct{ g *g2p.G2P }

// NewPronouncer unpacks the pronunciation dictionary. dictionaries, which may be
// nil, is a folder that may hold larger ones; see g2p.Options.
func NewPronouncer(dictionaries fs.FS) (*Pronouncer, error) {
	g, err := g2p.New(g2p.Options{Dictionaries: dictionaries})
	if err != nil {
		return nil, err
	}
	return &Pronouncer{g}, nil
}

// Phonemize returns the tokens of text: what will be said, and how. When ctx ends
// it stops with ctx's error.
func (p *Pronouncer) Phonemize(ctx context.Context, text, language string) ([]g2p.Token, error) {
	a, ok := accents[language]
	if !ok {
		return nil, fmt.Errorf("%w: %q; en-us and en-gb are built in", ErrLanguage, language)
	}
	return p.g.PhonemizeContext(ctx, text, a)
}

// units returns text as units of at most limit symbols each.
func (p *Pronouncer) units(ctx context.Context, text, language string, limit int) ([]unit, error) {
	tokens, err := p.Phonemize(ctx, text, language)
	if err != nil {
		return nil, err
	}
	var out []unit
	for _, t := range tokens {
		u := unit{start: t.Start, end: t.End, said: t.Text, symbols: []rune(t.Phonemes), space: t.Space}
		switch t.Kind {
		case g2p.Pause:
			u.pause, u.symbols = t.Pause.Seconds(), nil
		case g2p.Punctuation:
			if len(u.symbols) == 0 {
				continue
			}
			u.mark = u.symbols[0]
		}
		// A word longer than an utterance is said in parts.
		for len(u.symbols) > limit {
			part := u
			part.symbols, part.space = u.symbols[:limit], false
			out = append(out, part)
			u.symbols = u.symbols[limit:]
		}
		out = append(out, u)
	}
	return out, nil
}

// Sources names where the phonemes of a word come from.
var Sources = map[g2p.Source]string{
	g2p.Lexicon: "lexicon", g2p.Rule: "rule", g2p.Guess: "guess", g2p.Spelled: "spelled", g2p.Given: "given", g2p.Unreadable: "unreadable",
}
