package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var dottedLetters = lazy(`^(?:[A-Za-z]\.){2,12}|^(?:Ph|ph)\.[Dd]\.|^(?:[BM]\.(?:Sc|Eng|Ed|Phil)|D\.(?:Phil|Sc)|Ed\.D)\.`)

// word reads a run of letters with apostrophes and hyphens inside it.
func (s *scanner) word(rest string) {
	head := rest[:min(len(rest), longest)]
	before := s.before()
	if !joins(before) {
		// Few words have a point so soon, and the expression is slow on those that have none.
		if len(head) > 2 && (head[1] == '.' || head[2] == '.') {
			if m := dottedLetters().FindString(head); m != "" && !joins(firstRune(rest[len(m):])) {
				s.initials(m)
				return
			}
		}
		if c := head[0]; (c >= 'A' && c <= 'Z' || c == 'v' || c == 'l' || c == 'k' && len(head) > 2 && head[1] == 'r' || c <= 'h' && len(head) > 3 && (head[1] == 'x' || head[2] == '=') || (c == 'i' || c == 'v') && s.before() == '(' || c == 'q' && len(head) > 1 && (isDigit(head[1]) || head[1] == '.') || len(head) > 2 && (head[1] == '(' || head[1] != ' ' && strings.Contains(head[1:min(len(head), 6)], "'(")) || c <= 'f' && strings.Contains(head[:min(len(head), 5)], ":")) && s.matched(named, rest) {
			return
		}
	}
	k := wordLen(rest)
	w := rest[:k]
	if r := firstRune(w); !latin(r) {
		s.foreign(rest)
		return
	}
	after := rest[k:]
	clean := fold(w)
	if strings.IndexFunc(clean, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }) < 0 {
		s.put([]string{"foreign", "letter"}, k)
		return
	}
	if !joins(before) && (s.party(clean, k, after) || s.abbreviated(clean, k, after)) {
		s.possessive() // King Jr.'s
		return
	}
	if n := s.numeral(clean, after); n != nil {
		s.put(n, k)
		s.numeralsTo()
		return
	}
	if i := strings.IndexByte(w, '-'); i > 0 && clean == w && romanNumber(w[:i]) > 0 { // World War II-era, chapters IV-VI
		if n := s.numeral(w[:i], rest[i:]); n != nil {
			s.put(n, i)
			s.numeralsTo()
			return
		}
	}
	if i := strings.IndexByte(w, '-'); i > 0 && (w[:i] == "Ctrl" || w[:i] == "Cmd") {
		s.put([]string{unstopped[w[:i]]}, i)
		return
	}
	if (strings.HasPrefix(after, "'") || strings.HasPrefix(after, "’")) && strings.HasSuffix(clean, "in") && len(clean) > 4 {
		clean += "'" // runnin'
	}
	if isDigit(byte(min(before, 0x7f))) && len(clean) <= 2 && clean == w && w == strings.ToLower(w) {
		s.add(item{Token: Token{Text: strings.ToUpper(clean), Kind: Word}, spell: true}, k) // 802.11ax, the 330i
		return
	}
	if len(clean) == 1 && clean != w && !strings.ContainsAny(clean, "aeiouAEIOU") {
		if r, n := utf8.DecodeRuneInString(norm.NFD.String(w)); n == 1 && unicode.IsLetter(r) {
			if sign := accented[firstRune(norm.NFD.String(w)[1:])]; sign != "" {
				s.put([]string{"!" + strings.ToUpper(clean), sign}, k) // x̄
				return
			}
		}
	}
	t := item{Token: Token{Text: clean, Kind: Word}}
	if lowered(firstRune(w)) {
		t.Text, t.spell = strings.ToUpper(clean), true
	} else if len(clean) > 4 && upper(clean[0]) && upper(clean[1]) && strings.Trim(clean, "ACGTU") == "" {
		t.spell = true // of a strand of DNA
	}
	if len(w) == 2 && sums[s.lastWord()] && w == strings.ToLower(w) && clean == w && !pairs[strings.ToUpper(w)] && units[w][0] == "" && s.equated() {
		t.spell = true // = xy
	}
	if clean != w {
		t.written = strings.ToLower(w)
	}
	if len(clean) == 2 && clean == strings.ToUpper(clean) && !s.capitals && len(after) > 1 && after[0] == '-' && isDigit(after[1]) {
		t.spell = true // IL-6
	}
	if full := s.stateBehind(clean); full != "" {
		s.put(strings.Fields(full), k) // Cupertino, CA
		s.operator(false)
		return
	}
	if states[clean] != "" && !s.capitals && s.afterComma() {
		t.spell = true // Jane Roe, MD
	}
	s.add(t, k)
	s.operator(false)
}

// lowered reports whether r is a letter below the line: that of xᵢ.
func lowered(r rune) bool { return r >= 'ₐ' && r <= 'ₜ' || r >= 'ᵢ' && r <= 'ᵪ' || r == 'ⱼ' }

// accented are signs over a letter of a formula, as they are written behind it.
var accented = map[rune]string{'\u0304': "bar", '\u0305': "bar", '\u0302': "hat", '\u0303': "tilde"}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func latin(r rune) bool {
	return r < 0x80 || unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Common, r)
}

func wordLen(s string) int {
	k := 0
	script := latin(firstRune(s))
	for k < len(s) {
		r, n := utf8.DecodeRuneInString(s[k:])
		switch {
		case raised[r] != 0 || r > 0x7f && k > 0 && lowered(r):
			return k
		case unicode.IsLetter(r) && latin(r) == script || unicode.Is(unicode.Mn, r):
		case (r == '\'' || r == '’' || r == 'ʼ' || r == '-' || r == '‐' || r == '‑') && unicode.IsLetter(firstRune(s[k+n:])) && latin(firstRune(s[k+n:])) == script:
		default:
			return k
		}
		k += n
	}
	return k
}

var folds = strings.NewReplacer("’", "'", "ʼ", "'", "‐", "-", "‑", "-", "ß", "ss", "æ", "ae", "Æ", "Ae", "ø", "o", "Ø", "O", "ł", "l", "Ł", "L", "đ", "d", "Đ", "D", "þ", "th", "ð", "th", "œ", "oe", "ı", "i", "ħ", "h", "Ħ", "H")

// fold writes a word with the letters a to z.
func fold(w string) string {
	plain := true
	for i := range len(w) {
		plain = plain && w[i] < 0x80
	}
	if plain {
		return w
	}
	w = folds.Replace(norm.NFKD.String(w))
	return strings.Map(func(r rune) rune {
		if r >= 0x80 {
			return -1
		}
		return r
	}, w)
}

// contraction returns the length of 'em, 'til and the like, or 0.
func contraction(rest string) int {
	_, n := utf8.DecodeRuneInString(rest)
	k := n
	for k < len(rest) && k < n+8 && (rest[k]|0x20) >= 'a' && (rest[k]|0x20) <= 'z' {
		k++
	}
	if strings.Contains(" em n til tis twas cause bout round cuz kay ", " "+strings.ToLower(rest[n:k])+" ") && k > n {
		return k
	}
	return 0
}

// allCapitals reports whether text has several words and no small letter.
func allCapitals(text string) bool {
	words := 0
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' {
			return false
		}
		if c == ' ' {
			words++
		}
	}
	return words > 1
}
