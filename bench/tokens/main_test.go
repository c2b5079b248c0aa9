package main

import (
	"slices"
	"strings"
	"testing"

	"quern/engine/token"
	"quern/formats/weights"
)

// bytewise is a vocabulary of single bytes.
func bytewise() *vocab {
	v := &vocab{ids: make(map[string]int)}
	for b, n := 0, 0x100; b < 256; b++ {
		r := rune(b)
		if !('!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b) {
			r = rune(n)
			n++
		}
		v.ids[string(r)] = b
	}
	return v
}

// TestRows says that quern takes what peers are given, and that bytes are bytes
// in both spellings.
func TestRows(t *testing.T) {
	v := bytewise()
	for _, pre := range rows {
		text, err := v.tokenizer(pre)
		if err != nil {
			t.Fatal(err)
		}
		var m weights.Meta
		m.Set("hf.config", "{}")
		m.Set("hf.tokenizer", string(text))
		spec, err := token.From(&m)
		if err != nil {
			t.Fatalf("%s: %v", pre.name, err)
		}
		quern, err := token.New(spec)
		if err != nil {
			t.Fatalf("%s: %v", pre.name, err)
		}
		if got, want := quern.Encode(nil, "a é\n", false), []token.ID{'a', ' ', 0xC3, 0xA9, '\n'}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", pre.name, got, want)
		}
	}
	ranks := strings.Fields(string(v.ranks()))
	if len(ranks) != 2+256 || ranks[2+'a'] != "YQ==" || ranks[2] != "AA==" {
		t.Errorf("%d fields, a is %s", len(ranks), ranks[2+'a'])
	}
}

// TestDifferent says that a table that claims the same tokens compared them.
func TestDifferent(t *testing.T) {
	if n := different([][]int32{{1}, {2, 3}}, [][]int32{{1}, {2}}); n != 1 {
		t.Errorf("%d differ, want 1", n)
	}
}
