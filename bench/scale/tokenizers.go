package main

import (
	"path/filepath"
	"strings"

	"quern/bench/internal/must"
	"quern/engine/builtin"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/formats/weights"
)

// texts are what tokenizers find hard: words without an end, runs of one character, and marks that
// stand for nothing.
var texts = []struct {
	name string
	make func(n int) string
}{
	{"prose", repeated("The hand-mill is older than the wheel; in 1831 a farmer found seven of them under his barley. ")},
	{"one letter", repeated("a")},
	{"spaces", repeated(" ")},
	{"line ends", repeated("\n")},
	{"spaces and line ends", repeated(" \n")},
	{"digits", repeated("1234567890")},
	{"full stops", repeated(".")},
	{"one word of varied letters", varied},
	{"Han", repeated("的一是不了人我在有他这中大来上")},
	{"emoji with joiners", repeated("👩‍👩‍👧‍👦")},
	{"combining accents", repeated("\u0301")},
	{"bytes that are no characters", repeated("\xff\xfe")},
	{"beginnings of control tokens", repeated("<|im_")},
	{"control tokens", repeated("<|im_start|></s>[SEP]<s>")},
}

// repeated makes texts of n bytes of s.
func repeated(s string) func(n int) string {
	return func(n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }
}

// varied is a word of n letters that does not repeat itself.
func varied(n int) string {
	letters := make([]byte, n)
	x := uint32(1)
	for i := range letters {
		x = x*1664525 + 1013904223
		letters[i] = 'a' + byte(x>>24)%26
	}
	return string(letters)
}

// vocabularies opens one of each family.
func vocabularies(fixtures string) (names []string, all map[string]*token.Vocab, err error) {
	defer must.Catch(&err)
	all = make(map[string]*token.Vocab)
	add := func(name string, set *weights.Set, change func(s *token.Spec)) {
		s := must.Get(token.FromGGUF(&set.Meta))
		if change != nil {
			change(&s)
		}
		names, all[name] = append(names, name), must.Get(token.New(s))
	}
	add("BPE of the built-in model", must.Get(gguf.Parse(builtin.GGUF())), nil)
	for _, f := range []struct {
		name, file string
		change     func(s *token.Spec)
	}{
		{"BPE of Falcon", "falcon", nil},
		{"BPE of StarCoder", "starcoder", nil},
		{"SentencePiece BPE of Llama 2", "llama-spm", nil},
		{"unigram, of Llama 2's tokens", "llama-spm", func(s *token.Spec) { s.Model = "t5" }},
		{"WordPiece of BGE", "bert-bge", nil},
	} {
		add(f.name, must.Get(gguf.Open(filepath.Join(fixtures, "vocab", "ggml-vocab-"+f.file+".gguf"))), f.change)
	}
	return names, all, nil
}

func tokenizers(fixtures string) (list []probe, err error) {
	names, all, err := vocabularies(fixtures)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		v := all[name]
		for _, t := range texts {
			list = append(list, probe{"tokens", t.name, name, 1 << 16, "bytes", func(n int) (func() error, error) {
				text := t.make(n)
				return func() error {
					v.Encode(nil, text, true)
					return nil
				}, nil
			}})
			list = append(list, probe{"tokens", t.name + ", back", name, 1 << 16, "bytes", func(n int) (func() error, error) {
				ids := v.Encode(nil, t.make(n), true)
				return func() error {
					d := v.NewDecoder(token.DecodeOptions{})
					var text []byte
					for _, id := range ids {
						text = d.Append(text[:0], id)
					}
					return nil
				}, nil
			}})
		}
	}
	return list, nil
}
