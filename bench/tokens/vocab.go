package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"quern/bench/fixtures"
	"quern/bench/internal/must"
)

// document is the size of the texts that are encoded one at a time.
const document = 32 << 10

// A row is a pre-tokenizer: its patterns, as tokenizer.json has them. Without
// any it is GPT-2's, which has none there.
type row struct {
	name   string
	splits []string
}

const contraction = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`

var rows = []row{
	{"gpt-2", nil},
	{"llama-bpe", []string{contraction + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`}},
	{"qwen2", []string{contraction + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`}},
	{"gpt-4o", []string{`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + contraction +
		`?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + contraction +
		`?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`}},
	{"deepseek-coder", []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, `[一-龥ࠀ-一가-퟿]+`, `\p{N}`}},
	{"deepseek-v3", []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`,
		"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"}},
}

// A vocab is a folder with encoder.json and vocab.bpe.
type vocab struct {
	ids    map[string]int
	merges []string
}

func readVocab(dir string) (_ *vocab, err error) {
	defer must.Catch(&err)
	v := &vocab{}
	text := must.Get(os.ReadFile(filepath.Join(dir, "encoder.json")))
	must.Do(json.Unmarshal(text, &v.ids))
	text = must.Get(os.ReadFile(filepath.Join(dir, "vocab.bpe")))
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#version") && strings.Contains(line, " ") {
			v.merges = append(v.merges, strings.TrimSuffix(line, "\n"))
		}
	}
	return v, nil
}

// tokenizer writes tokenizer.json.
func (v *vocab) tokenizer(pre row) ([]byte, error) {
	type object = map[string]any
	byteLevel := func(regex bool) object {
		return object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex}
	}
	parts := []object{}
	for _, s := range pre.splits {
		parts = append(parts, object{"type": "Split", "pattern": object{"Regex": s}, "behavior": "Isolated", "invert": false})
	}
	parts = append(parts, byteLevel(len(pre.splits) == 0))
	return json.Marshal(object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []any{}, "normalizer": nil,
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": parts}, "post_processor": nil, "decoder": byteLevel(true),
		"model": object{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": true, "vocab": v.ids, "merges": v.merges,
		},
	})
}

// ranks writes the vocabulary as tiktoken reads it: tokens in base64, by number.
func (v *vocab) ranks() []byte {
	tokens := make([]string, len(v.ids))
	for text, id := range v.ids {
		if id >= 0 && id < len(tokens) {
			tokens[id] = text
		}
	}
	var b bytes.Buffer
	b.WriteString("! 0")
	for _, text := range tokens {
		b.WriteByte(' ')
		b.WriteString(base64.StdEncoding.EncodeToString(unspell(text)))
	}
	return b.Bytes()
}

// unspell returns the bytes that a byte-level token stands for: characters that
// print stand for themselves, those from U+0100 on for the other bytes in order.
func unspell(text string) []byte {
	var others []byte
	for b := range 256 {
		if !('!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b) {
			others = append(others, byte(b))
		}
	}
	var out []byte
	for _, r := range text {
		switch {
		case r < 0x100:
			out = append(out, byte(r))
		case int(r)-0x100 < len(others):
			out = append(out, others[r-0x100])
		}
	}
	return out
}

// A text is cut into documents between lines or words.
type text struct {
	name      string
	documents []string
	size      int
}

func (v *vocab) texts(prose string) (_ []text, err error) {
	defer must.Catch(&err)
	english := must.Get(fixtures.Written(".md", ".", prose))
	code := must.Get(fixtures.Written(".go", "engine"))
	tokens := make([]string, len(v.ids))
	for text, id := range v.ids {
		if id >= 0 && id < len(tokens) {
			tokens[id] = string(unspell(text))
		}
	}
	var list []text
	for _, t := range []struct{ name, text string }{{"prose", english}, {"code", code}, {"mixed", fixtures.Mixed(tokens)}} {
		if t.text == "" {
			return nil, fmt.Errorf("no text for %s", t.name)
		}
		x := text{name: t.name, size: len(t.text)}
		for rest := t.text; rest != ""; {
			n := len(rest)
			if n > document {
				n = strings.LastIndexAny(rest[:document], "\n ") + 1
				if n == 0 {
					n = len(strings.ToValidUTF8(rest[:document], ""))
				}
			}
			x.documents = append(x.documents, rest[:n])
			rest = rest[n:]
		}
		list = append(list, x)
	}
	return list, nil
}
