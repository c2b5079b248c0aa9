package g2p

import "strings"

var ones = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
	"twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}

var tens = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}

var scales = []string{"", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion"}

var irregular = map[string]string{"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
	"nine": "ninth", "twelve": "twelfth"}

// digits says a string of digits one by one; other bytes are skipped.
func digits(s string) []string {
	var out []string
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			out = append(out, ones[c-'0'])
		}
	}
	return out
}

// below says a number under 1000. British English joins the last part with "and".
func below(n int, and bool) []string {
	var out []string
	if n >= 100 {
		out = append(out, ones[n/100], "hundred")
		if n %= 100; n == 0 {
			return out
		}
		if and {
			out = append(out, "and")
		}
	}
	if n < 20 {
		return append(out, ones[n])
	}
	out = append(out, tens[n/10])
	if n%10 > 0 {
		out = append(out, ones[n%10])
	}
	return out
}

// cardinal says a whole number, commas allowed; numbers of more than 21 digits
// and those that begin with a zero are said digit by digit.
func cardinal(s string, accent Accent) []string {
	s = strings.ReplaceAll(s, ",", "")
	if len(s) > 3*len(scales) || len(s) > 1 && s[0] == '0' {
		return digits(s)
	}
	if s == "0" {
		return []string{"zero"}
	}
	var out []string
	for i := 0; i < len(s); {
		n := (len(s)-i-1)%3 + 1
		v := atoi(s[i : i+n])
		i += n
		left := len(s) - i
		if v == 0 {
			continue
		}
		if left == 0 && len(out) > 0 && v < 100 && accent == British {
			out = append(out, "and")
		}
		out = append(out, below(v, accent == British)...)
		if left > 0 {
			out = append(out, scales[left/3])
		}
	}
	return out
}

// decimal says a number that may have a fraction: "point" and digits.
func decimal(s string, accent Accent) []string {
	whole, frac, ok := strings.Cut(s, ".")
	var out []string
	if whole != "" {
		out = cardinal(whole, accent)
	}
	if ok {
		out = append(append(out, "point"), digits(frac)...)
	}
	return out
}

// year says four digits in pairs, 1984, 1905 and 1900, but 2005 as a number;
// other lengths are numbers.
func year(s string, accent Accent) []string {
	if len(s) != 4 {
		return cardinal(s, accent)
	}
	hi, lo := atoi(s[:2]), atoi(s[2:])
	switch {
	case hi%10 == 0 && lo < 10:
		return cardinal(s, accent)
	case lo == 0:
		return append(below(hi, false), "hundred")
	case lo < 10:
		return append(below(hi, false), "oh", ones[lo])
	}
	return append(below(hi, false), below(lo, false)...)
}

// ordinal turns the last word of a cardinal into its ordinal.
func ordinal(words []string) []string {
	n := len(words) - 1
	w := words[n]
	switch o, ok := irregular[w]; {
	case ok:
		w = o
	case strings.HasSuffix(w, "y"):
		w = w[:len(w)-1] + "ieth"
	default:
		w += "th"
	}
	return append(words[:n:n], w)
}

// plural adds an s to the last word: nineties, hundreds, thirds.
func plural(words []string) []string {
	n := len(words) - 1
	w := words[n]
	switch {
	case strings.HasSuffix(w, "y"):
		w = w[:len(w)-1] + "ies"
	case w == "six":
		w = "sixes"
	default:
		w += "s"
	}
	return append(words[:n:n], w)
}

// atoi reads a few digits, which patterns have checked; others are skipped.
func atoi(s string) int {
	n := 0
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			n = n*10 + int(c-'0')
		}
	}
	return n
}

// groupsOf says digits one by one, with a comma between the groups.
func groupsOf(s string) []string {
	var out []string
	for _, group := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" -.()", r) }) {
		if len(out) > 0 {
			out = append(out, ",")
		}
		for _, r := range group {
			if r == 'X' {
				out = append(out, "!X")
			} else {
				out = append(out, ones[r-'0'])
			}
		}
	}
	return out
}
