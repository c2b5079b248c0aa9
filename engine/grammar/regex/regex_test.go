package regex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"quern/bench/fixtures"
	"quern/engine/grammar"
	"quern/engine/grammar/regex"
)

func letters(t testing.TB) *grammar.Trie {
	v := grammar.Vocab{EOG: []int32{256}}
	for b := range 257 {
		v.Bytes = append(v.Bytes, []byte{byte(b)})
	}
	trie, err := grammar.NewTrie(v)
	if err != nil {
		t.Fatal(err)
	}
	return trie
}

func compile(trie *grammar.Trie, pattern string, o regex.Options) (*grammar.Grammar, error) {
	b := grammar.NewBuilder(grammar.Limits{})
	r, err := regex.Parse(pattern, o)
	if err != nil {
		return nil, err
	}
	return b.Compile(b.Lexeme(r), trie)
}

func matches(g *grammar.Grammar, text string) bool {
	s := g.New()
	for i := range len(text) {
		if s.Accept(int32(text[i])) != nil {
			return false
		}
	}
	return s.MayEnd()
}

func TestFixtures(t *testing.T) {
	text, err := os.ReadFile(fixtures.Path(t, "grammars", "regex.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	trie := letters(t)
	for line := range bytes.Lines(text) {
		var f struct {
			ID, Grammar    string
			Accept, Reject []string
		}
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		g, err := compile(trie, f.Grammar, regex.Options{})
		if err != nil {
			t.Errorf("%s: %q: %v", f.ID, f.Grammar, err)
			continue
		}
		for _, s := range f.Accept {
			if !matches(g, s) {
				t.Errorf("%s: %q does not match %q", f.ID, f.Grammar, s)
			}
		}
		for _, s := range f.Reject {
			if matches(g, s) {
				t.Errorf("%s: %q matches %q", f.ID, f.Grammar, s)
			}
		}
	}
}

// patterns are those that the standard library reads alike.
var patterns = []string{
	`abc`, `^abc$`, `^ab|bc$`, `a^b`, `(^a|b)c($|d)`, `(a|b)*abb`, `(?:ab?){2,3}`, `a{0}`, `a{2,}b?`, `[^a-c]+`, `[a\-c]+`, `\d+(\.\d{1,2})?`,
	`\w+\W\w*`, `a.c`, `(a*)*b`, `(a|aa)+$`, `^(a?){3}a{3}$`, `x*?y+?`, `é+|日本`, `[à-ü]{1,2}`, `\x41\.\/`, `(((a)))`, `()`, `a||b`, `^$`, `$^`, `a$b`,
	`[\d\-.]+`, `\p{Lu}\p{Ll}*`, `\P{L}`, `(a(b(c)?)?)?`, `^(?:[01]\d|2[0-3]):[0-5]\d$`, `^a?$|^bb?$`, `(ab|a)(bc|c)`, `[[:a-]b`, `a?(^b|c$)`, `(a$|b)(^c|d)?`, `a{1,2}{`, `^[^b]*b[^b]*$`,
}

// TestAgainstStandard compares texts, made of the letters of the patterns, with
// what package regexp says of them.
func TestAgainstStandard(t *testing.T) {
	trie := letters(t)
	rng := rand.New(rand.NewPCG(1, 1))
	alphabet := []string{"a", "a", "b", "b", "c", "d", "x", "y", "0", "1", "2", "3", ":", "-", ".", "/", "A", "B", "é", "à", "日", "本", " ", "\n", "[", "]", "{"}
	for _, p := range patterns {
		std, err := regexp.Compile(strings.ReplaceAll(p, `\/`, `/`))
		if err != nil {
			continue
		}
		whole := regexp.MustCompile(`\A(?:` + std.String() + `)\z`)
		var search, full *grammar.Grammar
		for _, way := range []struct {
			g **grammar.Grammar
			o regex.Options
		}{{&search, regex.Options{Search: true}}, {&full, regex.Options{}}} {
			if *way.g, err = compile(trie, p, way.o); err != nil && !errors.Is(err, grammar.ErrNothing) {
				t.Fatalf("%q: %v", p, err)
			}
		}
		for range 400 {
			var s string
			for range rng.IntN(7) {
				s += alphabet[rng.IntN(len(alphabet))]
			}
			for _, way := range []struct {
				name string
				g    *grammar.Grammar
				std  *regexp.Regexp
			}{{"search", search, std}, {"whole", full, whole}} {
				got := way.g != nil && matches(way.g, s)
				if want := way.std.MatchString(s); got != want {
					t.Errorf("%s of %q in %q: %v, want %v", way.name, p, s, got, want)
				}
			}
		}
	}
}

// TestMeaning holds what the standard library reads otherwise.
func TestMeaning(t *testing.T) {
	trie := letters(t)
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{`.`, []string{"a", "日", "\x00"}, []string{"\n", "\r", "\u2028", "", "\xff"}},
		{`\s\S`, []string{"\u00a0a", "\ufeff日"}, []string{"a ", "\u200ba"}},
		{`[^]`, []string{"\n", "a"}, []string{""}},
		{`[]a]|b`, []string{"b"}, []string{"a]", "]"}},
		{`\cJ\x41\u0042\u{1F600}\uD83D\uDE00\0`, []string{"\nAB😀😀\x00"}, []string{""}},
		{`[\b\t]`, []string{"\b", "\t"}, []string{"b", "t"}},
		{`[^\uD800-\uDFFF]`, []string{"a", "日", "😀"}, []string{""}},
		{`[\uD83D\uDE00-\uD83D\uDE02]`, []string{"😀", "😁"}, []string{"😃"}},
		{`[\w-.]+`, []string{"a-.", "-"}, []string{","}},
		{`[+--]+`, []string{"+,-"}, []string{"."}},
		{`a{,2}{x}`, []string{"a{,2}{x}"}, []string{"aa"}},
		{`a{`, []string{"a{"}, []string{"a"}},
		{`]}`, []string{"]}"}, nil},
		{`(?<year>\d{4})`, []string{"2026"}, []string{"202"}},
		{`\p{Script=Greek}\p{gc=Nd}\p{Letter}\p{ASCII}`, []string{"α1éx"}, []string{"a1éx"}},
		{`(^a)?b`, []string{"ab", "b"}, []string{"aab"}},
		{`a?(^b|c$)`, []string{"ac", "b", "c"}, []string{"ab"}},
		{`\-\/\@\ `, []string{"-/@ "}, nil},
		{`a{2147483648}|b`, []string{"b"}, []string{"a"}},
	} {
		g, err := compile(trie, tt.pattern, regex.Options{})
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		for _, s := range tt.yes {
			if !matches(g, s) {
				t.Errorf("%q does not match %q", tt.pattern, s)
			}
		}
		for _, s := range tt.no {
			if matches(g, s) {
				t.Errorf("%q matches %q", tt.pattern, s)
			}
		}
	}
	if g, err := compile(trie, `a^b`, regex.Options{}); !errors.Is(err, grammar.ErrNothing) {
		t.Errorf("a^b compiles to %v, %v", g, err)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		pattern     string
		at          int
		unsupported bool
		want        string
	}{
		{`a(?=b)`, 1, true, "look-ahead"},
		{`(?!b)`, 0, true, "negative look-ahead"},
		{`(?<=b)`, 0, true, "look-behind"},
		{`(?<!b)`, 0, true, "negative look-behind"},
		{`(a)\1`, 3, true, "back reference"},
		{`\k<x>`, 0, true, "back reference"},
		{`\bword`, 0, true, "word boundaries"},
		{`(?i:a)`, 0, true, "modifiers"},
		{`(?i)a`, 0, true, "modifiers"},
		{`(?P<x>a)`, 0, true, "Python"},
		{`(?>a)`, 0, true, "atomic"},
		{`(^a)*`, 0, true, "anchor"},
		{`\012`, 0, true, "octal"},
		{`\p{Emoji}`, 0, true, "property"},
		{`a++`, 2, false, "nothing to repeat"},
		{`*`, 0, false, "nothing to repeat"},
		{`{2}`, 0, false, "nothing to repeat"},
		{`a|+`, 2, false, "nothing to repeat"},
		{`a{3,2}`, 1, false, "ends before"},
		{`(a`, 0, false, "without its )"},
		{`a)`, 1, false, "without its ("},
		{`[a`, 0, false, "without its ]"},
		{`[z-a]`, 1, false, "ends before"},
		{`\`, 0, false, "backslash at the end"},
		{`[\`, 1, false, "backslash at the end"},
		{`\q`, 0, false, `unknown escape \q`},
		{`\x4`, 0, false, "hexadecimal"},
		{`\u{110000}`, 0, false, "no character"},
		{`\uD800`, 0, false, "no character"},
		{`\c1`, 0, false, "letter after"},
		{`(?<>a)`, 0, false, "want a name"},
		{"\xff", 0, false, "broken UTF-8"},
		{strings.Repeat("(", 300) + strings.Repeat(")", 300), 200, false, "more than 200 groups"},
		{strings.Repeat("a", 1<<16+1), 0, false, "at most"},
	} {
		_, err := regex.Parse(tt.pattern, regex.Options{})
		var e *regex.Error
		if !errors.As(err, &e) || e.Offset != tt.at || e.Unsupported != tt.unsupported || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%.30q: %v; want byte %d, unsupported %v, %q", tt.pattern, err, tt.at, tt.unsupported, tt.want)
		}
	}
}

// TestSpell writes every character twice.
func TestSpell(t *testing.T) {
	twice := func(set grammar.RuneSet) *grammar.Regex {
		var ways []*grammar.Regex
		for _, r := range set.Intersect(grammar.OneOf("abc")) {
			for c := r.Lo; c <= r.Hi; c++ {
				ways = append(ways, grammar.Lit(string(c)+string(c)))
			}
		}
		return grammar.Or(ways...)
	}
	g, err := compile(letters(t), `b[ab]`, regex.Options{Search: true, Spell: twice})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"aabbaacc": true, "bbbb": true, "abba": false, "aabb": false, "aabbcc": false} {
		if matches(g, text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// FuzzParse compares with package regexp where both read the pattern, on texts of
// ASCII without newlines, which both read alike.
func FuzzParse(f *testing.F) {
	for _, p := range patterns {
		f.Add(p, "ab1")
	}
	trie := letters(f)
	f.Fuzz(func(t *testing.T, pattern, text string) {
		r, err := regex.Parse(pattern, regex.Options{Search: true})
		if err != nil {
			return
		}
		b := grammar.NewBuilder(grammar.Limits{Expressions: 20_000, Compile: 200_000, Fuel: 10_000, States: 2000})
		g, err := b.Compile(b.Lexeme(r), trie)
		if err != nil && !errors.Is(err, grammar.ErrNothing) {
			return
		}
		// Escapes, classes and braces differ in syntax; tables above hold those.
		if strings.ContainsAny(pattern, "\\[]{}") || strings.Contains(pattern, "(?") || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\u2028\u2029") || len(text) > 50 {
			return
		}
		std, stdErr := regexp.Compile(pattern)
		if stdErr != nil {
			return
		}
		var s *grammar.State
		got := g != nil
		if got {
			s = g.New()
			for i := 0; got && i < len(text); i++ {
				got = s.Accept(int32(text[i])) == nil
			}
			got = got && s.MayEnd()
			if s.Err() != nil {
				return
			}
		}
		if want := std.MatchString(text); got != want {
			t.Errorf("%q in %q: %v, want %v", pattern, text, got, want)
		}
	})
}
