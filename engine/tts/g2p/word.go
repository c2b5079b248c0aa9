package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// An abbreviation is said in full where a full stop follows it. A title stands
// before a name, so its stop never ends a sentence.
type abbreviation struct {
	full  string
	title bool
}

var abbreviations = map[string]abbreviation{
	"mr": {"Mister", true}, "mrs": {"Missus", true}, "ms": {"Miz", true}, "dr": {"Doctor", true}, "prof": {"Professor", true}, "st": {"Saint", true},
	"gen": {"General", true}, "sen": {"Senator", true}, "rep": {"Representative", true}, "gov": {"Governor", true}, "capt": {"Captain", true},
	"lt": {"Lieutenant", true}, "col": {"Colonel", true}, "sgt": {"Sergeant", true}, "rev": {"Reverend", true}, "hon": {"Honorable", true}, "mt": {"Mount", true}, "ft": {"Fort", true},
	"jr": {"Junior", false}, "sr": {"Senior", false}, "etc": {"et cetera", false}, "vs": {"versus", false}, "approx": {"approximately", false}, "dept": {"department", false},
	"inc": {"Incorporated", false}, "ltd": {"Limited", false}, "corp": {"Corporation", false}, "co": {"Company", false}, "fig": {"figure", true}, "vol": {"volume", true}, "pp": {"pages", true},
	"ave": {"Avenue", false}, "blvd": {"Boulevard", false}, "rd": {"Road", false}, "est": {"established", true}, "al": {"al", false}, "ca": {"circa", true}, "min": {"minutes", false}, "max": {"maximum", false},
	"jan": {"January", false}, "feb": {"February", false}, "aug": {"August", false}, "sept": {"September", false}, "sep": {"September", false}, "oct": {"October", false}, "nov": {"November", false}, "dec": {"December", false},
	"mon": {"Monday", false}, "tue": {"Tuesday", false}, "tues": {"Tuesday", false}, "thu": {"Thursday", false}, "thurs": {"Thursday", false}, "fri": {"Friday", false}, "e.g": {"for example", true}, "i.e": {"that is", true}, "a.k.a": {"also known as", true},
}

// stars are abbreviations said in full without a full stop too.
var stars = map[string]string{"vs": "versus", "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Dr": "Doctor", "etc": "et cetera", "Jr": "Junior", "Sr": "Senior", "w/": "with"}

// monarchs are names a Roman numeral makes an ordinal of.
const monarchs = " henry louis george elizabeth charles edward james william richard pope francis benedict john paul pius philip napoleon frederick catherine nicholas alexander peter leo gregory mary ivan "

var (
	dottedLetters = lazy(`^(?:[A-Za-z]\.){2,12}|^(?:Ph|ph)\.[Dd]\.`)
	roman         = lazy(`^X{0,3}(?:IX|IV|V?I{0,3})$`)
)

// word reads a run of letters with apostrophes and hyphens inside it.
func (s *scanner) word(rest string) {
	head := rest[:min(len(rest), longest)]
	before := s.before()
	if !joins(before) {
		if m := dottedLetters().FindString(head); m != "" && !joins(firstRune(rest[len(m):])) {
			s.initials(m)
			return
		}
		if c := head[0]; c >= 'A' && c <= 'Z' || c == 'n' || c == 'v' {
			for _, p := range named {
				m := p.re().FindStringSubmatch(head)
				if m == nil || joins(firstRune(rest[len(m[0]):])) {
					continue
				}
				if words := p.say(m, s); words != nil {
					s.put(words, len(m[0]))
					s.rangeOrSum()
					return
				}
			}
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
	if !joins(before) && s.abbreviated(clean, k, after) {
		return
	}
	if n := s.numeral(clean); n != nil {
		s.put(n, k)
		return
	}
	if (strings.HasPrefix(after, "'") || strings.HasPrefix(after, "’")) && strings.HasSuffix(clean, "in") && len(clean) > 4 {
		clean += "'" // runnin'
	}
	s.add(item{Token: Token{Text: clean, Kind: Word}}, k)
}

func firstRune(s string) rune {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return utf8.RuneError
	}
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
		case unicode.IsLetter(r) && latin(r) == script || unicode.Is(unicode.Mn, r):
		case (r == '\'' || r == '’' || r == 'ʼ' || r == '-' || r == '‐' || r == '‑') && unicode.IsLetter(firstRune(s[k+n:])) && latin(firstRune(s[k+n:])) == script:
		default:
			return k
		}
		k += n
	}
	return k
}

var folds = strings.NewReplacer("’", "'", "ʼ", "'", "‐", "-", "‑", "-", "ß", "ss", "æ", "ae", "Æ", "Ae", "ø", "o", "Ø", "O", "ł", "l", "Ł", "L", "đ", "d", "þ", "th", "ð", "th", "œ", "oe", "ı", "i")

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

// initials reads letters with full stops between them.
func (s *scanner) initials(m string) {
	name := strings.ToLower(strings.TrimSuffix(m, "."))
	if a, ok := abbreviations[name]; ok {
		s.put(strings.Fields(a.full), len(m))
		return
	}
	n := len(m)
	var words []string
	if letters := strings.ReplaceAll(m, ".", ""); letters != "" {
		words = []string{"!" + strings.ToUpper(letters)}
	}
	if strings.TrimSpace(s.text[s.i+n:min(len(s.text), s.i+n+8)]) == "" && s.i+n+8 >= len(s.text) {
		n-- // the stop ends the text as well
	}
	s.put(words, n)
}

// abbreviated reads an abbreviation of k bytes.
func (s *scanner) abbreviated(w string, k int, after string) bool {
	dot := strings.HasPrefix(after, ".")
	if !dot {
		if full, ok := stars[w]; ok {
			s.put(strings.Fields(full), k)
			return true
		}
		return false
	}
	next := strings.TrimLeft(after[1:min(len(after), 6)], " ")
	name := unicode.IsUpper(firstRune(next))
	if len(w) == 1 && unicode.IsUpper(rune(w[0])) && w != "I" && name && strings.HasPrefix(after, ". ") {
		s.put([]string{"!" + w}, k+1) // J. Smith
		return true
	}
	a, ok := abbreviations[strings.ToLower(w)]
	if !ok {
		return false
	}
	lower := w == strings.ToLower(w)
	if lower && strings.Contains(" st sen gen col rep mt ft co al hon rev min max est mon fri sep dec oct nov jan feb aug fig ", " "+w+" ") && !(w == "al" || w == "est" && !name) {
		return false
	}
	if strings.EqualFold(w, "st") && (!name || s.afterName()) {
		a = abbreviation{"Street", false}
	}
	if strings.EqualFold(w, "min") && lower {
		return false
	}
	n := k + 1
	if end := strings.TrimSpace(next) == ""; end && len(after) < 6 || name && !a.title {
		n = k // the stop ends the sentence as well
	}
	s.put(strings.Fields(a.full), n)
	return true
}

// afterName reports whether the word before has a capital: Main St.
func (s *scanner) afterName() bool {
	n := len(s.out)
	return n > 0 && s.out[n-1].Kind == Word && s.out[n-1].Text != "" && unicode.IsUpper(firstRune(s.out[n-1].Text))
}

// numeral reads II to XXXIX after a word with a capital: Henry VIII, Part IV.
func (s *scanner) numeral(w string) []string {
	if len(w) < 1 || !roman().MatchString(w) || s.capitals || !s.afterName() {
		return nil
	}
	last := strings.ToLower(s.out[len(s.out)-1].Text)
	king := strings.Contains(monarchs, " "+last+" ")
	if len(w) == 1 && (w == "I" || !king) {
		return nil
	}
	n := 0
	for i := range len(w) {
		v := map[byte]int{'I': 1, 'V': 5, 'X': 10}
		if i+1 < len(w) && v[w[i]] < v[w[i+1]] {
			n -= v[w[i]]
		} else {
			n += v[w[i]]
		}
	}
	if king {
		return append([]string{"the"}, ordinal(below(n, false))...)
	}
	return below(n, false)
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

var (
	mail   = lazy(`^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}`)
	web    = lazy(`^(?:https?://|ftp://|www\.)[^\s<>"”)\]]+`)
	domain = lazy(`^[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,8}\.(?:com|org|net|io|edu|gov|dev|ai|co|uk|de|app)\b(?:/[^\s<>"”)\]]*)?`)
)

// address reads an e-mail or web address: its parts as words, its signs by name.
// The scheme is not said.
func address(s string) (int, []string) {
	if !strings.ContainsAny(s[:min(len(s), 256)], ".@:") {
		return 0, nil
	}
	s = s[:min(len(s), 2048)]
	m := mail().FindString(s)
	if m == "" {
		m = web().FindString(s)
	}
	if m == "" {
		if m = domain().FindString(s); m == "" || !strings.Contains(m, ".") {
			return 0, nil
		}
	}
	m = strings.TrimRight(m, ".,;:!?'")
	body := m
	for _, scheme := range []string{"https://", "http://", "ftp://"} {
		body = strings.TrimPrefix(body, scheme)
	}
	body = strings.TrimSuffix(body, "/")
	names := map[byte]string{'.': "dot", '@': "at", '/': "slash", '-': "dash", '_': "underscore", ':': "colon", '?': "question mark", '=': "equals", '&': "and", '#': "hash", '%': "percent", '+': "plus", '~': "tilde"}
	var out []string
	for i := 0; i < len(body); {
		c := body[i]
		j := i
		switch {
		case c >= '0' && c <= '9':
			for j < len(body) && body[j] >= '0' && body[j] <= '9' {
				j++
			}
			out = append(out, cardinal(body[i:j], US)...)
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			for j < len(body) && body[j]|0x20 >= 'a' && body[j]|0x20 <= 'z' {
				j++
			}
			w := body[i:j]
			if w == "www" || w == "uk" || w == "io" || w == "ai" || w == "html" {
				w = "!" + strings.ToUpper(w)
			}
			out = append(out, w)
		default:
			j = i + 1
			out = append(out, strings.Fields(names[c])...)
		}
		i = j
	}
	if len(out) == 0 {
		return 0, nil
	}
	return len(m), out
}
