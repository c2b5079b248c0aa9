package schema

import (
	"fmt"
	"strings"
	"testing"

	"quern/engine/grammar"
)

// Characters are counted across pieces, however they are spelled.
func TestLongStrings(t *testing.T) {
	trie := byteTrie(t)
	for _, bounds := range [][2]int{
		{0, 128}, {0, 129}, {1, 130}, {63, 191}, {64, 192}, {65, 193}, {100, 300}, {128, 128}, {129, 129}, {130, 191}, {128, 191}, {128, 192},
		{150, 151}, {191, 320}, {192, 256}, {129, -1}, {192, -1}, {200, -1},
	} {
		src := fmt.Sprintf(`{"type":"string","minLength":%d}`, bounds[0])
		most := 400
		if bounds[1] >= 0 {
			src = fmt.Sprintf(`{"type":"string","minLength":%d,"maxLength":%d}`, bounds[0], bounds[1])
			most = bounds[1]
		}
		g, _, err := Compile([]byte(src), trie, grammar.Limits{}, Options{})
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		for _, spelling := range []string{"x", "é", "🙂", `\n`, `\u00e9`, `\ud83d\ude00`} {
			s := g.New()
			accept := func(text string) error {
				for i := range len(text) {
					if err := s.Accept(int32(text[i])); err != nil {
						return err
					}
				}
				return nil
			}
			if err := accept(`"`); err != nil {
				t.Fatal(err)
			}
			for n := range most + 1 {
				if got, want := s.Allows('"'), n >= bounds[0]; got != want {
					t.Fatalf("%s: an end after %d of %s is %v", src, n, spelling, got)
				}
				if n == most {
					break
				}
				if err := accept(spelling); err != nil {
					t.Fatalf("%s: %s %d: %v", src, spelling, n+1, err)
				}
			}
			if got, want := s.Allows(int32(spelling[0])), bounds[1] < 0; got != want {
				t.Errorf("%s: more than %d of %s is %v", src, most, spelling, got)
			}
		}
	}
}

// What a long string costs does not grow with its bound: with a state of the lexer for each character
// the memory of a grammar ended after some six thousand.
func TestLongStringsAreCheap(t *testing.T) {
	trie, mask := byteTrie(t), make([]uint32, byteTrie(t).Words())
	size := func(n int) int {
		g, _, err := Compile(fmt.Appendf(nil, `{"type":"object","properties":{"a":{"type":"string","maxLength":%d}},"required":["a"]}`, n), trie, grammar.Limits{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := g.New()
		for i, b := range []byte(`{"a":"` + strings.Repeat("words of a text ", n/16) + `"}`) {
			if err := s.Mask(mask); err != nil {
				t.Fatalf("%d of %d: %v", i, n, err)
			}
			if err := s.Accept(int32(b)); err != nil {
				t.Fatalf("%d of %d: %v", i, n, err)
			}
		}
		return g.Bytes()
	}
	if short, long := size(256), size(32000); long > short+short/4 {
		t.Errorf("%d bytes for 256 characters and %d for 32000", short, long)
	}
}
