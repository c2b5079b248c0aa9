package asr

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"quern/engine/token"
	"quern/formats/ggml"
	"quern/formats/weights"
)

// A vocabulary is the tokenizer of a model.
type vocabulary interface {
	encode(text string) []token.ID
	word(text string) []token.ID // encode for what is one word of the pre-tokenizer
	bytes(token.ID) []byte       // of a special token its spelling
	lookup(text string) (token.ID, bool)
}

func vocabularyOf(set *weights.Set, vocab int) (vocabulary, error) {
	if set.Meta.String(ggml.KindKey) == ggml.Whisper {
		return newRanked(set.Meta.Strings("whisper.tokens"), vocab)
	}
	meta, err := withoutPostProcessor(&set.Meta)
	if err != nil {
		return nil, err
	}
	spec, err := token.From(meta)
	if err != nil {
		return nil, err
	}
	v, err := token.New(spec)
	if err != nil {
		return nil, err
	}
	return hfVocab{v}, nil
}

// withoutPostProcessor returns the metadata that token needs of m. Whisper's post-processor
// puts several tokens before a text, which token has no notion of; the prompts
// of this package have their own.
func withoutPostProcessor(m *weights.Meta) (*weights.Meta, error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal([]byte(m.String("hf.tokenizer")), &file); err != nil {
		return nil, fmt.Errorf("%w: tokenizer.json: %v", ErrFormat, err)
	}
	delete(file, "post_processor")
	text, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	out := new(weights.Meta)
	out.Set("hf.tokenizer", string(text))
	for _, key := range []string{"hf.config", "hf.tokenizer_config", "hf.special_tokens_map"} {
		if v := m.String(key); v != "" {
			out.Set(key, v)
		}
	}
	return out, nil
}

// An hfVocab is tokenizer.json.
type hfVocab struct{ *token.Vocab }

func (v hfVocab) encode(text string) []token.ID       { return v.Encode(nil, text, false) }
func (v hfVocab) word(text string) []token.ID         { return v.encode(text) }
func (v hfVocab) bytes(id token.ID) []byte            { return v.Bytes(id) }
func (v hfVocab) lookup(text string) (token.ID, bool) { return v.Lookup(text) }

// ranked is the vocabulary of a ggml file: bytes of tokens in the order in which
// byte pair encoding joins them, and special tokens behind them.
type ranked struct {
	texts []string
	ids   map[string]token.ID
	plain int // tokens that text is made of
	// vocab splits text into words and encodes them. Its table of merges takes
	// a moment to find out and only prompts need it.
	vocab func() (*token.Vocab, error)
}

func newRanked(stored []string, vocab int) (*ranked, error) {
	plain := stored
	// Some files repeat the end of text as a stored token.
	if n := len(plain); n > 0 && plain[n-1] == "<|endoftext|>" {
		plain = plain[:n-1]
	}
	extra, err := ggmlSpecials(len(plain), vocab)
	if err != nil {
		return nil, err
	}
	r := &ranked{texts: append(slices.Clone(plain), extra...), plain: len(plain)}
	r.ids = make(map[string]token.ID, len(r.texts))
	for i, t := range r.texts {
		if _, dup := r.ids[t]; !dup {
			r.ids[t] = token.ID(i)
		}
	}
	r.vocab = sync.OnceValues(r.build)
	return r, nil
}

func (r *ranked) bytes(id token.ID) []byte {
	if id < 0 || int(id) >= len(r.texts) {
		return nil
	}
	return []byte(r.texts[id])
}

func (r *ranked) lookup(text string) (token.ID, bool) {
	id, ok := r.ids[text]
	return id, ok
}

func (r *ranked) encode(text string) []token.ID {
	v, err := r.vocab()
	if err != nil {
		return nil // the vocabulary spells nothing
	}
	return v.Encode(nil, text, false)
}

func (r *ranked) word(text string) (ids []token.ID) {
	for _, p := range r.split(text, token.ID(r.plain)) {
		if id, ok := r.ids[p]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// build writes the vocabulary as a byte-level one with merges: what joins last
// when a token is made of those before it.
func (r *ranked) build() (*token.Vocab, error) {
	s := token.Spec{Model: "gpt2", Pre: "gpt-2", Tokens: make([]string, len(r.texts)), Kinds: make([]token.Kind, len(r.texts))}
	seen := make(map[string]bool, len(r.texts))
	for i, t := range r.texts {
		s.Kinds[i] = token.Control
		s.Tokens[i] = t
		if i < r.plain {
			s.Kinds[i] = token.Normal
			s.Tokens[i] = spell(t)
		}
		if seen[s.Tokens[i]] {
			s.Tokens[i], s.Kinds[i] = "", token.Unused
			continue
		}
		seen[s.Tokens[i]] = true
		if i < r.plain && len(t) > 1 {
			if p := r.split(t, token.ID(i)); len(p) == 2 {
				s.Merges = append(s.Merges, [2]string{spell(p[0]), spell(p[1])})
			}
		}
	}
	return token.New(s)
}

// split joins the bytes of word by tokens before limit and returns the parts.
func (r *ranked) split(word string, limit token.ID) []string {
	parts := make([]string, len(word))
	for i := range parts {
		parts[i] = word[i : i+1]
	}
	for len(parts) > 1 {
		best, at := limit, -1
		for i := range len(parts) - 1 {
			if id, ok := r.ids[parts[i]+parts[i+1]]; ok && id < best {
				best, at = id, i
			}
		}
		if at < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	return parts
}

// spell writes bytes as byte-level vocabularies do: printable Latin-1 as itself,
// the others from U+0100 on.
func spell(bytes string) string {
	var b strings.Builder
	for i := range len(bytes) {
		b.WriteRune(byteRunes[bytes[i]])
	}
	return b.String()
}

var byteRunes = func() (t [256]rune) {
	next := rune(0x100)
	for b := range t {
		if '!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b {
			t[b] = rune(b)
		} else {
			t[b] = next
			next++
		}
	}
	return t
}()

// Annotations of what is not speech are written with these: speaker names,
// sounds in brackets, music. A dash or an apostrophe may stand within a word but
// not begin one.
var (
	annotations = append(strings.Split(`"#()*+/:;<=>@[\]^_`+"`"+`{|}~「」『』`, ""), strings.Fields(
		`<< >> <<< >>> -- --- -( -[ (' (" (( )) ((( ))) [[ ]] {{ }} ♪♪ ♪♪♪`)...)
	notes = strings.Split("♩♪♫♬♭♮♯", "")
)

// annotationTokens returns the tokens that begin or are an annotation, sorted.
func annotationTokens(v vocabulary) []token.ID {
	set := make(map[token.ID]bool)
	for _, start := range []string{" -", " '"} {
		if ids := v.word(start); len(ids) > 0 {
			set[ids[0]] = true
		}
	}
	for i, text := range append(slices.Clone(annotations), notes...) {
		for _, t := range []string{text, " " + text} {
			// A note of several tokens shares its first with no letter.
			if ids := v.word(t); len(ids) == 1 || len(ids) > 0 && i >= len(annotations) {
				set[ids[0]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}
