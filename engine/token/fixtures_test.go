package token_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/token"
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
