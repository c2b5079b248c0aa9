package g2p

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An item is a token before it is pronounced.
type item struct {
	Token
	given   string  // phonemes the text prescribes
	written string  // the word in small letters with its accents, where it has some
	shift   float64 // of stress, as [word](+1) asks
	spell   bool    // letters, whatever the dictionary says
}

// A scanner turns text into items. It looks ahead by bounded amounts only, so
// its time is linear.
type scanner struct {
	text     string
	accent   Accent
	capitals bool // the whole text is in capitals, so they mean nothing
	i        int
	out      []item
	links    []link
	chunkEnd int // end of the run without spaces that i is in
	quoted   bool
	lexicons []*UserLexicon
	replaced int                 // bytes that their aliases have put in
	refused  error               // what a lexicon says of a word that English lacks the sounds of
	matchEnd int                 // where the match of the pattern that is tried ends
	known    func(w string) bool // whether the dictionary has a word
}

// numberSigns may begin what the patterns of numbers know.
const numberSigns = currencyMarks + "+-−.(½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞'’"

// A link is the tail of a Markdown link that is being read: "](target)".
type link struct {
	from, to int
	shift    float64
	first    int // item the link began with
}

func (s *scanner) run(ctx context.Context) error {
	for n := 0; s.i < len(s.text); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s.step()
	}
	return nil
}

func (s *scanner) step() {
	if n := len(s.links); n > 0 && s.i >= s.links[n-1].from {
		l := s.links[n-1]
		s.links = s.links[:n-1]
		for k := l.first; k < len(s.out); k++ {
			s.out[k].shift += l.shift
		}
		s.i = max(s.i, l.to)
		return
	}
	rest := s.text[s.i:]
	r, n := utf8.DecodeRuneInString(rest)
	if unicode.IsSpace(r) {
		s.space()
		s.i += n
		return
	}
	if s.lineStart() {
		if k := Marker(rest); k > 0 {
			s.i += k
			return
		}
	}
	if s.i >= s.chunkEnd {
		s.chunkEnd = s.i + wordEnd(rest)
	}
	before := s.before()
	if r == '[' && s.bracket(rest) {
		return
	}
	if (r == '\\' || r == '$' && !joins(before)) && s.formula(rest) {
		return
	}
	if !joins(before) {
		if len(s.lexicons) > 0 && s.own(rest) {
			return
		}
		if k, words := shorthand(rest); k > 0 && !s.labelled() {
			s.put(words, k)
			return
		}
		if r == '-' && len(rest) > 1 && isLetter(rest[1]) && !joins(firstRune(rest[2:])) && (s.lastSource() == "^" || s.sourceBack(2) == "^" || (before == '(' || s.lastWord() == "equals") && s.equated()) {
			s.say("minus", n) // x = (-b + c)
			return
		}
		if k, words := hexadecimal(rest); k > 0 {
			s.put(words, k)
			return
		}
		if k, words := address(s.text[s.i:s.chunkEnd], before); k > 0 {
			s.put(words, k)
			return
		}
	}
	if unicode.IsDigit(r) || strings.ContainsRune(numberSigns, r) && !(strings.ContainsRune("+-−.('’", r) && !beginsNumber(rest[n:])) {
		if s.number(rest, before, r) {
			return
		}
	}
	switch {
	case unicode.IsLetter(r) && raised[r] == 0 && !(r == 'Ø' && unicode.IsDigit(firstRune(rest[n:]))):
		s.word(rest)
	case (r == '\'' || r == '’') && !joins(before) && contraction(rest) > 0:
		k := contraction(rest)
		s.add(item{Token: Token{Text: "'" + strings.ToLower(rest[n:k]), Kind: Word}}, k)
	default:
		s.mark(r, n, before)
	}
}

// beginsNumber reports whether a digit stands at the beginning of s, behind a sign or
// a point at most.
func beginsNumber(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	if r == '.' || r == '(' {
		r = firstRune(s[n:])
	}
	return unicode.IsDigit(r) || strings.ContainsRune(currencyMarks, r)
}

// add appends an item for the next n bytes.
func (s *scanner) add(t item, n int) {
	t.Start, t.End = s.i, s.i+n
	s.out = append(s.out, t)
	s.i += n
}

// put appends words that stand for the next n bytes; a word that is a comma is
// punctuation, one that begins with ! is spelled. It returns true: they are read.
func (s *scanner) put(words []string, n int) bool {
	for k, w := range words {
		t := item{Token: Token{Text: w, Start: s.i, End: s.i + n, Space: k < len(words)-1, Kind: Word}}
		if w == "," {
			t.Kind, t.Phonemes = Punctuation, w
			if len(s.out) > 0 {
				s.out[len(s.out)-1].Space = false
			}
		}
		if w[0] == '!' && len(w) > 1 {
			t.Text, t.spell = w[1:], true
		}
		s.out = append(s.out, t)
	}
	s.i += n
	return true
}

func (s *scanner) space() {
	if n := len(s.out); n > 0 {
		s.out[n-1].Space = true
	}
}

func (s *scanner) before() rune {
	r, _ := utf8.DecodeLastRuneInString(s.text[:s.i])
	return r
}

func (s *scanner) lineStart() bool {
	i := s.i
	for i > 0 && i > s.i-4 && s.text[i-1] == ' ' {
		i--
	}
	return i == 0 || s.text[i-1] == '\n'
}

// Marker returns the length of a Markdown heading, quote, bullet, rule or fence
// at the start of a line.
func Marker(line string) int {
	for _, m := range []string{"# ", "## ", "### ", "#### ", "##### ", "###### ", "> ", "- ", "* ", "+ ", "• "} {
		if strings.HasPrefix(line, m) {
			return len(m)
		}
	}
	for _, m := range []string{"---", "***", "___", "```", "~~~", "==="} {
		if strings.HasPrefix(line, m) {
			return len(m)
		}
	}
	return 0
}

// joins reports whether r belongs to a word, so that what follows is inside it.
func joins(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

func wordEnd(s string) int {
	if k := strings.IndexFunc(s, unicode.IsSpace); k >= 0 {
		return k
	}
	return len(s)
}

// Override reads what text begins with where it says how something is said:
// [pause:1.5s], <break time="1.5s"/> and [word](/ipa/). It returns the token, without its
// place, and how many bytes it takes.
func Override(text string) (Token, int, bool) {
	head := text[:min(len(text), 400)]
	if strings.HasPrefix(head, "[pause:") {
		if end := strings.IndexByte(head, ']'); end > 0 {
			if d, err := time.ParseDuration(head[len("[pause:"):end]); err == nil && d >= 0 {
				// No text means a pause of an hour.
				return Token{Text: head[:end+1], Kind: Pause, Pause: min(d, time.Minute)}, end + 1, true
			}
		}
	}
	if end := strings.IndexByte(head[:min(len(head), 100)], '>'); end > 0 && head[0] == '<' {
		if m := breakTag().FindStringSubmatch(head[:end+1]); m != nil {
			if d, err := time.ParseDuration(m[1]); err == nil {
				return Token{Text: head[:end+1], Kind: Pause, Pause: min(d, time.Minute)}, end + 1, true
			}
		}
	}
	mid, target := linkOf(text)
	if mid > 1 && len(target) > 2 && target[0] == '/' && target[len(target)-1] == '/' {
		if said := symbols(target[1 : len(target)-1]); said != "" {
			return Token{Text: text[1:mid], Kind: Word, Source: Given, Phonemes: said}, mid + 2 + len(target) + 1, true
		}
	}
	return Token{}, 0, false
}

// longestLabel and longestTarget are the most bytes of a link's text and of what it points to.
const (
	longestLabel  = 400
	longestTarget = 1000
)

// linkOf finds the end of the text of a Markdown link, and what it points to; 0 is none.
func linkOf(text string) (mid int, target string) {
	if text == "" || text[0] != '[' {
		return 0, ""
	}
	head := text[:min(len(text), longestLabel)]
	mid = strings.IndexByte(head, ']')
	if mid < 1 || strings.IndexByte(head[1:mid], '[') >= 0 || !strings.HasPrefix(text[mid+1:], "(") {
		return 0, ""
	}
	tail := text[mid+2 : min(len(text), mid+2+longestTarget)]
	end := strings.IndexByte(tail, ')')
	if end < 0 {
		return 0, ""
	}
	return mid, tail[:end]
}

// bracket reads [pause:1.5s], [word](/ipa/), [word](+1) and [text](target).
func (s *scanner) bracket(rest string) bool {
	if t, n, ok := Override(rest); ok {
		x := item{Token: t}
		if t.Kind == Word {
			x.given = t.Phonemes
		}
		s.add(x, n)
		if t.Kind == Word {
			// The word alone is what was read; the rest is a remark about it.
			t := &s.out[len(s.out)-1]
			t.Start, t.End = t.Start+1, t.Start+1+len(t.Text)
		}
		return true
	}
	mid, target := linkOf(rest)
	if mid < 1 {
		return false
	}
	whole := mid + 2 + len(target) + 1
	l := link{from: s.i + mid, to: s.i + whole, first: len(s.out)}
	switch target {
	case "+1", "1":
		l.shift = 1
	case "-1":
		l.shift = -1
	case "0.5", "+0.5":
		l.shift = 0.5
	case "-0.5":
		l.shift = -0.5
	}
	s.links = append(s.links, l)
	s.i++
	return true
}

// symbols keeps what Kokoro's table has of s.
func symbols(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(alphabet, r) {
			return r
		}
		return -1
	}, s)
}

// alphabet is Kokoro's table of symbols.
const alphabet = ";:,.!?—…\"()“” \u0303ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ"

// number reads what a pattern knows, or a plain run of digits.
func (s *scanner) number(rest string, before, r rune) bool {
	if !joins(before) || unicode.IsDigit(r) && !unicode.IsDigit(before) && unicode.IsLetter(before) {
		if s.matched(numbers, rest) {
			return true
		}
	}
	if word := map[rune]string{'-': "minus", '−': "minus", '+': "plus"}[r]; word != "" && !joins(before) {
		if after := rest[utf8.RuneLen(r):]; after != "" && after[0] >= '0' && after[0] <= '9' {
			s.say(word, utf8.RuneLen(r))
			return true
		}
	}
	if r < '0' || r > '9' {
		return false
	}
	k := digitRun(rest)
	words := cardinal(rest[:k], s.accent)
	if k == 3 && (unicode.IsUpper(before) || rest[k:] != "" && isLetter(rest[k])) || k == 3 && before != 'v' && rest[k:] != "" && strings.HasPrefix(rest[k:], ".1") {
		words = inPairs(rest[:k], s.accent) // A320neo, 330i, 802.11ax
	}
	if k == 4 && (rest[0] == '1' || rest[0] == '2' && rest[1] < '2') {
		words = year(rest[:k], s.accent) // #2024goals
	}
	if rest := rest[k:]; strings.HasPrefix(rest, ".") {
		if n := digitRun(rest[1:]); n > 0 { // 802.11ac
			words = join(words, []string{"point"}, cardinal(rest[1:1+n], s.accent))
			k += 1 + n
		}
	}
	s.put(words, k)
	s.operator(true)
	return true
}

// digitRun is how many digits s begins with.
func digitRun(s string) int {
	k := 0
	for k < len(s) && isDigit(s[k]) {
		k++
	}
	return k
}
