package token

import (
	"slices"
	"unicode/utf8"
)

// An Encoder encodes as its Vocab does, but can be stopped: long text takes
// time and memory that its caller may no longer want to spend.
type Encoder struct {
	v     *Vocab
	check func(tokens int) error
}

// Watched returns an Encoder that calls check with the number of tokens so far,
// dst's included, about every 4096 bytes of text, and within long words. The
// first error that check returns ends the encoding.
func (v *Vocab) Watched(check func(tokens int) error) Encoder { return Encoder{v, check} }

// Encode is Vocab.Encode. With an error come the tokens of the words before.
func (e Encoder) Encode(dst []ID, text string, special bool) ([]ID, error) {
	m := e.v.defined
	if special {
		m = e.v.all
	}
	return e.encode(dst, text, m, nil)
}

// EncodeTrusted is Vocab.EncodeTrusted.
func (e Encoder) EncodeTrusted(dst []ID, text string, trusted func(from, to int) bool) ([]ID, error) {
	return e.encode(dst, text, e.v.all, e.v.accepting(trusted))
}

// EncodeSequence is Vocab.EncodeSequence. With an error come the tokens of the
// words before, and nothing after them.
func (e Encoder) EncodeSequence(text string, special bool) ([]ID, error) {
	dst, err := e.Encode(e.v.begin(), text, special)
	if err != nil {
		return dst, err
	}
	return e.v.end(dst), nil
}

func (e Encoder) encode(dst []ID, text string, m *matcher, accept func(id ID, start, end int) bool) (ids []ID, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			ids, err = p.ids, p.err
		default:
			panic(p)
		}
	}()
	return e.v.encode(dst, text, m, accept, e.check), nil
}

// A stopped is what a watch panics with: passes hand on words by calls, so that
// nothing else leads out of them.
type stopped struct {
	ids []ID
	err error
}

// A watch counts the work of an encoding and asks now and then whether to go on.
type watch struct {
	check func(tokens int) error // nil never stops
	left  int                    // work until it is asked
	ids   []ID                   // tokens of the words that are through
}

// watchEvery is the work between two questions: bytes of text, or joins tried.
const watchEvery = 4096

// word counts a word of n bytes that is about to be encoded behind ids.
func (w *watch) word(n int, ids []ID) {
	w.ids = ids
	w.step(n)
}

// step counts work.
func (w *watch) step(n int) {
	if w.left -= n; w.left < 0 {
		w.ask()
	}
}

func (w *watch) ask() {
	w.left = watchEvery
	if w.check == nil {
		return
	}
	if err := w.check(len(w.ids)); err != nil {
		panic(stopped{w.ids, err})
	}
}

// A span bounds how much text one token stands for.
type span struct {
	most   int       // bytes; 0: any number
	vanish [256]bool // bytes that may stand for no token
	some   bool      // there are such
}

// LeastTokens returns a number of tokens that text cannot be encoded in fewer
// of, judged by its length alone: 0 where the tokenizer may drop text or write
// any length of it as one token.
func (v *Vocab) LeastTokens(text string) int {
	s := &v.span
	if s.most == 0 {
		return 0
	}
	n := len(text)
	if s.some {
		for i := range len(text) {
			if s.vanish[text[i]] {
				n--
			}
		}
	}
	return (n + s.most - 1) / s.most
}

// measure finds the span of the tokens.
func (v *Vocab) measure(s *Spec) {
	longest := utf8.UTFMax // of an unknown character
	for id := range v.texts {
		longest = max(longest, len(v.texts[id]), len(v.Bytes(ID(id))))
	}
	v.span.most = longest * v.model.shrinks(&v.span.vanish)
	for _, x := range s.strips() {
		if !x.left && !x.right {
			continue
		}
		for b := range v.span.vanish {
			// Beyond ASCII white space begins with 0xC2, 0xE1, 0xE2 or 0xE3.
			if isBlank(byte(b)) || x.wide && utf8.RuneSelf <= b && b < 0xE4 {
				v.span.vanish[b] = true
			}
		}
	}
	v.span.some = slices.Contains(v.span.vanish[:], true)
}

// missing marks the bytes there is no token for.
func missing(bytes *[256]ID, vanish *[256]bool) {
	for b, id := range bytes {
		vanish[b] = id == None
	}
	// A space may be written as SentencePiece's mark first.
	for _, b := range []byte(blankMark) {
		vanish[' '] = vanish[' '] || vanish[b]
	}
}

func (m *bpe) shrinks(vanish *[256]bool) int {
	missing(&m.bytes, vanish)
	return 1
}

func (m *spm) shrinks(vanish *[256]bool) int {
	if m.unk == None { // else one unknown token a byte
		missing(&m.bytes, vanish)
	}
	return 1
}

// shrinks: the character map may drop text, and a run of unknown characters is
// one token.
func (m *unigram) shrinks(*[256]bool) int { return 0 }

// shrinks: white space is dropped, and an unknown word is one token.
func (m *wordPiece) shrinks(*[256]bool) int { return 0 }

func (p *pipeline) shrinks(vanish *[256]bool) int {
	n := 1
	for _, f := range p.shrink {
		if n *= f; n > 1<<16 {
			return 0
		}
	}
	switch m := p.model.(type) {
	case *hfBPE:
		switch {
		case m.unk != None && !m.fuse, !slices.Contains(m.bytes[:], None):
			return n
		case m.unk == None && m.bytewise && len(p.normalizers) == 0:
			missing(&m.bytes, vanish)
			return n
		}
	case *hfUnigram:
		if m.fallback && !slices.Contains(m.bytes[:], None) {
			return n
		}
	}
	return 0
}

// shrinks says it of a normalizer or a pre-tokenizer. Those that are not named
// drop text.
func (p *hfPart) shrinks() int {
	switch p.Type {
	case "Prepend", "ByteLevel", "Digits", "Metaspace":
		return 1
	case "Lowercase":
		return utf8.UTFMax // of a character one is made
	case "NFC", "NFD", "NFKC", "NFKD":
		// A character is made of at most four, each of which came from at least
		// one of the text.
		return 4 * utf8.UTFMax
	case "Replace":
		if from := p.Pattern.String; from != nil && p.Content != "" {
			return (len(*from) + len(p.Content) - 1) / len(p.Content)
		}
	case "Punctuation", "Split":
		if p.Behavior != "Removed" {
			return 1
		}
	}
	return 0
}
