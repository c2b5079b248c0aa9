package token

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// A pipeline is a tokenizer of tokenizer.json between its special tokens:
// normalizers, pre-tokenizers, and a model that encodes words.
type pipeline struct {
	normalizers []normalizer
	cuts        []cut
	bytes       bool  // words are encoded byte by byte, in GPT-2's spelling
	spelled     bool  // cuts yield words already spelled
	normalized  []ID  // added tokens that are matched in normalised text
	shrink      []int // what becomes shorter, see hfPart.shrinks

	special *matcher   // of normalized
	unigram []hfScored // its vocabulary with scores, nil for the others
	build   func(s *Spec, v *Vocab) (wordModel, error)
	model   wordModel
}

// A wordModel encodes one word.
type wordModel interface {
	word(sc *scratch, dst []ID, word string) []ID
}

// newPipeline is the families' constructor: the Spec holds most of it.
func newPipeline(s *Spec, v *Vocab) (model, error) {
	if s.pipeline == nil {
		return nil, fmt.Errorf("%w: model %q without its tokenizer.json", ErrFormat, s.Model)
	}
	p := *s.pipeline
	var err error
	if p.model, err = p.build(s, v); err != nil {
		return nil, err
	}
	if len(p.normalized) > 0 {
		// Their spelling is normalised as the text is.
		texts := make([]string, len(s.Tokens))
		seen := make(map[string]bool)
		var ids []ID
		for _, id := range p.normalized {
			texts[id] = p.normalize(s.Tokens[id])
			if texts[id] != "" && !seen[texts[id]] {
				seen[texts[id]] = true
				ids = append(ids, id)
			}
		}
		p.special = newMatcher(texts, ids, s.strips())
	}
	return &p, nil
}

func (p *pipeline) normalize(s string) string {
	for _, n := range p.normalizers {
		s = n(s)
	}
	return s
}

// normalizeWatched is normalize for text of any length.
func (p *pipeline) normalizeWatched(w *watch, s string) string {
	for _, n := range p.normalizers {
		w.step(len(s))
		s = n(s)
	}
	return s
}

func (p *pipeline) encode(sc *scratch, dst []ID, text string, _ bool) []ID {
	first := sc.start
	sc.word(0, dst)
	text = p.normalizeWatched(&sc.watch, text)
	for at := 0; at < len(text); {
		id, start, end := p.special.next(text, at, nil)
		if id != None {
			start, end = p.special.around(id, text, at, start, end)
		}
		if at < start {
			p.words(0, text[at:start], first, func(word string) {
				sc.word(len(word), dst)
				dst = p.model.word(sc, dst, word)
			})
		}
		if id != None {
			dst = append(dst, id)
		}
		at, first = end, false
	}
	return dst
}

// words hands what the cuts from number i on make of s to emit.
func (p *pipeline) words(i int, s string, first bool, emit func(string)) {
	switch {
	case s == "":
	case i < len(p.cuts):
		p.cuts[i](s, first, func(s string, first bool) { p.words(i+1, s, first, emit) })
	case p.spelled:
		emit(string(unspell(nil, s)))
	default:
		emit(s)
	}
}

// spell writes every byte as GPT-2 does.
func spell(s string) string {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = utf8.AppendRune(b, spelling[s[i]])
	}
	return string(b)
}

// spelling is the inverse of byteOf.
var spelling = func() (t [256]rune) {
	for r, b := range byteOf {
		if b >= 0 {
			t[b] = rune(r)
		}
	}
	return t
}()

// readModel reads the vocabulary. Older files do not name the model's type.
func readModel(f *hfFile, s *Spec) error {
	var kind struct {
		Type   string          `json:"type"`
		Vocab  json.RawMessage `json:"vocab"`
		Merges json.RawMessage `json:"merges"`
		Prefix *string         `json:"continuing_subword_prefix"`
	}
	if err := json.Unmarshal(f.Model, &kind); err != nil {
		return fmt.Errorf("%w: the model of tokenizer.json: %v", ErrFormat, err)
	}
	if kind.Type == "" {
		switch {
		case strings.HasPrefix(strings.TrimSpace(string(kind.Vocab)), "["):
			kind.Type = "Unigram"
		case len(kind.Merges) > 0:
			kind.Type = "BPE"
		case kind.Prefix != nil:
			kind.Type = "WordPiece"
		}
	}
	switch kind.Type {
	case "BPE":
		return readBPE(f.Model, s)
	case "Unigram":
		return readUnigram(f.Model, s)
	case "WordPiece":
		return readWordPiece(f.Model, s)
	}
	return fmt.Errorf("%w: model %q of tokenizer.json", ErrUnsupported, kind.Type)
}

// place stores a vocabulary by id.
func (s *Spec) place(vocab map[string]int64) error {
	top := int64(-1)
	for text, id := range vocab {
		if id < 0 || id >= maxTokens {
			return fmt.Errorf("%w: token %.40q is number %d", ErrFormat, text, id)
		}
		top = max(top, id)
	}
	// Ids may have holes, but not so many that memory is lost on them.
	if top >= int64(len(vocab))+1<<16 {
		return fmt.Errorf("%w: %d tokens with numbers up to %d", ErrFormat, len(vocab), top)
	}
	s.Tokens = make([]string, top+1)
	s.Kinds = make([]Kind, top+1)
	for i := range s.Kinds {
		s.Kinds[i] = Unused
	}
	for text, id := range vocab {
		if s.Tokens[id] != "" {
			return fmt.Errorf("%w: token %d is %.40q and %.40q", ErrFormat, id, s.Tokens[id], text)
		}
		s.Tokens[id], s.Kinds[id] = text, Normal
	}
	return nil
}

// byteTokens marks the tokens that stand for single bytes.
func (s *Spec) byteTokens() {
	for i, t := range s.Tokens {
		if _, ok := byteToken(t); ok && s.Kinds[i] == Normal {
			s.Kinds[i] = Byte
		}
	}
}

// unknown sets the token for text that cannot be spelled.
func (s *Spec) unknown(text string) error {
	if text == "" {
		return nil
	}
	id, ok := s.find(text)
	if !ok {
		return fmt.Errorf("%w: the unknown token %.40q is none of the vocabulary", ErrFormat, text)
	}
	s.Special[UNK] = id
	return nil
}

func readUnigram(text json.RawMessage, s *Spec) error {
	var m struct {
		Vocab        []hfScored `json:"vocab"`
		Unknown      *int64     `json:"unk_id"`
		ByteFallback bool       `json:"byte_fallback"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%w: the model of tokenizer.json: %v", ErrFormat, err)
	}
	s.pipeline.unigram = m.Vocab
	low := math.Inf(1)
	scores := make([]float64, len(m.Vocab))
	for i, t := range m.Vocab {
		s.Tokens = append(s.Tokens, t.text)
		s.Kinds = append(s.Kinds, Normal)
		scores[i] = t.score
		low = min(low, t.score)
	}
	if m.Unknown != nil {
		if *m.Unknown < 0 || *m.Unknown >= int64(len(s.Tokens)) {
			return fmt.Errorf("%w: the unknown token is number %d of %d", ErrFormat, *m.Unknown, len(s.Tokens))
		}
		s.Special[UNK] = ID(*m.Unknown)
	}
	if m.ByteFallback {
		s.byteTokens()
	}
	s.pipeline.build = func(s *Spec, v *Vocab) (wordModel, error) {
		h := &hfUnigram{fallback: m.ByteFallback}
		h.scores, h.unk, h.unknown = scores, v.Special(UNK), low-unknownPenalty
		for i := range h.bytes {
			h.bytes[i] = None
		}
		var ids []ID
		for i := range scores {
			id := ID(i)
			if v.kinds[id] == Byte {
				h.bytes[v.Bytes(id)[0]] = id
			} else if s.Tokens[i] != "" && v.plain(id) {
				ids = append(ids, id)
			}
		}
		h.trie = newTrie(s.Tokens, ids)
		return h, nil
	}
	return nil
}

// An hfScored is ["TEXT", SCORE].
type hfScored struct {
	text  string
	score float64
}

func (t *hfScored) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&t.text, &t.score})
}

// hfUnigram is unigram over words that are already normalised.
type hfUnigram struct {
	unigram
	fallback bool // unknown characters are spelled in byte tokens, if all are there
	bytes    [256]ID
}

func (m *hfUnigram) word(sc *scratch, dst []ID, word string) []ID {
	sc.text = append(sc.text[:0], word...)
	if !m.fallback {
		return m.cheapest(sc, dst)
	}
	from := len(dst)
	dst = m.cheapest(sc, dst)
	for i := from; i < len(dst); i++ {
		if dst[i] == m.unk {
			return m.spell(sc, dst[:from])
		}
	}
	return dst
}

// spell writes the way sc.best holds with bytes for what is unknown.
func (m *hfUnigram) spell(sc *scratch, dst []ID) []ID {
	var ends []int32
	for i := int32(len(sc.text)); i > 0; i = sc.best[i].from {
		ends = append(ends, i)
	}
	for k := len(ends) - 1; k >= 0; k-- {
		at := sc.best[ends[k]]
		if at.id != m.unk {
			dst = append(dst, at.id)
			continue
		}
		// A run of unknown characters is one.
		start := at.from
		for k > 0 && sc.best[ends[k-1]].id == m.unk {
			k--
		}
		n, known := len(dst), true
		for _, b := range sc.text[start:ends[k]] {
			known = known && m.bytes[b] != None
			dst = append(dst, m.bytes[b])
		}
		if !known {
			dst = append(dst[:n], m.unk)
		}
	}
	return dst
}

func readWordPiece(text json.RawMessage, s *Spec) error {
	var m struct {
		Vocab   map[string]int64 `json:"vocab"`
		Unknown string           `json:"unk_token"`
		Prefix  *string          `json:"continuing_subword_prefix"`
		Longest *int64           `json:"max_input_chars_per_word"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%w: the model of tokenizer.json: %v", ErrFormat, err)
	}
	prefix, longest := "##", 100
	if m.Prefix != nil {
		prefix = *m.Prefix
	}
	if m.Longest != nil {
		longest = int(max(0, min(*m.Longest, 1<<20)))
	}
	if err := s.place(m.Vocab); err != nil {
		return err
	}
	if err := s.unknown(m.Unknown); err != nil {
		return err
	}
	if prefix != "##" {
		return fmt.Errorf("%w: a WordPiece model that marks the inside of words with %.10q", ErrUnsupported, prefix)
	}
	s.Model, s.SpacePrefix = "hf-words", true
	s.pipeline.build = func(s *Spec, v *Vocab) (wordModel, error) {
		h := &hfWordPiece{unk: v.Special(UNK), longest: longest}
		var starts, inner []ID
		texts := make([]string, len(s.Tokens))
		for i, t := range s.Tokens {
			if t == "" || !v.plain(ID(i)) {
				continue
			}
			starts = append(starts, ID(i))
			if tail, ok := strings.CutPrefix(t, prefix); ok && tail != "" {
				texts[i] = tail
				inner = append(inner, ID(i))
			}
		}
		h.starts, h.inner = newTrie(s.Tokens, starts), newTrie(texts, inner)
		return h, nil
	}
	return nil
}

// hfWordPiece is WordPiece with the spelling of Hugging Face: tokens inside a
// word begin with "##".
type hfWordPiece struct {
	starts, inner *trie
	unk           ID
	longest       int // characters of a word; longer ones are unknown
}

func (m *hfWordPiece) word(_ *scratch, dst []ID, word string) []ID {
	from := len(dst)
	if utf8.RuneCountInString(word) <= m.longest {
		t := m.starts
		rest := word
		for rest != "" {
			id, n := longest(t, rest)
			if id == None {
				break
			}
			dst = append(dst, id)
			rest, t = rest[n:], m.inner
		}
		if rest == "" {
			return dst
		}
	}
	dst = dst[:from]
	if m.unk != None {
		dst = append(dst, m.unk)
	}
	return dst
}

// unhash appends what a WordPiece token stands for: a space before all that do
// not continue a word.
func unhash(dst []byte, text string) []byte {
	if tail, ok := strings.CutPrefix(text, "##"); ok && tail != "" {
		return append(dst, tail...)
	}
	return append(append(dst, ' '), text...)
}
