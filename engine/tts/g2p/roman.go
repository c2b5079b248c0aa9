package g2p

import (
	"strings"
	"unicode"
)

// monarchs are names a Roman numeral makes an ordinal of.
var monarchs = set(`henry louis george elizabeth charles edward james william richard pope francis benedict john paul pius philip napoleon frederick catherine nicholas alexander peter leo gregory mary ivan
	ferdinand innocent clement urban sixtus julius robert harald olaf gustav ramesses ramses ptolemy xerxes darius david baldwin margaret victoria albert joseph`)

// numbered are words a Roman numeral follows, one letter long too.
var numbered = set(`chapter part volume vol book act scene section appendix war bowl type phase class level grade article title figure table episode season stage mark column canto tome verse psalm
	page pages section sections chapters parts wars volumes vols acts books element unit amendment quarter factor saturn vatican quadrant sonata symphony movement lesson exhibit annex schedule rule tier group channel gta rocky civilization fantasy iphone os`)

// given are first names before a surname and a numeral, joined what may stand between them otherwise.
var (
	given = set(`thomas walter harry michael david donald kenneth joseph arthur samuel daniel henry frank howard stephen steven andrew benjamin anthony jack ralph roger eugene carl lawrence theodore franklin winston harrison preston davis
		adam bill bob jim joe sam ted tom will ben dan ed fred george jonathan matthew nathan oliver oscar patrick raymond ronald russell sidney stanley vincent warren wesley loudon robert`)
	joined = set("and or of")
)

// ordinalNouns are words before which a numeral is an ordinal: the XXI Olympiad.
var ordinalNouns = set("century olympiad olympics winter summer dynasty corps legion congress amendment")

// kinds are words whose numeral I stands before a noun: a type I error, but the book I bought.
var kinds = set("type class phase grade level stage")

// listing are words between two Roman numerals of one kind.
var listing = set("and or to of through")

var romanDigits = map[byte]int{'I': 1, 'V': 5, 'X': 10, 'L': 50, 'C': 100, 'D': 500, 'M': 1000}

var romanForm = lazy(`^M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})$`)

// romanNumber is the value of a numeral up to 3,999, in capitals or small letters,
// or 0.
func romanNumber(w string) int {
	if strings.Trim(w, "MDCLXVImdclxvi") != "" { // as of most words, at their first letters
		return 0
	}
	up := strings.ToUpper(w)
	if w == "" || len(w) > 15 || w != up && w != strings.ToLower(w) || !romanForm().MatchString(up) {
		return 0
	}
	n := 0
	for i := range len(up) {
		if v := romanDigits[up[i]]; i+1 < len(up) && v < romanDigits[up[i+1]] {
			n -= v
		} else {
			n += v
		}
	}
	return n
}

// numeral reads Roman numerals where what stands around says that they are:
// Henry VIII, Chapter IV, Super Bowl LVIII, page xii, MCMXCIX.
func (s *scanner) numeral(w, after string) []string {
	if s.capitals && (len(w) < 2 || strings.Trim(w, "IVX") != "") {
		return nil
	}
	stem, suffix := w, ""
	if t := strings.TrimSuffix(w, "th"); t != w && romanNumber(t) > 3 && t == strings.ToUpper(t) {
		stem, suffix = t, "th"
	}
	for _, end := range []string{"nd", "rd", "'s"} {
		if t, ok := strings.CutSuffix(w, end); ok && (len(t) > 1 || end == "'s") && t == strings.ToUpper(t) {
			stem, suffix = t, end
		}
	}
	n := romanNumber(stem)
	if n == 0 {
		return nil
	}
	last := s.lastWord()
	if listing[last] && numbered[s.wordBack(3)] && (len(stem) > 1 || stem == "I" || stem == "V") {
		last = s.wordBack(3) // World Wars I and II, Part II of V
	}
	following := strings.ToLower(strings.TrimPrefix(after[:min(len(after), 24)], " "))
	following = following[:wordLen(following)]
	small := stem != strings.ToUpper(stem)
	ordinary := below(n%1000, false)
	if n >= 1000 {
		ordinary = cardinal(decimalOf(n), US)
	}
	switch {
	case suffix == "'s":
		said := s.numeral(stem, "")
		if said != nil {
			said[len(said)-1] += suffix
		}
		return said
	case suffix != "" || (following == "century" || ordinalNouns[following] && last == "the") && !small && n < 40:
		return ordinal(ordinary)
	case numbered[last]:
		if w == "I" && (verbsAfterI[following] || following != "" && !s.afterName() && !kinds[last] && !listing[following] && following != "in") || small && (len(stem) == 1 && stem != "v" && stem != "x" && stem != "i" || !s.pages(last)) {
			return nil
		}
		if strings.Contains("CDLM", stem) && len(stem) == 1 || stem == "DC" || stem == "MD" || stem == "CD" {
			return nil // Appendix C, Part D
		}
		return ordinary
	case small && s.before() == '(' && strings.HasPrefix(after, ")") && (len(stem) > 1 || stem == "i") && strings.Trim(stem, "ivx") == "":
		return ordinary // (iii)
	case small:
		return nil
	case listing[last] && s.wordBack(3) == "the" && monarchs[s.wordBack(4)] && len(stem) > 1: // Pius XI and XII
		return append([]string{"the"}, ordinal(ordinary)...)
	case monarchs[last] && s.afterName():
		if w == "I" && !(royal[s.wordBack(2)] || after == "" || strings.ContainsAny(after[:1], ".,;:)") || following == "of" || anotherKing().MatchString(after[:min(len(after), 32)])) || w == "I" && verbsAfterI[following] || strings.Contains("CDLMX", stem) && len(stem) == 1 {
			return nil
		}
		return append([]string{"the"}, ordinal(ordinary)...)
	case len(stem) >= 2 && n < 10 && s.afterName() && (monarchs[s.wordBack(2)] || given[s.wordBack(2)]) && !joined[last]:
		return append([]string{"the"}, ordinal(ordinary)...) // John Smith III
	case len(stem) >= 2 && n < 40 && s.afterName() && last != "i":
		return ordinary
	case len(stem) >= 3 && strings.Trim(stem, "IVX") == "" && stem != "XXX":
		return ordinary
	case len(stem) >= 4 && n >= 1000 && n < 2100:
		return year(decimalOf(n), US)
	case len(stem) >= 4:
		return ordinary
	}
	return nil
}

// anotherKing is one behind the first: Elizabeth I and Edward VII.
var anotherKing = lazy(`^ and [A-Z][a-z]+ (?:[IVX]{2,}|V|X)\b`)

// pages reports whether small numerals follow a word.
func (s *scanner) pages(w string) bool {
	return strings.Contains(" page pages section sections chapter verse act scene part volume book ", " "+w+" ")
}

var royal = set("queen king emperor empress tsar czar pope prince saint")

// verbsAfterI show that I is a pronoun: the part I liked.
var verbsAfterI = set(`am was have had will would can could do did think know like liked want wanted need read wrote write love loved see saw said say ever just never always also really 'm 've 'd`)

var numeralBehind = lazy(`^[-–]([IVXLCDM]{1,8}|[ivxlc]{1,8})`)

// numeralsTo reads the second numeral of a range: chapters IV–VI.
func (s *scanner) numeralsTo() {
	m := numeralBehind().FindStringSubmatch(s.text[s.i:min(len(s.text), s.i+16)])
	if m == nil || joins(firstRune(s.text[s.i+len(m[0]):])) {
		return
	}
	if n := romanNumber(m[1]); n > 1 {
		s.space()
		s.put(append([]string{"to"}, cardinal(decimalOf(n), US)...), len(m[0]))
	}
}

func decimalOf(n int) string {
	var b [4]byte
	i := len(b)
	for ; n > 0; n /= 10 {
		i--
		b[i] = '0' + byte(n%10)
	}
	return string(b[i:])
}

// airport is the code of one.
var airport = lazy(`^[A-Z]{3}\b`)

// byRoman are parts that have small Roman numerals, too.
var byRoman = set("volume chapter book part")

// hasNumber reports whether next begins with a number, not of digits, of what w is short for: full.
func hasNumber(w, full, next string) bool {
	if (full == "number" || full == "flight") && codeAhead().MatchString(next) || (w == "dep" || w == "arr") && airport().MatchString(next) || bracketedToo[w] && inBrackets().MatchString(next) {
		return true
	}
	roman := next[:wordLen(next)]
	if romanNumber(roman) == 0 {
		return false
	}
	pronoun := roman == "I" && strings.HasPrefix(next, "I ") && !strings.HasPrefix(next, "I of ")
	switch {
	case w == "p" || w == "pp", len(roman) > 1 && byRoman[full]:
		return true
	case len(w) == 1:
		return false
	case unicode.IsUpper(rune(roman[0])) && !pronoun:
		return true
	}
	return len(roman) > 1 && w != "no" && w != "No" && strings.Trim(roman, "ivx") == ""
}
