package token

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"quern/engine/token/internal/pretoken"
	"quern/formats/weights"
)

// ToGGUF says in GGUF's keys what the tokenizer.json of a SafeTensors directory
// says, for a model of the given number of embeddings. The result holds keys
// under tokenizer only. A tokenizer GGUF has no name for, or that would give
// other tokens, is refused by the name of what stands in the way.
func ToGGUF(m *weights.Meta, embeddings int) (*weights.Meta, error) {
	s, err := FromHF(m)
	if err != nil {
		return nil, err
	}
	v, err := New(s)
	if err != nil {
		return nil, err
	}
	var f exported
	if s.Model == "rwkv" {
		// There is nothing but its tokens.
	} else if err := json.Unmarshal([]byte(m.String("hf.tokenizer")), &f); err != nil {
		return nil, fmt.Errorf("%w: tokenizer.json: %v", ErrFormat, err)
	}
	out := new(weights.Meta)
	put := func(key string, v any) { out.Set("tokenizer.ggml."+key, v) }
	switch {
	case s.Model == "rwkv":
		put("model", s.Model)
	case s.Model == "hf-words":
		err = f.wordPiece(&s, put)
	case len(s.pipeline.unigram) > 0:
		err = f.unigram(&s, put)
	case s.Model == "hf-bytes":
		err = f.byteLevel(&s, put)
	default:
		err = f.sentencePiece(&s, put)
	}
	if err != nil {
		return nil, err
	}
	tokens, kinds := slices.Clone(s.Tokens), make([]int64, 0, embeddings)
	if len(tokens) > embeddings {
		return nil, fmt.Errorf("%w: a vocabulary of %d tokens with %d embeddings", ErrFormat, len(tokens), embeddings)
	}
	for i, text := range tokens {
		if text == "" { // a hole
			tokens[i] = fmt.Sprintf("[PAD%d]", i)
		}
		if s.Model == "hf-words" {
			tokens[i] = unhashed(text, s.kind(ID(i)))
		}
		kinds = append(kinds, int64(s.kind(ID(i))))
	}
	for i := len(tokens); i < embeddings; i++ {
		tokens, kinds = append(tokens, fmt.Sprintf("[PAD%d]", i)), append(kinds, int64(Unused))
	}
	put("tokens", tokens)
	put("token_type", kinds)
	if v, ok := out.Lookup("tokenizer.ggml.scores"); ok {
		scores := v.([]float64)
		for len(scores) < embeddings {
			scores = append(scores, unusedScore)
		}
		put("scores", scores)
	}
	for role, id := range s.Special {
		for _, k := range roleKeys {
			if k.role == role {
				put(k.key, int64(id))
				break
			}
		}
	}
	if _, ok := s.Special[EOT]; !ok {
		// Generation may end with more than one token; GGUF has room for two.
		for _, id := range s.Ending {
			if id != s.Special[EOS] {
				put("eot_token_id", int64(id))
				break
			}
		}
	}
	put("add_bos_token", s.AddBOS)
	put("add_eos_token", s.AddEOS)
	return out, sameTokens(v, out)
}

// unusedScore is the score that llama.cpp's converters give to unused tokens.
const unusedScore = -1000

// exported is the data of tokenizer.json that a Spec does not keep.
type exported struct {
	Normalizer   *hfPart `json:"normalizer"`
	PreTokenizer *hfPart `json:"pre_tokenizer"`
	Model        struct {
		Merges       []hfMerge `json:"merges"`
		IgnoreMerges bool      `json:"ignore_merges"`
	} `json:"model"`
}

// ggufPre names byte-level tokenizers as GGUF files do, by the pre-tokenizers of
// tokenizer.json: plain, and whole where a word that is a token is taken as it
// is. "" is a tokenizer llama.cpp has no name for.
var ggufPre = []struct{ parts, plain, whole string }{
	{"ByteLevel", "gpt-2", ""},
	{"Digits|ByteLevel", "smollm", ""},
	{pretoken.HFOne + "|ByteLevel", "smollm", ""},
	{pretoken.HFLlama3 + "|Bytes", "smaug-bpe", "llama-bpe"},
	{pretoken.HFQwen2 + "|Bytes", "qwen2", ""},
	{pretoken.HFQwen35 + "|Bytes", "qwen35", ""},
	{pretoken.HFGPT4o + "|Bytes", "gpt-4o", ""},
	{pretoken.HFTekken + "|Bytes", "", "tekken"},
	{pretoken.HFThrees + "|" + pretoken.HFKanaHan + "|" + pretoken.HFDeepseek + "|Bytes", "deepseek-v3", ""},
	{"Punctuation|ByteLevel|DigitRuns|[0-9][0-9][0-9]", "falcon", ""},
}

// parts spells the pre-tokenizers as ggufPre does.
func (f *exported) parts() (string, error) {
	list, err := f.PreTokenizer.flatten(0)
	if err != nil {
		return "", err
	}
	var names []string
	for _, p := range list {
		name := p.Type
		switch {
		case p.Type == "ByteLevel" && or(p.AddPrefixSpace, true):
			name = "ByteLevel after a space"
		case p.Type == "ByteLevel" && !or(p.UseRegex, true):
			name = "Bytes"
		case p.Type == "Digits" && !p.Individual:
			name = "DigitRuns"
		case p.Type == "Split" && p.Pattern.Regex != nil && (p.Behavior == "Isolated" || p.Behavior == "Removed" && p.Invert):
			name = *p.Pattern.Regex
		}
		names = append(names, name)
	}
	return strings.Join(names, "|"), nil
}

func (f *exported) byteLevel(s *Spec, put func(string, any)) error {
	parts, err := f.parts()
	if err != nil {
		return err
	}
	pre := ""
	for _, p := range ggufPre {
		if p.parts == parts {
			if pre = p.plain; f.Model.IgnoreMerges {
				pre = p.whole
			}
		}
	}
	if pre == "" {
		return fmt.Errorf("%w: GGUF files have no name for the pre-tokenizer %.200q", ErrUnsupported, parts)
	}
	put("model", "gpt2")
	put("pre", pre)
	merges := make([]string, len(f.Model.Merges))
	for i, m := range f.Model.Merges {
		merges[i] = m[0] + " " + m[1]
	}
	put("merges", merges)
	return nil
}

// sentencePiece writes BPE over characters. GGUF has no merges for it: of two
// neighbours those become one whose union has the best score, which is the rank
// of the first merge that makes it.
func (f *exported) sentencePiece(s *Spec, put func(string, any)) error {
	put("model", "llama")
	put("pre", "default")
	rank := make(map[string]int, len(f.Model.Merges))
	for i, m := range f.Model.Merges {
		text := m[0] + m[1]
		if _, ok := rank[text]; !ok {
			rank[text] = i
		}
	}
	scores := make([]float64, len(s.Tokens))
	for i, t := range s.Tokens {
		switch r, ok := rank[t]; {
		case ok:
			scores[i] = -float64(r)
		case s.kind(ID(i)) == Normal:
			scores[i] = -float64(len(f.Model.Merges)) // a character, or never made
		}
	}
	put("scores", scores)
	prefix, err := f.spacePrefix()
	put("add_space_prefix", prefix)
	return err
}

// spacePrefix reports whether text is encoded as if a space stood before it.
func (f *exported) spacePrefix() (bool, error) {
	for _, from := range []*hfPart{f.Normalizer, f.PreTokenizer} {
		list, err := from.flatten(0)
		if err != nil {
			return false, err
		}
		for _, p := range list {
			switch {
			case p.Type == "Prepend" && p.Prepend == blankMark, p.Type == "ByteLevel" && or(p.AddPrefixSpace, true):
				return true, nil
			case p.Type == "Metaspace":
				return p.PrependScheme != "never" && or(p.AddPrefixSpace, true), nil
			}
		}
	}
	return false, nil
}

func (f *exported) unigram(s *Spec, put func(string, any)) error {
	put("model", "t5")
	put("pre", "default")
	scores := make([]float64, len(s.Tokens))
	for i, t := range s.pipeline.unigram {
		scores[i] = t.score
	}
	put("scores", scores)
	prefix, err := f.spacePrefix()
	if err != nil {
		return err
	}
	put("add_space_prefix", prefix)
	list, err := f.Normalizer.flatten(0)
	if err != nil {
		return err
	}
	cuts, err := f.parts()
	merge := strings.Contains(cuts, "WhitespaceSplit")
	for _, p := range list {
		switch {
		case p.Type == "Precompiled":
			charsmap := make([]int64, len(p.Charsmap))
			for i, b := range p.Charsmap {
				charsmap[i] = int64(b)
			}
			put("precompiled_charsmap", charsmap)
		case p.Type == "Replace" && p.Pattern.Regex != nil && *p.Pattern.Regex == " {2,}":
			merge = true
		}
	}
	put("remove_extra_whitespaces", merge)
	return err
}

func (f *exported) wordPiece(_ *Spec, put func(string, any)) error {
	put("model", "bert")
	put("pre", "default")
	list, err := f.Normalizer.flatten(0)
	for _, p := range list {
		if p.Type == "BertNormalizer" {
			lower := or(p.Lowercase, true)
			put("normalizer.lowercase", lower)
			put("normalizer.strip_accents", or(p.Accents, lower))
		}
	}
	put("add_sep_token", true)
	return err
}

// unhashed is a WordPiece token as GGUF spells it: one that starts a word has
// SentencePiece's mark, one that continues it none.
func unhashed(text string, k Kind) string {
	if tail, ok := strings.CutPrefix(text, "##"); ok && tail != "" {
		return tail
	}
	if k != Normal || strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return text
	}
	return blankMark + text
}

// probes are texts on which tokenizers differ. None begins or ends with white
// space, where llama.cpp differs from some of the originals in every file.
var probes = []string{
	"Hello, world! It's a test: don't WE'LL 1234567 3.14", "two  and   three spaces", "tabs\tand\nnew\n\nlines\r\n", "naïve café Straße résumé",
	"日本語のテスト 中文字符 한국어", "Привет, мир! Ελληνικά", "x = a[i] + b_c(d) // == != -> {}", "😀 emoji → ∑ € “quoted”", "http://example.com/a?b=c&d=e", "a", "'s  's",
}

// sameTokens holds the tokenizer that was written against the one that was read.
func sameTokens(v *Vocab, m *weights.Meta) error {
	s, err := FromGGUF(m)
	if err != nil {
		return err
	}
	w, err := New(s)
	if err != nil {
		return err
	}
	for _, p := range probes {
		if got, want := w.EncodeSequence(p, false), v.EncodeSequence(p, false); !slices.Equal(got, want) {
			return fmt.Errorf("%w: what GGUF can say of this tokenizer makes other tokens of %q", ErrUnsupported, p)
		}
	}
	return nil
}
