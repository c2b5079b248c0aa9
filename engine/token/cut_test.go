package token_test

import (
	"errors"
	"fmt"
	"log"
	"slices"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/token"
)

// Cut takes tokens of no text away, with every list they are in, and refuses to
// take others.
func TestCut(t *testing.T) {
	fresh := func() token.Spec {
		s := readSpec(t, fixtures.Path(t, "vocab", "ggml-vocab-llama-spm.gguf"))
		s.Tokens = append(slices.Clone(s.Tokens), "<image>")
		s.Scores = append(slices.Clone(s.Scores), 0)
		s.Kinds = append(slices.Clone(s.Kinds), token.Control)
		last := token.ID(len(s.Tokens) - 1)
		s.Special[token.PAD], s.Ending, s.LStrip = last, []token.ID{2, last}, []token.ID{last}
		return s
	}
	s := fresh()
	n := len(s.Tokens)
	if err := s.Cut(n - 1); err != nil {
		t.Fatal(err)
	}
	v := newVocab(t, s)
	if v.Size() != n-1 || v.Special(token.PAD) >= 0 && int(v.Special(token.PAD)) >= n-1 || len(s.Ending) != 1 || len(s.LStrip) != 0 {
		t.Errorf("%d tokens, pad %d, ending %v, stripping %v; want %d and no mention of %d", v.Size(), v.Special(token.PAD), s.Ending, s.LStrip, n-1, n-1)
	}
	for _, id := range v.Encode(nil, "a <image> b", true) {
		if int(id) >= n-1 {
			t.Errorf("token %d is encoded", id)
		}
	}
	s = fresh()
	if err := s.Cut(n + 5); err != nil || len(s.Tokens) != n {
		t.Errorf("more embeddings than tokens: %v, %d tokens", err, len(s.Tokens))
	}
	s = fresh()
	if err := s.Cut(n - 2); !errors.Is(err, token.ErrFormat) {
		t.Errorf("a token of text without an embedding: %v, want it refused", err)
	}
}

func Example() {
	// A model's file says all this: token.From reads it there.
	v, err := token.New(token.Spec{
		Model: "gpt2", Tokens: []string{"h", "e", "l", "o", "he", "ll", "hell", "hello", "<|end|>"},
		Merges:  [][2]string{{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}},
		Kinds:   []token.Kind{1, 1, 1, 1, 1, 1, 1, 1, token.Control},
		Special: map[token.Role]token.ID{token.EOS: 8},
	})
	if err != nil {
		log.Fatal(err)
	}
	ids := v.Encode(nil, "hellohell", false)
	fmt.Println(ids, v.Decode(ids, token.DecodeOptions{}), v.Ends(8))
	// Output:
	// [7 6] hellohell true
}
