package token_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestGolden compares with the ids that llama.cpp publishes for its test
// vocabularies: plain text, no special tokens parsed or added.
func TestGolden(t *testing.T) {
	const sep = "\n__ggml_vocab_test__\n"
	for _, name := range vocabs {
		t.Run(name, func(t *testing.T) {
			s, path := goldenSpec(t, name)
			v := newVocab(t, s)
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
