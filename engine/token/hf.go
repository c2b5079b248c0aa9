package token

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"quern/formats/weights"
)

// From reads the tokenizer of a model file of either kind.
func From(m *weights.Meta) (Spec, error) {
	if m.String("tokenizer.ggml.model") == "" && m.String("hf.config") != "" {
		return FromHF(m)
	}
	return FromGGUF(m)
}

// An hfFile is tokenizer.json.
//
// Hugging Face, tokenizers, "Components".
type hfFile struct {
	Added         []hfAdded       `json:"added_tokens"`
	Normalizer    *hfPart         `json:"normalizer"`
	PreTokenizer  *hfPart         `json:"pre_tokenizer"`
	PostProcessor *hfPart         `json:"post_processor"`
	Decoder       *hfPart         `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

type hfAdded struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// An hfPart is a component of a tokenizer: a normalizer, a pre-tokenizer, a
// post-processor or a decoder, with the settings of all their types.
type hfPart struct {
	Type          string   `json:"type"`
	Normalizers   []hfPart `json:"normalizers"`
	PreTokenizers []hfPart `json:"pretokenizers"`
	Processors    []hfPart `json:"processors"`
	Decoders      []hfPart `json:"decoders"`

	Pattern struct {
		String *string `json:"String"`
		Regex  *string `json:"Regex"`
	} `json:"pattern"`
	Content   string `json:"content"`
	Prepend   string `json:"prepend"`
	Charsmap  []byte `json:"precompiled_charsmap"`
	Lowercase *bool  `json:"lowercase"`
	Accents   *bool  `json:"strip_accents"`
	Clean     *bool  `json:"clean_text"`
	Chinese   *bool  `json:"handle_chinese_chars"`
	Left      bool   `json:"strip_left"`
	Right     bool   `json:"strip_right"`

	AddPrefixSpace *bool  `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"`
	Behavior       string `json:"behavior"`
	Invert         bool   `json:"invert"`
	Individual     bool   `json:"individual_digits"`
	Replacement    string `json:"replacement"`
	PrependScheme  string `json:"prepend_scheme"`
	Split          *bool  `json:"split"`
	Delimiter      string `json:"delimiter"`

	Single        []hfPiece `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int64 `json:"ids"`
	} `json:"special_tokens"`
	CLS hfNamed `json:"cls"`
	SEP hfNamed `json:"sep"`
}

type hfPiece struct {
	SpecialToken *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct {
		ID string `json:"id"`
	} `json:"Sequence"`
}

// An hfNamed is ["TEXT", ID].
type hfNamed struct {
	text string
	id   int64
}

func (n *hfNamed) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&n.text, &n.id})
}

// or is *p, or def where p is nil.
func or(p *bool, def bool) bool {
	if p == nil {
		return def
	}
	return *p
}

// maxParts bounds how deep components nest.
const maxParts = 8

// flatten returns the parts of nested sequences in order.
func (p *hfPart) flatten(depth int) ([]hfPart, error) {
	if p == nil {
		return nil, nil
	}
	if p.Type != "Sequence" {
		return []hfPart{*p}, nil
	}
	if depth >= maxParts {
		return nil, fmt.Errorf("%w: sequences nested %d deep", ErrUnsupported, depth)
	}
	var list []hfPart
	for _, in := range [][]hfPart{p.Normalizers, p.PreTokenizers, p.Processors, p.Decoders} {
		for i := range in {
			inner, err := in[i].flatten(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, inner...)
		}
	}
	return list, nil
}

// An hfToken is a token in a settings file: its text, or an object with it.
type hfToken string

func (t *hfToken) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = hfToken(s)
		return nil
	}
	var o struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(b, &o) == nil {
		*t = hfToken(o.Content)
	}
	return nil // null and what else stands there is no token
}

// hfSettings is the part that quern uses of tokenizer_config.json, and of
// special_tokens_map.json where the former leaves it out.
type hfSettings struct {
	Class  string  `json:"tokenizer_class"`
	AddBOS *bool   `json:"add_bos_token"`
	AddEOS *bool   `json:"add_eos_token"`
	BOS    hfToken `json:"bos_token"`
	EOS    hfToken `json:"eos_token"`
	UNK    hfToken `json:"unk_token"`
	SEP    hfToken `json:"sep_token"`
	PAD    hfToken `json:"pad_token"`
	CLS    hfToken `json:"cls_token"`
	MASK   hfToken `json:"mask_token"`
}

// FromHF reads tokenizer.json, or RWKV's vocabulary, and the settings beside it, which the
// reader of SafeTensors directories keeps as texts under "hf.". Errors wrap ErrFormat,
// or ErrUnsupported with the name of the component quern does not have.
func FromHF(m *weights.Meta) (Spec, error) {
	text := m.String("hf.tokenizer")
	if text == "" && m.String(worldVocab) != "" {
		return fromWorld(m)
	}
	if text == "" {
		return Spec{}, fmt.Errorf("%w: no tokenizer.json beside the model", ErrFormat)
	}
	var f hfFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return Spec{}, fmt.Errorf("%w: tokenizer.json: %v", ErrFormat, err)
	}
	p := &pipeline{}
	s := Spec{pipeline: p, Special: make(map[Role]ID)}
	for _, read := range []func(*hfFile, *Spec) error{readModel, readAdded, readNormalizers, readPreTokenizers, readDecoder} {
		if err := read(&f, &s); err != nil {
			return Spec{}, err
		}
	}
	var set hfSettings
	for _, key := range []string{"hf.special_tokens_map", "hf.tokenizer_config"} {
		if t := m.String(key); t != "" {
			if err := json.Unmarshal([]byte(t), &set); err != nil {
				return Spec{}, fmt.Errorf("%w: %s: %v", ErrFormat, key, err)
			}
		}
	}
	s.hfRoles(m, &set)
	if err := s.hfEnds(&f, &set); err != nil {
		return Spec{}, err
	}
	// A user must not be able to end a turn by spelling its mark.
	p.normalized = slices.DeleteFunc(p.normalized, func(id ID) bool {
		eos, ok := s.Special[EOS]
		ends := ok && id == eos || slices.Contains(s.Ending, id)
		if ends {
			s.Kinds[id] = Control
		}
		return ends
	})
	return s, nil
}

// readAdded places the added tokens among those of the model.
func readAdded(f *hfFile, s *Spec) error {
	// Ids may have holes, but not so many that memory is lost on them.
	limit := int64(min(maxTokens, len(s.Tokens)+len(f.Added)+1<<16))
	for _, a := range f.Added {
		if a.ID < 0 || a.ID >= limit {
			return fmt.Errorf("%w: added token %.40q is number %d", ErrFormat, a.Content, a.ID)
		}
		for int64(len(s.Tokens)) <= a.ID {
			s.Tokens = append(s.Tokens, "")
			s.Kinds = append(s.Kinds, Unused)
		}
		id := ID(a.ID)
		if t := s.Tokens[id]; t != "" && t != a.Content {
			return fmt.Errorf("%w: token %d is %.40q and the added token %.40q", ErrFormat, id, t, a.Content)
		}
		s.Tokens[id] = a.Content
		if a.Content == "" {
			continue
		}
		switch {
		case a.Special:
			s.Kinds[id] = Control
		case a.Normalized && f.Normalizer != nil:
			// Matched in normalised text, by the pipeline.
			s.Kinds[id] = Normal
			s.pipeline.normalized = append(s.pipeline.normalized, id)
		default:
			s.Kinds[id] = UserDefined
		}
		if a.LStrip {
			s.LStrip = append(s.LStrip, id)
		}
		if a.RStrip {
			s.RStrip = append(s.RStrip, id)
		}
		if a.SingleWord {
			s.singleWord = append(s.singleWord, id)
		}
	}
	if id, ok := s.Special[UNK]; ok && s.Kinds[id] == Control {
		s.Kinds[id] = Unknown
	}
	return nil
}

// find returns the id of a token's text.
func (s *Spec) find(text string) (ID, bool) {
	if text == "" {
		return None, false
	}
	i := slices.Index(s.Tokens, text)
	return ID(i), i >= 0
}

func (s *Spec) hfRoles(m *weights.Meta, set *hfSettings) {
	for role, t := range map[Role]hfToken{BOS: set.BOS, EOS: set.EOS, UNK: set.UNK, SEP: set.SEP, PAD: set.PAD, CLS: set.CLS, MASK: set.MASK} {
		if _, given := s.Special[role]; given {
			continue
		}
		if id, ok := s.find(string(t)); ok {
			s.Special[role] = id
		}
	}
	// Both files may list the tokens that end a text, as a number or several.
	for _, key := range []string{"hf.generation_config", "hf.config"} {
		var c struct {
			EOS  json.RawMessage `json:"eos_token_id"`
			BOS  json.RawMessage `json:"bos_token_id"`
			Text *struct {
				EOS json.RawMessage `json:"eos_token_id"`
			} `json:"text_config"`
		}
		if json.Unmarshal([]byte(m.String(key)), &c) != nil {
			continue
		}
		if len(c.EOS) == 0 && c.Text != nil {
			c.EOS = c.Text.EOS
		}
		for _, id := range hfIDs(c.EOS, len(s.Tokens)) {
			if _, given := s.Special[EOS]; !given {
				s.Special[EOS] = id
			}
			s.Ending = append(s.Ending, id)
		}
		if _, given := s.Special[BOS]; !given {
			for _, id := range hfIDs(c.BOS, len(s.Tokens)) {
				s.Special[BOS] = id
			}
		}
	}
}

// hfIDs reads an id or a list of ids, leaving out those beyond n.
func hfIDs(text json.RawMessage, n int) (ids []ID) {
	var one int64
	var list []int64
	if json.Unmarshal(text, &one) == nil && !bytes.Equal(text, []byte("null")) {
		list = []int64{one}
	} else if json.Unmarshal(text, &list) != nil {
		return nil
	}
	for _, x := range list {
		if x >= 0 && x < int64(n) {
			ids = append(ids, ID(x))
		}
	}
	return ids
}

// hfEnds finds the tokens before and after a text.
func (s *Spec) hfEnds(f *hfFile, set *hfSettings) error {
	parts, err := f.PostProcessor.flatten(0)
	if err != nil {
		return err
	}
	var before, after []ID
	templated := false
	for _, p := range parts {
		switch p.Type {
		case "ByteLevel":
		case "TemplateProcessing":
			templated = true
			before, after = nil, nil
			seen := false
			for _, piece := range p.Single {
				switch {
				case piece.Sequence != nil:
					seen = true
				case piece.SpecialToken != nil:
					ids := p.SpecialTokens[piece.SpecialToken.ID].IDs
					for _, n := range ids {
						if n < 0 || n >= int64(len(s.Tokens)) {
							return fmt.Errorf("%w: the post-processor adds token %d of %d", ErrFormat, n, len(s.Tokens))
						}
						if seen {
							after = append(after, ID(n))
						} else {
							before = append(before, ID(n))
						}
					}
				}
			}
		case "BertProcessing", "RobertaProcessing":
			templated = true
			for _, n := range []hfNamed{p.CLS, p.SEP} {
				if n.id < 0 || n.id >= int64(len(s.Tokens)) {
					return fmt.Errorf("%w: the post-processor adds token %d of %d", ErrFormat, n.id, len(s.Tokens))
				}
			}
			before, after = []ID{ID(p.CLS.id)}, []ID{ID(p.SEP.id)}
		default:
			return fmt.Errorf("%w: post-processor %q", ErrUnsupported, p.Type)
		}
	}
	if len(before) > 1 || len(after) > 1 {
		return fmt.Errorf("%w: a post-processor that adds %d tokens before and %d after a text", ErrUnsupported, len(before), len(after))
	}
	// The classes that came from SentencePiece build their post-processor
	// from these two settings, whatever the file says.
	rebuilt := strings.HasPrefix(set.Class, "Llama") || strings.HasPrefix(set.Class, "CodeLlama") ||
		strings.HasPrefix(set.Class, "Gemma")
	if bos, ok := s.Special[BOS]; ok && set.AddBOS != nil && (rebuilt || !templated) {
		before = nil
		if *set.AddBOS {
			before = []ID{bos}
		}
	}
	if eos, ok := s.Special[EOS]; ok && set.AddEOS != nil && (rebuilt || !templated) {
		after = nil
		if *set.AddEOS {
			after = []ID{eos}
		}
	}
	if len(before) == 1 {
		s.AddBOS, s.Special[BOS] = true, before[0]
	}
	if len(after) == 1 {
		// What ends a sequence need not be what ends an answer.
		if eos, ok := s.Special[EOS]; ok {
			s.Ending = append(s.Ending, eos)
		}
		s.AddEOS, s.Special[EOS] = true, after[0]
	}
	return nil
}

// readDecoder finds out how tokens are spelled, which decides the family.
func readDecoder(f *hfFile, s *Spec) error {
	parts, err := f.Decoder.flatten(0)
	if err != nil {
		return err
	}
	if s.Model != "" { // WordPiece has spelled its tokens itself
		return nil
	}
	s.Model = "hf-marked"
	if s.pipeline.bytes {
		s.Model = "hf-bytes"
	}
	for _, p := range parts {
		switch p.Type {
		case "ByteLevel":
			s.Model = "hf-bytes"
		case "Strip":
			s.SpacePrefix = s.SpacePrefix || p.Content == " "
		case "Metaspace":
			s.SpacePrefix = p.PrependScheme != "never" && or(p.AddPrefixSpace, true)
		case "Replace", "ByteFallback", "Fuse", "WordPiece":
		default:
			return fmt.Errorf("%w: decoder %q", ErrUnsupported, p.Type)
		}
	}
	return nil
}
