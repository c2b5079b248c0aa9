package lang

import (
	"context"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/g2p"
	"quern/engine/tts/lang/mandarin"
)

// chinese is Mandarin in simplified and traditional characters, which package mandarin reads.
// Words in Latin script are English.
func chinese() *Language {
	return &Language{
		Code: "zh", Name: "Mandarin", scriptOf: unicode.Han, han: true,
		vocabulary: chineseVocabulary(),
	}
}

// latinNames are the names of Latin letters where there is no English.
const latinNames = "ˈA bˈi sˈi dˈi ˈi ˈɛf ʤˈi ˈAʧ ˈI ʤˈA kˈA ˈɛl ˈɛm ˈɛn ˈO pˈi kjˈu ˈɑɹ ˈɛs tˈi jˈu vˈi dˈʌbᵊlju ˈɛks wˈI zˈi"

// character reports whether r is one of the characters that the language is written in.
func (l *Language) character(r rune) bool { return l.han && mandarin.Has(r) }

// longestRun bounds the bytes in which words are looked for at once; longer runs are cut.
const longestRun = 3 << 10

// characterRun adds a run of characters as one item; words are found in it when all is read. It ends
// where a lexicon of the user has a word.
func (s *scanner) characterRun(rest string) {
	k := 0
	for k < min(len(rest), longestRun) {
		r, n := utf8.DecodeRuneInString(rest[k:])
		if !s.character(r) || k > 0 && s.listed(rest[k:]) {
			break
		}
		k += n
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

// latin pronounces a word in Latin script as English, or says its letters.
func (s *scanner) latin(w string) string {
	var b strings.Builder
	if s.English != nil {
		for _, t := range s.English.Phonemize(w, g2p.US) {
			if t.Kind == g2p.Word {
				b.WriteString(t.Phonemes)
			}
		}
	}
	if b.Len() > 0 {
		return b.String()
	}
	for _, r := range strings.ToLower(w) {
		if base, _ := decompose(r); base >= 'a' && base <= 'z' {
			b.WriteString(strings.Fields(latinNames)[base-'a'])
		} else if f := folds[r]; f != "" {
			b.WriteString(s.latin(f))
		}
	}
	return b.String()
}

// characters puts words with their sounds in place of runs of characters. Figures and what stands
// beside them are one run. No word lies across the border of a mark.
func (s *scanner) characters(ctx context.Context, marks []g2p.Mark) error {
	var borders []int
	for i := range marks {
		borders = append(borders, marks[i].Start, marks[i].End)
	}
	sort.Ints(borders)
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
		if out, err = s.cut(out, s.out[i:j], borders); err != nil {
			return err
		}
		out[len(out)-1].Space = s.out[j-1].Space || j < len(s.out) && s.out[j].Kind == g2p.Word
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

// cut appends the words of items that are one run to out.
func (s *scanner) cut(out, run []item, borders []int) ([]item, error) {
	var chars []rune
	var from, to []int // where each is in the text
	var border []bool  // whether no word lies across the place before each
	for k := range run {
		t := &run[k]
		written := s.text[t.Start:t.End] == t.Text
		at := t.Start
		var before rune
		for _, r := range t.Text {
			chars = append(chars, r)
			if written {
				from, to = append(from, at), append(to, at+utf8.RuneLen(r))
				at += utf8.RuneLen(r)
				j := sort.SearchInts(borders, from[len(from)-1])
				border = append(border, j < len(borders) && borders[j] == from[len(from)-1])
				continue
			}
			// Parts of a number begin with a digit, but for that behind tens.
			from, to = append(from, t.Start), append(to, t.End)
			border = append(border, before != 0 && before != '十' && before != '第' && strings.ContainsRune("零一二三四五六七八九两幺", r))
			before = r
		}
	}
	words, err := mandarin.Read(chars, func(i int) bool { return border[i] })
	for _, w := range words {
		var b strings.Builder
		for _, said := range w.Said {
			b.WriteString(said.Sounds())
		}
		out = append(out, item{Token: g2p.Token{Text: string(chars[w.Start:w.End]), Kind: g2p.Word, Source: g2p.Lexicon,
			Start: from[w.Start], End: to[w.End-1], Phonemes: b.String(), Space: true}})
	}
	return out, err
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

// hanWord returns the sounds of characters that are a word, or of a word in Latin script.
func (l *Language) hanWord(word string) string {
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
