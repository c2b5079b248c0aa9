package tts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"quern/engine/tts/g2p"
	"quern/engine/tts/lang"
	"quern/engine/tts/ssml"
)

// ErrLanguage is wrapped where a voice speaks a language whose pronunciation is
// not built in.
var ErrLanguage = errors.New("language without pronunciation")

// ErrScript is wrapped where a text has letters its language is not written in.
var ErrScript = lang.ErrScript

// ErrSilence is wrapped where the pauses a text asks for are too long.
var ErrSilence = errors.New("too much silence")

// maxPauses is the most silence a text may ask for: as long as it takes to read the longest one. A
// text of pauses alone would be two days of sound.
const maxPauses = time.Hour

// accents are the varieties of English.
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

// A Lexicon is how a user wants words to be said.
type Lexicon = g2p.UserLexicon

// ParseLexicon reads one; see g2p.ParseLexicon.
func ParseLexicon(data []byte) (*Lexicon, error) { return g2p.ParseLexicon(data) }

// OpenLexicon reads a file; see ParseLexicon.
func OpenLexicon(file string) (*Lexicon, error) {
	st, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case st.IsDir() || st.Size() > g2p.MaxLexicon:
		return nil, fmt.Errorf("a lexicon is a file of at most %d bytes", g2p.MaxLexicon)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return ParseLexicon(data)
}

// A Text is what is to be read, and how.
type Text struct {
	Text     string
	SSML     bool       // it is a document of SSML; see package ssml
	Language string     // a tag of package lang; "" is what SSML says, or else Usual
	Usual    string     // the voice's own
	Lexicons []*Lexicon // the first that has a word decides
}

// Phonemize returns the tokens of a text: what will be said, and how. Their places
// are in what was sent, tags included. When ctx ends it stops with ctx's error. A
// document that is not read is an *ssml.Error.
func (p *Pronouncer) Phonemize(ctx context.Context, t Text) ([]g2p.Token, error) {
	tokens, _, err := p.phonemize(ctx, t)
	return tokens, err
}

// phonemize returns the tokens of a text, and the code of the language it is in.
func (p *Pronouncer) phonemize(ctx context.Context, t Text) ([]g2p.Token, string, error) {
	tag := cmp.Or(t.Language, t.Usual)
	if strings.EqualFold(tag, "en") && strings.HasPrefix(t.Usual, "en-") {
		tag = t.Usual // the voice's English
	}
	code, ok := lang.Code(tag)
	doc := &ssml.Document{Text: t.Text}
	if t.SSML {
		// A document may say its language itself.
		var err error
		if doc, err = ssml.Parse(t.Text, code); err != nil {
			return nil, "", err
		}
		if t.Language == "" && doc.Language != "" {
			code, ok = doc.Language, true
		}
	}
	if !ok {
		return nil, "", unread(code)
	}
	tokens, err := p.read(ctx, code, doc, t.Lexicons)
	if err == nil && t.SSML {
		doc.Restore(tokens)
	}
	return tokens, code, err
}

// unread says that a language cannot be pronounced, and which can.
func unread(code string) error {
	base, _, _ := strings.Cut(code, "-")
	name := ""
	if others[base] != "" {
		name = ", " + others[base]
	}
	return fmt.Errorf("%w: %q%s; %s are built in", ErrLanguage, code, name, strings.Join(lang.Spoken(), ", "))
}

// others are languages that are asked for and not built in; Japanese is not in a browser.
var others = map[string]string{"ja": "Japanese", "yue": "Cantonese"}

// read returns the tokens of a document's text in a language that is built in.
func (p *Pronouncer) read(ctx context.Context, code string, doc *ssml.Document, lexicons []*Lexicon) ([]g2p.Token, error) {
	if a, ok := accents[code]; ok {
		return p.g.Read(ctx, doc.Text, g2p.Reading{Accent: a, Lexicons: lexicons, Marks: doc.Marks})
	}
	return lang.Find(code).Read(ctx, doc.Text, lang.Reading{English: p.g, Lexicons: lexicons, Marks: doc.Marks})
}

// Languages lists the codes of the languages that can be pronounced.
func Languages() []string { return lang.Spoken() }

// LanguageOf returns the code of a language's tag, "es" of "es-MX", and whether it can be
// pronounced.
func LanguageOf(tag string) (string, bool) { return lang.Code(tag) }

// LanguageName is what a language is called in English, "" if it cannot be pronounced.
func LanguageName(tag string) string {
	code, ok := lang.Code(tag)
	switch l := lang.Find(code); {
	case !ok:
		return ""
	case l == nil:
		return "English"
	default:
		return l.Name
	}
}

// units returns a text as units of at most limit symbols each, and its language.
func (p *Pronouncer) units(ctx context.Context, t Text, limit int) ([]unit, string, error) {
	tokens, language, err := p.phonemize(ctx, t)
	if err != nil {
		return nil, "", err
	}
	var out []unit
	var silence time.Duration
	for _, t := range tokens {
		if silence += t.Pause; silence > maxPauses {
			return nil, "", fmt.Errorf("%w: the pauses of a text may last %.0f s together", ErrSilence, maxPauses.Seconds())
		}
		u := unit{start: t.Start, end: t.End, said: t.Text, symbols: []rune(t.Phonemes), space: t.Space, Delivery: t.Delivery}
		switch t.Kind {
		case g2p.Pause:
			u.pause, u.symbols = t.Pause.Seconds(), nil
		case g2p.Punctuation:
			if len(u.symbols) == 0 {
				continue
			}
			u.mark = u.symbols[0]
		}
		if t.Kind != g2p.Word && len(out) > 0 {
			u.Delivery = out[len(out)-1].Delivery // so that no mark is spoken apart
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
	return out, language, nil
}

// IsSSML reports whether a text is a document of SSML: whether it begins with speak.
func IsSSML(text string) bool { return ssml.Is(text) }

// Sources names where the phonemes of a word come from.
var Sources = map[g2p.Source]string{
	g2p.Lexicon: "lexicon", g2p.Rule: "rule", g2p.Guess: "guess", g2p.Spelled: "spelled", g2p.Given: "given", g2p.Unreadable: "unreadable",
}
