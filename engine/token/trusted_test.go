package token

import (
	"slices"
	"testing"
)

func TestEncodeTrusted(t *testing.T) {
	s := Spec{Model: "llama"}
	add := func(text string, kind Kind) {
		s.Tokens = append(s.Tokens, text)
		s.Kinds = append(s.Kinds, kind)
		s.Scores = append(s.Scores, 0)
	}
	for _, c := range "ab<|>" {
		add(string(c), Normal)
	}
	add("<|a|>", Control)     // 5
	add("<|a|>b", Control)    // 6
	add("<|b|>", UserDefined) // 7
	add("ab", Normal)         // 8, only where a and b meet
	v, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	plain := v.Encode(nil, "<|a|>", false)
	if len(plain) < 2 {
		t.Fatalf("spelled out: %v", plain)
	}
	for _, tt := range []struct {
		name, text string
		client     [][2]int // byte ranges a client sent
		want       []ID
	}{
		{"template", "<|a|>", nil, []ID{5}},
		{"longest", "<|a|>b", nil, []ID{6}},
		{"client", "<|a|>", [][2]int{{0, 5}}, plain},
		{"one byte of it", "<|a|>", [][2]int{{3, 4}}, plain},
		{"shorter one is the template's", "<|a|>b", [][2]int{{5, 6}}, []ID{5, 1}},
		{"user-defined is also the user's", "<|b|>", [][2]int{{0, 5}}, []ID{7}},
		{"text is joined", "ab", [][2]int{{1, 2}}, []ID{8}},
	} {
		got := v.EncodeTrusted(nil, tt.text, func(from, to int) bool {
			for _, c := range tt.client {
				if from < c[1] && c[0] < to {
					return false
				}
			}
			return true
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
