package g2p_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"quern/engine/tts/g2p"
)

// A lexicon as PLS, as JSON and as lines says the same.
func TestUserLexicon(t *testing.T) {
	g := open(t)
	for name, data := range map[string]string{
		"PLS": `<?xml version="1.0" encoding="UTF-8"?>
<lexicon version="1.0" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon" alphabet="ipa" xml:lang="en-US">
  <lexeme><grapheme>quern</grapheme><grapheme>Kwern</grapheme><phoneme>ˈkwɜːn</phoneme><phoneme>a</phoneme></lexeme>
  <lexeme><grapheme>Des Moines</grapheme><phoneme>dəˈmɔɪn</phoneme><example>in Des Moines</example></lexeme>
  <lexeme><grapheme>W3C</grapheme><alias>5 World Wide Webs</alias></lexeme>
  <lexeme><grapheme>C++</grapheme><alias>see plus</alias></lexeme>
</lexicon>`,
		"JSON":  `{"quern": "ˈkwɜːn", "Kwern": "ˈkwɜːn", "Des Moines": "dəˈmɔɪn", "W3C": "=5 World Wide Webs", "C++": "=see plus"}`,
		"lines": "\ufeff# mine\nquern\tˈkwɜːn\r\nKwern ˈkwɜːn\nDes Moines dəˈmɔɪn\n\nW3C =5 World Wide Webs\nC++ =see plus",
	} {
		l, err := g2p.ParseLexicon([]byte(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if l.Len() != 5 {
			t.Errorf("%s: %d words", name, l.Len())
		}
		text := "Quern's querns QUERN Kwern kwern in Des Moines, W3C: C++."
		tokens, err := g.Read(t.Context(), text, g2p.Reading{Lexicons: []*g2p.UserLexicon{nil, l}})
		if err != nil {
			t.Fatal(err)
		}
		check(t, text, tokens)
		if got, want := spoken(tokens), "Quern's querns QUERN Kwern kwern in Des Moines , five World Wide Webs : see plus ."; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		for i, want := range map[int]string{0: "kwˈɜɹnz", 2: "kwˈɜɹn", 3: "kwˈɜɹn", 6: "dəmˈYn"} {
			if got := tokens[i]; got.Phonemes != want || got.Source != g2p.Given {
				t.Errorf("%s: %q is %q by %d, want %q", name, got.Text, got.Phonemes, got.Source, want)
			}
		}
		if got := tokens[8]; text[got.Start:got.End] != "W3C" {
			t.Errorf("%s: %q is said for %q", name, got.Text, text[got.Start:got.End])
		}
	}
	l, _ := g2p.ParseLexicon([]byte("W3C =Wide Web Consortium"))
	for text, want := range map[string]string{"W3C's rules": "Wide Web Consortium's rules", "the W3C’s": "the Wide Web Consortium's", "W3C'sx": "Wide Web Consortium sx"} {
		tokens, err := g.Read(t.Context(), text, g2p.Reading{Lexicons: []*g2p.UserLexicon{l}})
		if err != nil || spoken(tokens) != want {
			t.Errorf("%q: %q, %v, want %q", text, spoken(tokens), err, want)
		}
		check(t, text, tokens)
	}
	l, _ = g2p.ParseLexicon([]byte("goat ɡəʊt"))
	for accent, want := range map[g2p.Accent]string{g2p.US: "ɡˈOt", g2p.British: "ɡˈQt"} {
		tokens, err := g.Read(t.Context(), "goat", g2p.Reading{Accent: accent, Lexicons: []*g2p.UserLexicon{l}})
		if err != nil || tokens[0].Phonemes != want {
			t.Errorf("got %v, %v, want %q", tokens, err, want)
		}
	}
}

func TestUserLexiconRefused(t *testing.T) {
	many := strings.Repeat("a ə\n", 20_001)
	for data, name := range map[string]string{
		"a":            "line 1",
		"a b\nc ʘ":     "line 2",
		"a əʘ":         "character 2",
		`{"a": 5}`:     `"a"`,
		`{"a": "ə"} x`: "",
		`{"a": `:       "",
		`<x/>`:         "<x>",
		`<lexicon><lexeme><phoneme>ə</phoneme></lexeme></lexicon>`:                         "grapheme",
		`<lexicon><grapheme>a</grapheme></lexicon>`:                                        "<grapheme>",
		`<lexicon alphabet="x-sampa"/>`:                                                    "x-sampa",
		"<lexicon>\n<lexeme><grapheme>a</grapheme><phoneme>ʘ</phoneme></lexeme></lexicon>": "line 2",
		`<!DOCTYPE a><lexicon/>`:                                                           "document type",
		`<lexicon><lexeme>`:                                                                "",
		`<!-- a --><?xml version="1.0"?>`:                                                  "no <lexicon>",
		`<lexicon/><lexicon/>`:                                                             "second <lexicon>",
		many:                                                                               "20000 words",
		strings.Repeat("a", 200) + " ə":                                                    "bytes",
		"a =" + strings.Repeat("b", 600):                                                   "alias",
		"a " + strings.Repeat("ə", 300):                                                    "phonemes",
		"a \xff":                                                                           "UTF-8",
		strings.Repeat("# a comment of some length\n", 50_000):                             "bytes",
	} {
		if _, err := g2p.ParseLexicon([]byte(data)); !errors.Is(err, g2p.ErrFormat) || !strings.Contains(err.Error(), name) {
			t.Errorf("%.60q: got %.200v, want it to name %q", data, err, name)
		}
	}
	// What aliases put into a text is bounded.
	l, err := g2p.ParseLexicon([]byte("a =" + strings.Repeat("b ", 240)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t).Read(t.Context(), strings.Repeat("a ", 2000), g2p.Reading{Lexicons: []*g2p.UserLexicon{l}}); !errors.Is(err, g2p.ErrFormat) {
		t.Errorf("aliases without end: %v", err)
	}
}

func TestFromIPA(t *testing.T) {
	for ipa, want := range map[string][2]string{
		"təˈmɑːtoʊ": {"təmˈɑtO", "təmˈɑːtQ"}, "ˈt͡ʃɝt͡ʃ": {"ʧˈɜɹʧ", "ʧˈɜːʧ"}, "bət.n̩": {"bˈətᵊn", "bˈətᵊn"}, "kæt": {"kˈæt", "kˈat"}, "red": {"ɹˈɛd", "ɹˈɛd"},
		"/ˌædˈhɒk/": {"ˌædhˈɑk", "ˌadhˈɒk"},
	} {
		for a := range 2 {
			if got, err := g2p.FromIPA(ipa, g2p.Accent(a)); got != want[a] || err != nil {
				t.Errorf("%s: got %q, %v, want %q", ipa, got, err, want[a])
			}
		}
	}
	var wrong *g2p.PhonemeError
	if _, err := g2p.FromIPA("hə!oʊ", g2p.US); !errors.As(err, &wrong) || wrong.Symbol != '!' || wrong.At != 3 {
		t.Errorf("got %v", err)
	}
}

func FuzzParseLexicon(f *testing.F) {
	f.Add("a ə\nb =c")
	f.Add(`{"a":"ə"}`)
	f.Add(`<lexicon alphabet="ipa"><lexeme><grapheme>a</grapheme><alias>b</alias></lexeme></lexicon>`)
	g := open(f)
	f.Fuzz(func(t *testing.T, data string) {
		l, err := g2p.ParseLexicon([]byte(data))
		if err != nil {
			if !errors.Is(err, g2p.ErrFormat) {
				t.Fatalf("%v wraps no ErrFormat", err)
			}
			return
		}
		if len(data) > 4000 {
			return
		}
		if _, err := g.Read(t.Context(), data, g2p.Reading{Lexicons: []*g2p.UserLexicon{l}}); err != nil && !errors.Is(err, g2p.ErrFormat) {
			t.Fatal(err)
		}
	})
}

// TestSpellingsAlike: of spellings that begin with one word the longest is meant, of those that
// differ in capitals the one that is written; the first of two that are equal.
func TestSpellingsAlike(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "New York %d\t=wrong\n", i)
	}
	b.WriteString("new york\t=small\nNew York\t=large\nnew\t=short\nNew York City\t=long\nNew York City\t=later\nὀδός\t=way\n")
	l, err := g2p.ParseLexicon([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"new york": "small", "New York": "large", "NEW YORK": "small", "New Yorker": "short", "New York City": "long",
		"new york city": "small", "NEW": "short", "News": "", "New York 77": "wrong", "New York 77777": "large", "ὈΔΌΣ": "way",
	} {
		if got, ok := l.Find(text); got.Alias != want || ok != (want != "") {
			t.Errorf("%q is %+v, want %q", text, got, want)
		}
	}
}

// TestManyComments: text that comments cut into pieces is put together in memory in proportion.
func TestManyComments(t *testing.T) {
	document := []byte("<?xml version='1.0' encoding='ISO-8859-1'?><lexicon><lexeme><example>" + strings.Repeat("a<!---->", 100_000) +
		"</example><grapheme>a</grapheme><phoneme>ə</phoneme></lexeme></lexicon>")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l, err := g2p.ParseLexicon(document)
	runtime.ReadMemStats(&after)
	if err != nil || l.Len() != 1 {
		t.Fatalf("%v words, %v", l, err)
	}
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 100 {
		t.Errorf("%d MB were allocated for a document of %d KB", n, len(document)>>10)
	}
}

// BenchmarkSpellingsAlike is of a text whose every word begins 20,000 spellings.
func BenchmarkSpellingsAlike(b *testing.B) {
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, "a b%d ə\n", i)
	}
	l, err := g2p.ParseLexicon([]byte(lines.String()))
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("a ", 100)
	for b.Loop() {
		l.Find(text)
	}
}
