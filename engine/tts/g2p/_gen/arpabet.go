package main

import "strings"

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

// stresses takes the stress of the vowels from p: 0, 1 (primary) or 2 for each. The last of
// several primary ones is it.
func stresses(p []string) (bare []string, out []int) {
	main := -1
	var vowels []string
	for _, x := range p {
		phone := strings.TrimRight(x, "012")
		bare = append(bare, phone)
		if phone == x {
			continue
		}
		vowels = append(vowels, phone)
		stress := int(x[len(x)-1] - '0')
		if stress == 1 {
			if main >= 0 {
				out[main] = 2
			}
			main = len(out)
		}
		out = append(out, stress)
	}
	switch n := len(out); {
	case n == 0:
	case main < 0:
		out[0] = 1
	case vowels[0] == "IH" && main == 1: // A weak first vowel before the primary stress is no secondary one,
		out[0] = 0
	case bare[len(bare)-1] == "IY" && out[n-1] == 2: // nor is the last of happy.
		out[n-1] = 0
	}
	return bare, out
}

// symbols writes the phonemes of w in Kokoro's symbols, US, with weak vowels and
// the flap where misaki has them.
func symbols(w string, said []string) string {
	p, stress := stresses(said)
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
