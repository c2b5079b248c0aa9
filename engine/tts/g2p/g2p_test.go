package g2p_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
	"unicode"
	"unicode/utf8"

	"quern/bench/fixtures"
	"quern/engine/tts/g2p"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt")

var opened = sync.OnceValues(func() (*g2p.G2P, error) { return g2p.New(g2p.Options{}) })

// open is what all tests share: with no lexicon of its own, and nothing it is asked changes it.
func open(t testing.TB) *g2p.G2P {
	t.Helper()
	g, err := opened()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// spoken joins what is said.
func spoken(tokens []g2p.Token) string {
	var out []string
	for _, t := range tokens {
		out = append(out, t.Text)
	}
	return strings.Join(out, " ")
}

// TestGolden compares texts with what is said, US and British: four lines each.
func TestGolden(t *testing.T) {
	g := open(t)
	data, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		lines := strings.Split(block, "\n")
		text := lines[0]
		us := g.Phonemize(text, g2p.US)
		got := []string{text, spoken(us), spelling(us), spelling(g.Phonemize(text, g2p.British))}
		out.WriteString(strings.Join(got, "\n") + "\n\n")
		if !*update && !slices.Equal(lines, got) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), block)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/golden.txt", []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// check holds tokens against what every result promises.
func check(t *testing.T, text string, tokens []g2p.Token) {
	t.Helper()
	last := 0
	for _, k := range tokens {
		if k.Start < last || k.End <= k.Start || k.End > len(text) {
			t.Fatalf("%q is bytes %d to %d of %d, after %d", k.Text, k.Start, k.End, len(text), last)
		}
		last = k.Start
		switch k.Kind {
		case g2p.Word:
			if k.Phonemes == "" || k.Source == g2p.None || k.Text == "" {
				t.Fatalf("word without a sound: %+v", k)
			}
		case g2p.Punctuation:
			if utf8.RuneCountInString(k.Phonemes) != 1 {
				t.Fatalf("punctuation %+v", k)
			}
		case g2p.Pause:
			if k.Phonemes != "" || k.Pause < 0 || k.Pause > time.Minute {
				t.Fatalf("pause %+v", k)
			}
		}
		for _, r := range k.Phonemes {
			if !slices.Contains(symbols, r) {
				t.Fatalf("%q: %q is no symbol of Kokoro's", k.Text, r)
			}
		}
	}
}

// symbols are the 114 code points of Kokoro's table.
var symbols = []rune(";:,.!?—…\"()“” \u0303ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ")

func TestOffsets(t *testing.T) {
	g := open(t)
	for _, tt := range []struct {
		text string
		want []string // bytes of the text each token came from
	}{
		{"Pay $5.20 now", []string{"Pay", "$5.20", "$5.20", "$5.20", "$5.20", "$5.20", "now"}},
		{"Dr. Who—5–10", []string{"Dr.", "Who", "—", "5", "–", "10"}},
		{"[Kokoro](/kˈOkəɹO/) [big](+1) [x](http://a.b/c)", []string{"Kokoro", "big", "x"}},
		{"an empty [](/b/) link", []string{"an", "empty", "link"}},
		{"don’t *stop* `it`", []string{"don’t", "stop", "it"}},
		{"U.S. [pause:2s] \U0001F44D", []string{"U.S.", "[pause:2s]", "\U0001F44D", "\U0001F44D"}},
	} {
		tokens := g.Phonemize(tt.text, g2p.US)
		check(t, tt.text, tokens)
		var got []string
		for _, k := range tokens {
			got = append(got, tt.text[k.Start:k.End])
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestSources(t *testing.T) {
	g := open(t)
	for _, tt := range []struct {
		text   string
		source g2p.Source
	}{
		{"windmill", g2p.Lexicon}, {"the", g2p.Rule}, {"quernless", g2p.Rule}, {"blorptastic", g2p.Guess}, {"XKCD", g2p.Spelled}, {"hjkl", g2p.Spelled},
		{"[x](/ˈɛks/)", g2p.Given}, {"你好", g2p.Unreadable}, {strings.Repeat("ab", 100), g2p.Spelled},
	} {
		got := g.Phonemize(tt.text, g2p.US)
		if len(got) == 0 || got[0].Source != tt.source {
			t.Errorf("%q: got %+v, want source %d", tt.text, got, tt.source)
		}
	}
}

func TestPause(t *testing.T) {
	got := open(t).Phonemize("a [pause:1.5s] b [pause:500h] c [pause:x] d", g2p.US)
	var pauses []time.Duration
	for _, k := range got {
		if k.Kind == g2p.Pause {
			pauses = append(pauses, k.Pause)
		}
	}
	if want := []time.Duration{1500 * time.Millisecond, time.Minute}; !slices.Equal(pauses, want) {
		t.Errorf("got %v, want %v", pauses, want)
	}
}

// TestEveryWord checks that no letter of ordinary text goes unsaid.
func TestEveryWord(t *testing.T) {
	g := open(t)
	text := "Zyx qvrt Łódź naïve straße Ærø Привет ψυχή 日本 مرحبا x's McDonald rock-'n'-roll o'clock ABCs re-enter co-op Ångström ﬁne ½ 3½ ٣"
	for _, a := range []g2p.Accent{g2p.US, g2p.British} {
		tokens := g.Phonemize(text, a)
		check(t, text, tokens)
		said := make([]bool, len(text))
		for _, k := range tokens {
			for i := k.Start; i < k.End; i++ {
				said[i] = true
			}
		}
		for i, r := range text {
			if (unicode.IsLetter(r) || unicode.IsNumber(r)) && !said[i] {
				t.Errorf("%q at %d is not said", r, i)
			}
		}
	}
}

// TestHostile bounds the time for texts made to take long.
func TestHostile(t *testing.T) {
	g := open(t)
	for _, tt := range []struct{ name, text string }{
		{"a long word", strings.Repeat("a", 100_000)},
		{"capitals", strings.Repeat("aB", 50_000)},
		{"brackets", strings.Repeat("[", 10_000) + strings.Repeat("](", 10_000) + strings.Repeat(")", 10_000)},
		{"links", strings.Repeat("[a](b)", 20_000)},
		{"digits", strings.Repeat("7", 200_000)},
		{"dashes", strings.Repeat("1-", 100_000)},
		{"dots", strings.Repeat(".", 200_000)},
		{"hyphens", strings.Repeat("x-", 100_000)},
		{"no spaces", strings.Repeat("a.b@c,", 50_000)},
		{"spaces", strings.Repeat(" ", 300_000)},
		{"apostrophes", strings.Repeat("'s", 50_000)},
		{"word of apostrophes", "a" + strings.Repeat("'s", 50_000)},
		{"not UTF-8", strings.Repeat("\xff\xfe", 50_000)},
		{"marks", strings.Repeat("e\u0301", 100_000)},
		{"dollars", strings.Repeat("$", 100_000)},
		{"open formulas", strings.Repeat(`\(`, 100_000)},
		{"groups that stay open", strings.Repeat("$x^{", 50_000)},
		{"parentheses", strings.Repeat("(", 100_000)},
		{"slashes", strings.Repeat("/a", 50_000)},
		{"backslashes", strings.Repeat(`\`, 100_000)},
		{"tags", strings.Repeat("<a", 50_000)},
		{"unknown words", unknown(3000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			part := 10
			if fixtures.Whole {
				part = 2
			}
			text := cut(tt.text, len(tt.text)/part)
			half := cut(text, len(text)/2)
			var m [3]runtime.MemStats
			runtime.ReadMemStats(&m[0])
			g.Phonemize(half, g2p.British)
			runtime.ReadMemStats(&m[1])
			tokens := g.Phonemize(text, g2p.British)
			runtime.ReadMemStats(&m[2])
			check(t, text, tokens)
			// Twice the text takes twice the memory, in as many pieces: nothing grows with its square.
			bytes := [2]uint64{m[1].TotalAlloc - m[0].TotalAlloc, m[2].TotalAlloc - m[1].TotalAlloc}
			count := [2]uint64{m[1].Mallocs - m[0].Mallocs, m[2].Mallocs - m[1].Mallocs}
			// The race detector throws pooled memory away, so a bound of its own holds without it only.
			if bytes[1] > 3*bytes[0]+1<<20 || count[1] > 3*count[0]+1000 || !testing.Short() && bytes[1] > 5000*uint64(len(text)) {
				t.Errorf("%d bytes took %d allocations of %d bytes, half of it %d of %d", len(text), count[1], bytes[1], count[0], bytes[0])
			}
		})
	}
}

// cut returns at most n bytes of s, and no part of a character.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func unknown(n int) string {
	var b strings.Builder
	x := uint32(1)
	for range n {
		for range 9 {
			x = x*1664525 + 1013904223
			b.WriteByte('a' + byte(x>>24)%26)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func TestConcurrent(t *testing.T) {
	g := open(t)
	text := "Blorptastic names like Zyxgraph and Quernstone, $5 each. " + unknown(50)
	want := spelling(g.Phonemize(text, g2p.US))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := spelling(g.Phonemize(text, g2p.US)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	wg.Wait()
}

func TestDictionaries(t *testing.T) {
	dir := fstest.MapFS{
		"us_gold.json":   {Data: []byte(`{"windmill":"wˈɪn","lead":{"DEFAULT":"lˈid","NOUN":"lˈɛd"},"GIF":"ʤˈɪf"}`)},
		"us_silver.json": {Data: []byte(`{"windmill":"sˈɪl","zyx":"zˈɪks"}`)},
	}
	g, err := g2p.New(g2p.Options{Dictionaries: dir})
	if err != nil {
		t.Fatal(err)
	}
	got := spelling(g.Phonemize("The windmill will lead zyx with the lead.", g2p.US))
	if want := "ðə wˈɪn wɪl lˈid zˈɪks wɪð ðə lˈɛd."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, data := range map[string]string{"no JSON": "{", "a number": `{"a":1}`} {
		if _, err := g2p.New(g2p.Options{Dictionaries: fstest.MapFS{"gb_gold.json": {Data: []byte(data)}}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestVocabulary holds the symbols here against Kokoro's published table.
func TestVocabulary(t *testing.T) {
	data, err := os.ReadFile(fixtures.Path(t, "kokoro", "vocab.json"))
	if err != nil {
		t.Fatal(err)
	}
	var table map[string]int
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	for s := range table {
		if r, _ := utf8.DecodeRuneInString(s); !slices.Contains(symbols, r) {
			t.Errorf("%q is missing", s)
		}
	}
	if len(table) != len(symbols) {
		t.Errorf("%d symbols, want %d", len(symbols), len(table))
	}
}

func FuzzPhonemize(f *testing.F) {
	for _, s := range []string{"", "$5.20 at 3:05 pm", "[a](/b/) [pause:1s] [x](+1)", "a [](/b/) c", "Dr. Smith's 1990s", "a@b.com http://x.y/z", "ΑΒΓ Привет 你好\xff", "5-10% 1/2 #3 v1.2.3 ½", "U.S. J. R. e.g.", "x'y-z", "* # > `a` **b**"} {
		f.Add(s)
	}
	g := open(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		for _, a := range []g2p.Accent{g2p.US, g2p.British} {
			check(t, text, g.Phonemize(text, a))
		}
	})
}

func BenchmarkPhonemize(b *testing.B) {
	g := open(b)
	text := strings.Repeat("The history of the windmill is longer than most people think, and by 1850 there were 10,000 of them in Holland. ", 20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		g.Phonemize(text, g2p.US)
	}
}

// An expiring context ends when it was asked n times.
type expiring struct {
	context.Context
	n int
}

func (c *expiring) Err() error {
	if c.n--; c.n <= 0 {
		return context.Canceled
	}
	return nil
}

// Reading and pronouncing end with their context.
func TestPhonemizeStops(t *testing.T) {
	g := open(t)
	text := strings.Repeat("the quick brown fox ", 500)
	whole := &expiring{t.Context(), 1 << 30}
	if _, err := g.Read(whole, text, g2p.Reading{}); err != nil {
		t.Fatal(err)
	}
	asked := 1<<30 - whole.n
	if asked < 2*2000/64 {
		t.Errorf("asked %d times over 2000 words", asked)
	}
	for _, n := range []int{1, asked / 4, asked - 1} {
		ctx := &expiring{t.Context(), n}
		if tokens, err := g.Read(ctx, text, g2p.Reading{}); !errors.Is(err, context.Canceled) || tokens != nil || ctx.n < -1 {
			t.Errorf("ended at question %d of %d: %v, after %d more", n, asked, err, -ctx.n)
		}
	}
}

// spelling returns the phonemes of tokens as Kokoro reads them, pauses left out.
func spelling(tokens []g2p.Token) string {
	var out []byte
	for _, t := range tokens {
		out = append(out, t.Phonemes...)
		if t.Space {
			out = append(out, ' ')
		}
	}
	return string(out)
}

// TestUnclosed: a bar stands where the first formula or link begins that is not closed.
func TestUnclosed(t *testing.T) {
	for _, tt := range []string{
		"plain words|", "$5 and more|", "$5.20|", "a $x^2$ b|", `\(a\) b|`, `\[a\]b|`, "$$a$$ b|", "[a](b) c|", "[1] c|", "[a]\n|", "US$5|", "$HOME/bin|", "$x and then|", "$a\n|",
		"[" + strings.Repeat("long ", 100) + "|", "$$" + strings.Repeat("long ", 300) + "|", "[a](" + strings.Repeat("long ", 300) + "|",
		"so |$x", "so |$x + y", "so |$", "so |$$", "so |$$x + y and more$", `so |\`, `so |\(x + y. And`, `|\[ \frac{1}{2}`, "$a$ |$b", "$$a$$ |$$b", "so |[the link", "so |[the link]", "so |[the link](http", "[a |[b", "|$2^n", "|[]", "|[pause:1", "|$x^2$", "|$$x$$",
	} {
		before, after, _ := strings.Cut(tt, "|")
		if got := g2p.Unclosed(before + after); got != len(before) {
			t.Errorf("%q: at byte %d", tt, got)
		}
	}
}

func Example() {
	g, err := g2p.New(g2p.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range g.Phonemize("Dr. Smith paid $5.", g2p.US) {
		fmt.Println(t.Text, t.Phonemes)
	}
	// Output:
	// Doctor dˈɑktəɹ
	// Smith smˈɪθ
	// paid pˈAd
	// five fˈIv
	// dollars dˈɑləɹz
	// . .
}
