package token_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/token"
	"quern/formats/weights"
)

// metadata is the SentencePiece vocabulary of a small file.
func metadata() *weights.Meta {
	m := &weights.Meta{}
	m.Set("general.architecture", "llama")
	m.Set("tokenizer.ggml.model", "llama")
	m.Set("tokenizer.ggml.tokens", []string{"<unk>", "<s>", "</s>", "▁", "a"})
	m.Set("tokenizer.ggml.scores", []float64{0, 0, 0, -1, -2})
	m.Set("tokenizer.ggml.token_type", []int64{2, 3, 3, 1, 1})
	return m
}

func TestFromGGUF(t *testing.T) {
	m := metadata()
	s, err := token.FromGGUF(m)
	if err != nil {
		t.Fatal(err)
	}
	if !s.AddBOS || s.AddEOS || !s.SpacePrefix || s.Special[token.BOS] != 1 || s.Special[token.EOS] != 2 {
		t.Errorf("the usual settings are %+v", s)
	}
	v := newVocab(t, s)
	if got, want := v.Encode(nil, "a", false), []token.ID{3, 4}; !slices.Equal(got, want) {
		t.Errorf("Encode = %v; want %v", got, want)
	}

	m.Set("tokenizer.ggml.bos_token_id", int64(2))
	m.Set("tokenizer.ggml.padding_token_id", int64(5)) // one too many, as in published files
	m.Set("tokenizer.ggml.mask_token_id", int64(math.MaxUint32))
	m.Set("tokenizer.ggml.add_bos_token", false)
	m.Set("tokenizer.ggml.add_eos_token", true)
	m.Set("tokenizer.ggml.add_space_prefix", false)
	if s, err = token.FromGGUF(m); err != nil {
		t.Fatal(err)
	}
	_, pad := s.Special[token.PAD]
	_, mask := s.Special[token.MASK]
	if s.AddBOS || !s.AddEOS || s.SpacePrefix || s.Special[token.BOS] != 2 || pad || mask {
		t.Errorf("the file's settings are %+v", s)
	}
	if v := newVocab(t, s); !slices.Equal(v.Encode(nil, "a", false), []token.ID{4}) {
		t.Error("text has a space before it")
	}
}

func TestFromGGUFErrors(t *testing.T) {
	for _, tt := range []struct {
		key string
		v   any
	}{
		{"model", int64(3)},
		{"model", ""},
		{"pre", true},
		{"tokens", []int64{1}},
		{"tokens", nil},
		{"tokens", []string{"a", "a"}},
		{"scores", []string{"a"}},
		{"scores", []float64{1}},
		{"token_type", []float64{1}},
		{"token_type", []int64{1, 1, 1, 1, 256 + 1}},
		{"token_type", []int64{1, 1, 1, 1, -1}},
		{"merges", []string{"a b", "ab"}},
		{"merges", []string{" a"}},
		{"merges", []string{""}},
		{"precompiled_charsmap", "abc"},
		{"bos_token_id", int64(5)},
		{"bos_token_id", int64(-7)},
		{"bos_token_id", int64(math.MaxInt64)},
		{"eos_token_id", "2"},
		{"add_bos_token", int64(1)},
		{"add_sep_token", true},
	} {
		m := metadata()
		m.Set("tokenizer.ggml."+tt.key, tt.v)
		s, err := token.FromGGUF(m)
		if err == nil {
			_, err = token.New(s)
		}
		if !errors.Is(err, token.ErrFormat) {
			t.Errorf("%s = %v: %v; want %v", tt.key, tt.v, err, token.ErrFormat)
		}
	}
}

// TestFixtureFacts checks what the goldens do not show.
func TestFixtureFacts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bos    string
		ending string
		text   string
		want   string
	}{
		{"phi-3", "<s>", "</s> <|endoftext|> <|end|>", "<|user|>\n a<|end|>\n<|assistant|>", "<|user|> ▁a <|end|> <|assistant|>"},
		{"llama-spm", "<s>", "</s>", "<s>a", "<s> ▁a"},
		{"falcon", "<|endoftext|>", "<|endoftext|>", "a<|endoftext|>", "a <|endoftext|>"},
		{"gpt-2", "<|endoftext|>", "<|endoftext|>", "a<|endoftext|>", "a <|endoftext|>"},
		{"bert-bge", "[CLS]", "", "a[MASK]", "▁a [MASK]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := goldenSpec(t, tt.name)
			v := newVocab(t, s)
			if got := v.Text(v.Special(token.BOS)); got != tt.bos {
				t.Errorf("BOS is %q; want %q", got, tt.bos)
			}
			if got := pieces(v, v.Ending()); got != tt.ending {
				t.Errorf("Ending() = %s; want %s", got, tt.ending)
			}
			if got := pieces(v, v.Encode(nil, tt.text, true)); got != tt.want {
				t.Errorf("Encode(%q) = %s; want %s", tt.text, got, tt.want)
			}
		})
	}
}

// TestStories reads the tokenizer of a whole model.
func TestStories(t *testing.T) {
	v := newVocab(t, readSpec(t, fixtures.Path(t, "real", "stories260K.gguf")))
	const text = "Once upon a time, there was a little girl named Lily."
	ids := v.EncodeSequence(text, false)
	if v.Size() != 512 || ids[0] != v.Special(token.BOS) {
		t.Errorf("%d tokens, sequence %v", v.Size(), ids)
	}
	if got := v.Decode(ids, token.DecodeOptions{}); got != text {
		t.Errorf("Decode = %q; want %q", got, text)
	}
}

// TestGolden compares with the ids that llama.cpp publishes for its test
// vocabularies: plain text, no special tokens parsed or added.
func TestGolden(t *testing.T) {
	const sep = "\n__ggml_vocab_test__\n"
	for _, name := range vocabs {
		t.Run(name, func(t *testing.T) {
			v, path := golden(t, name)
			in, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			out, err := os.ReadFile(strings.TrimSuffix(path, ".inp") + ".out")
			if err != nil {
				t.Fatal(err)
			}
			texts := strings.Split(strings.TrimSuffix(string(in), sep), sep)
			wants := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(texts) != len(wants) {
				t.Fatalf("%d texts, %d answers", len(texts), len(wants))
			}
			for i, text := range texts {
				want := strings.Fields(wants[i])
				got := []string{}
				for _, id := range v.Encode(nil, text, false) {
					got = append(got, fmt.Sprint(id))
				}
				if !slices.Equal(got, want) {
					t.Errorf("Encode(%q) =\n%v; want\n%v", text, got, want)
				}
			}
			t.Logf("%d cases", len(texts))
		})
	}
}
