package lang

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/g2p"
)

// characters are those of a script that has no spaces between words.
type characters struct {
	load func() error      // reads the lexicon, once
	has  func(r rune) bool // whether a character has a reading
	// joins reports whether a sign behind one of the characters is part of the run; nil: none is.
	joins func(before, r rune) bool
	// cut appends the words of items that are one run to out. No word lies across the borders, which are
	// places in the text, in order.
	cut func(ctx context.Context, s *scanner, out, run []item, borders []int) ([]item, error)
}

// character reports whether r is one of the characters that the language is written in.
func (l *Language) character(r rune) bool { return l.script != nil && l.script.has(r) }

// longestRun bounds the bytes in which words are looked for at once; longer runs are cut.
const longestRun = 3 << 10

// characterRun adds a run of characters as one item; words are found in it when all is read. It ends
// where a lexicon of the user has a word.
func (s *scanner) characterRun(rest string) {
	k := 0
	var before rune
	for k < min(len(rest), longestRun) {
		r, n := utf8.DecodeRuneInString(rest[k:])
		joins := k > 0 && s.script.joins != nil && s.script.joins(before, r) && !unicode.IsDigit(firstRune(rest[k+n:]))
		if !s.character(r) && !joins || k > 0 && s.listed(rest[k:]) {
			break
		}
		k += n
		before = r
	}
	s.add(item{Token: g2p.Token{Text: rest[:k], Kind: g2p.Word}}, k)
}

// listed reports whether a lexicon of the user has what a text begins with.
func (s *scanner) listed(text string) bool {
	for _, l := range s.Lexicons {
		if _, ok := l.Find(text); ok {
			return true
		}
	}
	return false
}

// latin pronounces a word in Latin script as English, and letters as the language names them.
func (s *scanner) latin(w string) string {
	var b strings.Builder
	if s.English != nil && !(s.ownLetters && utf8.RuneCountInString(w) == 1) {
		for _, t := range s.English.Phonemize(w, g2p.US) {
			switch {
			case t.Kind != g2p.Word:
			case t.Source == g2p.Spelled && s.ownLetters:
				b.WriteString(s.letterNames(t.Text))
			default:
				b.WriteString(t.Phonemes)
			}
		}
	}
	if b.Len() > 0 {
		return b.String()
	}
	return s.letterNames(w)
}

// letterNames says the letters of a word.
func (s *scanner) letterNames(w string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(w) {
		if base, _ := decompose(r); s.spelled[base] != "" {
			b.WriteString(s.spelled[base])
		} else if f := folds[r]; f != "" {
			b.WriteString(s.letterNames(f))
		}
	}
	return b.String()
}

// cutRuns puts words with their sounds in place of runs of characters. Figures and what stands
// beside them are one run. No word lies across the border of a mark.
func (s *scanner) cutRuns(ctx context.Context, marks []g2p.Mark) error {
	var borders []int
	for i := range marks {
		borders = append(borders, marks[i].Start, marks[i].End)
	}
	slices.Sort(borders)
	out := make([]item, 0, len(s.out))
	for i := 0; i < len(s.out); {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		j, length := i, 0
		for j < len(s.out) && s.isRun(&s.out[j]) && (j == i || follows(&s.out[j-1], &s.out[j]) && length < longestRun) {
			length += len(s.out[j].Text)
			j++
		}
		if j == i {
			out = append(out, s.out[i])
			i++
			continue
		}
		var err error
		if out, err = s.script.cut(ctx, s, out, s.out[i:j], borders); err != nil {
			return err
		}
		if len(out) > 0 {
			out[len(out)-1].Space = s.out[j-1].Space || j < len(s.out) && s.out[j].Kind == g2p.Word
		}
		i = j
	}
	s.out = out
	s.spaces()
	return nil
}

func (s *scanner) isRun(t *item) bool {
	return t.Kind == g2p.Word && t.Phonemes == "" && s.character(firstRune(t.Text))
}

// follows reports whether there is nothing between two items.
func follows(a, b *item) bool {
	return a.End == b.Start || a.Start == b.Start && a.End == b.End
}

// spaces puts those that writing does not have: between words, behind marks and before those that
// open something.
func (s *scanner) spaces() {
	opens := func(t *item) bool { return t.Kind == g2p.Punctuation && (t.Phonemes == "(" || t.Phonemes == "“") }
	for k := 0; k+1 < len(s.out); k++ {
		t, next := &s.out[k], &s.out[k+1]
		if t.Kind == g2p.Word && next.Kind == g2p.Word || t.Kind == g2p.Punctuation && !opens(t) && next.Kind == g2p.Word || opens(next) && !opens(t) {
			t.Space = true
		}
	}
}

// runWord returns the sounds of characters that are a word, or of a word in Latin script.
func (l *Language) runWord(word string) string {
	tokens, err := l.Read(context.Background(), word, Reading{})
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, t := range tokens {
		if t.Kind == g2p.Word {
			b.WriteString(t.Phonemes)
		}
	}
	return b.String()
}
