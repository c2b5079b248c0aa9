package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fractions, ratios, powers and the signs between numbers.
var arithmetic = []pattern{
	{re(`24/7/365`), func(m []string, s *scanner) []string {
		return []string{"twenty", "four", "seven", "three", "sixty", "five"}
	}},
	{re(`24/7`), func(m []string, s *scanner) []string { return []string{"twenty", "four", "seven"} }},
	// 50/50, an 80/20 rule, 20/20 vision; 6/8 time
	{re(`(\d{1,2})([-–/])(\d{1,2})`), func(m []string, s *scanner) []string {
		a, b := atoi(m[1]), atoi(m[3])
		pair := a == b && a > 10 || m[2] == "/" && a == b && (a == 4 || a == 2) && (s.lastWord() == "in" || s.lastWord() == "at") || m[2] == "/" && (a+b == 100 && (a%5 == 0 || a > 60) || metered[s.nextWord()] && b&(b-1) == 0)
		switch {
		case m[1][0] == '0' || m[3][0] == '0':
			return nil
		case !pair && a == b && m[2] == "/":
			return join(cardinal(m[1], s.accent), []string{"out", "of"}, cardinal(m[3], s.accent)) // 10/10
		case !pair:
			return nil
		}
		return join(cardinal(m[1], s.accent), cardinal(m[3], s.accent))
	}},
	// 5! = 120
	{re(`(\d{1,3})!`), func(m []string, s *scanner) []string {
		if w := s.nextWord(); !sumBehind().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]) && w != "is" && w != "has" {
			return nil
		}
		return append(cardinal(m[1], s.accent), "factorial")
	}},
	// 1 Cor. 13
	{re(`([123])\s(?:Sam|Kgs|Kings|Chr|Chron|Cor|Thess|Tim|Pet|John|Samuel|Chronicles|Corinthians|Thessalonians|Timothy|Peter|Jn|Macc|Esd)\.?\s\d{1,3}`), func(m []string, s *scanner) []string {
		s.matchEnd = s.i + 1
		return ordinal(cardinal(m[1], s.accent))
	}},
	// (Root 52*)
	{re(`(\d{1,3})\*`), func(m []string, s *scanner) []string {
		n := len(s.out)
		if rest := s.text[s.matchEnd:]; n < 2 || s.out[n-2].Phonemes != "(" || !s.afterName() || rest == "" || rest[0] != ')' && rest[0] != ',' {
			return nil
		}
		return append(cardinal(m[1], s.accent), "not", "out")
	}},
	// 402/9d
	{re(`(\d{2,3})/(\d)d(?:ec)?`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"for"}, cardinal(m[2], s.accent), []string{"declared"})
	}},
	// 4-5/8
	{re(`(\d{1,3})-(\d{1,2})/(2|3|4|8|16|32|64)`), func(m []string, s *scanner) []string {
		if atoi(m[2]) >= atoi(m[3]) {
			return nil
		}
		out := fraction(m[1], m[2], m[3], s.accent)
		if rest := s.text[s.matchEnd:]; strings.HasPrefix(rest, `"`) && !s.quoted || strings.HasPrefix(rest, "″") {
			s.matchEnd += utf8.RuneLen(firstRune(rest))
			return append(out, s.named1("", "inch", "inches"))
		}
		return join(out, s.unitAfter(false))
	}},
	// 1/4-20 of a screw
	{re(`(\d{1,2})/(2|4|8|16|32|64)(["″])?-(\d{2})`), func(m []string, s *scanner) []string {
		if strings.HasPrefix(s.text[s.matchEnd:], "/") {
			return nil
		}
		out := fraction("", m[1], m[2], s.accent)
		if m[3] != "" {
			out = append(out, "inch")
		}
		return join(out, cardinal(m[4], s.accent))
	}},
	// 50/60 Hz
	{re(`50/60 ?Hz`), func(m []string, s *scanner) []string { return []string{"fifty", "sixty", "hertz"} }},
	// 1/250 s of a camera
	{re(`1/(\d{1,5})\s?s(?:ec)?`), func(m []string, s *scanner) []string {
		if atoi(m[1]) < 2 {
			return nil
		}
		return join([]string{"one"}, ordinal(cardinal(m[1], s.accent)), []string{"second"})
	}},
	{re(`(\d)/(\d{1,2})(?:rds|ths)`), func(m []string, s *scanner) []string { return fraction("", m[1], m[2], s.accent) }},
	// 9.8/10, 3.85/4.0
	{re(`(\d+\.\d+)/(\d{1,4}(?:\.\d+)?)`), func(m []string, s *scanner) []string {
		return join(decimal(m[1], s.accent), []string{"out", "of"}, decimal(m[2], s.accent), s.unitAfter(false))
	}},
	{re(`(?:(\d{1,3})\s)?(\d{1,3})[/⁄](\d{1,3})`), func(m []string, s *scanner) []string {
		if m[1] == "" && atoi(m[3]) <= 10 && overs().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)]) {
			return join(cardinal(m[2], s.accent), []string{"for"}, cardinal(m[3], s.accent)) // 287/6 (48.2 ov)
		}
		if d := m[3]; m[1] == "" && (d == "32" || d == "64") && atoi(m[2]) > 1 && atoi(m[2]) < atoi(d) && inches[s.nextWord()] {
			return join(cardinal(m[2], s.accent), plural(ordinal(cardinal(d, s.accent)))) // 3/32 of an inch
		}
		if m[1] == "" && s.lastWord() == "flat" {
			return join(cardinal(m[2], s.accent), cardinal(m[3], s.accent)) // of Scottish houses
		}
		if m[1] == "" && (s.lastWord() == "apgar" || s.lastWord() == "apgars") {
			return join(cardinal(m[2], s.accent), []string{"and"}, cardinal(m[3], s.accent))
		}
		if m[1] == "" && countable[s.lastWord()] && atoi(m[2]) <= atoi(m[3]) {
			return join(cardinal(m[2], s.accent), []string{"of"}, cardinal(m[3], s.accent)) // step 3/7
		}
		if rest := s.text[s.matchEnd:]; m[1] == "" && s.before() == '(' && len(s.out) > 1 && strings.HasPrefix(rest, ")") && (len(rest) == 1 || strings.ContainsRune("\n.,:;!", rune(rest[1]))) && atoi(m[2]) <= atoi(m[3]) {
			of := []string{"of"}
			if m[3] == "100" {
				of = []string{"out", "of"}
			}
			return join(cardinal(m[2], s.accent), of, cardinal(m[3], s.accent)) // retrying (3/5)
		}
		if m[1] == "" && s.rated(atoi(m[2]), m[3]) {
			return join(cardinal(m[2], s.accent), []string{"out", "of"}, cardinal(m[3], s.accent))
		}
		if m[1] == "" && atoi(m[2]) > atoi(m[3]) && atoi(m[3]) > 1 && sumBehind().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]) {
			return join(cardinal(m[2], s.accent), []string{"over"}, cardinal(m[3], s.accent)) // 12/4 = 3
		}
		if mon, day := atoi(m[2]), atoi(m[3]); m[1] == "" && s.accent == US && mon > 1 && mon <= 12 && day > 20 && day <= 31 && !sums[s.lastWord()] && !sumBehind().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]) && !pluralNoun(s.nextWord()) && s.nextWord() != "of" && !inches[s.nextWord()] {
			return dayOf(m[2], m[3], "", s.accent) // 12/25 is a holiday
		}
		if mon, day := atoi(m[2]), atoi(m[3]); m[1] == "" && mon > day && s.shortDate(mon, day) {
			if day == 10 {
				return join(cardinal(m[2], s.accent), []string{"out", "of", "ten"}) // 11/10
			}
			return dayOf(m[2], m[3], "", s.accent)
		}
		part := s.aPart(fraction(m[1], m[2], m[3], s.accent))
		if rest := s.text[s.matchEnd:]; (strings.HasPrefix(rest, `"`) && !s.quoted || strings.HasPrefix(rest, "″")) && part != nil {
			s.matchEnd += utf8.RuneLen(firstRune(rest))
			if m[1] == "" {
				return append(part, "inch")
			}
			return append(part, "inches")
		}
		return join(part, s.unitAfter(m[1] == "" && atoi(m[2]) < atoi(m[3])))
	}},
	{re(`(\d{1,3})?\s?([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])`), func(m []string, s *scanner) []string {
		n, d, _ := strings.Cut(vulgar[firstRune(m[2])], "/")
		if rest := s.text[s.matchEnd:]; strings.HasPrefix(rest, `"`) && !s.quoted || strings.HasPrefix(rest, "″") {
			s.matchEnd += utf8.RuneLen(firstRune(rest))
			name := "inches"
			if m[1] == "" || s.describes() {
				name = "inch"
			}
			return append(fraction(m[1], n, d, s.accent), name)
		}
		return join(s.aPart(fraction(m[1], n, d, s.accent)), s.unitAfter(m[1] == ""))
	}},
	// Gen. 1:1–2:3
	{re(`(\d{1,3}):(\d{1,3})[-–—](\d{1,3}):(\d{1,3})`), func(m []string, s *scanner) []string {
		if !scripture[s.lastWord()] {
			return nil
		}
		return join(inPairs(m[1], s.accent), inPairs(m[2], s.accent), []string{"to"}, inPairs(m[3], s.accent), inPairs(m[4], s.accent))
	}},
	// 26:1770–1774, of a journal
	{re(`(\d{1,4}):(\d{3,5})[-–](\d{2,5})`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{","}, cardinal(m[2], s.accent), []string{"to"}, cardinal(m[3], s.accent))
	}},
	// 3:1
	{re(`(\d{1,6}(?:\.\d+)?):(\d{1,3}(?:,\d{3})+|\d{1,6}(?:\.\d+)?)(?::(\d{1,6}))?`), func(m []string, s *scanner) []string {
		if (portWords[s.lastWord()] || s.lastSource() == "-p") && m[3] == "" {
			return join(inPairs(m[1], s.accent), []string{"to"}, inPairs(m[2], s.accent)) // -p 8080:80
		}
		if scripture[s.lastWord()] && m[3] == "" {
			return join(inPairs(m[1], s.accent), inPairs(m[2], s.accent)) // Luke 2:1, Psalm 119:105
		}
		if s.lettersBefore() && m[3] == "" && len(m[1]) > 3 && yearAhead().MatchString(m[2]) {
			return join(cardinal(m[1], s.accent), year(m[2], s.accent)) // EN 55032:2015
		}
		if s.before() == ':' && m[3] == "" {
			return join(cardinal(m[1], s.accent), []string{","}, cardinal(m[2], s.accent)) // index.js:17:5
		}
		out := join(decimal(m[1], s.accent), []string{"to"}, decimal(m[2], s.accent))
		if m[3] != "" {
			out = join(out, []string{"to"}, decimal(m[3], s.accent))
		}
		return out
	}},
	// 1.5e-3
	{re(`([-−])?(\d+(?:\.\d+)?)[eE]([-−+])?(\d{1,3})`), func(m []string, s *scanner) []string {
		return join(minus(m[1]), decimal(m[2], s.accent), strings.Fields("times ten to the power of"), minus(strings.Trim(m[3], "+")), cardinal(m[4], s.accent))
	}},
}

// reckoned are words behind which two numbers are a fraction.
var reckoned = set("divided divide dividing divides fraction fractions simplify reduce reduces equals exactly")

// shortDate reports whether mon/day, which is more than one, is a day of an American and no fraction.
func (s *scanner) shortDate(mon, day int) bool {
	for k := 1; k <= 4; k++ {
		if w := s.wordBack(k); reckoned[w] || proportions[w] {
			return false
		}
	}
	last, next := s.lastWord(), s.nextWord()
	_, unit := unitOf(next)
	rest := strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+3)], " ")
	return s.accent == US && mon <= 12 && day > 0 && !sums[last] && last != "a" && last != "an" && last != "is" && !unit && !inches[next] && !metered[next] && next != "ratio" && !pluralNoun(next) && !s.equatedIn(12) &&
		!strings.ContainsAny(rest, "+-−*×÷=/^)\"%") && !unicode.IsUpper(s.before()) && s.before() != '('
}

// overs stand behind the runs and wickets of cricket.
var overs = lazy(`^ (?:\((?:\d{1,3}(?:\.\d)? ov|[A-Z][a-z]+ \d)|in \d{1,3}(?:\.\d)? overs|dec\b|declared|by \d+ (?:runs?|wickets?)\b)`)

// rated reports whether n/of is what someone gave or got, and no fraction: of ten, if it is no
// part of something or of a sum, of other round numbers, behind a word that says so.
func (s *scanner) rated(n int, of string) bool {
	if n < 2 || n > atoi(of) {
		return false
	}
	if of != "10" {
		return outOf[of] && (ratings[s.lastWord()] || ratings[s.wordBack(2)] || ratings[s.wordBack(3)])
	}
	rest := strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+4)], " ")
	next := s.nextWord()
	_, unit := units[next]
	return !strings.ContainsRune("+−-–×*÷=<>≈\"″'", firstRune(rest)) && !sums[s.lastWord()] && next != "of" && !unit && !inches[next]
}

var (
	countable = set("retry try attempts shard worker task test chunk file request step page part slide chapter day round phase stage layer epoch item lesson question episode track batch attempt game leg heat lap")
	outOf     = set("5 20 25 30 40 50 60 100")
	ratings   = set("score scored scores scoring rate rated rates rating ratings gave give gives giving got get grade graded review reviewed mark marks stars test quiz exam")
	sums      = set("plus minus times equals by over")
)

// sumBehind is an operator and what it works on: what stands before is of a sum.
var sumBehind = lazy(`^ ?[-+−=×*/÷] ?(?:\d+(?:[^\dk]|$)|[a-z(])`)

// measured is a quantity with its unit, and measuredToo one that follows.
var (
	measured    = lazy(`^[-−]?\d[\d.,]*\s?(?:°|[A-Za-z]{2,}$|[gLm]$|["″'′]$)`)
	measuredToo = lazy(`^[-−]?\d[\d.,]*\s?[°A-Za-z"″'′]`)
)

// applied is a function of one letter and what it is applied to: f(x).
var applied = pattern{re(`([A-Za-z])(['’′]{0,2})\(([^()]{1,24}\))`), func(m []string, s *scanner) []string {
	if m[0] == "a(n)" || joins(s.before()) || labels[s.lastWord()] || titled[s.lastWord()] || !argument().MatchString(m[3]) {
		return nil
	}
	s.matchEnd -= len(m[3])
	out := []string{"!" + strings.ToUpper(m[1])}
	if indices[m[1]] || m[2] == "" && strings.HasPrefix(m[3], m[1]) {
		return out // n(n+1)/2
	}
	for range utf8.RuneCountInString(m[2]) {
		out = append(out, "prime")
	}
	return append(out, "of")
}}

// portWords stand before a port and the one it is mapped to.
var portWords = set("port ports publish")

// indices are letters that no function is called.
var indices = set("n k i j")

// argument is what a function is applied to, up to its parenthesis; titled are words before letters
// whose parts are in parentheses: paragraph b(2).
var (
	argument = lazy(`^[-−+]?(?:\d+(?:\.\d+)?|\d*[A-Za-zπθαβωλ]|log|sin|cos|ln)[²³ⁿ]?(?:[ ,|+−*/^=<>-].*)?\)$`)
	titled   = set("section paragraph subsection article rule annex appendix item clause class part title regulation chapter type group vitamin hepatitis plan option")
)

// trigonometry are functions before an angle or a variable.
var trigonometry = map[string]string{"sin": "sine", "cos": "cosine", "tan": "tangent", "arcsin": "arc sine", "arccos": "arc cosine", "arctan": "arc tangent"}

var angle = lazy(`^[²³]? ?\(?(?:\d+(?:\.\d+)? ?°|\d*(?:[xytθαβφωπ]|pi)\b|\d*[θαβφωπ])`)

var inches = set("of in inch inches")

// metered are words before which 6/8 is a bar of music.
var metered = set("time meter metre signature jig waltz reel march beat groove rhythm feel")

// scripture are books whose chapters and verses stand before and behind a colon.
var scripture = set(`genesis exodus leviticus deuteronomy joshua judges ruth samuel kings chronicles ezra nehemiah job psalm psalms proverbs ecclesiastes isaiah jeremiah ezekiel daniel hosea joel amos micah zechariah malachi matthew mark luke john acts romans corinthians galatians ephesians philippians colossians
	thessalonians timothy titus hebrews james peter jude revelation sura surah quran koran`)

var vulgar = map[rune]string{'½': "1/2", '⅓': "1/3", '⅔': "2/3", '¼': "1/4", '¾': "3/4", '⅕': "1/5", '⅖': "2/5", '⅗': "3/5", '⅘': "4/5", '⅙': "1/6", '⅚': "5/6", '⅛': "1/8", '⅜': "3/8", '⅝': "5/8", '⅞': "7/8"}

// fraction says n over d, with whole in front if there is one.
func fraction(whole, n, d string, accent Accent) []string {
	den := atoi(d)
	if den < 2 || whole != "" && atoi(n) >= den {
		if whole != "" {
			return nil
		}
		return join(cardinal(n, accent), []string{"over"}, cardinal(d, accent))
	}
	if whole == "" && (n == "9" && d == "11") {
		return join(cardinal(n, accent), cardinal(d, accent))
	}
	var part []string
	switch {
	case den == 2:
		part = []string{"half"}
	case den == 4:
		part = []string{"quarter"}
	case den > 20 && den != 100 && n != "1" || atoi(n) > den:
		return join(cardinal(n, accent), []string{"over"}, cardinal(d, accent))
	default:
		part = ordinal(cardinal(d, accent))
	}
	if atoi(n) != 1 {
		if den == 2 {
			part = []string{"halves"}
		} else {
			part = plural(part)
		}
	}
	if whole == "" {
		return join(cardinal(n, accent), part)
	}
	num := cardinal(n, accent)
	if n == "1" {
		num = []string{"a"}
	}
	return join(cardinal(whole, accent), []string{"and"}, num, part)
}

// aPart takes the one of a fraction behind an article: a 1/4 of the class.
func (s *scanner) aPart(part []string) []string {
	if len(part) == 2 && part[0] == "one" && s.lastWord() == "a" && (s.nextWord() == "of" || part[1] == "half" || part[1] == "quarter") {
		return part[1:]
	}
	return part
}

// raised are digits and signs of exponents.
var raised = map[rune]rune{'⁰': '0', '¹': '1', '²': '2', '³': '3', '⁴': '4', '⁵': '5', '⁶': '6', '⁷': '7', '⁸': '8', '⁹': '9', '⁻': '-', '⁺': '+', 'ⁿ': 'n', 'ᵀ': 'T'}

// charge is that of an ion behind a caret: SO4^2-.
var charge = lazy(`^\^\{?(\d?[-−+])(\}?)(?:$|[\s,.;:)\]])`)

var caret = lazy(`^\^(?:\{?([-−+]?\d{1,9}|[A-Za-z])\}?)`)

// power reads the exponent rest begins with: ^6, ⁻⁹. It returns its length.
func power(rest string) (int, []string) {
	n, exp := 0, ""
	for n < len(rest) {
		r, k := utf8.DecodeRuneInString(rest[n:])
		d, ok := raised[r]
		if !ok {
			break
		}
		exp += string(d)
		n += k
	}
	if n == 0 {
		if rest == "" || rest[0] != '^' {
			return 0, nil
		}
		m := caret().FindStringSubmatch(rest[:min(len(rest), 16)])
		if c := charge().FindStringSubmatch(rest[:min(len(rest), 16)]); c != nil {
			m = []string{rest[:strings.Index(rest, c[1])+len(c[1]+c[2])], c[1]}
		}
		if m == nil {
			return 0, nil
		}
		n, exp = len(m[0]), strings.Replace(m[1], "−", "-", 1)
	}
	switch digits := digitsOf(exp); {
	case exp == "2":
		return n, []string{"squared"}
	case exp == "3":
		return n, []string{"cubed"}
	case exp == "T":
		return n, []string{"transpose"}
	case strings.Trim(exp, "+-") == "": // a charge
		return n, []string{map[byte]string{'+': "plus", '-': "minus"}[exp[0]]}
	case digits == "":
		return n, []string{"to", "the", "power", "of", "!" + strings.ToUpper(strings.Trim(exp, "+-"))}
	case exp[len(exp)-1] == '+' || exp[len(exp)-1] == '-': // the charge 2+
		return n, append(cardinal(digits, US), map[byte]string{'+': "plus", '-': "minus"}[exp[len(exp)-1]])
	case exp[0] == '-':
		return n, join(strings.Fields("to the power of minus"), cardinal(digits, US))
	default:
		return n, join(strings.Fields("to the power of"), cardinal(digits, US))
	}
}

// operators between numbers, and of comparisons anywhere, longest first. One that
// needs a number behind it is marked so.
var operators = []struct {
	sign, say string
	number    bool
}{
	{" - ", "minus", true}, {" − ", "minus", true}, {" – ", "to", true}, {"–", "to", true}, {"—", "to", true}, {"-", "to", true}, {" + ", "plus", true}, {"+", "plus", true},
	{" = ", "equals", false}, {"=", "equals", true}, {" × ", "times", true}, {"×", "times", true}, {" * ", "times", true}, {"*", "times", true}, {" · ", "times", true}, {"·", "times", true},
	{" ÷ ", "divided by", true}, {"÷", "divided by", true}, {" / ", "divided by", true}, {" x ", "by", true},
}

// operator reads a power, then an operator before a number. Behind what is no
// number itself a dash is none.
func (s *scanner) operator(number bool) {
	if n, words := power(s.text[s.i:]); n > 0 {
		s.space()
		s.matchEnd = s.i + n
		if words = append(words, s.unitAfter(false)...); s.matchEnd == s.i+n && s.scientific() {
			words = append(words, s.unitOfPower()...)
		}
		s.put(words, s.matchEnd-s.i)
	}
	rest := s.text[s.i:]
	if sign := strings.TrimPrefix(rest[:min(len(rest), 4)], " "); sign == "" || !strings.ContainsRune("-−–—+=×*·÷/x", firstRune(sign)) {
		return
	}
	for _, o := range operators {
		after, ok := strings.CutPrefix(rest, o.sign)
		if o.sign == " / " && measured().MatchString(s.lastSource()) && measuredToo().MatchString(after[:min(len(after), 24)]) {
			continue // 425 °F / 220 °C
		}
		if (o.sign == " - " || o.sign == " – ") && percentAhead().MatchString(after[:min(len(after), 8)]) && !strings.HasSuffix(s.lastSource(), "%") && measuredOrPaid(s.lastSource()) {
			continue // $64.18 – 10% off
		}
		if o.sign == " - " && strings.ContainsRune(currencyMarks, firstRune(after)) && !strings.ContainsAny(s.lastSource(), currencyMarks) {
			continue // 256GB - $1,199
		}
		if last := s.lastSource(); o.sign == " / " && len(last) > 1 && digitsOf(last) == "" {
			continue // 10 a.m. PST / 1 p.m. EST
		}
		if !ok || after == "" || !number && (o.sign[0] != ' ' || o.say == "to" || o.sign == " x " && digitsOf(s.lastSource()) == "") {
			continue
		}
		if r := firstRune(after); !o.number || r >= '0' && r <= '9' || strings.ContainsRune("$£€¥π√½⅓⅔¼¾⅛", r) {
			s.space()
			switch {
			case o.sign == " - " && s.ranges(after):
				o.say = "to"
			case o.sign == "-" && suffixed(s.lastSource(), after):
				o.say = "dash"
			case o.sign == "-" && difference().MatchString(after[:min(len(after), 16)]):
				o.say = "minus" // 5-3=2
			case o.say == "times" && measured().MatchString(s.lastSource()) && measuredToo().MatchString(after[:min(len(after), 24)]):
				o.say = "by" // 25 m × 12.5 m
			}
			s.put(strings.Fields(o.say), len(o.sign))
			s.space()
			return
		}
	}
}

var percentAhead = lazy(`^\d+(?:\.\d+)? ?%`)

// measuredOrPaid reports whether a number with a unit or a currency was written.
func measuredOrPaid(source string) bool {
	return strings.ContainsAny(source, currencyMarks) || measured().MatchString(source)
}

// thread is one of screws.
var thread = lazy(`^M\d{1,2}$`)

// suffixed reports whether a hyphen stands between a long number of something and one of its parts: 10045-2.
func suffixed(number, after string) bool {
	k := digitRun(after)
	return len(number) > 4 && digitsOf(number) == number && k < 3 && !strings.HasPrefix(after[k:], ",")
}

// difference is what stands behind the sign of one whose value is said.
var difference = lazy(`^\d{1,9} ?= ?[\d?-]`)

var secondNumber = lazy(`^(\d{1,9})(:\d\d)?(?:[^\d=+*/-]|$)(?: ?=)?`)

// ranges reports whether a spaced hyphen with after behind it is one of times, or of a number
// and a larger one: 9:00 - 17:00, 1990 - 1995.
func (s *scanner) ranges(after string) bool {
	m := secondNumber().FindStringSubmatch(after[:min(len(after), 16)])
	last := s.lastSource()
	if m == nil || strings.HasSuffix(m[0], "=") || last == "" {
		return false
	}
	return m[2] != "" && strings.Contains(last, ":") || digitsOf(last) == last && len(last) < 10 && atoi(last) < atoi(m[1])
}

// comparisons are signs of two characters.
var comparisons = []struct{ sign, say string }{
	{">=", "greater than or equal to"}, {"<=", "less than or equal to"}, {"!=", "is not equal to"}, {"==", "equals"}, {"-=", "minus equals"}, {"*=", "times equals"}, {"+/-", "plus or minus"}, {"=>", "to"}, {"->", "to"}, {"&&", "and"},
}
