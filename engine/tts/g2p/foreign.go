package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

var cyrillic = map[rune]string{'а': "a", 'б': "b", 'в': "v", 'г': "g", 'д': "d", 'е': "ye", 'ё': "yo", 'ж': "zh", 'з': "z", 'и': "ee", 'й': "y", 'к': "k", 'л': "l", 'м': "m", 'н': "n", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'у': "oo", 'ф': "f", 'х': "kh", 'ц': "ts", 'ч': "ch", 'ш': "sh", 'щ': "shch", 'ъ': "", 'ы': "i", 'ь': "", 'э': "e", 'ю': "yu", 'я': "ya", 'і': "ee", 'ї': "yee", 'є': "ye", 'ґ': "g"}

var greek = map[rune]string{'α': "alpha", 'β': "beta", 'γ': "gamma", 'δ': "delta", 'ε': "epsilon", 'ζ': "zeta", 'η': "eta", 'θ': "theta", 'ι': "iota", 'κ': "kappa", 'λ': "lambda", 'μ': "mu", 'ν': "nu", 'ξ': "xi", 'ο': "omicron", 'π': "pi", 'ρ': "rho", 'σ': "sigma", 'ς': "sigma", 'τ': "tau", 'υ': "upsilon", 'φ': "phi", 'χ': "chi", 'ψ': "psi", 'ω': "omega"}

var scripts = []struct {
	table *unicode.RangeTable
	name  string
}{
	{unicode.Han, "Chinese"}, {unicode.Hiragana, "Japanese"}, {unicode.Katakana, "Japanese"}, {unicode.Hangul, "Korean"}, {unicode.Arabic, "Arabic"},
	{unicode.Hebrew, "Hebrew"}, {unicode.Devanagari, "Hindi"}, {unicode.Thai, "Thai"},
}

// foreign reads a run of letters that are not Latin: Cyrillic is written in
// Latin letters, Greek letters are named, and of other scripts the name is said,
// once for each run.
func (s *scanner) foreign(rest string) {
	first := firstRune(rest)
	k := 0
	same := func(t *unicode.RangeTable) bool {
		for k < len(rest) {
			r, n := utf8.DecodeRuneInString(rest[k:])
			if !unicode.Is(t, r) && !unicode.Is(unicode.Mn, r) {
				break
			}
			k += n
		}
		return true
	}
	switch {
	case unicode.Is(unicode.Cyrillic, first) && same(unicode.Cyrillic):
		var b strings.Builder
		for _, r := range strings.ToLower(norm.NFC.String(rest[:k])) {
			b.WriteString(cyrillic[r])
		}
		if b.Len() > 0 {
			s.add(item{Token: Token{Text: b.String(), Kind: Word}}, k)
			return
		}
	case unicode.Is(unicode.Greek, first):
		n := utf8.RuneLen(first)
		base := firstRune(norm.NFD.String(string(unicode.ToLower(first))))
		if name := greek[base]; name != "" {
			s.put([]string{name}, n)
			if unicode.IsLetter(firstRune(rest[n:])) {
				s.space()
			}
			return
		}
		k = n
	}
	name := "foreign"
	for _, sc := range scripts {
		if unicode.Is(sc.table, first) {
			name = sc.name
			if k == 0 {
				same(sc.table)
			}
			break
		}
	}
	if k == 0 {
		k = wordLen(rest)
	}
	at := len(s.out)
	s.put([]string{name, "text"}, max(k, utf8.RuneLen(first)))
	for i := at; i < len(s.out); i++ {
		s.out[i].Source = Unreadable
	}
}
