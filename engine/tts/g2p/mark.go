package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// marks are punctuation as Kokoro knows it.
var marks = map[rune]string{
	'.': ".", '!': "!", '?': "?", '…': "…", ':': ":", ';': ";", ',': ",", '—': "—", '–': "—", '―': "—", '“': "“", '”': "”", '«': "“", '»': "”",
	'„': "“", '(': "(", ')': ")", '[': "(", ']': ")", '{': "(", '}': ")",
	'。': ".", '！': "!", '？': "?", '，': ",", '、': ",", '：': ":", '；': ";", '（': "(", '）': ")", '؟': "?", '،': ",",
}

// signs are said as words. Other signs are not said.
var signs = map[rune]string{
	'%': "percent", '&': "and", '+': "plus", '@': "at", '=': "equals", '×': "times", '÷': "divided by", '±': "plus or minus",
	'≈': "approximately", '≠': "is not equal to", '≤': "less than or equal to", '≥': "greater than or equal to", '<': "less than", '>': "greater than",
	'→': "to", '∞': "infinity", '√': "square root of", '©': "copyright", '®': "registered", '™': "trademark", '§': "section", '¶': "paragraph",
	'°': "degrees", '$': "dollars", '£': "pounds", '€': "euros", '¥': "yen", '₹': "rupees", '¢': "cents", '\\': "backslash", '^': "caret",
	'²': "squared", '³': "cubed", '∠': "angle", '∆': "delta", '∑': "sum of", '∏': "product of", '∫': "integral of", '∂': "partial", '∇': "del", '∝': "is proportional to", '∴': "therefore", '∵': "because",
	'∈': "in", '∉': "not in", '⊂': "is a subset of", '⊆': "is a subset of", '∪': "union", '∩': "intersection", '∅': "the empty set", '∀': "for all", '∃': "there exists", '¬': "not", '∧': "and", '∨': "or", '⇒': "implies", '⇔': "if and only if", '≡': "is identical to",
	'≪': "much less than", '≫': "much greater than", '∥': "is parallel to", '⊥': "is perpendicular to", '⋅': "times", '∓': "minus or plus", '∛': "cube root of", '≅': "is congruent to", '∼': "is similar to", '♭': "flat", '♯': "sharp", '♮': "natural", '♩': "quarter note", '♪': "eighth note",
	'№': "number", '℠': "service mark", '✓': "check mark", '✔': "check mark", '✗': "cross mark", '✘': "cross mark", '★': "star", '℅': "care of", '↔': "to and from", '←': "from", '↑': "up", '↓': "down", '⌘': "command", '⌥': "option", '⇧': "shift", '⌃': "control",
	'⇌': "is in equilibrium with", '½': "one half", '⅓': "one third", '⅔': "two thirds", '¼': "one quarter", '¾': "three quarters",
}

var breakTag = lazy(`^<break\s+time\s*=\s*["']([0-9]{1,6}(?:\.[0-9]{1,6})?m?s)["']\s*/?>$`)

// mark reads one rune that begins neither a word nor a number.
func (s *scanner) mark(r rune, n int, before rune) {
	rest := s.text[s.i:]
	next := rune(0)
	for _, c := range rest[n:] {
		next = c
		break
	}
	spaced := before == 65533 || unicode.IsSpace(before)
	punct := func(p string, k int) {
		if p != "(" && p != "“" && p != "—" && len(s.out) > 0 && s.out[len(s.out)-1].Kind == Word && spaced {
			s.out[len(s.out)-1].Space = false
		}
		s.add(item{Token: Token{Text: rest[:k], Kind: Punctuation, Phonemes: p}}, k)
	}
	if k, words := operation(rest, r, before); k > 0 {
		s.say(strings.Join(words, " "), k)
		return
	}
	if k, words := power(rest); k > 0 && (joins(before) || before == ')' || before == ']') {
		s.space()
		s.put(words, k)
		s.operator(false)
		return
	}
	for _, c := range comparisons {
		if strings.HasPrefix(rest, c.sign) {
			s.say(c.say, len(c.sign))
			return
		}
	}
	switch {
	case r == '^' && (joins(before) || before == ')') && strings.ContainsRune("(-−", next):
		s.say("to the power of", n) // e^(-x)
	case r == '/' && before == ')' && quotient().MatchString(rest[:min(len(rest), 8)]):
		s.say("over", n) // sin(x)/x = 1
	case r == '/' && raised[before] != 0 && unicode.IsLetter(next) && !joins(firstRune(rest[n+utf8.RuneLen(next):])) && powerUnit(rest[n:]) == "":
		s.say("over", n) // σ²/n
	case r == '.' && (spaced || before == '/') && unicode.IsLetter(next):
		s.say("dot", n) // .NET
	case r == '.' && s.member(rest[n:]):
		s.say("dot", n)
	case r == '.' && strings.HasPrefix(rest, "..."):
		head := rest[:min(len(rest), 64)]
		punct("…", len(head)-len(strings.TrimLeft(head, ".")))
	case strings.HasPrefix(rest, "--"):
		punct("—", 2)
	case (r == '-' || r == '–') && (s.toDate(rest[n:]) || eras[s.lastWord()] && eraAhead().MatchString(rest[n:])):
		s.say("to", n)
	case r == '-' && spaced && (unicode.IsSpace(next) || next == 0):
		punct("—", 1)
	case r == '"' || r == '＂':
		if s.quoted = !s.quoted; s.quoted || spaced && !unicode.IsSpace(next) && next != 0 {
			s.quoted = true
			punct("“", n)
		} else {
			punct("”", n)
		}
	case r == '−', r == '-' && !unicode.IsSpace(next) && (s.lastWord() == "equals" || unicode.IsDigit(next) && (variables[before] && !joins(runeBefore(s.text[:s.i-1])) || s.lastWord() == "utc" || s.lastWord() == "gmt")):
		s.say("minus", n)
	case r == '/' && (joins(before) && (len(s.lastSource()) < 3 || unicode.IsDigit(before)) || before == ')' || raised[before] != 0 || before >= '₀' && before <= '₉') && (joins(next) || next == '(') && (s.equatedIn(12) || variables[before] && unicode.IsDigit(next) && !joins(runeBefore(s.text[:s.i-1]))):
		s.say("over", n)
	case r == '/' && spaced && unicode.IsSpace(next) && s.equatedIn(24) && dividend().MatchString(s.text[max(0, s.i-4):s.i]):
		s.say("over", n) // (a + b) / 2c
	case r == '/' && unicode.IsDigit(before) && variables[next] && !joins(firstRune(rest[n+utf8.RuneLen(next):])):
		s.say("over", n) // 1/x
	case (r == '\'' || r == '′' || r == '’') && variables[before] && s.lastSource() != "'n" && !joins(runeBefore(s.text[:s.i-1])) && sumBehind().MatchString(rest[n:min(len(rest), 12)]):
		s.say("prime", n)
	case r == '|' && joins(before) && joins(next) && s.wordBack(2) == "of" && s.wordBack(3) == "p":
		s.say("given", n) // P(A|B)
	case r == '/' && s.afterPower() && powerUnit(rest[n:]) != "":
		u := powerUnit(rest[n:])
		s.say("per "+units[u][0], n+len(u)) // ×10³/µL
	case r == '/' && joins(before) && (pluralNoun(s.lastWord()) || strings.Contains(s.lastSource(), ":")) && perAhead(rest[n:]) != "":
		u := rest[n : n+wordLen(rest[n:])]
		s.say("per "+perAhead(u), n+len(u))
	case r == '&' && entity(rest) > 0:
		k := entity(rest)
		s.say(entities[rest[1:k-1]], k)
	case r == '>' && spaced && s.afterName() && unicode.IsUpper(firstRune(strings.TrimLeft(rest[n:min(len(rest), 4)], " "))) && wordLen(strings.TrimLeft(rest[n:min(len(rest), 8)], " ")) > 1:
		punct(",", n) // Settings > General
	case r == '$' && unicode.IsSpace(next) && s.lineStart():
		s.i += n // of a shell
	case r == '$' && (next == '$' || before == '$'):
		s.i += n // of a formula that is not closed, or emphasis
	case r == '$' && shellPath().MatchString(rest[:min(len(rest), longest)]):
		m := shellPath().FindString(rest[:min(len(rest), longest)])
		var words []string
		for _, part := range strings.Split(m[1:], "$") {
			words = append(append(words, "dollar"), partsOf(part)...)
		}
		s.space()
		s.put(words, len(m)) // $HOME/bin:$PATH
	case r == '$' && unicode.IsLetter(next):
		s.say("dollar", n)
	case r == '~' && joins(before) && unicode.IsDigit(next):
		s.say("tilde", n) // HEAD~3
	case r == '~' && (unicode.IsDigit(next) || strings.ContainsRune(currencyMarks, next)):
		s.say("about", n)
	case (r == '*' || r == '#') && (unicode.IsDigit(next) || next == 0 || strings.ContainsRune(" ,.;\n", next)) && keyed[s.lastWord()]:
		s.say(map[rune]string{'*': "star", '#': "pound"}[r], n) // of a telephone
	case (r == '-' || r == '–') && (hours[s.lastWord()] && unicode.IsDigit(next) || s.lastWord() == "m" && (strings.HasPrefix(rest[n:], "noon") || strings.HasPrefix(rest[n:], "midnight"))):
		s.say("to", n)
	case r == '*' && (joins(before) || before == ')') && strings.HasPrefix(rest, "**") && starPower().MatchString(rest[:min(len(rest), 8)]) && !s.emphasized():
		k, words := power("^" + rest[2:])
		s.say(strings.Join(words, " "), k+1) // i**2
	case r == '*' && spaced && strings.HasPrefix(rest, "** ") && numberAhead().MatchString(rest[3:min(len(rest), 12)]):
		k, words := power("^" + numberAhead().FindString(rest[3:min(len(rest), 12)]))
		s.say(strings.Join(words, " "), k+2) // i ** 2
	case r == '|' && spaced && strings.HasPrefix(rest, "|| ") && !s.tabled():
		s.say("or", 2)
	case r == '*' && s.lastWord() == "select":
		s.say("star", n)
	case r == '*' || r == '`' || r == '|' || r == '_' || r == '~' || r == '-' || r == '/' || r == '\'' || r == '’' || r == '‘':
		// Markdown, word joins and quotes: a break between words at most.
		if r == '_' || r == '/' || r == '|' || r == '-' {
			s.space()
		}
		s.i += n
	case r == '@' && !joins(before) && unicode.IsLetter(next):
		k := n
		for k < len(rest) && k < 64 && (isLetter(rest[k]) || isDigit(rest[k]) || rest[k] == '_') {
			k++
			if k+1 < len(rest) && rest[k] == '.' && (isLetter(rest[k+1]) || isDigit(rest[k+1])) {
				k++
			}
		}
		s.space()
		s.put(append([]string{"at"}, partsOf(rest[n:k])...), k)
	case r == '#' && !joins(before) && !numberedThings[s.lastWord()] && color(rest[n:]) != "":
		w := color(rest[n:])
		s.space()
		s.put(append([]string{"hash"}, characters(w)...), n+len(w))
	case r == '<' && heartAhead().MatchString(rest[:min(len(rest), 8)]):
		s.say("heart", 2)
	case (r == 'Ø' || r == '⌀') && unicode.IsDigit(next) || r == '⌀':
		s.say("diameter", n)
	case r == '·' && joins(before) && joins(next) && len(s.lastSource()) == 1 && !joins(firstRune(rest[n+utf8.RuneLen(next):])):
		s.say("times", n) // a·b
	case r == '×' && thread().MatchString(s.lastSource()):
		s.say("by", n) // M8×1.25
	case r == '×' && courses().MatchString(rest[n:min(len(rest), n+16)]) && s.lastWord() != "" && digitsOf(s.lastSource()) == "":
		s.say("for", n) // BID × 10 d
	case r == '¯' && strings.HasPrefix(rest, shrug):
		s.say("shrug", len(shrug))
	case r == '#':
		word := ""
		switch {
		case unicode.IsDigit(next) && !digitsOnly(rest[n:]) && !unitNumber().MatchString(rest[n:]):
			word = "hashtag"
		case unicode.IsDigit(next):
			word = "number"
		case unicode.IsLetter(next) && !joins(before):
			word = "hashtag"
			if head := serialAhead().FindString(rest[n:]); head != "" && (strings.Contains(head, "-") || numberedThings[s.lastWord()] || head[1:2] < "A") {
				word = "number" // order #A-1234
			}
		case unicode.IsDigit(before): // 4471#, of a telephone
			word = map[Accent]string{US: "pound", British: "hash"}[s.accent]
		case joins(before):
			word = "sharp"
		}
		s.say(word, n)
	case r == '<' && (strings.HasPrefix(rest, "<http://") || strings.HasPrefix(rest, "<https://")):
		if k := strings.IndexByte(rest[:min(len(rest), 2000)], '>'); k > 0 { // a link, as Markdown writes it
			s.links = append(s.links, link{from: s.i + k, to: s.i + k + 1, first: len(s.out)})
		}
		s.i += n
	case r == '<' && bracketed().MatchString(rest[:min(len(rest), 130)]):
		k := strings.IndexByte(rest, '>') // an address, of mail
		s.links = append(s.links, link{from: s.i + k, to: s.i + k + 1, first: len(s.out)})
		s.i += n
	case r == '<' && tagName(rest, before) != "":
		name := tagName(rest, before)
		s.space()
		s.i += n
		s.put([]string{name}, len(name))
		s.i++
		s.space()
	case r == '<' && strings.IndexByte(rest[:min(len(rest), 100)], '>') > 0 && (next == '/' || unicode.IsLetter(next)):
		s.space() // a tag; of break, as ElevenLabs writes it in texts, the time counts
		if t, k, ok := Override(rest); ok {
			s.add(item{Token: t}, k)
			return
		}
		s.i += strings.IndexByte(rest, '>') + 1
	case r == '!' && next == '[': // a picture
		s.i += n
	case (r == '§' || r == '¶') && next == r:
		s.say(signs[r]+"s", 2*n)
	case (r == '²' || r == '³' || raised[r] != 0) && !joins(before) && isotope().MatchString(rest[:min(len(rest), 24)]):
		k := strings.IndexFunc(rest, func(r rune) bool { return raised[r] == 0 })
		number := strings.Map(func(r rune) rune { return raised[r] }, rest[:k])
		said := strings.Join(inPairs(number, s.accent), " ")
		if w := rest[k : k+wordLen(rest[k:])]; elements[w] != "" {
			said, k = elements[w]+" "+said, k+len(w)
		}
		s.say(said, k)
	case r == '!' && variables[before] && !joins(runeBefore(s.text[:s.i-1])) && factorialBehind().MatchString(rest[n:min(len(rest), 8)]):
		s.say("factorial", n)
	case marks[r] != "":
		punct(marks[r], n)
	case signs[r] != "":
		said := signs[r]
		if short, ok := strings.CutSuffix(said, " of"); ok && (strings.HasPrefix(rest[n:], " of ") || strings.HasPrefix(rest[n:], " from ") || strings.HasPrefix(rest[n:], " over ")) {
			said = short
		}
		s.say(said, n)
	case r >= '🇦' && r <= '🇿' && next >= '🇦' && next <= '🇿':
		letters := string([]rune{r - '🇦' + 'A', next - '🇦' + 'A'})
		s.say("!"+letters+" flag", 2*n)
	case emoji[r] != "":
		s.say(emoji[r], n)
	case unicode.IsNumber(r):
		s.say(value(r), n)
	default:
		s.i += n
	}
}

// heartAhead is a heart as it is typed, where nothing is compared; shrug is a figure that shrugs.
var heartAhead = lazy(`^<3+(?:$|[\s]*$|[!.,;)]|\s*(?:<3|\n))`)

const shrug = `¯\_(ツ)_/¯`

// numberAhead is a number or a letter on its own.
var numberAhead = lazy(`^(?:\d{1,3}|[a-z])\b`)

// tabled reports whether the line is one of a table.
func (s *scanner) tabled() bool {
	line := s.text[max(0, s.i-longest):s.i]
	return strings.HasPrefix(strings.TrimLeft(line[strings.LastIndexByte(line, '\n')+1:], " "), "|")
}

// shellPath are folders that begin with a variable of a shell.
var shellPath = lazy(`^\$[A-Z_][A-Z0-9_]+(?:[/:]{1,2}\$?[A-Za-z0-9_-][A-Za-z0-9_.-]*)*(?::?/[A-Za-z0-9_-]+|:\$[A-Z_][A-Z0-9_]+)`)

// equated reports whether an equation is read: x = b/2a.
func (s *scanner) equated() bool { return s.equatedIn(8) }

// equatedIn is that with the sign of equality among the last n items.
func (s *scanner) equatedIn(n int) bool {
	for k := 1; k <= n; k++ {
		if w := s.wordBack(k); w == "equals" || w == "equal" {
			return true
		}
	}
	return false
}

// variables are letters from which a number is taken: n-1.
var variables = map[rune]bool{'n': true, 'k': true, 'x': true, 'y': true, 't': true}

func runeBefore(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// isotope is the number of one before its symbol; factorialBehind is what stands behind n!.
var (
	isotope         = lazy(`^[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}[A-Z][a-z]?\b`)
	factorialBehind = lazy(`^(?: ?[-+−=×*/÷<>)]| [a-z]|/)`)
)

// dividend is the end of what is divided: a parenthesis, or a number or letter on its own.
var dividend = lazy(`(?:\)|[ (][a-zA-Z0-9]|[²³]) $`)

// quotient is what stands behind a parenthesis that is divided, on the left of an equation.
var quotient = lazy(`^/(?:[a-z0-9] =|\d?[a-z](?:$|[\s,.;)]))`)

// starPower is a power as programs write it.
var starPower = lazy(`^\*\*\d{1,3}(?:[^*\d]|$)`)

// emphasized reports whether the last two stars before in this line await two more.
func (s *scanner) emphasized() bool {
	line := s.text[max(0, s.i-longest):s.i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	k := strings.LastIndex(line, "**")
	return k >= 0 && (k == 0 || !joins(runeBefore(line[:k]))) && !strings.HasPrefix(line[k+2:], " ")
}

var serialAhead = lazy(`^[A-Z]{1,4}-?\d`)

var memberAhead = lazy(`^[a-z_][A-Za-z_]+|^[A-Z][A-Za-z]*[a-z][A-Z]|^[A-Za-z]+\(`)

// member reports whether a dot stands within a name of a program: list.append, java.lang.
func (s *scanner) member(rest string) bool {
	w := s.lastSource()
	return len(w) > 1 && s.out[len(s.out)-1].End == s.i && isLetter(w[len(w)-1]) && memberAhead().MatchString(rest[:min(len(rest), 40)])
}

// bracketed is an address of mail in angle brackets.
var bracketed = lazy(`^<[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,63}>`)

var tagAhead = lazy(`^<([a-z]{2,12})>(` + "`" + `| (?:tags?|elements?)\b)`)

// afterPower reports whether a power was read last.
func (s *scanner) afterPower() bool {
	t := s.lastSource()
	return t != "" && (raised[firstRune(t)] != 0 || t[0] == '^')
}

// tagName is the name of a tag that is spoken of and marks nothing: `<div>`, <div> tags.
func tagName(rest string, before rune) string {
	m := tagAhead().FindStringSubmatch(rest[:min(len(rest), 32)])
	if m == nil || m[2] == "`" && before != '`' {
		return ""
	}
	return m[1]
}

// unitAhead is the unit of two letters or more that rest begins with: cells/mL.
func unitAhead(rest string) string {
	u := rest[:wordLen(rest)]
	if _, ok := units[u]; !ok || len(u) < 2 {
		return ""
	}
	return u
}

// powerUnit is the unit rest begins with, behind a power: ×10⁹/L.
func powerUnit(rest string) string {
	if u := rest[:wordLen(rest)]; u == "L" || u == "s" || u == "l" {
		return u
	}
	return unitAhead(rest)
}

// perAhead is the name of what rest begins with, where something is counted by it: cups/day.
func perAhead(rest string) string {
	u := rest[:wordLen(rest)]
	if full := per[u]; full != "" && len(u) > 1 {
		return full
	}
	if counters[u] {
		return u
	}
	return units[unitAhead(rest)][0]
}

var counters = set("hour minute second night person mile gallon pound acre serving household student room capita shift session decade game match visit person")

// unitNumber is the number of a flat: #3B.
var unitNumber = lazy(`^\d{1,4}-?[A-Z]\b`)

// entities are signs as HTML writes them.
var entities = map[string]string{"amp": "and", "nbsp": "", "lt": "less than", "gt": "greater than", "quot": "", "apos": "", "#39": "", "copy": "copyright", "reg": "registered", "trade": "trademark", "deg": "degrees", "times": "times", "euro": "euros", "pound": "pounds", "cent": "cents",
	"mdash": "", "ndash": "", "hellip": "", "ldquo": "", "rdquo": "", "lsquo": "", "rsquo": "", "bull": "", "middot": "", "shy": "", "plusmn": "plus or minus", "rarr": "to", "larr": "from"}

// entity returns the length of the one rest begins with, or 0.
func entity(rest string) int {
	k := strings.IndexByte(rest[:min(len(rest), 9)], ';')
	if k < 0 {
		return 0
	}
	if _, ok := entities[rest[1:k]]; !ok {
		return 0
	}
	return k + 1
}

// keyed are words before what is pressed on a telephone; hours are names of hours, eras what
// stands behind years.
var (
	keyed = set("pressed pressing dial press enter")
	hours = set("noon midnight")
	eras  = set("bc bce ad ce")
)

// eraAhead is the end of a span of years: 450 BC–30 AD.
var eraAhead = lazy(`^ ?(?:\d|(?:AD|CE|A\.D\.) \d)`)

// digitsOnly reports whether no letter stands behind the digits s begins with.
func digitsOnly(s string) bool {
	return !unicode.IsLetter(firstRune(strings.TrimLeft(s[:min(len(s), 24)], "0123456789")))
}

// say puts words between spaces; none are a space.
func (s *scanner) say(words string, n int) {
	s.space()
	s.put(strings.Fields(words), n)
	s.space()
}

// value says a digit or number of another script, or one in a circle or raised.
func value(r rune) string {
	if d := strings.Trim(norm.NFKD.String(string(r)), "().,"); d != "" && strings.Trim(d, "0123456789") == "" {
		return strings.Join(cardinal(d, US), " ")
	}
	if !unicode.IsDigit(r) {
		return "number"
	}
	d := 0 // digits of a script come in order
	for d < 9 && unicode.IsDigit(r-rune(d)-1) {
		d++
	}
	return ones[d]
}
