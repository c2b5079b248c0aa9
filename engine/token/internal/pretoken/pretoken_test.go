package pretoken_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/token/internal/pretoken"
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
		got := pretoken.Pieces(x.Pre, x.Text)
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
	for _, pre := range pretoken.Pretokenizers() {
		for _, text := range texts {
			pieces := pretoken.Pieces(pre, text)
			if got := strings.Join(pieces, ""); got != text {
				t.Errorf("%s: pieces of %q make %q", pre, text, got)
			}
			if text != "" && slices.Contains(pieces, "") {
				t.Errorf("%s: %q has an empty piece: %q", pre, text, pieces)
			}
		}
	}
}

// FuzzPretokenizers holds every pre-tokenizer against the oracle.
func FuzzPretokenizers(f *testing.F) {
	for _, text := range append(fixtures.Awkward()[:20], "Hello, wörld 123\n\n  \t漢字かな half½ <sentinel:1>IMGIMGAZ'LL") {
		f.Add(text)
	}
	names := pretoken.Pretokenizers()
	f.Fuzz(func(t *testing.T, text string) {
		for _, pre := range names {
			got := pretoken.Pieces(pre, text)
			if want := pretoken.SimplePieces(pre, text); !slices.Equal(got, want) {
				t.Errorf("%s: pieces of %q are\n%q; want\n%q", pre, text, got, want)
			}
		}
	})
}

// TestRandomPieces is FuzzPretokenizers on texts made of what patterns tell apart.
func TestRandomPieces(t *testing.T) {
	texts := fixtures.Awkward()
	if testing.Short() {
		texts = texts[:200]
	}
	for i, pre := range pretoken.Pretokenizers() {
		for k, text := range texts {
			if !fixtures.Whole && (i+k)%3 != 0 {
				continue
			}
			got := pretoken.Pieces(pre, text)
			if want := pretoken.SimplePieces(pre, text); !slices.Equal(got, want) {
				t.Fatalf("%s: pieces of %q are\n%q; want\n%q", pre, text, got, want)
			}
		}
	}
}

// TestPiecesLinear says that the characters read grow with the text and no
// faster, whatever a pre-tokenizer looks ahead for.
func TestPiecesLinear(t *testing.T) {
	const n = 1 << 12
	fills := []string{
		"a", " ", "\n", "漢", "1", "'", "A", "é", "\u0301", "\xff", "<", " \n", "a ", "\u3000", "aA", "\t ", "▁", "ᾈ", "AA1",
		"<sentinel:1", "IMGIMGA", "12,", "١", " .", ".\n", "/", "a b ", "a\u0301 ", strings.Repeat(" ", 600) + "x",
	}
	for _, pre := range pretoken.DistinctPretokenizers() {
		for _, f := range fills {
			for _, tail := range []string{"", "x", "1", " x"} {
				one := pretoken.PieceSteps(pre, strings.Repeat(f, n/len(f))+tail)
				four := pretoken.PieceSteps(pre, strings.Repeat(f, 4*n/len(f))+tail)
				if one < n/len(f) || four > 5*one || one > 50*n {
					t.Errorf("%s: %d bytes of %q and %q take %d steps, four times as many %d", pre, n, f, tail, one, four)
				}
			}
		}
	}
}
