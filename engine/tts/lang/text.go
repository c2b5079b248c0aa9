package lang

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"quern/engine/tts/g2p"
)

// ErrScript is wrapped where a text has letters that its language is not written in.
var ErrScript = errors.New("letters the language is not written in")

// A Reading says how a text is read.
type Reading struct {
	English  *g2p.G2P           // pronounces words that are English by their spelling
	Lexicons []*g2p.UserLexicon // the first that has a word decides; nil ones are passed over
	Marks    []g2p.Mark         // as in g2p.Reading
}

// An item is a token before it is pronounced.
type item struct {
	g2p.Token
	spell   bool // letters
	english bool // pronounced as English, with its capitals
	shift   float64
}

// A scanner turns text into items. It looks ahead by bounded amounts only, so its time
// is linear.
type scanner struct {
	*Language
	Reading
	text     string
	capitals bool // the whole text is in capitals, so they mean nothing
	i        int
	out      []item
	replaced int // bytes that the aliases of lexicons have put in
}

// Bounds of what is read.
const (
	checkEvery  = 64      // items between two questions whether to go on
	maxReplaced = 1 << 18 // bytes that aliases of a lexicon may put into one text
	lookahead   = 120     // bytes a pattern may look ahead
)

// Read returns the tokens of a text, until ctx ends. It refuses a text with letters
// that the language is not written in, with an error that wraps ErrScript.
func (l *Language) Read(ctx context.Context, text string, r Reading) ([]g2p.Token, error) {
	s := scanner{Language: l, Reading: r, text: text, capitals: allCapitals(text)}
	if l.script != nil {
		if err := l.script.load(); err != nil {
			return nil, err
		}
	}
	for i := range r.Marks {
		m := &r.Marks[i]
		if m.Phonemes == "" && m.As == g2p.Plain && m.Pause == 0 {
			continue
		}
		s.text = text[:m.Start]
		if err := s.run(ctx); err != nil {
			return nil, err
		}
		s.text = text
		if err := s.marked(ctx, m); err != nil {
			return nil, err
		}
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	if s.script != nil {
		if err := s.cutRuns(ctx, r.Marks); err != nil {
			return nil, err
		}
	}
	for i := range r.Marks {
		m := &r.Marks[i]
		from := sort.Search(len(s.out), func(k int) bool { return s.out[k].Start >= m.Start })
		for k := from; k < len(s.out) && s.out[k].Start < m.End; k++ {
			s.out[k].shift, s.out[k].Delivery = m.Stress, m.Delivery
		}
	}
	return s.speak(ctx)
}

func (s *scanner) run(ctx context.Context) error {
	for n := 0; s.i < len(s.text); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}

// step reads what begins where the scanner stands.
func (s *scanner) step() error {
	rest := s.text[s.i:]
	r, n := utf8.DecodeRuneInString(rest)
	before, _ := utf8.DecodeLastRuneInString(s.text[:s.i])
	inside := inWord(before) && !s.character(before)
	switch {
	case unicode.IsSpace(r):
		s.space()
		s.i += n
		return nil
	case r == '[' || r == '<':
		if t, n, ok := g2p.Override(rest); ok {
			s.add(item{Token: t}, n)
			t := &s.out[len(s.out)-1]
			if t.Kind == g2p.Word { // the word alone is what was read; the rest is a remark about it
				t.Start, t.End = t.Start+1, t.Start+1+len(t.Text)
			}
			return nil
		}
	}
	if s.lineStart() {
		if k := g2p.Marker(rest); k > 0 {
			s.i += k
			return nil
		}
	}
	if !inside {
		if done, err := s.own(rest); done || err != nil {
			return err
		}
		if s.matched(rest) {
			return nil
		}
	}
	switch {
	case s.character(r):
		s.characterRun(rest)
	case unicode.IsLetter(r):
		return s.word(rest)
	case unicode.IsDigit(r):
		s.digits(rest)
	default:
		s.mark(r, n, rest, before)
	}
	return nil
}

// word reads a run of letters.
func (s *scanner) word(rest string) error {
	k := s.wordLen(rest)
	if k == 0 { // letters of another script
		return s.foreign(rest)
	}
	w := norm.NFC.String(strings.Map(western, typed.Replace(rest[:k])))
	low := strings.ToLower(w)
	if s.script != nil {
		s.add(item{Token: g2p.Token{Text: w, Kind: g2p.Word}, english: true}, k)
		return nil
	}
	if s.dotted != nil && strings.Contains(rest[:min(len(rest), lookahead)], ".") {
		if words, n := s.dotted(rest[:min(len(rest), lookahead)]); n > 0 {
			s.put(words, n)
			if endsSentence(rest[n:], false) && strings.HasSuffix(rest[:n], ".") {
				s.stop()
			}
			s.space()
			return nil
		}
	}
	if s.abbreviated(rest, low, k) {
		return nil
	}
	if after := rest[k:]; s.elides && (strings.HasPrefix(after, "'") || strings.HasPrefix(after, "’")) {
		// An article before a number: l'11.
		_, n := utf8.DecodeRuneInString(after)
		if unicode.IsDigit(firstRune(after[n:])) {
			s.add(item{Token: g2p.Token{Text: low + "'", Kind: g2p.Word}}, k+n)
			return nil
		}
	}
	if n := s.roman(w); n != nil {
		s.put(n, k)
		return nil
	}
	t := item{Token: g2p.Token{Text: low, Kind: g2p.Word}}
	if s.initials(w) {
		t.Text, t.spell = w, true
	}
	s.add(t, k)
	return nil
}

// foreign refuses letters of another script, unless a sign has a name.
func (s *scanner) foreign(rest string) error {
	r, n := utf8.DecodeRuneInString(rest)
	if name := s.signs[unicode.ToLower(r)]; name != "" && !unicode.IsLetter(firstRune(rest[n:])) {
		s.say(name, n)
		return nil
	}
	script := "unknown"
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			script = name
		}
	}
	if script == "Latin" || s.scriptOf != nil && unicode.Is(s.scriptOf, r) {
		return fmt.Errorf("%w: %q, at byte %d, is no letter of %s; leave it out, or write it in those", ErrScript, r, s.i, s.Name)
	}
	k := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.M, r) })
	if k < 0 {
		k = len(rest)
	}
	return fmt.Errorf("%w: %.40q, at byte %d, is in %s script, and %s is read in %s; leave it out, write it in those letters, or ask for the language it is in",
		ErrScript, rest[:k], s.i, script, s.Name, s.scripts())
}

// scripts names those that the language is written in.
func (l *Language) scripts() string {
	if l.scriptName != "" {
		return l.scriptName + " and Latin script"
	}
	return "Latin script"
}

// reads reports whether a letter can be read: one of the language's, or one that is made
// of a Latin one.
func (l *Language) reads(r rune) bool {
	low := western(unicode.ToLower(r))
	base, _ := decompose(low)
	return l.character(r) || low < 0x80 || strings.ContainsRune(l.own, low) || strings.ContainsRune(l.own, base) || folds[low] != "" || base >= 'a' && base <= 'z'
}

// wordLen is the length of the run of letters s begins with, with apostrophes inside it.
func (l *Language) wordLen(s string) int {
	k := 0
	latin := unicode.Is(unicode.Latin, firstRune(s))
	for k < len(s) {
		r, n := utf8.DecodeRuneInString(s[k:])
		switch {
		case unicode.IsLetter(r) && l.reads(r) && unicode.Is(unicode.Latin, r) == latin, unicode.Is(unicode.M, r) && k > 0:
		case r == ':' && l.visarga[s[:k]] && unicode.Is(l.scriptOf, firstRune(s[k+n:])):
		case (r == '\u200c' || r == '\u200d') && k > 0 && l.scriptOf != nil:
		case (r == '\'' || r == '’') && k > 0 && unicode.IsLetter(firstRune(s[k+n:])) && (l.elides || l.script != nil):
		default:
			return k
		}
		k += n
	}
	return k
}

// typed writes a word as Unicode has it: joiners, which shape letters only, are left out, a
// colon in a word stands for a visarga, and the dot of a letter stands before its vowel.
var typed = strings.NewReplacer("\u200c", "", "\u200d", "", ":", "ः", "ा़", "़ा", "ि़", "़ि", "ी़", "़ी", "ु़", "़ु", "ू़", "़ू", "े़", "़े", "ै़", "़ै", "ो़", "़ो", "ौ़", "़ौ", "ं़", "़ं", "ँ़", "़ँ")

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// inWord reports whether what follows r is inside a word.
func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r))
}

// own reads what the user's lexicons have at this place.
func (s *scanner) own(rest string) (bool, error) {
	for _, l := range s.Lexicons {
		x, ok := l.Find(rest)
		switch {
		case !ok:
			continue
		case x.Alias == "":
			said, err := g2p.Symbols(x.IPA)
			if err != nil {
				return false, fmt.Errorf("%w: the word %q: %w", g2p.ErrFormat, rest[:x.Len], err)
			}
			s.add(item{Token: g2p.Token{Text: rest[:x.Len], Kind: g2p.Word, Source: g2p.Given, Phonemes: said}}, x.Len)
			return true, nil
		}
		if s.replaced += len(x.Alias); s.replaced > maxReplaced {
			return false, fmt.Errorf("%w: the aliases of the lexicon make more than %d bytes of this text", g2p.ErrFormat, maxReplaced)
		}
		return true, s.instead(x.Alias, x.Len)
	}
	return false, nil
}

// instead reads other words in place of the next n bytes.
func (s *scanner) instead(words string, n int) error {
	sub := scanner{Language: s.Language, text: words}
	for sub.i < len(sub.text) {
		if err := sub.step(); err != nil {
			return err
		}
	}
	for _, t := range sub.out {
		t.Start, t.End = s.i, s.i+n
		s.out = append(s.out, t)
	}
	s.i += n
	return nil
}

// marked reads the stretch of a hard mark.
func (s *scanner) marked(ctx context.Context, m *g2p.Mark) error {
	n := m.End - m.Start
	text := s.text[m.Start:m.End]
	switch {
	case m.Pause > 0:
		s.space()
		s.add(item{Token: g2p.Token{Kind: g2p.Pause, Pause: min(m.Pause, time.Minute)}}, n)
		return nil
	case m.Phonemes != "":
		s.add(item{Token: g2p.Token{Text: text, Kind: g2p.Word, Source: g2p.Given, Phonemes: m.Phonemes}}, n)
		return nil
	}
	if words := s.readAs(m.As, m.Format, strings.TrimSpace(text)); len(words) > 0 {
		s.put(words, n)
		return nil
	}
	return s.instead(text, n)
}

// add appends an item for the next n bytes.
func (s *scanner) add(t item, n int) {
	t.Start, t.End = s.i, s.i+n
	s.out = append(s.out, t)
	s.i += n
}

// put appends words that stand for the next n bytes; one that begins with ! is spelled,
// and a comma is punctuation. It returns true: they are read.
func (s *scanner) put(words []string, n int) bool {
	for k, w := range words {
		t := item{Token: g2p.Token{Text: w, Start: s.i, End: s.i + n, Space: k < len(words)-1, Kind: g2p.Word}}
		if w == "," {
			t.Kind, t.Phonemes = g2p.Punctuation, w
		} else if w[0] == '!' && len(w) > 1 {
			t.Text = w[1:]
			t.spell, t.english = s.script == nil, s.script != nil && !s.character(firstRune(t.Text))
		}
		if t.Kind == g2p.Punctuation && len(s.out) > 0 {
			s.out[len(s.out)-1].Space = false
		}
		s.out = append(s.out, t)
	}
	s.i += n
	return true
}

// stop adds the full stop that ends a sentence behind an abbreviation.
func (s *scanner) stop() {
	s.out = append(s.out, item{Token: g2p.Token{Text: ".", Phonemes: ".", Kind: g2p.Punctuation, Start: s.i - 1, End: s.i}})
}

func (s *scanner) space() {
	if n := len(s.out); n > 0 {
		s.out[n-1].Space = true
	}
}

// say puts words between spaces; none are a space.
func (s *scanner) say(words string, n int) {
	s.space()
	s.put(strings.Fields(words), n)
	s.space()
}

func (s *scanner) lineStart() bool {
	i := s.i
	for i > 0 && i > s.i-4 && s.text[i-1] == ' ' {
		i--
	}
	return i == 0 || s.text[i-1] == '\n'
}

// endsSentence reports whether a sentence ends with the abbreviation before rest: at the
// end of a text or a line, or, where it may, before a capital.
func endsSentence(rest string, may bool) bool {
	rest = strings.TrimLeft(rest, " ”\"»)")
	return rest == "" || rest[0] == '\n' || may && unicode.IsUpper(firstRune(rest))
}

func allCapitals(text string) bool {
	caseless := func(r rune) bool { return unicode.Is(unicode.Lo, r) }
	return strings.Contains(strings.TrimSpace(text), " ") && text == strings.ToUpper(text) && text != strings.ToLower(text) && !strings.ContainsFunc(text, caseless)
}

// punctuation is what marks are in Kokoro's symbols.
var punctuation = map[rune]string{
	'.': ".", '!': "!", '?': "?", '…': "…", ':': ":", ';': ";", ',': ",", '—': "—", '–': "—", '―': "—", '〜': "—", '～': "—", '“': "“", '”': "”", '«': "“", '»': "”",
	'„': "“", '(': "(", ')': ")", '[': "(", ']': ")", '{': "(", '}': ")", '।': ".", '॥': ".",
	'，': ",", '、': ",", '､': ",", '。': ".", '｡': ".", '．': ".", '！': "!", '？': "?", '：': ":", '；': ";", '（': "(", '）': ")", '［': "(", '］': ")", '｛': "(", '｝': ")", '〔': "(", '〕': ")",
	'《': "“", '》': "”", '〈': "“", '〉': "”", '「': "“", '」': "”", '『': "“", '』': "”", '【': "“", '】': "”", '〖': "“", '〗': "”", '〝': "“", '〞': "”", '＂': "”",
}

// mark reads one character that begins neither a word nor a number.
func (s *scanner) mark(r rune, n int, rest string, before rune) {
	next := firstRune(rest[n:])
	switch {
	case strings.HasPrefix(rest, "..."):
		k := min(len(rest), 64)
		k -= len(strings.TrimLeft(rest[:k], "."))
		s.punct("…", k)
	case strings.HasPrefix(rest, "--"):
		s.punct("—", 2)
	case r == '—' || r == '…': // several are one
		k := n
		for k < 64 && strings.HasPrefix(rest[k:], rest[:n]) {
			k += n
		}
		s.punct(punctuation[r], k)
	case r == '-' && unicode.IsSpace(before) && unicode.IsSpace(next):
		s.punct("—", 1)
	case r == '"':
		if inWord(before) || strings.ContainsRune(".,;:!?…)", before) {
			s.punct("”", 1)
		} else {
			s.punct("“", 1)
		}
	case r == '.' && unicode.IsLetter(before) && unicode.IsLower(next) && s.signs[r] != "": // of an address
		s.say(s.signs[r], n)
	case punctuation[r] != "":
		s.punct(punctuation[r], n)
	case s.signs[r] != "":
		s.say(s.signs[r], n)
	case s.signs[western(r)] != "":
		s.say(s.signs[western(r)], n)
	case unicode.IsNumber(r):
		if d := strings.Trim(norm.NFKD.String(string(r)), "().,"); d != "" && digitsOf(d) == d {
			s.put(s.whole(d, false), n)
			return
		}
		s.i += n
	default: // Markdown, joins, quotes and what has no name: a break between words at most
		if strings.ContainsRune("_/|-‐‑", r) {
			s.space()
		}
		s.i += n
	}
}

func (s *scanner) punct(p string, n int) {
	if p != "(" && p != "“" && p != "—" && len(s.out) > 0 && s.out[len(s.out)-1].Kind == g2p.Word {
		s.out[len(s.out)-1].Space = false
	}
	s.add(item{Token: g2p.Token{Text: s.text[s.i : s.i+n], Kind: g2p.Punctuation, Phonemes: p}}, n)
}
