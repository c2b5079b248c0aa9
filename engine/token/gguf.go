package token

import (
	"fmt"
	"math"
	"strings"

	"quern/engine/token/internal/pretoken"
	"quern/formats/weights"
)

// roleKeys are the metadata keys that give roles, under tokenizer.ggml. The
// last three are what the FIM keys were called before.
var roleKeys = []struct {
	key  string
	role Role
}{
	{"bos_token_id", BOS},
	{"eos_token_id", EOS},
	{"eot_token_id", EOT},
	{"eom_token_id", EOM},
	{"unknown_token_id", UNK},
	{"seperator_token_id", SEP}, // sic
	{"padding_token_id", PAD},
	{"cls_token_id", CLS},
	{"mask_token_id", MASK},
	{"fim_pre_token_id", FIMPrefix},
	{"fim_suf_token_id", FIMSuffix},
	{"fim_mid_token_id", FIMMiddle},
	{"fim_pad_token_id", FIMPad},
	{"fim_rep_token_id", FIMRepo},
	{"fim_sep_token_id", FIMFile},
	{"prefix_token_id", FIMPrefix},
	{"suffix_token_id", FIMSuffix},
	{"middle_token_id", FIMMiddle},
}

// usualRoles are the ids that files of a family may leave out.
var usualRoles = map[string]map[Role]ID{
	"llama": {BOS: 1, EOS: 2, UNK: 0},
	"bert":  {BOS: 101, UNK: 100, SEP: 102, PAD: 0, MASK: 103},
	"t5":    {EOS: 1, UNK: 2, PAD: 0},
}

// FromGGUF reads the keys under tokenizer.ggml. What a file leaves out is
// filled in as llama.cpp does it. Errors wrap ErrFormat; names that are not
// known are New's business.
func FromGGUF(m *weights.Meta) (Spec, error) {
	r := &ggufReader{m: m}
	s := Spec{
		Model:  r.text("model"),
		Pre:    r.text("pre"),
		Tokens: r.texts("tokens"),
	}
	if r.err == nil && s.Model == "" {
		r.err = fmt.Errorf("%w: no tokenizer.ggml.model", ErrFormat)
	}
	r.scores(&s)
	r.kinds(&s)
	r.merges(&s)
	r.charsmap(&s)
	r.roles(&s)
	r.flags(&s)
	if r.err != nil {
		return Spec{}, r.err
	}
	stripping(&s, m)
	return s, nil
}

// A ggufReader reads values of the expected type. Its first error sticks.
type ggufReader struct {
	m   *weights.Meta
	err error
}

func (r *ggufReader) wrong(key string, v any, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: tokenizer.ggml.%s is %T, want %s", ErrFormat, key, v, want)
	}
}

// read returns the value under key as a T; absent values are zero.
func read[T any](r *ggufReader, key, want string) (x T, ok bool) {
	v, ok := r.m.Lookup("tokenizer.ggml." + key)
	if !ok {
		return x, false
	}
	if x, ok = v.(T); !ok {
		r.wrong(key, v, want)
	}
	return x, ok
}

func (r *ggufReader) text(key string) string {
	x, _ := read[string](r, key, "a string")
	return x
}

func (r *ggufReader) texts(key string) []string {
	x, _ := read[[]string](r, key, "strings")
	return x
}

func (r *ggufReader) flag(key string, to *bool) (given bool) {
	x, ok := read[bool](r, key, "a flag")
	if ok {
		*to = x
	}
	return ok
}

func (r *ggufReader) scores(s *Spec) {
	const key = "scores"
	v, ok := r.m.Lookup("tokenizer.ggml." + key)
	if !ok {
		return
	}
	switch v := v.(type) {
	case []float64:
		s.Scores = make([]float32, len(v))
		for i, x := range v {
			s.Scores[i] = float32(x)
		}
	case []int64:
		s.Scores = make([]float32, len(v))
		for i, x := range v {
			s.Scores[i] = float32(x)
		}
	default:
		r.wrong(key, v, "numbers")
		return
	}
	s.Scores = clip(s.Scores, len(s.Tokens))
}

func (r *ggufReader) kinds(s *Spec) {
	x, ok := read[[]int64](r, "token_type", "integers")
	if !ok {
		return
	}
	s.Kinds = make([]Kind, len(x))
	for i, k := range x {
		if k < 0 || k > math.MaxUint8 {
			k = math.MaxUint8 // which New refuses
		}
		s.Kinds[i] = Kind(k)
	}
	s.Kinds = clip(s.Kinds, len(s.Tokens))
}

// clip drops what a list has beyond n entries: some files keep the length of
// the padded embedding there.
func clip[T any](x []T, n int) []T {
	if len(x) > n {
		return x[:n]
	}
	return x
}

func (r *ggufReader) merges(s *Spec) {
	x := r.texts("merges")
	if len(x) == 0 {
		return
	}
	s.Merges = make([][2]string, len(x))
	for i, text := range x {
		// The left token is not empty, but may start with a space.
		at := -1
		if len(text) > 1 {
			at = strings.IndexByte(text[1:], ' ') + 1
		}
		if at <= 0 {
			if r.err == nil {
				r.err = fmt.Errorf("%w: merge %d is %.40q, want two tokens", ErrFormat, i, text)
			}
			return
		}
		s.Merges[i] = [2]string{text[:at], text[at+1:]}
	}
}

func (r *ggufReader) charsmap(s *Spec) {
	x, ok := read[[]int64](r, "precompiled_charsmap", "bytes")
	if !ok {
		return
	}
	s.Charsmap = make([]byte, len(x))
	for i, b := range x {
		s.Charsmap[i] = byte(b) // some files store them signed
	}
}

func (r *ggufReader) roles(s *Spec) {
	s.Special = make(map[Role]ID)
	for _, k := range roleKeys {
		n, ok := read[int64](r, k.key, "an integer")
		switch _, given := s.Special[k.role]; {
		case !ok || given || n == -1 || n == math.MaxUint32:
			continue
		case n >= int64(len(s.Tokens)) && k.role == PAD:
			// Published Llama 2 files name a padding token that was never
			// added. Nothing here pads.
			continue
		case n < 0 || n > math.MaxInt32:
			n = math.MaxInt32 // which New refuses
		}
		s.Special[k.role] = ID(n)
	}
	if id, ok := s.Special[CLS]; ok {
		if _, given := s.Special[BOS]; !given {
			s.Special[BOS] = id
		}
	}
	for role, id := range usualRoles[s.Model] {
		if _, given := s.Special[role]; given || int(id) >= len(s.Tokens) {
			continue
		}
		// A usual id only counts if the token could have the role.
		if len(s.Kinds) == len(s.Tokens) && s.kind(id) != Control && s.kind(id) != Unknown {
			continue
		}
		s.Special[role] = id
	}
}

// flags resolves the switches: a family's usual setting, the pre-tokenizer's,
// then the file's own.
func (r *ggufReader) flags(s *Spec) {
	switch s.Model {
	case "llama":
		s.AddBOS, s.SpacePrefix = true, true
	case "bert":
		s.AddBOS, s.AddSEP = true, true
	case "t5":
		s.AddEOS = true
	case "gpt2", "gemma4":
		name := s.Pre
		if s.Model == "gemma4" {
			name = s.Model
		}
		pre := pretoken.All[name]
		s.AddBOS, s.AddSEP, s.IgnoreMerges = pre.AddBOS, pre.AddSEP, pre.IgnoreMerges
	}
	r.flag("add_space_prefix", &s.SpacePrefix)
	r.flag("remove_extra_whitespaces", &s.MergeSpaces)
	s.Lowercase = true
	r.flag("normalizer.lowercase", &s.Lowercase)
	s.StripAccents = s.Lowercase
	r.flag("normalizer.strip_accents", &s.StripAccents)

	bos := r.flag("add_bos_token", &s.AddBOS)
	eos := r.flag("add_eos_token", &s.AddEOS)
	sep := r.flag("add_sep_token", &s.AddSEP)
	// Only a file that asks for a token it lacks itself is contradictory.
	for _, x := range []struct {
		given bool
		add   *bool
		role  Role
	}{{bos, &s.AddBOS, BOS}, {eos, &s.AddEOS, EOS}, {sep, &s.AddSEP, SEP}} {
		if _, ok := s.Special[x.role]; !ok && !x.given {
			*x.add = false
		}
	}
	// Published Gemma 4 files deny the BOS that the model cannot do without.
	if s.Model == "gemma4" || s.Pre == "gemma4" {
		_, s.AddBOS = s.Special[BOS]
	}
}

// stripping names the tokens that swallow white space, which GGUF does not
// record: it follows from which model the file holds.
func stripping(s *Spec, m *weights.Meta) {
	name := strings.ToLower(m.String("general.name"))
	arch := m.String("general.architecture")
	find := func(text string) []ID {
		for i, t := range s.Tokens {
			if t == text {
				return []ID{ID(i)}
			}
		}
		return nil
	}
	switch {
	case strings.Contains(s.Pre, "jina-v2-de"), strings.Contains(s.Pre, "jina-v2-es"),
		strings.Contains(s.Pre, "jina-v2-code"),
		strings.Contains(arch, "nomic-bert-moe"), strings.Contains(arch, "jina-bert-v3"):
		s.LStrip = find("<mask>")
	case strings.Contains(name, "phi-3"), strings.Contains(name, "phi3"):
		if len(s.Kinds) != len(s.Tokens) {
			return
		}
		for i, text := range s.Tokens {
			switch s.kind(ID(i)) {
			case Control, UserDefined, Unknown:
				if text != "<unk>" && text != "<s>" && text != "<|endoftext|>" {
					s.RStrip = append(s.RStrip, ID(i))
				}
			}
		}
	case strings.Contains(name, "modern-bert"):
		s.LStrip = find("[MASK]")
	}
}
