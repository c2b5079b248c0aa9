package main

import (
	"slices"
	"strings"
)

// arpabet gives Kokoro's symbols of consonants and of stressed vowels.
var arpabet = map[string]string{
	"AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "W", "AY": "I", "EH": "ɛ", "ER": "ɜɹ", "EY": "A",
	"IH": "ɪ", "IY": "i", "OW": "O", "OY": "Y", "UH": "ʊ", "UW": "u",
	"B": "b", "CH": "ʧ", "D": "d", "DH": "ð", "F": "f", "G": "ɡ", "HH": "h", "JH": "ʤ", "K": "k", "L": "l", "M": "m",
	"N": "n", "NG": "ŋ", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ", "T": "t", "TH": "θ", "V": "v", "W": "w", "Y": "j",
	"Z": "z", "ZH": "ʒ",
}

const vowels = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"

func vowel(p string) bool {
	return strings.Contains(vowels, p) && len(p) == 2 && p != "HH" && strings.ContainsRune("AEIOU", rune(p[0]))
}

// late are endings whose own vowel takes the stress of the word; early are those
// that leave it where it was, with a weak or lesser stress of their own.
var (
	late  = []string{"ee", "eer", "ese", "ette", "oon", "esque", "self", "selves", "eers", "ees", "aire"}
	early = []string{"ary", "ory", "ery", "mony", "ative", "ator", "ators", "ating", "ated", "ates", "izing", "ized", "izer", "izers", "izes",
		"ising", "ised", "able", "ably", "ism", "ary's", "aries", "ories", "eries", "graphed", "graphing", "berry", "body", "water", "worker",
		"woman", "women", "maker", "making", "holder", "ers", "ness"}
	before = []string{"under", "over", "inter", "dis", "mis", "un", "re", "non", "pre", "self", "co", "de", "out"}
)

// stresses returns 0, 1 (primary) or 2 for each vowel of p. flite tells
// stressed from unstressed vowels; which of several is the primary one follows
// from where they stand and from the ending.
func stresses(w string, p, said []string) []int {
	var out []int
	var names []string
	for _, x := range p {
		if vowel(x) {
			out = append(out, 0)
			names = append(names, x)
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return []int{1}
	}
	var marks []int // vowels that are stressed
	n := 0
	for _, x := range said {
		if c := x[len(x)-1]; c == '0' || c == '1' {
			if c == '1' {
				marks = append(marks, n)
			}
			n++
		}
	}
	if n != len(out) {
		marks = marks[:0]
		for i, v := range names {
			if v != "AH" && v != "IH" && v != "ER" && !(v == "IY" && i == len(names)-1) {
				marks = append(marks, i)
			}
		}
	}
	if len(marks) == 0 {
		marks = []int{0}
		if names[0] == "AH" && w[0] == 'a' {
			marks = []int{1}
		}
	}
	// A weak first vowel before the primary stress is no secondary one.
	if len(marks) > 1 && marks[0] == 0 && marks[1] == 1 && (names[0] == "IH" || names[0] == "AH" && w[0] == 'a') {
		marks = marks[1:]
	}
	for _, m := range marks {
		out[m] = 2
	}
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.HasSuffix(w, s) })
	}
	last := len(marks) - 1
	main := marks[last]
	if last > 0 && !has(late) {
		final := main == len(out)-1
		prefixed := final && last == 1 && slices.ContainsFunc(before, func(s string) bool { return strings.HasPrefix(w, s) && len(w) > len(s)+2 })
		if final && !prefixed || !final && has(early) {
			main = marks[last-1]
		}
	}
	out[main] = 1
	return out
}

// symbols writes the phonemes of w in Kokoro's symbols, US, with weak vowels and
// the flap where misaki has them.
func symbols(w string, p []string, stress []int) string {
	var b strings.Builder
	v := 0
	at := func(i int) string {
		if i < 0 || i >= len(p) {
			return ""
		}
		return p[i]
	}
	for i, x := range p {
		if !vowel(x) {
			switch {
			case x == "T" && flapped(p, i, stress, v):
				b.WriteString("T")
			default:
				b.WriteString(arpabet[x])
			}
			continue
		}
		s := stress[v]
		v++
		if strings.HasSuffix(w, "ism") && x == "IH" && i+4 == len(p) && s == 0 {
			s = 2
		}
		if x == "AO" && lot(w, at(i+1)) {
			x = "AA"
		}
		switch s {
		case 1:
			b.WriteString("ˈ")
		case 2:
			b.WriteString("ˌ")
		}
		next, last := at(i+1), at(i-1)
		switch {
		case s > 0:
			b.WriteString(arpabet[x])
		case x == "AH" && next == "L" && !vowel(at(i+2)) && strings.Contains(" T D S Z P B K G F V N ", " "+last+" "):
			b.WriteString("ᵊ")
		case x == "AH" && next == "N" && !vowel(at(i+2)) && i > 1 && strings.Contains(" T D S Z V Y F ", " "+last+" "):
			b.WriteString("ᵊ")
		case (x == "AH" || x == "IH") && i+2 == len(p) && (next == "D" && strings.HasSuffix(w, "ed") || next == "Z" && strings.HasSuffix(w, "es")):
			b.WriteString("ᵻ")
		case (x == "AH" || x == "IH") && strings.HasSuffix(w, "est") && i+3 == len(p):
			b.WriteString("ᵻ")
		case (x == "AH" || x == "IH") && i+2 >= len(p)-1 && next == "S" && (strings.HasSuffix(w, "is") || strings.HasSuffix(w, "ist")):
			b.WriteString("ɪ")
		case x == "AH" && next == "N" && strings.HasSuffix(w, "ment") && i+3 == len(p):
			b.WriteString("ᵊ")
		case x == "AH" && i == 0 && strings.HasPrefix(w, "un") && next == "N":
			b.WriteString("ʌ")
		case x == "EH" && i == 0 && next == "N":
			b.WriteString("ɪ")
		case x == "UW" && vowel(next):
			b.WriteString("əw")
		case x == "AH" || x == "IH" && weak(w, p, i):
			b.WriteString("ə")
		case x == "ER":
			b.WriteString("əɹ")
		default:
			b.WriteString(arpabet[x])
		}
	}
	return b.String()
}

// lot reports whether AO in w is the vowel of lot to misaki: spelled o, and not
// before the consonants that make it the vowel of cloth.
func lot(w, next string) bool {
	for _, s := range []string{"au", "aw", "ou", "oa", "al", "wa", "ua"} {
		if strings.Contains(w, s) {
			return false
		}
	}
	return strings.Contains(w, "o") && strings.Contains(" T K P D B M JH CH V Z ", " "+next+" ")
}

// weak reports whether the unstressed IH at i is a schwa in misaki's spelling.
func weak(w string, p []string, i int) bool {
	if i+1 >= len(p) || i == 0 && w[0] != 'e' {
		return false
	}
	next := p[i+1]
	if vowel(next) || strings.Contains(" NG JH CH SH G R ", " "+next+" ") {
		return false
	}
	if i+2 == len(p) {
		return next == "T" || next == "S" || next == "D"
	}
	return vowel(p[i+2]) || next == "V" || i == 1 && w[0] == 'd'
}

// flapped reports whether the T at i is one: after a vowel or R, before a vowel
// without stress. v is the index of the next vowel.
func flapped(p []string, i int, stress []int, v int) bool {
	if i == 0 || i+1 >= len(p) || !(vowel(p[i-1]) || p[i-1] == "R") || !vowel(p[i+1]) || stress[v] != 0 {
		return false
	}
	return !(p[i+1] == "AH" && i+2 < len(p) && p[i+2] == "N" && (i+3 == len(p) || !vowel(p[i+3])))
}
