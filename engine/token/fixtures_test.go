package token_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/token"
	"quern/engine/token/internal/pretoken"
	"quern/formats/gguf"
)

func readSpec(t testing.TB, path string) token.Spec {
	t.Helper()
	set, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	s, err := token.FromGGUF(&set.Meta)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newVocab(t testing.TB, s token.Spec) *token.Vocab {
	t.Helper()
	v, err := token.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// llama3 returns the vocabulary of Llama 3, which the fixtures store as Hugging
// Face once did: a map of tokens and a list of merges.
func llama3(t testing.TB) token.Spec {
	t.Helper()
	dir := fixtures.Path(t, "vocab", "llama3")
	data, err := os.ReadFile(filepath.Join(dir, "encoder.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ids map[string]token.ID
	if err := json.Unmarshal(data, &ids); err != nil {
		t.Fatal(err)
	}
	s := token.Spec{Model: "gpt2", Pre: "llama-bpe", IgnoreMerges: true, Tokens: make([]string, len(ids))}
	for text, id := range ids {
		s.Tokens[id] = text
	}
	data, err = os.ReadFile(filepath.Join(dir, "vocab.bpe"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		l, r, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || strings.HasPrefix(line, "#version") {
			continue
		}
		s.Merges = append(s.Merges, [2]string{l, r})
	}
	return s
}

// vocabs are the vocabularies with golden tokens.
var vocabs = []string{"bert-bge", "falcon", "gpt-2", "llama-bpe", "llama-spm", "phi-3", "starcoder"}

// goldenSpec returns the Spec of one of vocabs and the path its .inp and .out
// files start with.
func goldenSpec(t testing.TB, name string) (token.Spec, string) {
	t.Helper()
	if name == "llama-bpe" {
		return llama3(t), fixtures.Path(t, "vocab", "llama3", "ggml-vocab-llama-bpe.gguf.inp")
	}
	path := fixtures.Path(t, "vocab", "ggml-vocab-"+name+".gguf")
	return readSpec(t, path), path + ".inp"
}

// A goldenVocab is one of vocabs with the path its files start with.
type goldenVocab struct {
	*token.Vocab
	path string
}

var goldens sync.Map // of goldenVocab, by name: they are made once

func golden(t testing.TB, name string) (*token.Vocab, string) {
	t.Helper()
	g, ok := goldens.Load(name)
	if !ok {
		s, path := goldenSpec(t, name)
		g, _ = goldens.LoadOrStore(name, goldenVocab{newVocab(t, s), path})
	}
	return g.(goldenVocab).Vocab, g.(goldenVocab).path
}

// pretokenizers are the names of all pre-tokenizers, sorted.
func pretokenizers() []string { return slices.Sorted(maps.Keys(pretoken.All)) }

// distinctPretokenizers are names of pre-tokenizers with different patterns.
func distinctPretokenizers() (names []string) {
	seen := make(map[string]bool)
	for _, name := range pretokenizers() {
		if key := strings.Join(pretoken.All[name].Patterns, "\n"); !seen[key] {
			seen[key] = true
			names = append(names, name)
		}
	}
	return names
}

// spell writes bytes as byte-level vocabularies do.
func spell(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		n := 0
		for x := range int(c) {
			if !printable(byte(x)) {
				n++
			}
		}
		if printable(c) {
			b.WriteRune(rune(c))
		} else {
			b.WriteRune(rune(0x100 + n))
		}
	}
	return b.String()
}

func printable(c byte) bool {
	return '!' <= c && c <= '~' || 0xA1 <= c && c <= 0xAC || 0xAE <= c
}

// A builder collects a small vocabulary.
type builder struct{ token.Spec }

func (b *builder) add(text string, kind token.Kind, score float32) token.ID {
	b.Tokens = append(b.Tokens, text)
	b.Kinds = append(b.Kinds, kind)
	b.Scores = append(b.Scores, score)
	return token.ID(len(b.Tokens) - 1)
}

func (b *builder) role(r token.Role, id token.ID) {
	if b.Special == nil {
		b.Special = make(map[token.Role]token.ID)
	}
	b.Special[r] = id
}

// merge adds the token that l and r make, in plain spelling.
func (b *builder) merge(l, r string) {
	b.Merges = append(b.Merges, [2]string{spell(l), spell(r)})
	b.add(spell(l+r), token.Normal, 0)
}

// smallBPE has ids 0 to 255 for bytes, then merges, then special tokens.
func smallBPE() *builder {
	b := &builder{token.Spec{Model: "gpt2", Pre: "gpt-2"}}
	for i := range 256 {
		b.add(spell(string([]byte{byte(i)})), token.Normal, 0)
	}
	for _, m := range []string{"h e", "l l", "he ll", "hell o", "\xe6 \xbc", "\xe6\xbc \xa2"} {
		l, r, _ := strings.Cut(m, " ")
		b.merge(l, r)
	}
	b.merge(" ", "w")
	b.role(token.BOS, b.add("<s>", token.Control, 0))
	b.role(token.EOS, b.add("</s>", token.Control, 0))
	b.add("<tool>", token.UserDefined, 0)
	b.add("<tool>>", token.UserDefined, 0)
	b.add("<|im_end|>", token.UserDefined, 0)
	return b
}

// smallSPM is a SentencePiece vocabulary with byte tokens.
func smallSPM() *builder {
	b := &builder{token.Spec{Model: "llama", SpacePrefix: true, AddBOS: true}}
	b.role(token.UNK, b.add("<unk>", token.Unknown, 0))
	b.role(token.BOS, b.add("<s>", token.Control, 0))
	b.role(token.EOS, b.add("</s>", token.Control, 0))
	for i := range 256 {
		b.add(fmt.Sprintf("<0x%02X>", i), token.Byte, 0)
	}
	for i, text := range strings.Fields("▁h el lo ▁hel ▁hello ▁w or ld ▁wor ▁world ▁ h e l o w r d < s > / ▁▁ </ s>") {
		b.add(text, token.Normal, float32(-i))
	}
	b.add("<tool>", token.UserDefined, 0)
	return b
}

// smallBERT is a WordPiece vocabulary.
func smallBERT() *builder {
	b := &builder{token.Spec{Model: "bert", Lowercase: true, StripAccents: true, AddBOS: true, AddSEP: true}}
	b.role(token.PAD, b.add("[PAD]", token.Control, 0))
	b.role(token.UNK, b.add("[UNK]", token.Unknown, 0))
	b.role(token.BOS, b.add("[CLS]", token.Control, 0))
	b.role(token.SEP, b.add("[SEP]", token.Control, 0))
	for _, text := range strings.Fields("▁un aff able ▁uber ▁! ▁中 ▁a s ▁[ ▁] ▁cls") {
		b.add(text, token.Normal, 0)
	}
	return b
}

// smallUnigram is a unigram vocabulary.
func smallUnigram() *builder {
	b := &builder{token.Spec{Model: "t5", SpacePrefix: true, MergeSpaces: true, AddEOS: true, Charsmap: charsmap(replacements)}}
	b.role(token.PAD, b.add("<pad>", token.Control, 0))
	b.role(token.EOS, b.add("</s>", token.Control, 0))
	b.role(token.UNK, b.add("<unk>", token.Unknown, 0))
	for text, score := range map[string]float32{"▁": -2, "a": -3, "b": -3, "ab": -4, "▁a": -4.5, "▁ab": -8.5, "fi": -5, "ä": -6} {
		b.add(text, token.Normal, score)
	}
	return b
}

// smallRaw is a vocabulary of BPE over characters, as Gemma 4 has.
func smallRaw() *builder {
	b := &builder{token.Spec{Model: "gemma4"}}
	b.role(token.BOS, b.add("<bos>", token.Control, 0))
	for i := range 256 {
		b.add(fmt.Sprintf("<0x%02X>", i), token.Byte, 0)
	}
	for _, text := range []string{"▁", "a", "b", "▁a", "▁ab", "\n", "\n\n", "▁▁", "b▁"} {
		b.add(text, token.Normal, 0)
	}
	b.Merges = [][2]string{{"▁", "a"}, {"▁a", "b"}, {"▁", "▁"}, {"b", "▁"}}
	return b
}
