package asr

import (
	"slices"
	"testing"

	"quern/engine/token"
)

func TestFindRun(t *testing.T) {
	same := func(n int) []token.ID { return slices.Repeat([]token.ID{7}, n) }
	for _, tt := range []struct {
		name   string
		tokens []token.ID
		want   run
		ok     bool
	}{
		{"nothing", nil, run{}, false},
		{"a word seven times", same(7), run{}, false},
		{"a word eight times", same(8), run{0, 1, 8}, true},
		{"a phrase three times", slices.Repeat([]token.ID{1, 2, 3}, 3), run{}, false},
		{"a phrase four times", append([]token.ID{9}, slices.Repeat([]token.ID{1, 2, 3}, 4)...), run{1, 3, 4}, true},
		{"a phrase with its beginning again", append(slices.Repeat([]token.ID{1, 2}, 5), 1), run{0, 2, 5}, true},
	} {
		if got, ok := findRun(tt.tokens); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %v, %v; want %v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestCollapse(t *testing.T) {
	m := small(t)
	stamp := m.special.stamp0
	phrase := slices.Repeat([]token.ID{11, 12}, 5)
	s := Segment{Tokens: slices.Concat([]token.ID{stamp, 10}, phrase, []token.ID{13, stamp + 50})}
	for _, id := range append(append([]token.ID{10}, phrase...), 13) {
		s.Logprobs = append(s.Logprobs, TokenLogprob{ID: id})
		s.Words = append(s.Words, Word{Text: string(m.vocab.bytes(id)), Tokens: []token.ID{id}})
	}
	m.collapse(&s)
	if want := []token.ID{stamp, 10, 11, 12, 13, stamp + 50}; !slices.Equal(s.Tokens, want) || s.Text != " 10 11 12 13" || !s.Repaired {
		t.Errorf("left %v %q, want %v", s.Tokens, s.Text, want)
	}
	if len(s.Words) != 4 || s.Words[3].Text != " 13" || len(s.Logprobs) != 4 || s.Logprobs[3].ID != 13 {
		t.Errorf("left words %+v and %+v", s.Words, s.Logprobs)
	}
}

func TestSignsOff(t *testing.T) {
	for text, want := range map[string]bool{
		" Thanks for watching!": true, "Thank you.": true, "Don't forget to subscribe": true,
		"Thank you for the flowers.": false, "": false,
	} {
		if got := signsOff(text); got != want {
			t.Errorf("signsOff(%q) = %v", text, got)
		}
	}
}

func TestAttach(t *testing.T) {
	words := []Word{{Text: " \""}, {Text: " Hello"}, {Text: ","}, {Text: " you"}, {Text: "!"}, {Text: "\""}}
	for i := range words {
		words[i].Tokens = []token.ID{token.ID(i)}
	}
	attach(words)
	var got []string
	for _, w := range words {
		if w.Text != "" {
			got = append(got, w.Text)
		}
	}
	if want := []string{" \" Hello,", " you!\""}; !slices.Equal(got, want) {
		t.Errorf("words %q, want %q", got, want)
	}
}

func TestValid(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "\xe2\x99": "\ufffd", "a\xe2\x99b": "a\ufffdb", "\xff\xfe": "\ufffd\ufffd", "\xf0\x9f\x98": "\ufffd", "é\x80": "é\ufffd",
	} {
		if got := valid([]byte(in)); got != want {
			t.Errorf("valid(%q) = %q, want %q", in, got, want)
		}
	}
}

// The rules of times, one by one, over a vocabulary of ten texts, an end and
// twenty times.
func TestRules(t *testing.T) {
	s := &specials{eot: 10, noTimestamps: 11, stamp0: 12}
	r := &rules{suppress: []token.ID{3}, begin: []token.ID{1, 10}, stamps: true, firstStamp: 14, special: s}
	for _, tt := range []struct {
		name    string
		sampled []token.ID
		want    []token.ID // allowed
	}{
		{"the beginning", nil, []token.ID{12, 13, 14}},
		{"after the first time", []token.ID{12}, []token.ID{0, 1, 2, 4, 5, 6, 7, 8, 9, 10}},
		{"after text", []token.ID{13, 5}, []token.ID{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16, 17, 18, 19}},
		{"after an end", []token.ID{13, 5, 16}, []token.ID{10, 16, 17, 18, 19}},
		{"after a pair", []token.ID{13, 5, 16, 16}, []token.ID{0, 1, 2, 4, 5, 6, 7, 8, 9, 10}},
	} {
		logits := make([]float32, 20)
		for i := range logits[:12] {
			logits[i] = 9 // so that times together do not win
		}
		r.apply(logits, tt.sampled)
		var got []token.ID
		for i, v := range logits {
			if v != never {
				got = append(got, token.ID(i))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	logits := make([]float32, 20) // eight times are likelier than one text
	r.apply(logits, []token.ID{13, 5})
	if logits[0] != never || logits[15] == never {
		t.Errorf("times that are likelier together than any text do not win: %v", logits)
	}
	plain := &rules{suppress: []token.ID{3}, more: []token.ID{12, 13}, special: s}
	logits = make([]float32, 20)
	plain.apply(logits, []token.ID{1})
	if logits[3] != never || logits[12] != never || logits[13] != never || logits[1] == never {
		t.Errorf("without times: %v", logits)
	}
}
