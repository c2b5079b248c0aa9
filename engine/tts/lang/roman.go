package lang

import "strings"

// roman reads a Roman numeral behind a word that one follows.
func (s *scanner) roman(w string) []string {
	n := romanNumber(w)
	if n == 0 && !s.capitals && s.vocabulary != nil && s.elides {
		// XXIe
		if figures := strings.TrimRight(w, "eèmrn"); strings.Trim(figures, "IVX") == "" && figures != w {
			if feminine, ok := s.vocabulary.endings[w[len(figures):]]; ok {
				return s.ordinal(romanNumber(figures), feminine)
			}
		}
	}
	if n == 0 || s.capitals || s.vocabulary == nil {
		return nil
	}
	if next := s.nextWord(len(w)); s.century[next] {
		return s.ordinal(n, strings.HasSuffix(next, "a"))
	}
	before := s.lastWord()
	feminine, ok := s.kings[before]
	if !ok {
		return nil
	}
	if s.ranked != nil && s.ranked(before, n) {
		if words := s.ordinal(n, feminine); words != nil {
			return words
		}
	}
	return s.cardinal(n, false)
}

// romanNumber is the value of a numeral in capitals, written as is usual, or 0.
func romanNumber(w string) int64 {
	values := []struct {
		sign  string
		value int64
	}{{"M", 1000}, {"CM", 900}, {"D", 500}, {"CD", 400}, {"C", 100}, {"XC", 90}, {"L", 50}, {"XL", 40}, {"X", 10}, {"IX", 9}, {"V", 5}, {"IV", 4}, {"I", 1}}
	var n int64
	rest := w
	for _, v := range values {
		for count := 0; count < 3 && strings.HasPrefix(rest, v.sign); count++ {
			rest, n = rest[len(v.sign):], n+v.value
			if len(v.sign) == 2 {
				break
			}
		}
	}
	if rest != "" || len(w) > 15 {
		return 0
	}
	return n
}
