package embed

import (
	"errors"
	"slices"
	"testing"

	"quern/engine/model"
	"quern/engine/token"
	"quern/formats/weights"
)

func TestLongestFirst(t *testing.T) {
	for _, tt := range []struct{ a, b, n, first, second int }{
		{3, 4, 10, 3, 4}, {3, 10, 10, 3, 7}, {10, 3, 10, 7, 3}, {8, 9, 10, 5, 5}, {9, 8, 11, 6, 5}, {8, 9, 11, 5, 6}, {5, 5, 0, 0, 0}, {0, 9, 4, 0, 4},
	} {
		if a, b := longestFirst(tt.a, tt.b, tt.n); a != tt.first || b != tt.second {
			t.Errorf("longestFirst(%d, %d, %d) = %d, %d; want %d, %d", tt.a, tt.b, tt.n, a, b, tt.first, tt.second)
		}
	}
}

func TestPairing(t *testing.T) {
	for _, tt := range []struct {
		name, post string
		ids        []token.ID
		kinds      []int64
	}{
		{"BERT", `{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]}`, []token.ID{2, 10, 3, 20, 21, 3}, []int64{0, 0, 0, 1, 1, 1}},
		{"RoBERTa", `{"type":"RobertaProcessing","sep":["</s>",3],"cls":["<s>",2],"trim_offsets":true}`, []token.ID{2, 10, 3, 3, 20, 21, 3}, make([]int64, 7)},
		{"a sequence", `{"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":"TemplateProcessing","pair":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"x","type_id":1}},
			{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"x":{"id":"x","ids":[7,8]}}}]}`, []token.ID{10, 7, 8, 20, 21}, []int64{0, 1, 1, 1, 1}},
		{"nothing", `null`, nil, nil},
		{"one text", `{"type":"TemplateProcessing","pair":[{"Sequence":{"id":"A","type_id":0}}]}`, nil, nil},
		{"a token too high", `{"type":"BertProcessing","sep":["[SEP]",3000],"cls":["[CLS]",2]}`, nil, nil},
		{"no tokens", `{"type":"BertProcessing"}`, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var meta weights.Meta
			meta.Set("hf.tokenizer", `{"post_processor":`+tt.post+`}`)
			p, err := pairingOf(&meta, nil, 100, "")
			if (err == nil) != (tt.ids != nil) {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			ids, kinds := p.join([]token.ID{10}, []token.ID{20, 21})
			if !slices.Equal(ids, tt.ids) || !slices.Equal(kinds, tt.kinds) || p.special != len(tt.ids)-3 {
				t.Errorf("got %v of %v with %d, want %v of %v", ids, kinds, p.special, tt.ids, tt.kinds)
			}
		})
	}
}

// GGUF files do not say how pairs are put together: their tokenizer and architecture do.
func TestUsualPairing(t *testing.T) {
	for _, tt := range []struct {
		name, model, arch string
		special           map[token.Role]token.ID
		ids               []token.ID
		kinds             []int64
	}{
		{"WordPiece", "bert", "bert", map[token.Role]token.ID{token.BOS: 1, token.SEP: 2}, []token.ID{1, 10, 2, 20, 21, 2}, []int64{0, 0, 0, 1, 1, 1}},
		{"RoBERTa", "gpt2", "bert", map[token.Role]token.ID{token.BOS: 1, token.EOS: 2, token.SEP: 2}, []token.ID{1, 10, 2, 2, 20, 21, 2}, make([]int64, 7)},
		{"XLM-RoBERTa without a token between texts", "t5", "bert", map[token.Role]token.ID{token.BOS: 1, token.EOS: 2}, []token.ID{1, 10, 2, 2, 20, 21, 2}, make([]int64, 7)},
		{"ModernBERT", "gpt2", "modern-bert", map[token.Role]token.ID{token.BOS: 1, token.EOS: 2, token.SEP: 2}, []token.ID{1, 10, 2, 20, 21, 2}, make([]int64, 6)},
		{"no end", "gpt2", "modern-bert", map[token.Role]token.ID{token.BOS: 1}, nil, nil},
		{"no beginning", "gpt2", "bert", map[token.Role]token.ID{token.EOS: 1}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := token.Spec{Model: "llama", Special: tt.special, Kinds: slices.Repeat([]token.Kind{token.Control}, 4)}
			for i := range 4 {
				s.Tokens = append(s.Tokens, string(rune('a'+i)))
			}
			v, err := token.New(s)
			if err != nil {
				t.Fatal(err)
			}
			var meta weights.Meta
			meta.Set("tokenizer.ggml.model", tt.model)
			meta.Set("general.architecture", tt.arch)
			p, err := pairingOf(&meta, v, 4, "")
			if (err == nil) != (tt.ids != nil) {
				t.Fatalf("error %v", err)
			}
			ids, kinds := p.join([]token.ID{10}, []token.ID{20, 21})
			if err == nil && (!slices.Equal(ids, tt.ids) || !slices.Equal(kinds, tt.kinds) || p.special != len(tt.ids)-3) {
				t.Errorf("got %v of %v with %d, want %v of %v", ids, kinds, p.special, tt.ids, tt.kinds)
			}
		})
	}
}

// FuzzPairing: whatever a post-processor says, tokens stay within the
// vocabulary, and both texts are there once.
func FuzzPairing(f *testing.F) {
	f.Add(`{"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]}`)
	f.Add(`{"type":"Sequence","processors":[{"type":"RobertaProcessing","sep":["</s>",3],"cls":["<s>",2]},null]}`)
	f.Add(`{"type":"TemplateProcessing","pair":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"x","type_id":-1}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"x":{"ids":[7,8]}}}`)
	f.Fuzz(func(t *testing.T, post string) {
		var meta weights.Meta
		meta.Set("hf.tokenizer", `{"post_processor":`+post+`}`)
		p, err := pairingOf(&meta, nil, 100, "")
		if err != nil {
			if !errors.Is(err, model.ErrFormat) && !errors.Is(err, model.ErrUnsupported) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		ids, kinds := p.join([]token.ID{40}, []token.ID{50, 51})
		if len(ids) != p.special+3 || len(kinds) != len(ids) {
			t.Fatalf("%d tokens of %d types, want %d", len(ids), len(kinds), p.special+3)
		}
		for _, id := range ids {
			if id < 0 || id >= 100 {
				t.Fatalf("token %d", id)
			}
		}
	})
}
