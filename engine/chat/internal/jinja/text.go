package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// upper and lower follow Unicode's full case mapping, as Python does: "ß"
// becomes "SS".
func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func isASCII(s string) bool { return Str{s: s}.ascii() }

// capitalize is Python's str.capitalize.
func capitalize(s string) string {
	if s == "" {
		return s
	}
	_, n := utf8.DecodeRuneInString(s)
	return titleRune(s[:n]) + lower(s[n:])
}

// titleRune is the title case of one character.
func titleRune(s string) string {
	r, _ := utf8.DecodeRuneInString(s)
	if t := unicode.ToTitle(r); t != r || r < utf8.RuneSelf {
		return string(t)
	}
	up := upper(s) // such as ß, whose title case is Ss
	if _, n := utf8.DecodeRuneInString(up); n < len(up) {
		return up[:n] + lower(up[n:])
	}
	return up
}

// title is Python's str.title: a letter after anything but a letter is upper.
func title(s string) string {
	var b strings.Builder
	inWord := false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case !isCased(r):
			b.WriteString(s[i : i+n])
		case inWord:
			b.WriteString(lower(s[i : i+n]))
		default:
			b.WriteString(titleRune(s[i : i+n]))
		}
		inWord = isCased(r)
		i += n
	}
	return b.String()
}

// titleFilter is Jinja's title filter, which splits words at blanks, hyphens
// and opening brackets only.
func titleFilter(s string) string {
	var b strings.Builder
	separator := func(r rune) bool { return isSpace(r) || strings.ContainsRune("-({[<", r) }
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool { return !separator(r) })
		if i < 0 {
			i = len(s)
		}
		b.WriteString(s[:i])
		s = s[i:]
		if i = strings.IndexFunc(s, separator); i < 0 {
			i = len(s)
		}
		if word := s[:i]; word != "" {
			_, n := utf8.DecodeRuneInString(word)
			b.WriteString(upper(word[:n]) + lower(word[n:]))
		}
		s = s[i:]
	}
	return b.String()
}

func swapCase(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			b.WriteString(lower(string(r)))
		case unicode.IsLower(r):
			b.WriteString(upper(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

// isLower reports whether s has cased characters, all of them lower.
func isLower(s string) bool {
	some := false
	for _, r := range s {
		if unicode.IsUpper(r) || unicode.IsTitle(r) {
			return false
		}
		some = some || unicode.IsLower(r)
	}
	return some
}

func isUpper(s string) bool {
	some := false
	for _, r := range s {
		if unicode.IsLower(r) || unicode.IsTitle(r) {
			return false
		}
		some = some || unicode.IsUpper(r)
	}
	return some
}

// isTitle reports whether upper case begins every word and only that.
func isTitle(s string) bool {
	some, inWord := false, false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if inWord {
				return false
			}
			some, inWord = true, true
		case unicode.IsLower(r):
			if !inWord {
				return false
			}
		default:
			inWord = false
		}
	}
	return some
}

func isAlnum(r rune) bool { return unicode.IsLetter(r) || isNumeric(r) }

func isNumeric(r rune) bool { return unicode.IsNumber(r) }

// isDigit is Unicode's digits, which include superscripts and circled ones.
func isDigit(r rune) bool {
	switch {
	case unicode.IsDigit(r), r == 0xb2, r == 0xb3, r == 0xb9, r == 0x2070,
		r >= 0x2074 && r <= 0x2079, r >= 0x2080 && r <= 0x2089,
		r >= 0x2460 && r <= 0x2468, r >= 0x2474 && r <= 0x247c, r >= 0x2488 && r <= 0x2490,
		r == 0x24ea, r >= 0x24f5 && r <= 0x24fd, r == 0x24ff,
		r >= 0x2776 && r <= 0x277e, r >= 0x2780 && r <= 0x2788, r >= 0x278a && r <= 0x2792:
		return true
	}
	return false
}

// decimalDigit is the value of a decimal digit of any script, or -1. Unicode
// keeps each script's ten digits together.
func decimalDigit(r rune) int {
	if r >= '0' && r <= '9' {
		return int(r - '0')
	}
	if r < utf8.RuneSelf || !unicode.IsDigit(r) {
		return -1
	}
	for _, rng := range unicode.Nd.R16 {
		if uint32(rng.Lo) <= uint32(r) && uint32(r) <= uint32(rng.Hi) {
			return int(uint32(r)-uint32(rng.Lo)) % 10
		}
	}
	for _, rng := range unicode.Nd.R32 {
		if rng.Lo <= uint32(r) && uint32(r) <= rng.Hi {
			return int(uint32(r)-rng.Lo) % 10
		}
	}
	return -1
}

// splitLines is Python's str.splitlines.
func splitLines(s Str, keep bool) []Str {
	var lines []Str
	from := 0
	for i := 0; i < len(s.s); {
		r, n := utf8.DecodeRuneInString(s.s[i:])
		switch r {
		case '\r':
			if strings.HasPrefix(s.s[i:], "\r\n") {
				n = 2
			}
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		default:
			i += n
			continue
		}
		end := i
		i += n
		if keep {
			end = i
		}
		lines = append(lines, s.sub(from, end))
		from = i
	}
	if from < len(s.s) {
		lines = append(lines, s.sub(from, len(s.s)))
	}
	return lines
}

// splitOn splits s at sep at most n times, from the left; n < 0 is no limit.
func splitOn(s Str, sep string, n int) []Str {
	var parts []Str
	from := 0
	for ; n != 0; n-- {
		i := strings.Index(s.s[from:], sep)
		if i < 0 {
			break
		}
		parts = append(parts, s.sub(from, from+i))
		from += i + len(sep)
	}
	return append(parts, s.sub(from, len(s.s)))
}

func splitOnRight(s Str, sep string, n int) []Str {
	var parts []Str
	to := len(s.s)
	for ; n != 0; n-- {
		i := strings.LastIndex(s.s[:to], sep)
		if i < 0 {
			break
		}
		parts = append(parts, s.sub(i+len(sep), to))
		to = i
	}
	parts = append(parts, s.sub(0, to))
	slices.Reverse(parts)
	return parts
}

// splitBlanks splits at runs of blanks at most n times.
func splitBlanks(s Str, n int) []Str {
	var parts []Str
	rest := s.trimFunc(true, false, isSpace)
	for ; rest.s != "" && n != 0; n-- {
		i := strings.IndexFunc(rest.s, isSpace)
		if i < 0 {
			return append(parts, rest)
		}
		parts = append(parts, rest.sub(0, i))
		rest = rest.sub(i, len(rest.s)).trimFunc(true, false, isSpace)
	}
	if rest.s != "" {
		parts = append(parts, rest)
	}
	return parts
}

func splitBlanksRight(s Str, n int) []Str {
	var parts []Str
	rest := s.trimFunc(false, true, isSpace)
	for ; rest.s != "" && n != 0; n-- {
		i := strings.LastIndexFunc(rest.s, isSpace)
		if i < 0 {
			parts = append(parts, rest)
			rest = Str{}
			break
		}
		_, w := utf8.DecodeRuneInString(rest.s[i:])
		parts = append(parts, rest.sub(i+w, len(rest.s)))
		rest = rest.sub(0, i).trimFunc(false, true, isSpace)
	}
	if rest.s != "" {
		parts = append(parts, rest)
	}
	slices.Reverse(parts)
	return parts
}
