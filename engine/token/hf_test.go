package token_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/engine/token"
	"quern/formats/weights"
)

// hfMeta is the metadata of a SafeTensors directory with these texts.
func hfMeta(tokenizer, config, generation string) *weights.Meta {
	m := new(weights.Meta)
	m.Set("hf.config", "{}")
	m.Set("hf.tokenizer", tokenizer)
	m.Set("hf.tokenizer_config", config)
	if generation != "" {
		m.Set("hf.generation_config", generation)
	}
	return m
}

// TestHuggingFace holds every kind of tokenizer.json against Hugging Face's
// own library; see testdata/hf.mjs. QUERN_HF names a folder of more.
func TestHuggingFace(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "hf", "*.json"))
	if err != nil || len(files) < 12 {
		t.Fatalf("%d references, %v", len(files), err)
	}
	if dir := os.Getenv("QUERN_HF"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) { sameAsHF(t, path) })
	}
}

func sameAsHF(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Tokenizer, Config json.RawMessage
		Texts             [][3]json.RawMessage
	}
	if err := json.Unmarshal(text, &ref); err != nil {
		t.Fatal(err)
	}
	spec, err := token.From(hfMeta(string(ref.Tokenizer), string(ref.Config), ""))
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, row := range ref.Texts {
		var text, decoded string
		var want []token.ID
		for i, to := range []any{&text, &want, &decoded} {
			if err := json.Unmarshal(row[i], to); err != nil {
				t.Fatal(err)
			}
		}
		got := v.EncodeSequence(text, true)
		if !slices.Equal(got, want) {
			if wrong++; wrong <= 10 {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				spell := func(ids []token.ID) (s []string) {
					for _, id := range ids[min(len(ids), max(0, i-1)):min(len(ids), i+4)] {
						s = append(s, v.Text(id))
					}
					return s
				}
				t.Errorf("%q: at %d %q, want %q", text, i, spell(got), spell(want))
			}
		}
		if got := v.Decode(want, token.DecodeOptions{}); got != decoded {
			if wrong++; wrong <= 10 {
				t.Errorf("%q: decoded %q, want %q", text, got, decoded)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d differences in %d texts", wrong, len(ref.Texts))
	}
}

// tiny is a tokenizer of single characters with whatever parts are given.
func tiny(parts string) string {
	return `{"model":{"type":"BPE","unk_token":"?","vocab":{"?":0,"a":1,"b":2,"-":3,"▁":4,"ab":5,"b-":6,"-a":7,"--":8,"A":9,"1":10},` +
		`"merges":["a b","b -",["-","a"],["-","-"]]}` + parts + `}`
}

func TestHFSplit(t *testing.T) {
	for _, tt := range []struct{ behavior, text, want string }{
		{"Removed", "ab--ab", "ab ab"},
		{"Isolated", "ab--ab", "ab - - ab"},
		{"Contiguous", "ab--ab", "ab -- ab"},
		{"MergedWithPrevious", "b-b", "b- b"},
		{"MergedWithPrevious", "b--b", "b- - b"},
		{"MergedWithPrevious", "--b", "- - b"},
		{"MergedWithNext", "a-a", "a -a"},
		{"MergedWithNext", "a--a", "a - -a"},
		{"MergedWithNext", "a-", "a -"},
	} {
		spec, err := token.FromHF(hfMeta(tiny(`,"pre_tokenizer":{"type":"Split","pattern":{"String":"-"},"behavior":"`+tt.behavior+`","invert":false}`), "", ""))
		if err != nil {
			t.Fatal(err)
		}
		v, err := token.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range v.Encode(nil, tt.text, true) {
			got = append(got, v.Text(id))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.behavior, tt.text, got, tt.want)
		}
	}
}

// TestHFPatterns cuts by patterns no table has.
func TestHFPatterns(t *testing.T) {
	for _, tt := range []struct{ pattern, behavior, want string }{
		{`a*`, "Isolated", "b aa b- a 1"},
		{`|a`, "Isolated", "baab-a1"},
		{`a|aa`, "Isolated", "b a a b- a 1"},
		{`aa?|b-`, "Isolated", "b aa b- a 1"},
		{`(?:b|ba)(a|b-)`, "Removed", "ab-a1"},
		{`[\w&&[^b\d]]+`, "MergedWithNext", "b aab- a1"},
		{`\d\z|b`, "Contiguous", "b aa b -a 1"},
		{`-(?!\S)`, "Isolated", "baab-a1"},
		{`(?:.a)+`, "Isolated", "ba ab -a 1"},
	} {
		if got := strings.Join(token.HFPieces(t, tt.pattern, tt.behavior, "baab-a1"), " "); got != tt.want {
			t.Errorf("%s, %s: %s; want %s", tt.pattern, tt.behavior, got, tt.want)
		}
	}
}

// TestHFIgnoreMerges says that a word that is a token is taken whole, though no
// merges make it, and not as a part of another word.
func TestHFIgnoreMerges(t *testing.T) {
	const split = `{"type":"Split","pattern":{"String":"-"},"behavior":"Isolated","invert":false}`
	const bytes = `{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}`
	for _, tt := range []struct{ name, pre, ignore, want string }{
		{"characters", `null`, "true", "[3] [1 0 2 1 0] [4]"},
		{"characters, split", split, "true", "[3] [3 2 3] [4]"},
		{"characters, merged", `null`, "false", "[1 0] [1 0 2 1 0] [4]"},
		{"bytes", bytes, "true", "[3] [1 0 2 1 0] [4]"},
		{"bytes, split", `{"type":"Sequence","pretokenizers":[` + split + `,` + bytes + `]}`, "true", "[3] [3 2 3] [4]"},
		{"bytes, merged", bytes, "false", "[1 0] [1 0 2 1 0] [4]"},
	} {
		spec, err := token.FromHF(hfMeta(`{"pre_tokenizer":`+tt.pre+`,"model":{"type":"BPE","ignore_merges":`+tt.ignore+
			`,"vocab":{"a":0,"b":1,"-":2,"ba":3,"ab":4},"merges":["a b"]}}`, "", ""))
		if err != nil {
			t.Fatal(err)
		}
		v := newVocab(t, spec)
		var got []string
		for _, text := range []string{"ba", "ba-ba", "ab"} {
			got = append(got, fmt.Sprint(v.Encode(nil, text, true)))
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: ba, ba-ba and ab become %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Text must not be able to spell a control token, whatever its settings.
func TestHFControl(t *testing.T) {
	spec, err := token.FromHF(hfMeta(tiny(`,"normalizer":{"type":"NFC"},"added_tokens":[
		{"id":11,"content":"<end>","special":true,"normalized":true},
		{"id":12,"content":"<tool>","special":false,"normalized":true},
		{"id":13,"content":"ab","special":false,"single_word":true}]`),
		`{"eos_token":{"content":"<end>"},"bos_token":"a","add_bos_token":true}`, `{"eos_token_id":[2,11,99,-1]}`))
	if err == nil {
		_, err = token.New(spec)
	}
	if !errors.Is(err, token.ErrFormat) {
		t.Fatalf("an added token that the vocabulary has under another number: %v", err)
	}
	spec, err = token.FromHF(hfMeta(tiny(`,"normalizer":{"type":"NFC"},"added_tokens":[
		{"id":11,"content":"<end>","special":true,"normalized":true},
		{"id":12,"content":"<tool>","special":false,"normalized":true},
		{"id":5,"content":"ab","special":false,"single_word":true},
		{"id":13,"content":"<turn>","special":false,"normalized":true}]`),
		`{"eos_token":{"content":"<end>"},"bos_token":"a","add_bos_token":true}`, `{"eos_token_id":[2,11,13,99,-1]}`))
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Encode(nil, "<end><turn>", false); slices.Contains(got, 11) || slices.Contains(got, 13) {
		t.Errorf("plain text became %v, with a control token", got)
	}
	if got := v.EncodeSequence("a<end><tool>", true); !slices.Equal(got, []token.ID{1, 1, 11, 12}) {
		t.Errorf("trusted text became %v, want BOS, a, <end>, <tool>", got)
	}
	if got := v.Encode(nil, "ab-ab1", true); !slices.Equal(got, []token.ID{5, 3, 5, 10}) {
		t.Errorf("ab-ab1 became %v, want 5 3 5 10", got)
	}
	if got := v.Ending(); !slices.Equal(got, []token.ID{2, 11, 13}) {
		t.Errorf("endings %v, want 2, 11 and 13", got)
	}
}

// A token that must stand apart from words is none beside what Unicode counts to
// them: numbers that are letters, circled letters and joiners too.
func TestHFSingleWord(t *testing.T) {
	spec, err := token.FromHF(hfMeta(tiny(`,"added_tokens":[{"id":11,"content":"<w>","special":false,"single_word":true}]`), `{}`, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	v := newVocab(t, spec)
	for _, tt := range []struct {
		beside string
		want   bool
	}{{"", true}, {" ", true}, {"-", true}, {"²", true}, {"a", false}, {"_", false}, {"7", false}, {"Ⅷ", false}, {"〣", false}, {"ⓐ", false}, {"\u200d", false}, {"\u0301", false}} {
		for _, text := range []string{tt.beside + "<w>", "<w>" + tt.beside} {
			if got := slices.Contains(v.Encode(nil, text, true), 11); got != tt.want {
				t.Errorf("%+q has the token: %v, want %v", text, got, tt.want)
			}
		}
	}
}

func TestHFErrors(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		is         error
		want       string
	}{
		{"none", "", token.ErrFormat, "no tokenizer.json"},
		{"not JSON", "{", token.ErrFormat, "tokenizer.json"},
		{"no model", "{}", token.ErrFormat, "model"},
		{"unknown model", `{"model":{"type":"WordLevel","vocab":{}}}`, token.ErrUnsupported, `model "WordLevel"`},
		{"huge id", `{"model":{"type":"BPE","vocab":{"a":4000000000},"merges":[]}}`, token.ErrFormat, "number 4000000000"},
		{"negative id", `{"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}}`, token.ErrFormat, "number -1"},
		{"holes", `{"model":{"type":"BPE","vocab":{"a":1000000},"merges":[]}}`, token.ErrFormat, "numbers up to 1000000"},
		{"two tokens of one number", `{"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}}`, token.ErrFormat, "token 0 is"},
		{"merge of nothing", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`, token.ErrFormat, "merge 0"},
		{"merge of three", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a a"]}}`, token.ErrFormat, "no pair"},
		{"subword suffix", `{"model":{"type":"BPE","vocab":{"a":0},"merges":[],"end_of_word_suffix":"</w>"}}`, token.ErrUnsupported, "end of words"},
		{"unknown token", `{"model":{"type":"BPE","vocab":{"a":0},"merges":[],"unk_token":"u"}}`, token.ErrFormat, "unknown token"},
		{"unigram without its unknown", `{"model":{"type":"Unigram","vocab":[["a",0]],"unk_id":1}}`, token.ErrFormat, "number 1 of 1"},
		{"added beyond", tiny(`,"added_tokens":[{"id":99999999,"content":"x"}]`), token.ErrFormat, "number 99999999"},
		{"added over another", tiny(`,"added_tokens":[{"id":1,"content":"x"}]`), token.ErrFormat, `"a"`},
		{"normalizer", tiny(`,"normalizer":{"type":"Nmt"}`), token.ErrUnsupported, `normalizer "Nmt"`},
		{"pre-tokenizer", tiny(`,"pre_tokenizer":{"type":"UnicodeScripts"}`), token.ErrUnsupported, `pre-tokenizer "UnicodeScripts"`},
		{"post-processor", tiny(`,"post_processor":{"type":"Odd"}`), token.ErrUnsupported, `post-processor "Odd"`},
		{"decoder", tiny(`,"decoder":{"type":"CTC"}`), token.ErrUnsupported, `decoder "CTC"`},
		{"deep", tiny(`,"normalizer":` + strings.Repeat(`{"type":"Sequence","normalizers":[`, 20) + strings.Repeat(`]}`, 20)), token.ErrUnsupported, "nested"},
		{"look-behind", tiny(`,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(?<=a)b"},"behavior":"Isolated"}`), token.ErrUnsupported, "(?<"},
		{"possessive", tiny(`,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a++"},"behavior":"Isolated"}`), token.ErrUnsupported, "a++"},
		{"long pattern", tiny(`,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"` + strings.Repeat("a", 20000) + `"},"behavior":"Isolated"}`), token.ErrUnsupported, "20000 bytes"},
		{"behaviour", tiny(`,"pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Odd"}`), token.ErrUnsupported, `"Odd"`},
		{"template beyond", tiny(`,"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}}],"special_tokens":{"x":{"ids":[77]}}}`), token.ErrFormat, "token 77"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec, err := token.FromHF(hfMeta(tt.text, "", ""))
			if err == nil {
				_, err = token.New(spec)
			}
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want %q and %v", err, tt.want, tt.is)
			}
		})
	}
}

// FuzzHF reads any text as tokenizer.json and encodes with what comes out.
func FuzzHF(f *testing.F) {
	f.Add(tiny(""), "ab-a")
	f.Add(tiny(`,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\w+|[^\\s]|\\s+(?!\\S)|\\s+"},"behavior":"Isolated"}`), "a  b")
	f.Add(tiny(`,"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"},"decoder":{"type":"Metaspace"}`), "É a")
	f.Add(`{"model":{"type":"Unigram","vocab":[["?",0],["a",-1]],"unk_id":0,"byte_fallback":true}}`, "ab")
	f.Add(`{"model":{"type":"WordPiece","unk_token":"?","vocab":{"?":0,"a":1,"##b":2}},"pre_tokenizer":{"type":"ByteLevel"}}`, "ab é")
	f.Fuzz(func(t *testing.T, tokenizer, text string) {
		spec, err := token.FromHF(hfMeta(tokenizer, "", ""))
		var v *token.Vocab
		if err == nil {
			v, err = token.New(spec)
		}
		if err != nil {
			if !errors.Is(err, token.ErrFormat) && !errors.Is(err, token.ErrUnsupported) {
				t.Errorf("%v; wraps no sentinel", err)
			}
			return
		}
		for _, id := range v.EncodeSequence(text, true) {
			if id < 0 || int(id) >= v.Size() {
				t.Fatalf("token %d of %d", id, v.Size())
			}
		}
		if _, err := token.ToGGUF(hfMeta(tokenizer, "", ""), v.Size()+1); err != nil && !errors.Is(err, token.ErrFormat) && !errors.Is(err, token.ErrUnsupported) {
			t.Errorf("ToGGUF: %v; wraps no sentinel", err)
		}
	})
}
