package g2p

import (
	"strings"
	"sync"
)

// A memory keeps guesses, so that a name is decoded once.
type memory struct {
	mu    sync.Mutex
	words map[string]string
}

// remembered is how many guesses a memory holds before it starts anew.
const remembered = 4096

func (m *memory) get(w string, guess func(string) string) string {
	m.mu.Lock()
	said, ok := m.words[w]
	m.mu.Unlock()
	if ok {
		return said
	}
	said = guess(w)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.words == nil || len(m.words) >= remembered {
		m.words = map[string]string{}
	}
	m.words[w] = said
	return said
}

// entry returns what the dictionaries have for a word exactly as it is written,
// or with another case.
func (g *G2P) entry(w, tag string, accent Accent) (string, bool) {
	if m := g.misaki[accent]; m != nil {
		low := strings.ToLower(w)
		for _, key := range []string{w, low, title(low)} {
			if t, ok := m[key]; ok {
				if p := t.pick(tag); p != "" {
					return strings.NewReplacer("ɾ", "T", "ʔ", "t").Replace(p), true
				}
			}
		}
	}
	w = strings.ToLower(w)
	if accent == British {
		if p, ok := g.gb[w]; ok {
			return p, true
		}
	}
	p, ok := g.names[w]
	if !ok {
		p, ok = g.words.find(w)
	}
	if ok && accent == British {
		p = toBritish(w, p)
	}
	return p, ok && p != ""
}

func title(w string) string {
	if w == "" {
		return w
	}
	return strings.ToUpper(w[:1]) + w[1:]
}

// pick chooses by Penn tag, then by its first letters' part of speech.
func (t tagged) pick(tag string) string {
	parent := ""
	switch {
	case strings.HasPrefix(tag, "VB"):
		parent = "VERB"
	case strings.HasPrefix(tag, "NN"):
		parent = "NOUN"
	case strings.HasPrefix(tag, "JJ"):
		parent = "ADJ"
	case strings.HasPrefix(tag, "RB"):
		parent = "ADV"
	}
	for _, k := range []string{tag, parent, "DEFAULT"} {
		if p := t[k]; p != "" {
			return p
		}
	}
	return ""
}

// longestWord is the most bytes of a word that is looked up or guessed; longer
// ones are spelled.
const longestWord = 64

// known pronounces a word by the dictionaries and by rules on words they have.
func (g *G2P) known(w, tag string, accent Accent) (string, Source) {
	if len(w) > longestWord {
		return "", None
	}
	if p, ok := g.entry(w, tag, accent); ok {
		return p, Lexicon
	}
	if p, ok := g.inflected(w, tag, accent); ok {
		return p, Rule
	}
	if p, ok := g.derived(w, accent); ok {
		return p, Rule
	}
	return "", None
}

// inflected tries the possessive, -s, -ed, -ing and -in'.
func (g *G2P) inflected(w, tag string, accent Accent) (string, bool) {
	low := strings.ToLower(w)
	n := len(low)
	find := func(stems ...string) (string, bool) {
		for _, s := range stems {
			if len(s) > 1 {
				if p, ok := g.entry(s, tag, accent); ok {
					return p, true
				}
			}
		}
		return "", false
	}
	switch {
	case strings.HasSuffix(low, "'s"):
		p, from := g.known(w[:n-2], "NN", accent)
		return plus(p, ending(p, accent)), from != None
	case strings.HasSuffix(low, "s'"), strings.HasSuffix(low, "'"):
		if strings.HasSuffix(low, "in'") {
			if p, ok := g.known(w[:n-1]+"g", tag, accent); ok != None {
				return strings.TrimSuffix(p, "ŋ") + "n", true
			}
		}
		p, from := g.known(w[:n-1], tag, accent)
		return p, from != None
	case n > 3 && strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss"):
		stems := []string{low[:n-1]}
		if strings.HasSuffix(low, "ies") {
			stems = []string{low[:n-3] + "y", low[:n-1]}
		} else if strings.HasSuffix(low, "es") {
			stems = append(stems, low[:n-2])
		}
		p, ok := find(stems...)
		return plus(p, ending(p, accent)), ok
	case n > 4 && strings.HasSuffix(low, "ed"):
		stems := []string{low[:n-1], low[:n-2]}
		if strings.HasSuffix(low, "ied") {
			stems = append(stems, low[:n-3]+"y")
		}
		if low[n-3] == low[n-4] {
			stems = append(stems, low[:n-3])
		}
		p, ok := find(stems...)
		return past(p, accent), ok
	case n > 5 && strings.HasSuffix(low, "ing"):
		stems := []string{low[:n-3], low[:n-3] + "e"}
		if low[n-4] == low[n-5] {
			stems = append(stems, low[:n-4])
		}
		p, ok := find(stems...)
		if accent == British && strings.HasSuffix(strings.TrimSuffix(low, "ing"), "r") && endsInVowel(p) {
			p += "ɹ"
		}
		return flap(p, accent) + "ɪŋ", ok
	}
	return "", false
}

func plus(p, end string) string {
	if p == "" {
		return ""
	}
	return p + end
}

func lastRune(p string) rune {
	r := rune(0)
	for _, c := range p {
		r = c
	}
	return r
}

// firstSound is the first phoneme of p that is no stress mark.
func firstSound(p string) rune {
	for _, r := range p {
		if r != 'ˈ' && r != 'ˌ' {
			return r
		}
	}
	return 0
}

func endsInVowel(p string) bool { r := lastRune(p); return isVowel(r) || r == 'ː' }

// ending is how -s sounds after p.
func ending(p string, accent Accent) string {
	switch r := lastRune(p); {
	case strings.ContainsRune("ptkfθ", r):
		return "s"
	case strings.ContainsRune("szʃʒʧʤ", r):
		return weakI(accent) + "z"
	}
	return "z"
}

// past is p with -ed.
func past(p string, accent Accent) string {
	switch r := lastRune(p); {
	case p == "":
		return ""
	case r == 't' || r == 'd':
		return flap(p, accent) + weakI(accent) + "d"
	case strings.ContainsRune("pkfθʃsʧ", r):
		return p + "t"
	}
	return p + "d"
}

func weakI(accent Accent) string {
	if accent == British {
		return "ɪ"
	}
	return "ᵻ"
}

// flap turns a final t of US English into a flap, for an ending with a weak vowel.
func flap(p string, accent Accent) string {
	stem, ok := strings.CutSuffix(p, "t")
	if !ok || accent == British {
		return p
	}
	if r := lastRune(stem); isVowel(r) || r == 'ɹ' {
		return stem + "T"
	}
	return p
}

// affixes say the productive prefixes and suffixes, British first.
var prefixes = []struct{ spelling, us, gb string }{
	{"counter", "kˌWntəɹ", "kˌWntə"}, {"electro", "ɪlˌɛktɹO", "ɪlˌɛktɹQ"}, {"under", "ˌʌndəɹ", "ˌʌndə"}, {"super", "sˌupəɹ", "sˌuːpə"}, {"hyper", "hˌIpəɹ", "hˌIpə"},
	{"micro", "mˌIkɹO", "mˌIkɹQ"}, {"multi", "mˌʌlti", "mˌʌlti"}, {"inter", "ˌɪntəɹ", "ˌɪntə"}, {"ultra", "ˌʌltɹə", "ˌʌltɹə"}, {"cyber", "sˌIbəɹ", "sˌIbə"}, {"crypto", "kɹˌɪptO", "kɹˌɪptQ"},
	{"anti", "ˌænti", "ˌantɪ"}, {"over", "ˌOvəɹ", "ˌQvə"}, {"auto", "ˌɔTO", "ˌɔːtQ"}, {"semi", "sˌɛmi", "sˌɛmi"}, {"mega", "mˌɛɡə", "mˌɛɡə"}, {"meta", "mˌɛTə", "mˌɛtə"}, {"nano", "nˌænO", "nˌanQ"},
	{"post", "pˌOst", "pˌQst"}, {"non", "nˌɑn", "nˌɒn"}, {"mis", "mˌɪs", "mˌɪs"}, {"dis", "dɪs", "dɪs"}, {"pre", "pɹˌi", "pɹˌiː"}, {"out", "ˌWt", "ˌWt"}, {"un", "ʌn", "ʌn"}, {"re", "ɹi", "ɹiː"},
}

var suffixes = []struct{ spelling, us, gb string }{
	{"ally", "ᵊli", "li"}, {"ness", "nəs", "nəs"}, {"less", "ləs", "ləs"}, {"ment", "mᵊnt", "mᵊnt"}, {"ship", "ʃˌɪp", "ʃɪp"}, {"like", "lˌIk", "lIk"}, {"able", "əbᵊl", "əbᵊl"}, {"ly", "li", "li"}, {"er", "əɹ", "ə"}, {"ers", "əɹz", "əz"}, {"y", "i", "i"},
}

// derived tries prefixes, suffixes and compounds of two words of the dictionary.
func (g *G2P) derived(w string, accent Accent) (string, bool) {
	low := strings.ToLower(w)
	n := len(low)
	if n > 40 {
		return "", false
	}
	say := func(us, gb string) string {
		if accent == British {
			return gb
		}
		return us
	}
	for _, a := range prefixes {
		if stem, ok := strings.CutPrefix(low, a.spelling); ok && len(stem) > 3 {
			p, ok := g.entry(stem, "", accent)
			if !ok {
				p, ok = g.inflected(stem, "", accent)
			}
			if ok {
				head := say(a.us, a.gb)
				if r := firstSound(p); accent == British && strings.HasSuffix(a.spelling, "r") && isVowel(r) {
					head += "ɹ"
				}
				return head + p, true
			}
		}
	}
	for _, a := range suffixes {
		stem, ok := strings.CutSuffix(low, a.spelling)
		if !ok || len(stem) < 4 || a.spelling == "ally" && !strings.HasSuffix(stem, "ic") {
			continue
		}
		stems := []string{stem, ""}
		if a.spelling[0] == 'a' || a.spelling[0] == 'e' {
			stems[1] = stem + "e"
		}
		if a.spelling != "y" && strings.HasSuffix(stem, "i") {
			stems[1] = stem[:len(stem)-1] + "y"
		}
		for _, s := range stems {
			if p, ok := g.entry(s, "", accent); s != "" && ok {
				if isVowel([]rune(a.us)[0]) {
					p = flap(p, accent)
					if accent == British && strings.HasSuffix(strings.TrimSuffix(s, "e"), "r") && endsInVowel(p) {
						p += "ɹ"
					}
				}
				if a.spelling == "ly" {
					p = strings.TrimSuffix(p, "l")
				}
				return p + say(a.us, a.gb), true
			}
		}
	}
	// Both halves of a compound have four letters or more: shorter ones are found
	// in almost every name.
	for cut := 4; cut <= n-4; cut++ {
		first, ok := g.entry(low[:cut], "", accent)
		if !ok {
			continue
		}
		second, ok := g.entry(low[cut:], "", accent)
		if !ok {
			second, ok = g.inflected(low[cut:], "", accent)
		}
		if ok {
			return first + strings.ReplaceAll(second, "ˈ", say("ˌ", "")), true
		}
	}
	return "", false
}

// guess pronounces a word nothing is known of. Unlike letters are left out of
// it; a word without vowels or one too long for the model is spelled.
func (g *G2P) guess(w string, accent Accent) (string, Source) {
	if len(w) > longestWord {
		return g.letters(w, accent), Spelled
	}
	low := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(w))
	if strings.HasSuffix(strings.ToLower(w), "'s") {
		p, from := g.guess(w[:len(w)-2], accent)
		return plus(p, ending(p, accent)), from
	}
	if low == "" || !strings.ContainsAny(low, "aeiouy") || len(low) == 1 {
		return g.letters(w, accent), Spelled
	}
	said := g.guesses.get(low, func(w string) string {
		p, _ := g.model.Decode(w)
		return strings.NewReplacer("nk", "ŋk", "nɡ", "ŋɡ").Replace(onePrimary(p))
	})
	if said == "" || !strings.ContainsFunc(said, isVowel) {
		return g.letters(w, accent), Spelled
	}
	if accent == British {
		said = toBritish(low, said)
	}
	return said, Guess
}

// onePrimary leaves one primary stress: the last, or one on the first vowel.
func onePrimary(p string) string {
	if n := strings.Count(p, "ˈ"); n > 1 {
		return strings.Replace(p, "ˈ", "ˌ", n-1)
	} else if n == 1 {
		return p
	}
	if strings.Contains(p, "ˌ") {
		return strings.Replace(p, "ˌ", "ˈ", 1)
	}
	if i := strings.IndexFunc(p, isVowel); i >= 0 {
		return p[:i] + "ˈ" + p[i:]
	}
	return p
}

// names of the letters.
var letterNames = map[rune][2]string{
	'a': {"ˈA", "ˈA"}, 'b': {"bˈi", "bˈiː"}, 'c': {"sˈi", "sˈiː"}, 'd': {"dˈi", "dˈiː"}, 'e': {"ˈi", "ˈiː"}, 'f': {"ˈɛf", "ˈɛf"}, 'g': {"ʤˈi", "ʤˈiː"},
	'h': {"ˈAʧ", "ˈAʧ"}, 'i': {"ˈI", "ˈI"}, 'j': {"ʤˈA", "ʤˈA"}, 'k': {"kˈA", "kˈA"}, 'l': {"ˈɛl", "ˈɛl"}, 'm': {"ˈɛm", "ˈɛm"}, 'n': {"ˈɛn", "ˈɛn"},
	'o': {"ˈO", "ˈQ"}, 'p': {"pˈi", "pˈiː"}, 'q': {"kjˈu", "kjˈuː"}, 'r': {"ˈɑɹ", "ˈɑː"}, 's': {"ˈɛs", "ˈɛs"}, 't': {"tˈi", "tˈiː"}, 'u': {"jˈu", "jˈuː"},
	'v': {"vˈi", "vˈiː"}, 'w': {"dˈʌbᵊlju", "dˈʌbᵊljuː"}, 'x': {"ˈɛks", "ˈɛks"}, 'y': {"wˈI", "wˈI"}, 'z': {"zˈi", "zˈɛd"},
}

// letters spells w: the last letter has the primary stress. A small s behind
// capitals is the plural's. Other signs are passed over, and a word of nothing
// else is called a sign.
func (g *G2P) letters(w string, accent Accent) string {
	stem := strings.TrimRight(w, "s")
	stem = strings.TrimSuffix(stem, "'")
	tail := len(stem) > 0 && len(stem) < len(w) && strings.ToUpper(stem) == stem
	if !tail {
		stem = w
	}
	var parts []string
	for _, r := range strings.ToLower(stem) {
		if n, ok := letterNames[r]; ok {
			parts = append(parts, n[accent])
		}
	}
	if len(parts) == 0 {
		return "sˈIn"
	}
	for i := range parts[:len(parts)-1] {
		parts[i] = strings.Replace(parts[i], "ˈ", "ˌ", 1)
	}
	out := strings.Join(parts, "")
	if tail {
		out += ending(out, accent)
	}
	return out
}
