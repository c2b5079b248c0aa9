package main

import (
	"path/filepath"

	"quern/bench/fixtures"
	"quern/bench/internal/must"
	"quern/engine/builtin"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/formats/weights"
)

// vocabularies opens one of each family.
func vocabularies(dir string) (names []string, all map[string]*token.Vocab, err error) {
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
		add(f.name, must.Get(gguf.Open(filepath.Join(dir, "vocab", "ggml-vocab-"+f.file+".gguf"))), f.change)
	}
	return names, all, nil
}

func tokenizers(dir string) (list []probe, err error) {
	names, all, err := vocabularies(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		v := all[name]
		for _, t := range fixtures.Hard {
			list = append(list, probe{"tokens", t.Name, name, 1 << 16, "bytes", func(n int) (func() error, error) {
				text := t.Make(n)
				return func() error {
					v.Encode(nil, text, true)
					return nil
				}, nil
			}})
			list = append(list, probe{"tokens", t.Name + ", back", name, 1 << 16, "bytes", func(n int) (func() error, error) {
				ids := v.Encode(nil, t.Make(n), true)
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
