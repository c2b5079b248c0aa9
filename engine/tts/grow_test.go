package tts

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
)

// pieces gives a text in pieces of n bytes.
func pieces(text string, n int) func(context.Context) (More, error) {
	return func(context.Context) (More, error) {
		if text == "" {
			return More{}, io.EOF
		}
		k := min(n, len(text))
		m := More{Text: text[:k]}
		text = text[k:]
		return m, nil
	}
}

// A literal synthesiser has a sound of its own for each symbol.
type literal struct{ Synth }

func (s literal) Speak(ctx context.Context, symbols []rune, _ string, _ float64, _ uint64) ([]float32, []int, error) {
	samples, spans, err := plain{}.Speak(ctx, symbols, "", 1, 0)
	for i, r := range symbols {
		for k := range 100 {
			samples[3000+100*i+k] = 0.1 + float32(r)/1000
		}
	}
	return samples, spans, err
}

// told is what is heard of a request, with a line for each chunk.
func told(t *testing.T, s Synth, p *Pronouncer, r Request, each func()) (samples []float32, chunks []string) {
	t.Helper()
	if r.Voice == "" {
		r.Voice = s.Voices()[0].ID
	}
	r.Speed = 1
	end := 0
	for c, err := range Speak(t.Context(), s, p, r) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Start != end {
			t.Errorf("a chunk begins at byte %d, behind %d", c.Start, end)
		}
		end = c.End
		each()
		samples = append(samples, c.Samples...)
		line := fmt.Sprint(c.Start, "-", c.End, ":")
		for _, w := range c.Words {
			line += fmt.Sprintf(" %s %d-%d %.4f-%.4f", w.Said, w.Start, w.End, w.From, w.To)
		}
		chunks = append(chunks, line)
	}
	return samples, chunks
}

// paragraphs are texts of some sentences each, of the tables that reading is tested with.
func paragraphs(t *testing.T) (list []string) {
	files, err := filepath.Glob("g2p/testdata/reading/*")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no tables")
	}
	var some []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			text, _, ok := strings.Cut(strings.TrimSpace(line), " => ")
			if !ok || strings.HasPrefix(line, "#") {
				continue
			}
			text, _, _ = strings.Cut(text, " / ")
			if some = append(some, text); len(some) == 6 {
				list = append(list, strings.Join(some, []string{" ", ". ", "\n"}[len(list)%3]))
				some = nil
			}
		}
	}
	if !fixtures.Whole { // one in eight, with each way to join lines
		n := 0
		for i := 0; i < len(list); i += 8 {
			list[n], n = list[i], n+1
		}
		list = list[:n]
	}
	return list
}

// TestGrowing: a text that comes in pieces is cut and pronounced as if it had come at
// once, wherever the pieces end.
func TestGrowing(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	list := append(paragraphs(t),
		"Here is the first sentence, and it is a long one. [pause:0.5s] Is that the second? Stop.",
		"“That is all!” he said, and left. \"Is it?\" she asked him. \"It is.\" Then nobody spoke for a while.",
		"Sure! Here is how a windmill works:\n\n1. The wind turns the sails.\n2. The sails turn the shaft, and that turns the stones.\n\nThat is **all** there is to it.",
		`The mean is known. $$\bar{x} = \frac{1}{n} \sum_{i=1}^{n} x_i, \quad n > 0, \quad i \leq n, \quad x_i \in (0, 1)$$ That is **it,** and \( a + b, c + d, e + f, g + h, i + j \) follows.`,
		"Here is the page. [The first word, the second word, and then the third, the fourth and the last](https://example.com/a) has it. **Bold** words follow.",
		"It costs $5 now, and $$ it is left open here. So is \\( that, with all, that is, behind it. [Nor is this, or that, a link at all.",
		"Set $f(x, y, z, w) = x + y + z + w, x > 0$ first. Then $HOME, or $x, or $5, or [1], or a[i], or \\n is left.",
		strings.Repeat("words without any mark that go on and on ", 40), "…!", "", " \n ")
	differ, sentences, early := 0, 0, 0
	for _, s := range []Synth{literal{plain{400}}, literal{eager{plain{400}}}} {
		for i, text := range list {
			want, chunks := told(t, s, p, Request{Text: text}, func() {})
			more, ended := pieces(text, 1+i%9), false
			got, pieced := told(t, s, p, Request{More: func(ctx context.Context) (More, error) {
				m, err := more(ctx)
				ended = err != nil
				return m, err
			}}, func() {
				if !ended {
					early++
				}
			})
			sentences += len(chunks)
			if !slices.Equal(pieced, chunks) || !slices.Equal(got, want) {
				differ++
				t.Logf("%q\n in pieces %q\n   at once %q", text, pieced, chunks)
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d texts are said otherwise in pieces", differ, 2*len(list))
	}
	if sentences < 100 || early < sentences/6 {
		t.Errorf("%d utterances, of which %d were heard before all of their text was there", sentences, early)
	}
}

// Haste says where a text is cut.
func TestHaste(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("the long sentence goes on ", 3)
	for _, tt := range []struct {
		name string
		more []More
		want string // what is heard before the next piece is waited for, between bars
	}{
		{"patient", []More{{Text: "Here is the first sentence of them. "}, {Text: "And here the second one. "}, {Text: "Now the third begins"}},
			"||Here is the first sentence of them.|And here the second one. Now the third begins"},
		{"whole sentences", []More{{"Here is the first sentence of them. And", Sentences}, {" here the second one. ", Sentences}, {"Now the third", Sentences}},
			"Here is the first sentence of them.|And here the second one.||Now the third"},
		{"a point that ends nothing yet", []More{{"Here is 3.", Sentences}, {"5 of what you asked for. ", Sentences}}, "|Here is three point five of what you asked for.|"},
		{"clauses", []More{{"Here is what you want, my friend,", Clauses}, {" and it is", Clauses}, {" good. ", Clauses}}, "Here is what you want, my friend,||and it is good.|"},
		{"flushes", []More{{"Here is", Flush}, {" what you", Patient}, {" want. ", Flush}, {"Good", Patient}}, "Here is||what you want.||Good"},
		{"flushes of nothing", []More{{"", Flush}, {" ", Flush}, {"Good", Patient}, {"", Flush}}, "|||Good|"},
		{"a clause that is settled", []More{{Text: long + "and on, " + long + "and on "}, {Text: long + "until it ends."}},
			long + "and on,||" + long + "and on " + long + "until it ends."},
	} {
		var got strings.Builder
		next := 0
		for c, err := range Speak(t.Context(), plain{400}, p, Request{Voice: "af_plain", Speed: 1, More: func(context.Context) (More, error) {
			if next++; next > 1 {
				got.WriteString("|")
			}
			if next > len(tt.more) {
				return More{}, io.EOF
			}
			return tt.more[next-1], nil
		}}) {
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range c.Words {
				if i > 0 || !strings.HasSuffix("|"+got.String(), "|") {
					got.WriteString(" ")
				}
				got.WriteString(w.Said)
			}
		}
		if want := strings.NewReplacer(".", "", ",", "").Replace(tt.want); got.String() != want {
			t.Errorf("%s: %q; want %q", tt.name, got.String(), want)
		}
	}
}

// A pause that belongs between two sentences is there when they are flushed apart, and
// not behind the last.
func TestFlushed(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	const first, second = "Here is the first sentence. ", "And here is the second."
	want, _ := told(t, literal{plain{400}}, p, Request{Text: first + second}, func() {})
	list := []More{{first, Flush}, {second, Flush}}
	got, _ := told(t, literal{plain{400}}, p, Request{More: func(context.Context) (More, error) {
		if len(list) == 0 {
			return More{}, io.EOF
		}
		m := list[0]
		list = list[1:]
		return m, nil
	}}, func() {})
	loud := func(x []float32) (places []int) {
		for i, v := range x {
			if v > 0.01 {
				places = append(places, i)
			}
		}
		return places
	}
	if len(got) != len(want) || !slices.Equal(loud(got), loud(want)) {
		t.Errorf("%d samples in pieces, %d at once, or sound in other places", len(got), len(want))
	}
}

// What was spoken is forgotten, and what cannot be spoken is not read over and over.
func TestGrowingBounds(t *testing.T) {
	p, err := NewPronouncer(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text    string
		most, atLeast int
	}{
		{"sentences", strings.Repeat("The old mill stands by the river, as it always did. ", 200), 1000, 40},
		{"words", strings.Repeat("word ", 4000), 2000, 30},
		{"marks", strings.Repeat("# ", 5000), 1100, 0},
		{"quotes", strings.Repeat("He said \"no and went away. ", 400), mostQuoted + 1000, 30},
		{"one word", strings.Repeat("a", 8000), 8000, 0},
	} {
		g := growing{p: p, limit: 400, as: Text{Usual: "en-us"}, more: pieces(tt.text, 3)}
		tell := teller{s: plain{400}, r: Request{Voice: "af_plain", Speed: 1}, cutter: newSplitter(plain{400})}
		most, reads, chunks := 0, 0, 0
		for !g.ended {
			if g.due() {
				reads += len(g.as.Text)
			}
			if err := tell.tell(t.Context(), &g, func(Chunk, error) bool { chunks++; return true }); err != nil {
				t.Fatal(err)
			}
			most = max(most, len(g.as.Text))
			if _, err := g.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if most > tt.most || chunks < tt.atLeast || reads > 200*len(tt.text) {
			t.Errorf("%s: %d bytes kept, %d chunks, %d bytes read of %d", tt.name, most, chunks, reads, len(tt.text))
		}
	}
}
