package g2p_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"quern/engine/tts/g2p"
)

// A reading is a line of testdata/reading: a text and the words that are heard, or
// one word of it and its phonemes, wherever it stands.
type reading struct {
	accent           g2p.Accent
	text, word, want string
}

func (r *reading) String() string {
	if r.word != "" {
		return r.text + " / " + r.word
	}
	return r.text
}

// readings returns the lines of a file: "text => words", "text / word phonemes",
// and, where phonemes is set, "word => phonemes". "gb " in front is British English; " | "
// stands between lines that are as right, {a|b} between words that are.
func readings(t *testing.T, path string, phonemes bool) []reading {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []reading
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		line = strings.ReplaceAll(line, "⏎", "\n") // within a text
		r := reading{}
		rest, british := strings.CutPrefix(line, "gb ")
		if british {
			r.accent = g2p.British
		}
		switch text, want, ok := strings.Cut(rest+" ", " => "); {
		case ok:
			r.text, r.want = text, strings.TrimSpace(want)
			if phonemes {
				r.word = strings.ToLower(text)
			}
		default:
			k := strings.LastIndex(rest, " / ")
			f := strings.Fields(rest[k+1:])
			if k < 0 || len(f) < 3 {
				t.Fatalf("%s: %q is no case", path, line)
			}
			r.text, r.word, r.want = rest[:k], f[1], strings.Join(f[2:], " ")
		}
		out = append(out, r)
	}
	return out
}

// heard returns what g makes of r, to be compared with what it should be.
func (r *reading) heard(g *g2p.G2P) string {
	tokens := g.Phonemize(r.text, r.accent)
	if r.word == "" {
		return words(tokens)
	}
	var found []string
	for _, t := range tokens {
		if strings.EqualFold(r.text[t.Start:t.End], r.word) || strings.EqualFold(t.Text, r.word) {
			found = append(found, t.Phonemes)
		}
	}
	return strings.Join(found, " ")
}

// words are the words that are heard: small letters, and capitals for those that
// are spelled.
func words(tokens []g2p.Token) string {
	var out []string
	for _, t := range tokens {
		switch {
		case t.Kind != g2p.Word:
		case t.Source == g2p.Spelled:
			letters, possessive := strings.CutSuffix(strings.ReplaceAll(t.Text, "-", ""), "'s")
			for _, r := range letters {
				out = append(out, string(r))
			}
			if possessive {
				out[len(out)-1] += "'s"
			}
		default:
			out = append(out, strings.ReplaceAll(t.Text, "-", " "))
		}
	}
	return strings.ToLower(strings.Join(out, " "))
}

// agree reports whether got is one of the lines that want stands for.
func agree(got, want string) bool {
	head, rest, ok := strings.Cut(want, "{")
	if !ok {
		return got == strings.Join(strings.Fields(want), " ")
	}
	if !strings.HasPrefix(got, strings.TrimSpace(head)) {
		return false
	}
	words, tail, _ := strings.Cut(rest, "}")
	for w := range strings.SplitSeq(words, "|") {
		if agree(got, head+w+tail) {
			return true
		}
	}
	return false
}

// TestReading holds what is read against the tables in testdata/reading.
func TestReading(t *testing.T) {
	g := open(t)
	files, err := filepath.Glob("testdata/reading/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no tables", err)
	}
	total := 0
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			list := readings(t, path, name == "words")
			wrong := 0
			for _, r := range list {
				want := r.want
				if r.word == "" {
					want = strings.ToLower(strings.ReplaceAll(want, "-", " "))
				}
				got := r.heard(g)
				if !slices.ContainsFunc(strings.Split(want, " | "), func(want string) bool { return agree(got, want) }) {
					wrong++
					t.Errorf("%v: got %q, want %q", &r, got, want)
				}
			}
			total += len(list)
			if wrong > 0 {
				t.Errorf("%d of %d are wrong", wrong, len(list))
			}
		})
	}
	if total < 600 {
		t.Errorf("%d cases; the tables hold 600 at least", total)
	}
}

// TestReadingDocumented holds the table of docs/speech.md against the cases: each file is in it,
// with how many there are.
func TestReadingDocumented(t *testing.T) {
	files, err := filepath.Glob("testdata/reading/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]int{}
	for _, f := range files {
		cases[strings.TrimSuffix(filepath.Base(f), ".txt")] = len(readings(t, f, false))
	}
	text, err := os.ReadFile("../../../docs/speech.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n| table | cases |")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		sum := 0
		for _, word := range strings.FieldsFunc(cells[1], func(r rune) bool { return !unicode.IsLetter(r) }) {
			sum += cases[word]
			delete(cases, word)
		}
		if got := strings.TrimSpace(cells[2]); sum > 0 && got != strconv.Itoa(sum) {
			t.Errorf("docs/speech.md says %s cases, and there are %d:%s", got, sum, cells[1])
		}
	}
	for name, n := range cases {
		t.Errorf("docs/speech.md does not have %s, of %d cases", name, n)
	}
}
