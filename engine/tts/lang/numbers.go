package lang

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"quern/engine/tts/g2p"
)

// A vocabulary is how a language says what is written in figures and signs.
type vocabulary struct {
	cardinal func(n int64, feminine bool) []string
	ordinal  func(n int64, feminine bool) []string // nil: it has none for n
	endings  map[string]bool                       // of ordinals in figures, "º": whether they are feminine
	rank     func(n int64, ending string) []string // in place of ordinal where more than the gender of an ending matters
	year     func(n int64) []string                // four digits that are said as a year; nil: they are not
	english  bool                                  // a point before a fraction and commas in thousands; else the other way round
	point    string                                // between a number and its fraction
	fraction int                                   // digits of a fraction that are said as a number
	to       string                                // between the ends of a range
	over     string                                // of a fraction: "sobre"
	lower    bool                                  // a fraction's lower number comes first
	halves   map[string]string                     // fractions with names: "1/2"
	half     string                                // said alone before a noun: "medio"
	dayWords map[string]bool                       // words behind which 14/07 is a day
	mixed    func(n int64, part string) []string   // a number with a fraction, or nil
	months   []string
	date     func(v *vocabulary, d, m, y int64) []string
	clock    func(v *vocabulary, h, m int64) []string
	oclock   string                            // a word behind a time that clock says itself
	phones   string                            // telephone numbers that nothing marks; alternatives, each before a |
	marks    string                            // of money, beside the signs; alternatives, each behind a |
	begins   string                            // what patterns begin with beside digits and the usual signs
	phoned   func(s string) []string           // a telephone number, if not in groups
	dotted   func(text string) ([]string, int) // initials and the like: what is said of how many bytes
	money    map[string]currency
	cents    string          // between the whole and the cents; may be ""
	of       string          // between millions and what they are of: "de"
	ofVowel  string          // in its place before a vowel, without a space
	scales   string          // names of thousands and more, in an expression, those that contain others in front
	hours    map[string]bool // words behind which a full hour is a number alone: "a la una"
	century  map[string]bool // words that a Roman numeral stands before
	units    map[string]unit
	signs    map[rune]string

	abbreviations map[string]string                             // in small letters, with their point
	kings         map[string]bool                               // words that a Roman numeral follows; whether they are feminine
	ranked        func(word string, n int64) bool               // whether it is an ordinal there
	before        func(number []string, feminine bool) []string // a number before a noun
	plural        func(word string) bool                        // whether a word behind a number is a noun that it counts, where before matters
	lone          func(noun string) string                      // one, before the noun that it counts, or ""
	saint         func(name string) string                      // what S. is before a name
	and           string                                        // between a whole and its fraction
	feminine      func(word string) bool                        // whether a noun behind a number is feminine

	patterns func() []pattern
}

// A unit is what follows a number.
type unit struct {
	one, many string
	feminine  bool
}

// A currency has a name and that of its hundredth.
type currency struct{ whole, part unit }

// A pattern is something that is not said as it is written. say gets the groups and
// returns the words, or nil to decline.
type pattern struct {
	re  *regexp.Regexp
	say func(s *scanner, m []string) []string
}

// digits reads a run of digits that no pattern has, of any script.
func (s *scanner) digits(rest string) {
	k := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsDigit(r) })
	if k < 0 {
		k = len(rest)
	}
	s.space()
	var b strings.Builder
	for _, r := range rest[:k] {
		b.WriteByte(byte('0' + value(r)))
	}
	if before, _ := lastRune(s.text[:s.i]); s.script != nil && b.Len() > 2 && unicode.Is(unicode.Latin, before) { // the number of a train
		s.put(s.phoned(b.String()), k)
	} else {
		s.put(s.whole(b.String(), false), k)
	}
	s.space()
}

// value is that of a digit; the digits of a script come in order.
func value(r rune) int {
	d := 0
	for d < 9 && unicode.IsDigit(r-rune(d)-1) && unicode.IsDigit(r) {
		d++
	}
	if r < 0x80 {
		return int(r - '0')
	}
	return d
}

// whole says a whole number; more than 15 digits, or those behind a zero, one by one.
func (v *vocabulary) whole(n string, feminine bool) []string {
	n = digitsOf(n)
	if len(n) > 15 || len(n) > 1 && n[0] == '0' {
		return v.digitByDigit(n)
	}
	return v.cardinal(atoi(n), feminine)
}

func (v *vocabulary) digitByDigit(n string) []string {
	var out []string
	for _, c := range []byte(n) {
		if isDigit(c) {
			out = append(out, v.cardinal(int64(c-'0'), false)...)
		}
	}
	return out
}

// number says a numeral.
func (v *vocabulary) number(s string, feminine bool) []string {
	if v.year != nil && len(s) == 4 && digitsOf(s) == s {
		if out := v.year(atoi(s)); out != nil {
			return out
		}
	}
	whole, fraction := v.parts(s)
	out := v.whole(whole, feminine && fraction == "")
	if fraction == "" {
		return out
	}
	out = append(out, v.point)
	if len(fraction) <= v.fraction && fraction[0] != '0' {
		return append(out, v.cardinal(atoi(fraction), false)...)
	}
	return append(out, v.digitByDigit(fraction)...)
}

// parts splits a numeral at the sign before its fraction.
func (v *vocabulary) parts(s string) (whole, fraction string) {
	if v.english {
		whole, fraction, _ = strings.Cut(s, ".")
		return digitsOf(whole), fraction
	}
	if k := strings.LastIndexAny(s, ",."); k >= 0 {
		if s[k] == ',' && !(strings.Count(s, ",") > 1) || s[k] == '.' && (strings.Contains(s, ",") || len(s)-k != 4) && strings.Count(s, ".") == 1 {
			return digitsOf(s[:k]), s[k+1:]
		}
	}
	return digitsOf(s), ""
}

func (v *vocabulary) negative(sign string) []string {
	if sign == "" {
		return nil
	}
	return []string{v.signs['−']}
}

// quantity says a number of things.
func (v *vocabulary) quantity(n string, u unit) []string {
	name := u.many
	if n == "1" {
		name = u.one
	}
	return v.things(v.counted(n, u.feminine), name)
}

// millions are numbers that are "of" something: un millón de euros.
var millions = set("millón millones billón billones million millions milliard milliards milione milioni miliardo miliardi milhão milhões bilhão bilhões trilhão trilhões")

// things puts the name of things behind their number.
func (v *vocabulary) things(number []string, name string) []string {
	names := strings.Fields(name)
	switch {
	case v.of == "" || !millions[number[len(number)-1]]:
	case v.ofVowel != "" && strings.ContainsRune("aeiouyé", firstRune(names[0])):
		names[0] = v.ofVowel + names[0]
	default:
		number = append(number, v.of)
	}
	return join(number, names)
}

// counted says a number before a noun.
func (v *vocabulary) counted(n string, feminine bool) []string {
	out := v.number(n, feminine)
	if v.before != nil {
		return v.before(out, feminine)
	}
	return out
}

// price says an amount of money: cents are a number of their own.
func (v *vocabulary) price(sign, amount, scale, mark string) []string {
	c, ok := v.money[mark]
	if !ok {
		return nil
	}
	whole, fraction := v.parts(amount)
	switch {
	case scale != "":
		return v.things(join(v.negative(sign), v.counted(amount, false), strings.Fields(norm.NFC.String(scale))), c.whole.many)
	case len(fraction) == 1:
		fraction += "0"
	case len(fraction) > 2 || fraction == "" || c.part.many == "":
		return join(v.negative(sign), v.quantity(strings.ReplaceAll(amount, " ", ""), c.whole))
	}
	out := v.negative(sign)
	if atoi(whole) > 0 || atoi(fraction) == 0 {
		out = join(out, v.quantity(whole, c.whole))
	}
	if n := atoi(fraction); n > 0 {
		if len(out) > len(v.negative(sign)) && v.cents != "" {
			out = append(out, v.cents)
		}
		out = join(out, v.quantity(strings.TrimLeft(fraction, "0"), c.part))
	}
	return out
}

// day says a date, or nil if there is none such.
func (v *vocabulary) day(d, m, y string) []string {
	day, month, year := atoi(d), atoi(m), atoi(y)
	if day < 1 || day > 31 || month < 1 || month > 12 {
		return nil
	}
	if len(y) == 2 {
		if year += 1900; year < 1950 {
			year += 100
		}
	}
	return v.date(v, day, month, year)
}

// first is what the first day of a month is called.
func (v *vocabulary) first() []string { return v.date(v, 1, 1, 0)[:1] }

func (v *vocabulary) time(h, m string) []string { return v.clock(v, atoi(h), atoi(m)) }

// time says a time where the scanner stands.
func (s *scanner) time(h, m string) []string {
	out := s.vocabulary.time(h, m)
	if s.hours[s.lastWord()] && len(out) == 2 {
		return slices.DeleteFunc(out, func(w string) bool { return hourNames[w] })
	}
	return out
}

// linking are words behind a number that it does not count.
var linking = set("de del y que con por para más menos sin per con che più meno sono come tra fra dei del della dos das ou com sem mais menos por para que são está está como mil cada")

// masculine are nouns in -a that are.
var masculine = set("día mapa planeta clima tema problema sistema programa idioma esquema dilema poema idioma cometa dia programma schema profeta pirata artista grama telegrama diagrama diagramma telegramma teorema fantasma")

// loneOne is the word of one that a noun's ending asks for: feminine those in -a and with feminine endings.
func loneOne(noun, feminine, masculineOne string, endings ...string) string {
	for _, e := range append(endings, "a") {
		if strings.HasSuffix(noun, e) && !masculine[noun] {
			return feminine
		}
	}
	return masculineOne
}

var hourNames = set("hora horas ora ore")

// lastWord is the word read last, or "".
func (s *scanner) lastWord() string {
	if n := len(s.out); n > 0 && s.out[n-1].Kind == g2p.Word {
		return s.out[n-1].Text
	}
	return ""
}

// telephone says groups of digits: of two as numbers, longer ones digit by digit.
func (v *vocabulary) telephone(s string) []string {
	if v.phoned != nil {
		return v.phoned(s)
	}
	var out []string
	groups := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" .-()/", r) })
	for k, g := range groups {
		if k > 0 {
			out = append(out, ",")
		}
		if strings.HasPrefix(g, "+") {
			out, g = append(out, strings.Fields(v.signs['+'])...), g[1:]
		}
		if len(g) <= 2 {
			out = append(out, v.whole(g, false)...)
		} else {
			out = append(out, v.digitByDigit(g)...)
		}
	}
	return out
}

// part says a fraction, mixed or not.
func (v *vocabulary) part(whole, n, d string) []string {
	var out []string
	if whole != "" && v.mixed != nil {
		if out = v.mixed(atoi(whole), n+"/"+d); out != nil {
			return out
		}
	}
	if whole != "" {
		out = append(v.whole(whole, false), v.and)
	}
	if name := v.halves[n+"/"+d]; name != "" {
		return append(out, strings.Fields(name)...)
	}
	if v.lower {
		n, d = d, n
	}
	return join(out, v.whole(n, false), []string{v.over}, v.whole(d, false))
}

// between says numbers with a word between them.
func (v *vocabulary) between(numbers []string, word string) []string {
	var out []string
	for i, n := range numbers {
		if i > 0 {
			out = append(out, word)
		}
		out = append(out, v.whole(n, false)...)
	}
	return out
}

// nextWord is the word behind the next n bytes, in small letters.
func (s *scanner) nextWord(n int) string {
	rest := strings.TrimLeft(s.text[min(s.i+n, len(s.text)):min(len(s.text), s.i+n+lookahead)], " \u00a0")
	return strings.ToLower(norm.NFC.String(rest[:s.wordLen(rest)]))
}

// nextFeminine reports whether the word behind the next n bytes is a feminine noun.
func (s *scanner) nextFeminine(n int) bool {
	w := s.nextWord(n)
	return w != "" && s.vocabulary.feminine != nil && s.vocabulary.feminine(w)
}

// bare says a number whose n bytes stand alone or before a noun.
func (s *scanner) bare(number string, n int) []string {
	feminine := s.nextFeminine(n)
	out := s.number(number, feminine)
	next := s.nextWord(n)
	switch {
	case s.before != nil && millions[next]:
		return s.before(out, false)
	case number == "1" && s.lone != nil && len(next) > 2 && !linking[next] && strings.HasPrefix(s.text[s.i+n:], " "+next):
		if one := s.lone(next); one != "" {
			return []string{one}
		}
	case next == "mil" && s.vocabulary.feminine != nil && s.vocabulary.feminine(s.nextWord(n+len(" mil"))) && atoi(number) < 1000:
		return s.number(number, true) // duas mil casas
	}
	if s.plural != nil && s.plural(s.nextWord(n)) {
		return s.before(out, feminine)
	}
	return out
}

// readAs returns the words of a text that SSML says how to read, or nil.
func (s *scanner) readAs(as g2p.As, format, text string) []string {
	v := s.vocabulary
	whole := strings.TrimPrefix(text, "-")
	isWhole := whole != "" && digitsOf(whole) == strings.NewReplacer(".", "", " ", "").Replace(whole)
	sign := v.negative(text[:len(text)-len(whole)])
	switch as {
	case g2p.Characters:
		var out []string
		for _, r := range text {
			switch {
			case unicode.IsDigit(r):
				out = append(out, v.cardinal(int64(value(r)), false)...)
			case unicode.IsLetter(r) && s.reads(r):
				out = append(out, "!"+string(r))
			case v.signs[r] != "":
				out = append(out, strings.Fields(v.signs[r])...)
			}
		}
		return out
	case g2p.Digits, g2p.Telephone:
		return v.telephone(text)
	case g2p.Cardinal:
		if n := romanNumber(text); n > 0 {
			return v.cardinal(n, false)
		}
		if isWhole {
			return join(sign, v.whole(whole, false))
		}
	case g2p.Ordinal:
		n := romanNumber(text)
		if n == 0 {
			n = atoi(text)
		}
		if n > 0 && n < 10000 {
			if out := v.ordinal(n, false); out != nil {
				return out
			}
			return v.cardinal(n, false)
		}
	case g2p.Fraction:
		if n, d, ok := strings.Cut(whole, "/"); ok && digitsOf(n) == n && digitsOf(d) == d && n != "" && d != "" {
			return join(sign, v.part("", n, d))
		}
	case g2p.Date:
		return s.dateAs(format, text)
	case g2p.Time:
		if h, m, ok := strings.Cut(strings.ReplaceAll(text, "h", ":"), ":"); ok && digitsOf(h) == h && atoi(h) < 25 && len(m) >= 2 && atoi(m[:2]) < 60 {
			return v.time(h, m[:2])
		}
	}
	return nil
}

// dateAs reads a date whose parts stand in the order format says: day first without one.
func (s *scanner) dateAs(format, text string) []string {
	fields := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsDigit(r) })
	if format == "" {
		format = "dmy"
		if len(fields) > 0 && len(fields[0]) == 4 {
			format = "ymd"
		}
	}
	if len(fields) != 3 || len(format) != 3 {
		return nil
	}
	at := map[rune]string{}
	for i, c := range format {
		at[c] = fields[i]
	}
	return s.day(at['d'], at['m'], at['y'])
}

// dated says dates as Romance languages do: the day, the first by a name of its own, the month and
// the year, with of between them.
func dated(first string, of ...string) func(v *vocabulary, d, m, y int64) []string {
	return func(v *vocabulary, d, m, y int64) []string {
		day := v.cardinal(d, false)
		if d == 1 {
			day = []string{first}
		}
		out := join(day, of, []string{v.months[m-1]})
		if y > 0 {
			out = join(out, of, v.cardinal(y, false))
		}
		return out
	}
}

func join(parts ...[]string) []string { return slices.Concat(parts...) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// atoi reads at most 18 digits; other characters are skipped.
func atoi(s string) int64 {
	var n int64
	digits := 0
	for _, c := range []byte(s) {
		if isDigit(c) && digits < 18 {
			n, digits = n*10+int64(c-'0'), digits+1
		}
	}
	return n
}

// decompose returns the letter below a diacritic.
func decompose(r rune) (rune, bool) {
	d := norm.NFD.String(string(r))
	base, n := utf8.DecodeRuneInString(d)
	return base, n < len(d)
}
