package token_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/engine/token"
)

// TestPretokenizers compares with the original regular expressions, run by
// JavaScript: see testdata/pretok.mjs. TOKEN_PRETOK names a larger file.
func TestPretokenizers(t *testing.T) {
	path := "testdata/pretok.jsonl"
	if p := os.Getenv("TOKEN_PRETOK"); p != "" {
		path = p
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, bad := 0, 0
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var x struct {
			Pre, Text string
			Pieces    []string
		}
		if err := json.Unmarshal(in.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		got, err := token.Pieces(x.Pre, x.Text)
		if err != nil {
			t.Fatal(err)
		}
		lines++
		if slices.Equal(got, x.Pieces) {
			continue
		}
		if bad++; bad <= 20 {
			i := 0
			for i < min(len(got), len(x.Pieces)) && got[i] == x.Pieces[i] {
				i++
			}
			t.Errorf("%s: pieces of %q from number %d are %q; want %q", x.Pre, x.Text, i,
				got[i:min(i+4, len(got))], x.Pieces[i:min(i+4, len(x.Pieces))])
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	if lines == 0 || bad > 0 {
		t.Errorf("%d of %d texts differ", bad, lines)
	}
	t.Logf("%d texts", lines)
}

// TestPiecesCover says that no pre-tokenizer loses or adds a byte.
func TestPiecesCover(t *testing.T) {
	texts := []string{
		"", "a", " ", "\xff", "a\xffb\xe2\x82", "\xe2\x82 1\xf0\x9f", strings.Repeat("\x80", 5),
		"Hello, wörld 123\n\n  \t漢字かな half½ <sentinel:1>IMGIMGAZ'LL",
	}
	for _, pre := range token.Pretokenizers() {
		for _, text := range texts {
			pieces, err := token.Pieces(pre, text)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(pieces, ""); got != text {
				t.Errorf("%s: pieces of %q make %q", pre, text, got)
			}
			if text != "" && slices.Contains(pieces, "") {
				t.Errorf("%s: %q has an empty piece: %q", pre, text, pieces)
			}
		}
	}
}
