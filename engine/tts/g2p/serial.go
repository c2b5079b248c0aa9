package g2p

import (
	"strings"
	"unicode"
)

// after2 is the second byte of s.
func after2(s string) byte {
	if len(s) < 2 {
		return 0
	}
	return s[1]
}

var extension = lazy(`^,?\s?x\.?\s?(\d{1,6})`)

// extended adds the extension behind a telephone number: x23.
func (s *scanner) extended(number []string) []string {
	rest := s.text[s.matchEnd:min(len(s.text), s.matchEnd+12)]
	m := extension().FindStringSubmatch(rest)
	if m == nil || joins(firstRune(rest[len(m[0]):])) {
		return number
	}
	s.matchEnd += len(m[0])
	return join(number, []string{",", "extension"}, digits(m[1]))
}

// labelled reports whether a word stands before whose numbers have letters: Route 9W.
func (s *scanner) labelled() bool { return lettered[s.lastWord()] }

// ion says a formula with its charge.
func ion(formula, charge, sign string, s *scanner) []string {
	out := serial(formula, s.accent)
	for _, r := range charge {
		out = append(out, value(r))
	}
	return append(out, sign)
}

// quantityAhead is what stands behind a number that is no name.
var quantityAhead = lazy(`^(?:[/%–:-]|\.\d| ?[µ°$€£])`)

// lettersBefore reports whether two to four capitals stand before, which are no unit: CS 101.
func (s *scanner) lettersBefore() bool {
	w := s.lastSource()
	_, unit := units[w]
	return len(w) > 1 && len(w) < 5 && !unit && !s.capitals && strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && !pairs[w]
}

// hyphened reports whether a name and a hyphen stand right before: Blink-182, SR-71.
func (s *scanner) hyphened() bool {
	n := len(s.out)
	return n > 0 && s.i > 1 && s.text[s.i-1] == '-' && s.out[n-1].Kind == Word && s.out[n-1].End == s.i-1 && unicode.IsUpper(firstRune(s.text[s.out[n-1].Start:]))
}

// An element of a formula, or a group in parentheses, and how many there are.
const (
	symbol  = `(?:A[glru]|B[aer]?|C[adlorsu]?|F[er]?|H[eg]?|I|K|L[aiu]|M[gn]|N[aeip]?|O|P[btu]?|R[abn]|S[cein]?|T[eil]|U|V|W|X[e]|Y|Z[nr])[0-9₀-₉]{0,3}`
	element = `(?:` + symbol + `|\((?:` + symbol + `){1,6}\)[0-9₀-₉]{1,2})`
)

// elements are names of those whose isotopes are spoken of.
var elements = map[string]string{
	"H": "hydrogen", "He": "helium", "Li": "lithium", "B": "boron", "C": "carbon", "N": "nitrogen", "O": "oxygen", "F": "fluorine", "Na": "sodium", "P": "phosphorus", "S": "sulfur", "K": "potassium", "Fe": "iron", "Co": "cobalt", "Ni": "nickel", "Kr": "krypton", "Sr": "strontium", "Tc": "technetium", "I": "iodine",
	"Xe": "xenon", "Cs": "cesium", "Ba": "barium", "Pb": "lead", "Bi": "bismuth", "Po": "polonium", "Rn": "radon", "Ra": "radium", "Th": "thorium", "U": "uranium", "Np": "neptunium", "Pu": "plutonium", "Am": "americium",
}

// notFormulas are words whose letters are symbols of elements all the same.
var notFormulas = set("HeLa NaN LaTe CoCo CoCa CaBi LiSa BaCk")

// spelledNumbers are words whose numbers are read digit by digit, pairedNumbers
// those whose numbers of three or four digits are read in pairs.
var (
	spelledNumbers = set(`zip pin postcode code passcode extension isbn ssn telephone phone serial otp cvv cvc pmid ein npi pmcid`)
	identifying    = set("account confirmation tracking routing serial reference member membership phone telephone license passport")
	hyphenated     = set("number boeing airbus mcdonnell embraer law part serial sku invoice account ref reference claim policy docket ticket")
	emergencies    = set("911 999 112 988")
	alarms         = set("call calls called calling dial dialed dialing phone phoned ring text")
	emergencyWords = set("call calls caller callers operator operators dispatcher dispatchers emergency")
	pairedNumbers  = set(`bio biology chem chemistry econ math psych psychology calc physics stats english history sociology philosophy listen listens office rfc iso port form exit section bwv channel locker building porsche bmw ferrari mercedes radeon geforce ryzen galaxy nokia rx flight boeing airbus cessna piper peugeot lexus levi's room suite route highway interstate bus apartment gate http error status rtx gtx`)
	labels         = set("room suite apartment unit table figure exhibit form schedule exercise problem example listing equation plate diagram")
	coding         = set("exit status error return response result http fault")
	answers        = set("400 401 403 404 405 408 409 410 418 422 429 500 501 502 503 504")
	answered       = set("error errors page response from status for on when and or instead back in at to")
	replies        = set("returns return returned returning throws threw sends sent responds responded replied")
	faults         = set("error errors response responses status")
	keys           = set("major minor clarinet trumpet cornet horn saxophone sax tuba euphonium chord scale")
	coded          = set("plate plates vin code sku confirmation voucher coupon serial registration")
	ordinalEnds    = map[string]bool{"ST": true, "ND": true, "RD": true, "TH": true}
	lettered       = set("item section exhibit schedule note table figure part appendix class rule form group title grade chapter article level zone block route unit apartment suite gate row seat exit room flat bay platform terminal bus track highway door aisle pier stand runway")
	batted         = set("batting batted hit hits hitting slugging slugged")
	averages       = set("hitter hitters record average team percentage season")
	secrets        = set("code otp passcode iban pin id")
	graded         = set("from to got get gets earned received grade grades")
	grades         = set(`average grade student students`)
)

// inPairs says up to four digits as houses and flights are: three seventy, one oh
// one, fifteen forty nine.
func inPairs(s string, accent Accent) []string {
	n := atoi(s)
	switch {
	case len(s) == 3 && n%100 != 0 && s[0] != '0':
		return append([]string{ones[n/100]}, shortYear(s[1:], accent)...)
	case len(s) == 4 && n%100 < 10 && n%100 > 0 && s[0] != '0':
		return append(below(n/100, false), shortYear(s[2:], accent)...)
	case len(s) == 4 && n%1000 != 0 && s[0] != '0':
		return year(s, accent)
	}
	return cardinal(s, accent)
}

// lifted is s with digits in place of those below the line.
func lifted(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '₀' && r <= '₉' {
			return r - '₀' + '0'
		}
		return r
	}, s)
}

// formulaWords says a formula, whose groups stand in parentheses: Cu(NH₃)₄.
func formulaWords(formula string, accent Accent) []string {
	var out []string
	for _, part := range strings.FieldsFunc(formula, func(r rune) bool { return r == '(' || r == ')' }) {
		out = append(out, serial(part, accent)...)
	}
	return out
}

// serial says runs of capitals as letters and runs of digits as numbers.
func serial(s string, accent Accent) []string {
	s = lifted(s)
	var out []string
	for i := 0; i < len(s); {
		digit := s[i] <= '9'
		j := i
		for j < len(s) && (s[j] <= '9') == digit {
			j++
		}
		switch run := s[i:j]; {
		case !digit:
			out = append(out, "!"+strings.ToUpper(run))
		case len(run) > 4:
			out = append(out, digits(run)...)
		default:
			out = append(out, inPairs(run, accent)...)
		}
		i = j
	}
	return out
}

// hexadecimal reads the number of letters a to f and figures that rest begins with, and its
// length: a hash.
func hexadecimal(rest string) (int, []string) {
	k, changes := 0, 0
	for k < len(rest) && k < longest && (isDigit(rest[k]) || rest[k] >= 'a' && rest[k] <= 'f') {
		if k > 0 && isDigit(rest[k]) != isDigit(rest[k-1]) {
			changes++
		}
		k++
	}
	if k == 8 {
		if id := uuid().FindString(rest[:min(len(rest), 36)]); id != "" {
			return len(id), inGroups(id, "-")
		}
	}
	if k < 6 || changes < 3 || joins(firstRune(rest[k:])) {
		return 0, nil
	}
	return k, characters(rest[:k])
}

// compactDate is a day without what stands between its parts.
var compactDate = lazy(`^((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$`)

// identified reads a run of digits that is no quantity by how it looks: 20240115, ****4242, a
// telephone number, and what is too long to count by.
func (s *scanner) identified(n string) []string {
	switch masks := s.text[max(0, s.i-3):s.i]; {
	case len(n) < 5 && (masks == "***" || masks == "xxx" || masks == "XXX" || masks == "•"):
		return digits(n)
	case len(n) == 8:
		if m := compactDate().FindStringSubmatch(n); m != nil {
			return dayOf(m[2], m[3], m[1], s.accent)
		}
	case len(n) < 10 || strings.HasSuffix(n, "000") || pluralNoun(s.nextWord()):
	case len(n) == 10 && n[0] > '1':
		return s.extended(groupsOf(n[:3] + " " + n[3:6] + " " + n[6:]))
	case len(n) > 11:
		return digits(n)
	}
	return nil
}

// uuid is an identifier of 32 figures in five groups.
var uuid = lazy(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// inGroups names the characters of groups between separators, with a comma between the groups.
func inGroups(id, separators string) []string {
	var out []string
	for k, group := range strings.FieldsFunc(id, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if k > 0 {
			out = append(out, ",")
		}
		out = append(out, characters(group)...)
	}
	return out
}

// color returns the color that rest begins with as style sheets write it, FF5733, or "". It has
// figures and letters, or one of them throughout.
func color(rest string) string {
	k := 0
	for k < len(rest) && k < 9 && (isDigit(rest[k]) || rest[k]|0x20 >= 'a' && rest[k]|0x20 <= 'f') {
		k++
	}
	w := rest[:k]
	if k != 3 && k != 6 && k != 8 || joins(firstRune(rest[k:])) || unitNumber().MatchString(rest) {
		return ""
	}
	figures, same := digitsOf(w), strings.Trim(w, w[:1]) == ""
	if figures == w && !(same && (k > 3 || w[0] == '0')) || figures == "" && !same {
		return ""
	}
	return w
}

// publication reads the number of one behind 10. and that of who published it: 10.1038/nature12373.
var publication = pattern{re(`10\.(\d{4,9})/([A-Za-z0-9][A-Za-z0-9._/()-]{1,60})`), func(m []string, s *scanner) []string {
	id := strings.TrimRight(m[2], ".)")
	s.matchEnd -= len(m[2]) - len(id)
	out := join([]string{"ten", "point"}, digits(m[1]), []string{"slash"})
	for i := 0; i < len(id); {
		j := i + 1
		for j < len(id) && isLetter(id[i]) && isLetter(id[j]) {
			j++
		}
		if w := id[i:j]; j > i+2 {
			out = append(out, w)
		} else {
			out = append(out, characters(w)...)
		}
		i = j
	}
	return out
}}

// mixed is a serial number in groups of letters and figures that change more than once: 8F3K-22QX.
var mixed = pattern{re(`[A-Z0-9]{3,8}(?:-[A-Z0-9]{2,8}){1,5}`), func(m []string, s *scanner) []string {
	changes := 0
	for _, group := range strings.Split(m[0], "-") {
		n := 0
		for k := 1; k < len(group); k++ {
			if isDigit(group[k]) != isDigit(group[k-1]) {
				n++
			}
		}
		changes = max(changes, n)
	}
	if changes < 2 {
		return nil
	}
	return inGroups(m[0], "-")
}}

// texted are words as they are written in a hurry, with figures for sounds.
var texted = map[string]string{
	"k8s": "kubernetes", "a11y": "accessibility", "2nite": "tonight", "2night": "tonight", "2day": "today", "2moro": "tomorrow", "2morrow": "tomorrow", "2mrw": "tomorrow", "2gether": "together", "4get": "forget", "4got": "forgot", "l33t": "leet", "4ever": "forever", "4eva": "forever", "gr8": "great", "l8r": "later", "l8": "late", "m8": "mate", "w8": "wait", "h8": "hate", "b4": "before", "str8": "straight", "some1": "someone", "any1": "anyone", "every1": "everyone", "no1": "no one", "2b": "to be", "4u": "for you", "2u": "to you", "f2f": "face to face", "b2b": "!B to !B", "b2c": "!B to !C", "p2p": "peer to peer", "sk8": "skate", "h8rs": "haters", "h8ers": "haters",
}

// shorthand reads the word of letters and figures that rest begins with, and its length.
func shorthand(rest string) (int, []string) {
	k, figures := 0, 0
	for k < len(rest) && k < 9 && (isLetter(rest[k]) || isDigit(rest[k])) {
		if isDigit(rest[k]) {
			figures++
		}
		k++
	}
	if figures == 0 || figures == k || joins(firstRune(rest[k:])) {
		return 0, nil
	}
	w := rest[:k]
	if low := strings.ToLower(w); texted[low] != "" && (w == low || w == title(low) && k > 2) {
		return k, strings.Fields(texted[low])
	}
	return 0, nil
}

// docket is the number of a case before a court: 3:21-cv-04567-JD.
var docket = pattern{re(`(?:(\d):)?(\d{2})-([a-z]{2})-(\d{4,6})((?:-[A-Z]{2,4}){0,2})`), func(m []string, s *scanner) []string {
	out := join(digits(m[1]), cardinal(m[2], s.accent), []string{"!" + strings.ToUpper(m[3]), ","}, digits(m[4]))
	for _, judge := range strings.Split(m[5], "-")[1:] {
		out = append(out, "!"+judge)
	}
	return out
}}

// courtRules are what the rules of American courts are of.
var courtRules = map[string]string{"Civ": "civil", "Crim": "criminal", "App": "appellate", "Evid": "evidence", "Bankr": "bankruptcy"}
