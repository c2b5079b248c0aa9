package g2p

import (
	"strings"
	"unicode"
)

// Strings of digits that are no quantities: telephone numbers, ISBNs, addresses
// of machines, versions, serial numbers.
var codes = []pattern{
	hardware, internet, account, traced, mixed, oven, publication,
	// arXiv:2301.12345
	{re(`(\d{4})\.(\d{4,5})(?:v(\d{1,2}))?`), func(m []string, s *scanner) []string {
		if s.lastWord() != "arxiv" && s.wordBack(2) != "arxiv" {
			return nil
		}
		out := join(digits(m[1]), []string{"point"}, digits(m[2]))
		if m[3] != "" {
			out = join(out, []string{"version"}, cardinal(m[3], s.accent))
		}
		return out
	}},
	// 030/901820, in Germany
	{re(`(0\d{2,4})/(\d{5,8})`), func(m []string, s *scanner) []string { return groupsOf(m[1] + " " + m[2]) }},
	// +44 20 7946 0958, +1 (555) 123-4567
	{re(`\+(\d{1,3})((?:[ .-]?\(?\d{1,5}\)?){1,6})`), func(m []string, s *scanner) []string {
		if n := len(digitsOf(m[0])); n < 7 || n > 15 {
			return nil
		}
		return s.extended(join([]string{"plus"}, digits(m[1]), []string{","}, groupsOf(m[2])))
	}},
	// 1-800-555-0199, 1 (800) 555-0199
	{re(`1([-. ])\(?(\d{3})\)?[-. ](\d{3})[-. ](\d{4})`), func(m []string, s *scanner) []string {
		area := digits(m[2])
		if strings.HasSuffix(m[2], "00") {
			area = cardinal(m[2], US)
		}
		return s.extended(join([]string{"one"}, area, []string{","}, digits(m[3]), []string{","}, digits(m[4])))
	}},
	// 011 44 20 7946 0958
	{re(`(?:011|00)(?: \d{1,4}){3,5}`), func(m []string, s *scanner) []string { return groupsOf(m[0]) }},
	// a code: 834 221
	{re(`\d{2,4}(?:[- ]\d{2,4}){1,5}`), func(m []string, s *scanner) []string {
		for k := 1; k <= 3; k++ {
			if secrets[s.wordBack(k)] {
				return groupsOf(m[0])
			}
		}
		return nil
	}},
	// 1-800-FLOWERS
	{re(`1-(\d{3})-([A-Z][A-Z-]{2,11})`), func(m []string, s *scanner) []string {
		area := digits(m[1])
		if strings.HasSuffix(m[1], "00") {
			area = cardinal(m[1], US)
		}
		return join([]string{"one"}, area, []string{","}, strings.FieldsFunc(strings.ToLower(m[2]), func(r rune) bool { return r == '-' }))
	}},
	// (555) 123-4567, 020 7946 0958
	{re(`(0\d{4}) (\d{6})`), func(m []string, s *scanner) []string { return s.extended(groupsOf(m[0])) }},
	{re(`(\d{3}) (\d{3}) (\d{4})`), func(m []string, s *scanner) []string { return s.extended(groupsOf(m[0])) }},
	{re(`\((0\d)\) (\d{4}) (\d{4})`), func(m []string, s *scanner) []string { return s.extended(groupsOf(m[0])) }},
	{re(`(\(0\)\d{2,4}) (\d{3,4}) (\d{3,4})`), func(m []string, s *scanner) []string {
		return s.extended(groupsOf(digitsOf(m[1]) + " " + m[2] + " " + m[3]))
	}},
	{re(`\(?(\d{3})\)?[ ./-]?(\d{3})[.-](\d{4})|\(?(0\d{2,4})\)?[ -](\d{3,4})[ -](\d{3,4})`), func(m []string, s *scanner) []string {
		return s.extended(groupsOf(strings.Join(m[1:], " ")))
	}},
	{re(`(\d{3})-(\d{4})`), func(m []string, s *scanner) []string { return s.extended(groupsOf(m[0])) }},
	// card and social security numbers
	{re(`\d{4}([ -])\d{4}[ -]\d{4}[ -]\d{4}|\d{3}-\d{2}-\d{4}|\d(?:-\d){2,8}`), func(m []string, s *scanner) []string { return groupsOf(m[0]) }},
	// 1.234.567,89
	{re(`\d{1,3}(?:\.\d{3})+,\d{1,9}`), func(m []string, s *scanner) []string {
		if strings.ContainsAny(s.text[s.matchEnd:min(len(s.text), s.matchEnd+4)], currencyMarks) {
			return nil
		}
		return decimal(strings.Replace(strings.ReplaceAll(m[0], ".", ""), ",", ".", 1), s.accent)
	}},
	// 192.168.0.1, 10.0.0.0/8, 127.0.0.1:8080
	{re(`(\d{1,3}(?:\.\d{1,3}){3})(?:/(\d{1,2}))?(?::(\d{2,5}))?`), func(m []string, s *scanner) []string {
		out := between(m[1], "dot", s.accent)
		if m[2] != "" {
			out = join(out, []string{"slash"}, cardinal(m[2], s.accent))
		}
		if m[3] != "" {
			out = join(out, []string{"colon"}, inPairs(m[3], s.accent))
		}
		return out
	}},
	// 1.000.000, 1'000'000
	{re(`[1-9]\d{0,2}(?:\.\d{3}){2,}|[1-9]\d{0,2}(?:['’]\d{3})+`), func(m []string, s *scanner) []string { return cardinal(digitsOf(m[0]), s.accent) }},
	dotted, version,
	// 1080p
	{re(`(240|360|480|720|1080|1440|2160)([pi])`), func(m []string, s *scanner) []string {
		return append(inPairs(m[1], s.accent), "!"+strings.ToUpper(m[2]))
	}},
	// F-22s, two 747s
	{re(`(\d{1,4})s`), func(m []string, s *scanner) []string {
		if !s.hyphened() && !unicode.IsUpper(s.before()) && (len(m[1]) != 3 || m[1][2] == '0') {
			return nil
		}
		return plural(inPairs(m[1], s.accent))
	}},
	{re(`(40[13])\(([bk])\)`), func(m []string, s *scanner) []string {
		return append(inPairs(m[1], s.accent), "!"+strings.ToUpper(m[2]))
	}},
	// 661-08931, 35-209900-176148-1
	{re(`\d{1,8}-\d{1,8}(?:-\d{1,8})*`), func(m []string, s *scanner) []string {
		groups := strings.Split(m[0], "-")
		for _, g := range groups[1:] {
			if len(g) > 1 && g[0] == '0' || len(groups) > 3 || len(groups) == 3 && len(g) > 3 {
				return groupsOf(m[0])
			}
		}
		return nil
	}},
	{re(`\d{1,8}(?:-\d{1,8}){1,3}-[A-Z]{1,3}`), func(m []string, s *scanner) []string { return inGroups(m[0], "-") }}, // 20-4471-B
	// 118-2203917
	{re(`(\d{2,8})-(\d{5,10})`), func(m []string, s *scanner) []string {
		if s.lastWord() != "number" && len(m[2]) < len(m[1])+3 && atoi(m[1]) < atoi(m[2]) {
			return nil
		}
		return groupsOf(m[0])
	}},
	// 1300 655 506, in Australia
	{re(`(1[38])00 (\d{3}) (\d{3})`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], US), []string{"hundred", ","}, groupsOf(m[2]+" "+m[3]))
	}},
	// #2024-117, Boeing 737-800
	{re(`(\d{2,4})-(\d{1,4})`), func(m []string, s *scanner) []string {
		if !hyphenated[s.lastWord()] && !(s.lastWord() == "n" && (s.wordBack(2) == "p" || s.wordBack(2) == "s")) {
			return nil // S/N 123-456
		}
		if strings.HasPrefix(s.text[s.matchEnd:], "-") {
			return nil
		}
		return join(inPairs(m[1], s.accent), inPairs(m[2], s.accent))
	}},
	// a 737-900ER
	{re(`(7[0-8]7|3[1-8]0)-(\d{1,4})([A-Z]{0,3})`), func(m []string, s *scanner) []string {
		out := join(inPairs(m[1], s.accent), inPairs(m[2], s.accent))
		if m[3] != "" {
			out = append(out, "!"+m[3])
		}
		return out
	}},
	// 1s² 2p⁶ of electrons
	{re(`(?:[1-7][spdf][¹²³⁴-⁹][⁰¹²³⁴-⁹]?){1,6}`), func(m []string, s *scanner) []string {
		var out []string
		for _, shell := range shells().FindAllStringSubmatch(m[0], -1) {
			count := strings.Map(func(r rune) rune { return raised[r] }, shell[3])
			out = append(append(join(out, cardinal(shell[1], s.accent)), "!"+strings.ToUpper(shell[2])), cardinal(count, s.accent)...)
		}
		return out
	}},
	// a 45-45-90 triangle
	{re(`(\d{1,3})-(\d{1,3})-(\d{1,3})`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), cardinal(m[2], s.accent), cardinal(m[3], s.accent))
	}},
	// 1010₂
	{re(`(\d{1,12})([₀-₉]{1,2})`), func(m []string, s *scanner) []string {
		return join(digits(m[1]), []string{"base"}, cardinal(lifted(m[2]), s.accent))
	}},
	// 49ers
	{re(`(\d{1,4})(ers?)`), func(m []string, s *scanner) []string {
		out := cardinal(m[1], s.accent)
		last := len(out) - 1
		out[last] = strings.TrimSuffix(out[last], "e") + m[2]
		return out
	}},
	// .304/.390/.646
	{re(`\.(\d{3})/\.(\d{3})/\.(\d{3})`), func(m []string, s *scanner) []string {
		return join(inPairs(m[1], s.accent), []string{","}, inPairs(m[2], s.accent), []string{","}, inPairs(m[3], s.accent))
	}},
	// batting .312
	{re(`\.(\d{3})`), func(m []string, s *scanner) []string {
		if !batted[s.lastWord()] && !averages[s.nextWord()] {
			return nil
		}
		return inPairs(m[1], s.accent)
	}},
	// Table 2-1
	{re(`(\d{1,3})-(\d{1,3})`), func(m []string, s *scanner) []string {
		if !labels[s.lastWord()] {
			return nil
		}
		return join(inPairs(m[1], s.accent), inPairs(m[2], s.accent))
	}},
	// 225/45R17 91W of a tire
	{re(`(?:P|LT)?(\d{3})/(\d{2}) ?Z?R(\d{2})(?: (\d{2,3})([H-Z]))?`), func(m []string, s *scanner) []string {
		out := join(inPairs(m[1], s.accent), cardinal(m[2], s.accent), []string{"!R"}, cardinal(m[3], s.accent))
		if m[4] != "" {
			out = append(join(out, cardinal(m[4], s.accent)), "!"+m[5])
		}
		return out
	}},
	// 95/46/EC
	{re(`(\d{2,4})/(\d{1,4})/([A-Z]{2,4})`), func(m []string, s *scanner) []string {
		return append(join(inPairs(m[1], s.accent), inPairs(m[2], s.accent)), "!"+m[3])
	}},
	// i7-12700K
	{re(`(\d{2})(\d{3})([A-Z]{1,2})`), func(m []string, s *scanner) []string {
		if s.before() != '-' {
			return nil
		}
		return append(join(cardinal(m[1], s.accent), inPairs(m[2], s.accent)), "!"+m[3])
	}},
	// digits after a word that wants them one by one, or in pairs
	{re(`\d{2,30}`), func(m []string, s *scanner) []string {
		w := s.label()
		if words := s.identified(m[0]); words != nil {
			return words
		}
		after := firstRune(strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+3)], " "))
		switch {
		case len(m[0]) > 3 && len(m[0]) < 6 && s.i > 1 && s.text[s.i-1] == ':' && unicode.IsSpace(runeBefore(s.text[:s.i-1])):
			return inPairs(m[0], s.accent) // :8080
		case w == "code" && len(m[0]) == 3 && (coding[s.wordBack(2)] || coding[s.wordBack(3)]), (w == "a" || w == "an") && answers[m[0]] && (s.nextWord() == "" || answered[s.nextWord()]):
			return inPairs(m[0], s.accent)
		case answers[m[0]] && (replies[w] || faults[s.nextWord()] || (w == "or" || w == "and") && answers[s.sourceBack(2)]):
			return inPairs(m[0], s.accent) // returns 404 or 503
		case len(m[0]) == 5 && states[strings.ToUpper(strings.ReplaceAll(s.lastSource(), ".", ""))] != "" && strings.Contains(s.lastSource(), "."):
			return digits(m[0]) // N.Y. 10012
		case len(m[0]) == 3 && m[0][1:] == "11" && (w == "or" || w == "and") && s.wordBack(2) == "one" && s.wordBack(3) == "one":
			return digits(m[0]) // dial 911 or 311
		case len(m[0]) >= 5 && w == "number" && identifying[s.wordBack(2)], w == "code" && len(m[0]) >= 5:
			return digits(m[0])
		case (w == "is" || w == "was") && (len(m[0]) >= 3 && spelledNumbers[s.wordBack(2)] || len(m[0]) >= 4 && s.wordBack(2) == "code"), w == "to" && len(m[0]) >= 5 && (s.wordBack(3) == "text" || s.wordBack(5) == "text"):
			return digits(m[0])
		case len(m[0]) > 2 && strings.HasPrefix(s.text[s.matchEnd:], ".") && isDigit(after2(s.text[s.matchEnd:])):
			return nil // section 240.10b
		case len(m[0]) == 3 && possessed(s.text[s.matchEnd:]):
			return inPairs(m[0], s.accent) // the 747's nose
		case len(m[0]) == 4 && (w == "year" || w == "years"):
			return year(m[0], s.accent)
		case (len(m[0]) == 3 || len(m[0]) == 4) && s.lettersBefore() && units[s.nextWord()][0] == "" && !quantityAhead().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]):
			return inPairs(m[0], s.accent) // CS 101
		case emergencies[m[0]] && (emergencyWords[s.nextWord()] || alarms[w]), w == "ending" && len(m[0]) >= 3:
			return digits(m[0])
		case (w == "star" || w == "pound") && keyed[s.wordBack(2)]:
			return digits(m[0])
		case w == "in" && len(m[0]) >= 3 && (s.wordBack(2) == "ends" || s.wordBack(2) == "ending"), spelledNumbers[w] && len(m[0]) >= 3, (w == "call" || w == "dial" || w == "dialed") && len(m[0]) >= 3 && (after < 'a' || after > 'z'):
			return digits(m[0])
		case (pairedNumbers[w] || s.hyphened()) && (len(m[0]) == 3 || len(m[0]) == 4):
			return inPairs(m[0], s.accent)
		}
		return nil
	}},
	// 0x80070005
	{re(`0(?:([xX])([0-9A-Fa-f]{1,16})|(b)([01]{2,32})|(o)([0-7]{1,12}))`), func(m []string, s *scanner) []string {
		return join([]string{"zero", "!" + strings.ToUpper(m[1]+m[3]+m[5])}, characters(m[2]+m[4]+m[6]))
	}},
	// 3PO, 4B
	{re(`(\d{1,3})([A-Z]{1,3})`), func(m []string, s *scanner) []string {
		if _, ok := unitOf(m[2]); !s.labelled() && (ok && !(m[2] == "A" && unicode.IsUpper(firstRune(s.nextWord()))) || m[2] == "M" || m[2] == "K" && s.thousandfold(m[1])) || ordinalEnds[m[2]] || m[2] == "T" && unicode.IsLower(firstRune(strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+4)], ". "))) {
			return nil
		}
		if m[2] == "UP" {
			return append(cardinal(m[1], s.accent), "up")
		}
		return append(cardinal(m[1], s.accent), "!"+m[2])
	}},
	// 2NaOH
	{re(`(\d{1,2})(` + element + `{2,8})`), func(m []string, s *scanner) []string {
		if strings.ToUpper(m[2]) == m[2] && digitsOf(m[2]) == "" && !strings.Contains(m[2], "(") {
			return nil
		}
		return join(cardinal(m[1], s.accent), formulaWords(m[2], s.accent))
	}},
	// 10W-40
	{re(`(\d{1,2})W-(\d{2})`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"!W"}, cardinal(m[2], s.accent))
	}},
	// 5900X
	{re(`(\d{4})(X3D|[A-Z]{1,3})`), func(m []string, s *scanner) []string {
		if _, ok := units[m[2]]; ok || m[2] == "M" || currencies[m[2]][0] != "" {
			return nil
		}
		return join(inPairs(m[1], s.accent), serial(m[2], s.accent))
	}},
}

// Versions: 1.2.3 and v1.2.3; v2 and v2.5. What is traced by letters and figures. Numbers of accounts.
var (
	traced = pattern{re(`[A-Z0-9]{5,24}`), func(m []string, s *scanner) []string {
		n := len(digitsOf(m[0]))
		if n == 0 || n == len(m[0]) || len(m[0]) < 10 && !coded[s.lastWord()] || len(m[0]) >= 10 && n < 3 {
			return nil
		}
		return characters(m[0])
	}}
	// DE89 3704 0044 0532 0130 00
	account = pattern{re(`[A-Z]{2}\d{2}(?:(?:[ -][0-9A-Z]{4}){2,7}(?:[ -]\d{1,3})?|[0-9A-Z]{11,30})`), func(m []string, s *scanner) []string {
		if len(m[0])-strings.Count(m[0], " ")-strings.Count(m[0], "-") < 15 || len(digitsOf(m[0])) < 8 {
			return nil
		}
		return inGroups(m[0], " -")
	}}
	dotted = pattern{re(`(?:[vV])?(\d+(?:\.\d+){2,})(-\d+)?`), func(m []string, s *scanner) []string {
		out := between(m[1], "point", s.accent)
		if rest := s.text[s.matchEnd:]; m[2] != "" && strings.HasPrefix(rest, ".") && isDigit(after2(rest)) {
			s.matchEnd -= len(m[2]) // a range
		} else if m[2] != "" {
			out = join(out, cardinal(m[2][1:], s.accent))
		}
		if m[0][0] == 'v' || m[0][0] == 'V' {
			out = join([]string{"version"}, out)
		}
		return out
	}}
	version = pattern{re(`[vV](\d+(?:\.\d+)?)`), func(m []string, s *scanner) []string {
		if m[0][0] == 'V' && digitsOf(m[1]) == m[1] {
			return nil // an engine
		}
		return join([]string{"version"}, between(m[1], "point", s.accent))
	}}
)

// shells are those of electrons, with how many they hold.
var shells = lazy(`([1-7])([spdf])([⁰¹²³⁴-⁹]+)`)

var namedCodes = []pattern{
	dotted, version, hardware, internet, account,
	// SAVE20, COVID19
	{re(`([A-Z]{4,12})(\d{1,4})`), func(m []string, s *scanner) []string {
		if !s.known(m[1]) || initialisms[m[1]] {
			return nil
		}
		return append([]string{m[1]}, inPairs(m[2], s.accent)...)
	}},
	traced, mixed,
	// sizes S–XXL
	{re(`(X{0,4}S|M|L|X{1,4}L)[-–](X{0,4}S|M|L|X{1,4}L)`), func(m []string, s *scanner) []string {
		if w := s.lastWord(); !strings.Contains(m[0], "X") && w != "size" && w != "sizes" || m[1] == m[2] {
			return nil
		}
		return []string{"!" + m[1], "to", "!" + m[2]}
	}},
	// Fed. R. Civ. P. 12
	{re(`Pub\. ?L\.`), func(m []string, s *scanner) []string { return []string{"public", "law"} }},
	{re(`Fed\. ?R\. ?(Civ|Crim|App|Evid|Bankr)\.(?: ?(P)\.)?`), func(m []string, s *scanner) []string {
		out := []string{"Federal", "rule", "of", courtRules[m[1]]}
		if m[2] != "" {
			out = append(out, "procedure")
		}
		return out
	}},
	{re(`(ISBN|ISSN|DOI)(?:-(1[03]))?:?\s?([\dX][\dX-]{7,16})`), func(m []string, s *scanner) []string {
		out := []string{"!" + m[1]}
		if m[2] != "" {
			out = append(append(out, cardinal(m[2], s.accent)...), ",")
		}
		return join(out, groupsOf(m[3]))
	}},
	// ORD→DEN
	{re(`([A-Z]{3}) ?(?:→|->|–) ?([A-Z]{3})`), func(m []string, s *scanner) []string {
		if last := s.lastSource(); s.known(m[1]) && s.known(m[2]) && (last == "" || !isDigit(last[len(last)-1])) {
			return nil // CAT→DOG, but flight 1187 ORD→DEN
		}
		return []string{"!" + m[1], "to", "!" + m[2]}
	}},
	// U+1F600
	{re(`U\+([0-9A-F]{4,6})`), func(m []string, s *scanner) []string {
		return join([]string{"!U", "plus"}, characters(m[1]))
	}},
	// Cl-, OH-
	{re(`(Cl|Br|OH|CN|NO3|HCO3)[-−]`), func(m []string, s *scanner) []string {
		if r := firstRune(s.text[s.matchEnd:]); r == '(' || r == '-' {
			return nil
		}
		return ion(m[1], "", "minus", s)
	}},
	{re(`IPv([46])`), func(m []string, s *scanner) []string { return append([]string{"!IPV"}, cardinal(m[1], s.accent)...) }},
	// U-235, Ca2+
	{re(`(U|Pu|Cs|Am|Sr)-(\d{2,3})`), func(m []string, s *scanner) []string {
		return append([]string{"!" + strings.ToUpper(m[1])}, inPairs(m[2], s.accent)...)
	}},
	{re(`(Na|Ca|Mg|Li|Fe|Zn|Cu|Ag)(\d?)\+`), func(m []string, s *scanner) []string { return ion(m[1], m[2], "plus", s) }},
	{re(`([A-Z][a-z]?(?:[A-Z₀-₉][a-z₀-₉]?){0,4})([²³]?)([⁺⁻])`), func(m []string, s *scanner) []string {
		if raised[firstRune(s.text[s.matchEnd:])] != 0 {
			return nil // A⁻¹
		}
		return ion(m[1], m[2], map[string]string{"⁺": "plus", "⁻": "minus"}[m[3]], s)
	}},
	// blood type O-
	{re(`(AB|[ABO])([-−+])`), func(m []string, s *scanner) []string {
		if (m[1] == "A" || m[1] == "B") && s.wordBack(2) != "blood" && s.wordBack(3) != "blood" && s.nextWord() != "blood" {
			return nil // a type A+ personality
		}
		if s.label() != "type" && s.nextWord() != "blood" && s.nextWord() != "donor" && s.nextWord() != "donors" {
			return nil
		}
		return []string{"!" + m[1], map[string]string{"+": "positive", "-": "negative", "−": "negative"}[m[2]]}
	}},
	// B- average
	{re(`([A-DF])[-−]`), func(m []string, s *scanner) []string {
		if w := s.lastWord(); w != "a" && w != "an" && !grades[s.nextWord()] && !(graded[w] && (s.nextWord() == "" || s.nextWord() == "to")) {
			return nil
		}
		return []string{"!" + m[1], "minus"}
	}},
	{re(`([A-Z]{2}),?\s(\d{5})(?:-(\d{4}))?`), func(m []string, s *scanner) []string {
		if states[m[1]] == "" {
			return nil
		}
		return join(strings.Fields(states[m[1]]), groupsOf(m[2]+" "+m[3]))
	}},
	{re(`I-(\d{1,3})([NSEW]?)`), func(m []string, s *scanner) []string {
		out := join([]string{"I"}, inPairs(m[1], s.accent))
		if m[2] != "" {
			out = append(out, "!"+m[2])
		}
		return out
	}},
	{re(`(?:localhost):(\d{2,5})`), func(m []string, s *scanner) []string {
		return join([]string{"localhost", "colon"}, inPairs(m[1], s.accent))
	}},
	// q4–6h, of doses
	{re(`q\.?(\d{1,2})(?:[-–](\d{1,2}))?\s?(?:h|hr|hrs|hours)`), func(m []string, s *scanner) []string {
		out := append([]string{"every"}, cardinal(m[1], s.accent)...)
		if m[2] != "" {
			out = append(append(out, "to"), cardinal(m[2], s.accent)...)
		}
		return append(out, one(m[1], "hour", "hours"))
	}},
	// F.3d, S.W.2d, Cal. 4th
	{re(`((?:[A-Z]\.){1,3}|[A-Z]\. ?Supp\. ?)([23])d`), func(m []string, s *scanner) []string {
		court, supplement := strings.CutSuffix(strings.TrimSpace(m[1]), "Supp.")
		out := []string{"!" + strings.ReplaceAll(strings.TrimSpace(court), ".", "")}
		if supplement {
			out = append(out, "supplement")
		}
		return join(out, ordinal(cardinal(m[2], s.accent)))
	}},
	// Aa3, Baa1
	{re(`(Aa|Baa?|Caa?)([123])`), func(m []string, s *scanner) []string {
		return append([]string{"!" + strings.ToUpper(m[1])}, cardinal(m[2], s.accent)...)
	}},
	{re(`([MRL])[☉⊙]`), func(m []string, s *scanner) []string {
		return []string{"solar", map[string]string{"M": "masses", "R": "radii", "L": "luminosities"}[m[1]]}
	}},
	// log₂ 8
	{re(`(?:log|Log)(?:_\{?(\d{1,3}|[a-z])\}?|([₀-₉]{1,3}))`), func(m []string, s *scanner) []string {
		base := m[1] + lifted(m[2])
		out := []string{"log", "base", "!" + strings.ToUpper(base), "of"}
		if digitsOf(base) == base {
			out = join(out[:2], cardinal(base, s.accent), out[3:])
		}
		return out
	}},
	// B♭ as it is typed: a Bb clarinet
	{re(`([A-G])b`), func(m []string, s *scanner) []string {
		if !keys[s.nextWord()] {
			return nil
		}
		return []string{"!" + m[1], "flat"}
	}},
	{re(`TL;DR`), func(m []string, s *scanner) []string { return []string{"!TLDR"} }},
	// NaCl, Fe2O3, Ca(OH)2
	{re(element + `{2,8}`), func(m []string, s *scanner) []string {
		if strings.ToUpper(m[0]) == m[0] || notFormulas[m[0]] {
			return nil
		}
		return formulaWords(m[0], s.accent)
	}},
	// Q1–Q3
	{re(`([A-Z]{1,2})(\d{1,3})[-–]([A-Z]{1,2})(\d{1,3})`), func(m []string, s *scanner) []string {
		if m[1] != m[3] || atoi(m[2]) >= atoi(m[4]) {
			return nil
		}
		return join([]string{"!" + m[1]}, cardinal(m[2], s.accent), []string{"to", "!" + m[3]}, cardinal(m[4], s.accent))
	}},
	// PM2.5
	{re(`([A-Z]{1,5})(\d{1,3}(?:\.\d{1,3})+)`), func(m []string, s *scanner) []string {
		return append([]string{"!" + m[1]}, between(m[2], "point", s.accent)...)
	}},
	// CO2, H₂SO₄, A1B2C3, MP3, FY2024
	{re(`[A-Z]{1,4}[0-9₀-₉][0-9A-Z₀-₉]{0,15}|[A-Z][a-z]?[₀-₉][0-9A-Za-z₀-₉]{0,15}`), func(m []string, s *scanner) []string { return serial(m[0], s.accent) }},
}
