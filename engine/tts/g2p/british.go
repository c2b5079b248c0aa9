package g2p

import (
	_ "embed"
	"strings"
)

//go:embed data/british.txt
var britishData string

//go:embed data/names.txt
var nameData string

// wordList reads lines of a word and its phonemes.
func wordList(data string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(data) {
		if w, p, ok := strings.Cut(strings.TrimSpace(line), " "); ok && w != "#" {
			out[w] = p
		}
	}
	return out
}

// bath lists beginnings of words whose short a is long in southern England;
// those that end in $ have to be the whole word, bar an inflection.
var bath = strings.Fields(`bath$ path$ lath$ grass glass class brass pass$ passed passing passport past pastor pasture last vast cast$ caster casting castle
fast$ faster fastest fasten mast$ master plaster disaster nasty ghastly ask$ asked asking task mask$ bask$ basket flask cask rascal clasp gasp grasp rasp$ raspberr
after laugh draught half calf staff chaff craft draft shaft raft$ aft$ daft graft behalf dance chance france lance glance prance trance stance advance enhance
grant plant slant chant aunt can't shan't answer branch ranch$ blanch command demand example sample rather lather father banana tomato
broadcast forecast downcast outcast contrast telegraph photograph paragraph graph$ giraffe overcast surpass everlasting bypass trespass$ supermarket cricketmaster headmaster chancell slander sultana avalanche moustache`)

func isBath(w string) bool {
	for _, b := range bath {
		if stem, ok := strings.CutSuffix(b, "$"); ok {
			if w == stem || w == stem+"s" || w == stem+"es" {
				return true
			}
		} else if strings.HasPrefix(w, b) || len(b) > 4 && strings.HasSuffix(w, b) {
			return true
		}
	}
	return false
}

func isVowel(r rune) bool { return strings.ContainsRune("AIOQWYaɑɒæəɛɜiɪɔʊuʌᵊᵻ", r) }

// groups returns the runs of vowel letters of w, silent final e left out.
func groups(w string) []string {
	var out []string
	for i := 0; i < len(w); {
		vowel := func(k int) bool {
			return strings.IndexByte("aeiou", w[k]) >= 0 && !(w[k] == 'u' && k > 0 && w[k-1] == 'q') || w[k] == 'y' && k > 0
		}
		if !vowel(i) {
			i++
			continue
		}
		j := i
		for j < len(w) && vowel(j) {
			j++
		}
		out = append(out, w[i:j])
		i = j
	}
	if n := len(out); n > 1 && out[n-1] == "e" && strings.HasSuffix(w, "e") {
		out = out[:n-1]
	}
	return out
}

// toBritish turns the US phonemes of the lower-case word w into British ones:
// no r before consonants, the vowels of lot, cloth, bath, goat and square, long
// vowels marked, j after t, d and n, and weak i where the spelling has one.
//
// Wells, "Accents of English", 1982, sections 2.2 and 3.2.
func toBritish(w, us string) string {
	r := []rune(strings.ReplaceAll(us, "T", "t"))
	sound := 0 // vowels in r
	for i, c := range r {
		if isVowel(c) && !(i > 0 && (c == 'ə') && (r[i-1] == 'I' || r[i-1] == 'W')) {
			sound++
		}
	}
	g := groups(w)
	letters := func(k int) string {
		switch {
		case len(g) == 0:
			return ""
		case len(g) == sound || sound < 2:
			return g[min(k, len(g)-1)]
		}
		return g[min((k*(len(g)-1)+(sound-1)/2)/(sound-1), len(g)-1)]
	}
	at := func(i int) rune {
		if i < 0 || i >= len(r) {
			return 0
		}
		return r[i]
	}
	var b strings.Builder
	k := -1
	stress := rune(0)
	for i := 0; i < len(r); i++ {
		c := r[i]
		if c == 'ˈ' || c == 'ˌ' {
			stress = c
			// Yod stands before the mark's vowel, so the mark waits.
			continue
		}
		if !isVowel(c) {
			b.WriteRune(c)
			continue
		}
		if !(c == 'ə' && i > 0 && (r[i-1] == 'I' || r[i-1] == 'W')) {
			k++
		}
		l := letters(k)
		before := at(i - 1)
		if stress != 0 {
			before = at(i - 2)
		}
		rhotic := at(i+1) == 'ɹ'
		next := at(i + 2)
		if next == 'ˈ' || next == 'ˌ' {
			next = at(i + 3)
		}
		link := rhotic && isVowel(next) // the r is heard
		if c == 'u' && strings.ContainsRune("tdn", before) && (strings.HasPrefix(l, "u") || strings.HasPrefix(l, "ew") || strings.HasPrefix(l, "eu") || l == "e" && strings.Contains(w, "ew")) {
			b.WriteRune('j')
		}
		if c == 'ʊ' && rhotic && strings.ContainsRune("tdn", before) && strings.HasPrefix(l, "u") {
			b.WriteRune('j')
		}
		after := at(i + 1)
		if after == 'ˈ' || after == 'ˌ' {
			after = at(i + 2)
		}
		said, skip := britishVowel(vowelPlace{w, l, c, before, next, after, stress, rhotic, link, i+1 == len(r), k == 0})
		if stress != 0 && !(said == "" || stress == 'ˌ' && said == "ə") {
			b.WriteRune(stress)
		}
		stress = 0
		b.WriteString(said)
		if skip || rhotic && !link && strings.ContainsRune("ɑɔɛɪʊɜə", c) {
			i++
		}
	}
	return strings.NewReplacer("ʃən", "ʃᵊn", "ʒən", "ʒᵊn").Replace(b.String())
}

// A vowelPlace is a US vowel and what stands around it.
type vowelPlace struct {
	word, letters       string
	c                   rune
	before, next, after rune // next is the phoneme behind a following r
	stress              rune
	rhotic, link        bool
	last, first         bool
}

// britishVowel returns the British vowel, and whether the symbol after it is
// taken up in it.
func britishVowel(p vowelPlace) (string, bool) {
	w, has := p.word, strings.Contains
	switch p.c {
	case 'O':
		return "Q", false
	case 'æ':
		if isBath(w) && p.stress != 0 {
			return "ɑː", false
		}
		return "a", false
	case 'ɑ':
		switch {
		case p.link && has(p.letters, "o"):
			return "ɒ", false
		case p.rhotic:
			return "ɑː", false
		case strings.HasPrefix(p.letters, "a") && !(p.before == 'w' || has(w, "wa") || has(w, "qua")) || p.last:
			return "ɑː", false
		}
		return "ɒ", false
	case 'ɔ':
		switch {
		case p.link && (has(w, "orr") || has(w, "oren") || has(w, "orest") || has(w, "oreign") || has(w, "ority") || has(w, "oric") || has(w, "orit") || has(w, "orange") || has(w, "orid")):
			return "ɒ", false
		case p.rhotic && !p.link && p.stress == 'ˌ', p.rhotic && p.link && p.stress == 'ˌ' && (has(w, "ory") || has(w, "ori")):
			if p.link {
				return "ə", false
			}
			return "ɔː", false
		case p.rhotic, p.letters != "o" && !(p.letters == "a" && p.before == 'w' && (has(w, "was") || has(w, "want"))):
			return "ɔː", false
		}
		return "ɒ", false
	case 'ɛ':
		switch {
		case p.link && p.stress == 'ˌ' && (strings.HasSuffix(w, "ary") || strings.HasSuffix(w, "ery")):
			return "ə", false
		case p.link && (has(w, "arr") || p.letters == "a" && !(has(w, "are") || has(w, "ary") || has(w, "arious") || has(w, "arian") || has(w, "aring") || has(w, "aria"))):
			return "a", false
		case p.link && p.letters == "e" && !has(w, "ere"):
			return "ɛ", false
		case p.rhotic:
			return "ɛː", false
		}
		return "ɛ", false
	case 'ɪ':
		switch {
		case p.rhotic && p.link && (has(w, "irr") || has(w, "yr") || has(w, "iri") || p.stress == 0):
			return "ɪ", false
		case p.rhotic:
			return "ɪə", false
		}
		return "ɪ", false
	case 'ʊ':
		if p.rhotic {
			return "ʊə", false
		}
		return "ʊ", false
	case 'ɜ':
		if p.link && (has(w, "urr") || has(w, "our") || has(w, "orr")) && !has(w, "furr") {
			return "ʌ", false
		}
		return "ɜː", false
	case 'i':
		switch {
		case p.stress == 0 && (p.last || (p.after == 'z' || p.after == 'd') && p.next == 0) && p.letters != "ee" && p.letters != "ea":
			return "i", false
		case p.stress == 0 && isVowel(p.after):
			return "ɪ", false
		case p.stress == 0 && strings.HasPrefix(p.letters, "e") && len(p.letters) == 1, p.stress == 0 && (p.letters == "i" || p.letters == "y"):
			return "ɪ", false
		case p.stress != 0 && p.after == 'ə':
			return "ɪ", false
		}
		return "iː", false
	case 'u':
		return "uː", false
	case 'ᵻ':
		return "ɪ", false
	case 'ə':
		if p.after == 'w' {
			return "ʊ", true
		}
		if p.rhotic || p.last || p.after == 'm' && has(w, "ism") {
			return "ə", false
		}
		switch p.letters {
		case "i", "y", "ui", "ai":
			if p.letters != "ai" || p.after == 'n' {
				return "ɪ", false
			}
		case "e":
			if p.first || p.after == 't' || p.after == 's' && strings.HasSuffix(w, "ess") && !strings.HasSuffix(w, "ness") && !strings.HasSuffix(w, "less") {
				return "ɪ", false
			}
		}
		return "ə", false
	}
	return string(p.c), false
}
