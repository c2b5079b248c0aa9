package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"quern/bench/fixtures"
	"quern/engine/token"
	"quern/formats/gguf"
	"quern/formats/weights"
)

// added are tokens of every manner that tokenizer.json has, from id on.
func added(id int) []map[string]any {
	var list []map[string]any
	for i, s := range []string{"<|plain|>", "<|left|>", "<|right|>", "<|both|>", "<|word|>", "qwörd", "<|text|>", "mid-", "<|word|><|left|>"} {
		list = append(list, map[string]any{
			"id": id + i, "content": s, "special": i%2 == 0, "normalized": i == 6,
			"lstrip": i == 1 || i == 3, "rstrip": i == 2 || i == 3, "single_word": i == 4 || i == 5,
		})
	}
	return list
}

// odd are texts of random characters of every script, with white space and
// added tokens next to them.
func odd(r *rand.Rand, tokens []map[string]any, n int) []string {
	var scripts []*unicode.RangeTable
	for _, name := range slices.Sorted(maps.Keys(unicode.Scripts)) {
		scripts = append(scripts, unicode.Scripts[name])
	}
	pick := func(t *unicode.RangeTable) rune {
		i := r.IntN(len(t.R16) + len(t.R32))
		if i < len(t.R16) {
			x := t.R16[i]
			return rune(x.Lo) + rune(x.Stride)*rune(r.IntN(int((x.Hi-x.Lo)/x.Stride)+1))
		}
		x := t.R32[i-len(t.R16)]
		return rune(x.Lo) + rune(x.Stride)*rune(r.IntN(int((x.Hi-x.Lo)/x.Stride)+1))
	}
	blanks := []string{" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\u0085", "\v", "\f", "\u200b", "\ufeff", "   \n  "}
	var texts []string
	for range n {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			switch r.IntN(9) {
			case 0:
				b.WriteString(blanks[r.IntN(len(blanks))])
			case 1:
				b.WriteString(tokens[r.IntN(len(tokens))]["content"].(string))
			case 2:
				b.WriteRune(rune(r.IntN(32)))
			case 3:
				fmt.Fprint(&b, r.IntN(100000))
			case 4:
				b.WriteString([]string{"don't", "I'LL", "It's", "'ſ", "qwörd", "qwörds", "é", "e\u0301", "ﬁ", "ẞ", "İ", "…", "://", "\x7f", "\u00ad", "☕️", "👩‍👩‍👧", "ǅ"}[r.IntN(18)])
			case 5:
				c := pick(scripts[r.IntN(len(scripts))])
				b.WriteString(strings.Repeat(string(c), 1+r.IntN(30)))
			default:
				t := scripts[r.IntN(len(scripts))]
				for range 1 + r.IntN(6) {
					b.WriteRune(pick(t))
				}
			}
		}
		texts = append(texts, b.String())
	}
	return append(texts, "", strings.Repeat("a", 20000), strings.Repeat("ab1 ", 3000), strings.Repeat("\u0301", 5000), "\x00", "a\x00b")
}

// wordPiece is tokenizer.json of a BERT whose GGUF file has its vocabulary.
func wordPiece(t *testing.T, path string) []byte {
	set, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	ids := make(map[string]int)
	tokens := set.Meta.Strings("tokenizer.ggml.tokens")
	for i, s := range tokens {
		switch rest, begins := strings.CutPrefix(s, "▁"); {
		case begins:
			s = rest
		case strings.HasPrefix(s, "["):
		default:
			s = "##" + s
		}
		for ids[s] > 0 { // the GGUF file has it twice; peers count texts
			s += "#"
		}
		ids[s] = i
	}
	b, err := json.Marshal(map[string]any{
		"version": "1.0", "added_tokens": added(len(ids)), "post_processor": nil,
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"decoder":       map[string]any{"type": "WordPiece", "prefix": "##", "cleanup": true},
		"model":         map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPeer holds quern against Hugging Face's tokenizers on random
// texts. PEER_DIR names a folder that has them.
func TestPeer(t *testing.T) {
	dir := os.Getenv("PEER_DIR")
	if dir == "" {
		t.Skip("PEER_DIR is not set")
	}
	v, err := readVocab(fixtures.Path(t, "vocab", "llama3"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := startPeer("peer.mjs", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	documents := make(map[string][]byte)
	for _, pre := range rows {
		text, err := v.tokenizer(pre)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		m["added_tokens"] = added(len(v.ids))
		if documents[pre.name], err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
	}
	documents["whitespace"] = []byte(strings.Replace(string(documents["gpt-2"]), `"pretokenizers":[{"add_prefix_space":false,"trim_offsets":true,"type":"ByteLevel","use_regex":true}]`,
		`"pretokenizers":[{"type":"Whitespace"},{"add_prefix_space":false,"trim_offsets":true,"type":"ByteLevel","use_regex":false}]`, 1))
	if len(documents["whitespace"]) == len(documents["gpt-2"]) {
		t.Fatal("no Whitespace")
	}
	documents["bert"] = wordPiece(t, fixtures.Path(t, "vocab", "ggml-vocab-bert-bge.gguf"))
	for name, text := range documents {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokenizer.json")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Ask(request{Tokenizer: path}); err != nil {
				t.Fatal(err)
			}
			var m weights.Meta
			m.Set("hf.config", "{}")
			m.Set("hf.tokenizer", string(text))
			spec, err := token.From(&m)
			if err != nil {
				t.Fatal(err)
			}
			quern, err := token.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			texts := odd(rand.New(rand.NewPCG(1, 2)), added(0), 4000)
			if name == "bert" { // the peer's tables of punctuation know Unicode 8
				old := []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Common}
				for i, s := range texts {
					texts[i] = strings.Map(func(r rune) rune {
						if r > 0xFFFF || !unicode.In(r, old...) {
							return -1
						}
						return r
					}, s)
				}
			}
			r, err := p.Ask(request{Texts: texts, Peer: "hf"})
			if err != nil {
				t.Fatal(err)
			}
			bad := 0
			for i, s := range texts {
				got := quern.Encode(nil, s, true)
				if !slices.Equal(got, r.IDs[i]) {
					if bad++; bad <= 12 {
						k := 0
						for k < min(len(got), len(r.IDs[i])) && got[k] == r.IDs[i][k] {
							k++
						}
						t.Errorf("%+.120q: token %d on: %v, want %v", s, k, got[k:min(len(got), k+6)], r.IDs[i][k:min(len(r.IDs[i]), k+6)])
					}
				}
			}
			t.Logf("%d of %d texts differ", bad, len(texts))
		})
	}
}
