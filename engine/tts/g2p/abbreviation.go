package g2p

import (
	"strings"
	"unicode"
)

// starters begin sentences, so that a capital behind a stop is no name.
var starters = set(`the it he she we they i this that these those a an in on at but and so then there when if as my your his her our their what who how why where is was are do does did no yes you`)

// abbreviated reads an abbreviation of k bytes, with what stands after it.
func (s *scanner) abbreviated(w string, k int, after string) bool {
	if u, ok := units[w]; ok && len(w) > 1 {
		last, n := s.lastWord(), k
		if strings.HasPrefix(after, ".") && len(after) > 1 {
			n++
		}
		switch {
		case w != "in" && s.lastSource() == "+":
			return s.put(strings.Fields(u[1]), n) // 10+ yrs.
		case last == "per" || perWords[last] && spans[w] && strings.HasPrefix(after, "."):
			return s.put(strings.Fields(u[0]), n)
		}
	}
	if !strings.HasPrefix(after, ".") {
		return s.unstopped(w, k, after)
	}
	if lone[w] { // how many oz. in a lb.
		switch s.lastWord() {
		case "many":
			return s.put([]string{units[w][1]}, k+1)
		case "a", "an", "one":
			return s.put([]string{units[w][0]}, k+1)
		}
	}
	a := stoppedAt(w, after)
	if s.letter(a) {
		return true
	}
	for i := range stoppedRules {
		if r := &stoppedRules[i]; r.words[w] != "" && r.fits(s, a) {
			return s.put([]string{r.words[w]}, k+r.stop)
		}
	}
	if full := s.counts(w, a.next); full != "" {
		return s.put([]string{full}, k+1)
	}
	if len(w) == 3 && initialisms[w] && !s.capitals && !a.digit {
		return false // the SAT.
	}
	for _, x := range abbreviations[strings.ToLower(w)] {
		if w == "Co" && s.lastWord() != "and" && countyAhead().MatchString(a.next) {
			x.full = "County"
		}
		if means, ends := s.means(a, x); means && ends {
			return s.put(strings.Fields(x.full), k) // the stop is the sentence's too
		} else if means {
			return s.put(strings.Fields(x.full), k+1)
		}
	}
	if full, ok := unstopped[w]; ok && (a.upper || a.next == "") {
		return s.put(strings.Fields(full), k) // the stop is the sentence's
	}
	return false
}

// A stopped is an abbreviation with a full stop, and what stands behind it.
type stopped struct {
	w     string
	small bool // it has no capital

	after string // from the stop on
	next  string // behind the stop and spaces
	head  string // the word next begins with
	low   string // that in small letters
	first rune   // of next
	digit bool   // first is one
	upper bool   // first is a capital
	name  bool   // upper, and the word is none that begins sentences
}

func stoppedAt(w, after string) *stopped {
	a := &stopped{w: w, small: w == strings.ToLower(w), after: after, next: strings.TrimLeft(after[1:min(len(after), 24)], " ")}
	a.head, a.first = a.next[:wordLen(a.next)], firstRune(a.next)
	a.low, a.upper = strings.ToLower(a.head), unicode.IsUpper(a.first)
	about := a.first == '~' && len(a.next) > 1 && isDigit(a.next[1])
	a.digit = a.first >= '0' && a.first <= '9' || about || priced[w] && strings.ContainsRune(currencyMarks, a.first)
	a.name = a.upper && !starters[a.low]
	return a
}

// letter reads a capital: the direction of a street, or an initial.
func (s *scanner) letter(a *stopped) bool {
	d := directions[a.w]
	if len(a.w) != 1 || !unicode.IsUpper(rune(a.w[0])) || a.w == "I" || !strings.HasPrefix(a.after, ". ") || !a.upper && (!a.digit || d == "") {
		return false
	}
	switch {
	case d != "" && (streetAhead().MatchString(a.next) || numberedStreet().MatchString(a.next)):
		return s.put([]string{d}, 2)
	case a.upper && d != "" && s.onRoad():
		return s.put([]string{d}, 1)
	case a.upper:
		return s.put([]string{"!" + a.w}, 2) // J. Smith
	}
	return false
}

// stoppedRules say some abbreviations where they fit. stop is how much of the stop goes with them.
var stoppedRules = []struct {
	words map[string]string
	stop  int
	fits  func(s *scanner, a *stopped) bool
}{
	{books, 1, func(_ *scanner, a *stopped) bool { return verse().MatchString(a.next) }},
	{map[string]string{"v": "versus"}, 1, func(s *scanner, a *stopped) bool { return a.name && s.afterName() }}, // Roe v. Wade
	{beforeOf, 1, func(_ *scanner, a *stopped) bool { return strings.HasPrefix(a.next, "of ") }},
	{map[string]string{"Gen": "generation"}, 1, func(_ *scanner, a *stopped) bool {
		return a.next != "" && a.next[0] >= 'X' && a.next[0] <= 'Z' && !joins(firstRune(a.next[1:]))
	}},
	{directions, 0, func(s *scanner, _ *stopped) bool { return s.onRoad() || streetEnds[s.lastWord()] }},
	{map[string]string{"Pt": "Point"}, 1, func(_ *scanner, a *stopped) bool { // Pt. Reyes
		return a.name && len(a.head) > 1 && romanNumber(a.head) == 0
	}},
	{map[string]string{"Pt": "patient"}, 1, func(_ *scanner, a *stopped) bool {
		return beForms[a.head] || charted[a.head] || strings.HasPrefix(a.next, "c/o ")
	}},
}

// means reports whether an abbreviation is short for x where it stands, and whether its stop ends the
// sentence as well.
func (s *scanner) means(a *stopped, x abbreviation) (means, ends bool) {
	book := scripture[strings.ToLower(x.full)]
	last := a.upper || a.next == ""
	switch {
	case a.small && len(a.after) > 1 && a.after[1] >= 'a' && a.after[1] <= 'z': // utils.load
		return false, false
	case strings.HasPrefix(x.full, "section") && len(a.w) < 3 && s.before() == '/': // 5 GFLOP/s
		return false, false
	case len(a.w) > 1 && strings.HasPrefix(a.after, ".:") && (x.kind == counted || x.kind == anywhere) && !book: // wt.: 154 lb
		return true, false
	}
	switch x.kind {
	case beforeName:
		return !a.small && (a.name || s.titles(a.w, a.next, a.upper)) && !(s.ofRoad(a.w) && s.houseNumber()), false
	case counted:
		number := a.digit || labelAhead().MatchString(a.next) || hasNumber(a.w, x.full, a.next)
		capital := len(a.w) == 1 && !a.small
		person := book && (a.small || people[strings.ToLower(a.w)] && !verse().MatchString(a.next) && !nths[s.lastWord()]) // I met Tim. 5 others came.
		return number && !capital && a.w != "cat" && a.w != "tab" && !person, false
	case street:
		return !a.small && (s.afterName() || s.houseNumber()), a.upper && !a.name || a.next == ""
	case state:
		place := s.afterComma() || stateWords[s.lastWord()] || onlyStates[a.w] || codified().MatchString(a.next) || a.w == "Wash" && strings.HasPrefix(a.next, "D.C")
		return !a.small && place, a.upper && !a.name || a.next == ""
	case ofWhat:
		return !a.small && s.lastWord() == "of", last
	}
	return s.shortens(a), last && !midway[strings.ToLower(a.w)]
}

// shortens reports whether what may be a word, such as Sun, is an abbreviation.
func (s *scanner) shortens(a *stopped) bool {
	lower := unicode.IsLower(a.first)
	number := a.digit || a.first == '−' || a.first == '-'
	switch {
	case a.small && (a.w == "min" || a.w == "max") && lower && !perWords[s.lastWord()], // the min. wage
		a.w == "est" && strings.HasPrefix(a.next, "in "):
		return true
	case a.w == "EST" && !s.capitals && !a.digit:
		return false
	case a.small && (a.w == "temp" && number || shortened[a.w] && (a.first == ',' || lower)) && (beForms[a.low] || !starters[a.low]):
		return true // the temp. outside
	case a.w == "Sun":
		return s.weekday(a.first) || dayParts[a.low]
	}
	return !a.small || !ordinary[a.w] || priced[a.w] && a.digit || a.w == "al" && s.lastWord() == "et"
}

// midway are abbreviations that never end a sentence.
var midway = set("cf viz tel")

// rankAhead is the rest of a rank: Sgt. 1st Class.
var rankAhead = lazy(`^(?:1st|2nd) (?:Class|Lt)`)

// people are names of people as well as books, nths what stands before the second of several.
var (
	people = set("sam tim dan matt phil josh jas jer mal gal")
	nths   = set("first second third")
	verse  = lazy(`^\d{1,3}:\d`)
)

// onlyStates mean nothing else; stateWords are words behind which Ill. is a state too.
var onlyStates = set("Ariz Calif Colo Conn Fla Kan Mich Minn Neb Nev Okla Tenn Wis Wyo")

var stateWords = set("in from near of across outside northern southern eastern western central")

// beforeOf are abbreviations before "of"; books are those of the Bible that are cut short
// without a stop, before a chapter and a verse.
var (
	beforeOf = map[string]string{"Ct": "Court", "Sec": "Secretary", "No": "number", "no": "number"}
	books    = map[string]string{"Gen": "Genesis", "Ex": "Exodus", "Heb": "Hebrews", "Jas": "James", "Phil": "Philippians", "Gal": "Galatians", "Eph": "Ephesians", "Dan": "Daniel", "Prov": "Proverbs", "Deut": "Deuteronomy", "Lev": "Leviticus", "Ps": "Psalm", "Isa": "Isaiah", "Mt": "Matthew", "Matt": "Matthew", "Mk": "Mark", "Lk": "Luke", "Jn": "John", "Rom": "Romans", "Cor": "Corinthians", "Rev": "Revelation"}
)

// charted are words of notes on a patient, behind Pt.
var charted = set("has had denies denied reports reported states stated complains complained presents presented admitted seen tolerated will with who appears remains may should did does")

// lived are said before a year behind a comma or a bracket: (b. 1920).
var (
	lived     = map[string]string{"b": "born", "d": "died", "r": "reigned", "m": "married", "fl": "flourished"}
	yearAhead = lazy(`^\d{4}\b`)
	bornAhead = lazy(`^(?:\d{4}\b|(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d)`)
)

// counts reads abbreviations behind numbers, 5th c. and 2 c. of flour, and the no. of phone no.
func (s *scanner) counts(w, next string) string {
	first := firstRune(next)
	if s.journal(w, next) {
		return journals[w]
	}
	switch full := behindOrdinals[strings.ToLower(w)]; {
	case full != "" && s.afterOrdinal() && ends[w] == "":
		return full
	case dose[w] != "" && unicode.IsLower(first) && unicode.IsNumber(firstRune(s.lastSource())):
		return one(s.lastSource(), dose[w], dose[w]+"s")
	case (w == "vit" || w == "Vit") && unicode.IsUpper(first):
		return "vitamin"
	case strings.EqualFold(w, "rev") && revision().MatchString(next):
		return "revision"
	case w == "est" && strings.ContainsAny(s.lastSource(), currencyMarks+"%"):
		return "estimated"
	case strings.EqualFold(w, "rev") && first >= '0' && first <= '9' && !verse().MatchString(next):
		return "revision"
	case strings.EqualFold(w, "long") && meridian().MatchString(next):
		return "longitude"
	case w == "equiv" && s.lastWord() == "watts":
		return "equivalent"
	case w == "reg" && strings.ContainsRune(currencyMarks, first):
		return "regularly"
	case strings.EqualFold(w, "exp") && strings.HasPrefix(next, "date"):
		return "expiration"
	case w == "incl" && (next == "" || first == ',' || first == ';' || first == ')'):
		return "included"
	case w == "sz":
		return "size"
	case w == "vol" && unicode.IsNumber(firstRune(s.lastSource())):
		return "volume"
	case w == "no" && numberedThings[s.lastWord()]:
		return "number"
	case (w == "est" || w == "Est") && estimated().MatchString(next):
		return "estimated"
	case lived[w] != "" && bornAhead().MatchString(next) && (len(s.out) == 0 || s.out[len(s.out)-1].Kind == Punctuation):
		return lived[w]
	case w == "med" && (strings.HasPrefix(next, "heat") || strings.HasPrefix(next, "low") || strings.HasPrefix(next, "high")):
		return "medium"
	case sizes[w] != "" && unicode.IsLower(first) && unicode.IsNumber(firstRune(s.lastSource())):
		return sizes[w]
	case w == "no" && (possessors[s.lastWord()] && (strings.HasPrefix(next, "is ") || strings.HasPrefix(next, "was ")) || codeIs().MatchString(next)):
		return "number"
	case (w == "T" || w == "t") && unicode.IsLower(first) && unicode.IsNumber(firstRune(s.lastSource())): // 1 T. vinegar
		return measureOf(s.lastSource(), map[string]string{"T": "tablespoon", "t": "teaspoon"}[w])
	case (w == "min" || w == "maj") && len(s.lastWord()) == 1 && (s.wordBack(2) == "in" || s.wordBack(2) == "of"):
		return map[string]string{"min": "minor", "maj": "major"}[w] // in C min.
	case (w == "Sq" || w == "sq") && unicode.IsLower(first):
		return "square"
	case (w == "rm" || w == "rms") && unicode.IsNumber(firstRune(s.lastSource())):
		return map[string]string{"rm": "room", "rms": "rooms"}[w]
	case works[w] != "" && strings.HasPrefix(next, "No."):
		return works[w]
	case w == "c" && (unicode.IsLower(first) || first == ')'):
		if amount := s.lastSource(); unicode.IsNumber(firstRune(amount)) && !strings.HasSuffix(amount, "s") {
			return measureOf(amount, "cup")
		}
	}
	return ""
}

// measureOf is the name of so many measures: of one at most, the singular.
func measureOf(amount, name string) string {
	if amount == "1" || amount[0] >= 0x80 || len(amount) == 3 && amount[1] == '/' {
		return name
	}
	return name + "s"
}

// unstopped reads an abbreviation without a full stop.
func (s *scanner) unstopped(w string, k int, after string) bool {
	low := strings.ToLower(w)
	behind, spaced := strings.CutPrefix(after, " ")
	capital := spaced && unicode.IsUpper(firstRune(behind))
	slash, slashed := strings.CutPrefix(after, "/")
	wordOf := func(letter string) bool { // w/e, with nothing joined behind
		rest, ok := strings.CutPrefix(slash, letter)
		return slashed && ok && !joins(firstRune(rest))
	}
	switch {
	case directions[w] != "" && (spaced && streetAhead().MatchString(behind[:min(len(behind), 47)]) || s.onRoad()):
		return s.put([]string{directions[w]}, k)
	case over[w] != "" && wordOf(w): // y/y
		return s.put([]string{over[w], "over", over[w]}, 2*k+1)
	case trigonometry[w] != "" && angle().MatchString(after[:min(len(after), 16)]):
		s.put(strings.Fields(trigonometry[w]), k)
		if strings.HasPrefix(after, "²") || strings.HasPrefix(after, "³") {
			s.operator(true) // sin² x
		}
		return true
	case w == "yo" && unicode.IsNumber(firstRune(s.lastSource())):
		return s.put([]string{"year", "old"}, k)
	case (w == "y" || w == "yr") && wordOf("o"):
		return s.put([]string{"year", "old"}, k+2)
	case w == "x" && s.lastWord() != "" && s.lastWord() != "for" && courses().MatchString(after[:min(len(after), 16)]):
		return s.put([]string{"for"}, k) // 2 tablets x 7 days
	case strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "://") && labelNames[low] != "" && !(w == strings.ToUpper(w) && len(w) < 4):
		return s.put(strings.Fields(labelNames[low]), k)
	case behindOrdinals[low] != "" && len(w) > 1 && w != "Inf" && w != "Div" && ends[w] == "" && s.afterOrdinal():
		return s.put([]string{behindOrdinals[low]}, k)
	case w == "w" && slashed:
		r := firstRune(slash)
		switch {
		case wordOf("e"):
			return s.put([]string{"whatever"}, k+2)
		case wordOf("o"):
			s.put([]string{"without"}, k+2)
		case r == ' ' || unicode.IsLetter(r):
			s.put([]string{"with"}, k+1)
		default:
			return false
		}
		s.space()
		return true
	case w == "b" && strings.HasPrefix(after, "/w ") && !joins(s.before()):
		s.put([]string{"between"}, k+2)
		s.space()
		return true
	case w == "b" && strings.HasPrefix(after, "/c ") && !joins(s.before()):
		s.put([]string{"because"}, k+2)
		s.space()
		return true
	case w == "c" && strings.HasPrefix(after, "/o ") && !joins(s.before()):
		said := "care of"
		if n := following(after[2:]); charts[s.lastWord()] || unicode.IsLower(firstRune(after[3:])) && !determiners[n] {
			said = "complaining of" // in a patient's notes
		}
		s.put(strings.Fields(said), k+2)
		s.space()
		return true
	case w == "lim" && approached().MatchString(after[:min(len(after), 8)]):
		return s.put([]string{"limit", "as"}, k)
	case shares[w] != "" && strings.HasPrefix(after, "%"):
		return s.put([]string{shares[w]}, k)
	case len(w) < 5 && dose[w] != "" && (taken[s.wordBack(2)] || taken[following(after)]) && unicode.IsNumber(firstRune(s.lastSource())):
		return s.put([]string{one(s.lastSource(), dose[w], dose[w]+"s")}, k)
	case w == "x" && len(s.lastSource()) == 1 && upper(s.lastSource()[0]) && dimension().MatchString(after[:min(len(after), 4)]):
		return s.put([]string{"by"}, k) // W x H x D
	case w == "Del" && s.lastWord() == "plus":
		return s.put([]string{"delete"}, k)
	case w == "v" && s.afterName() && capital:
		return s.put([]string{"versus"}, k)
	case w == "Dr" && s.afterName() && !capital:
		return s.put([]string{"Drive"}, k)
	}
	if len(w) < 3 && s.towards(w, k, after) {
		return true
	}
	if d := compass[w]; len(w) == 2 && d != "" {
		corner := s.lastWord() == "the" && quarters[following(after)]
		street := streetEnds[s.lastWord()] || streetAhead().MatchString(strings.TrimPrefix(after[:min(len(after), 48)], " "))
		house := s.houseNumber() && (capital || spaced && unicode.IsDigit(firstRune(behind)))
		if corner || street || house {
			return s.put([]string{d}, k)
		}
	}
	if full := ends[w]; full != "" {
		named := capital && !starters[following(after)]
		if s.afterName() && !(w == "St" && named) || s.houseNumber() && !unicode.IsDigit(firstRune(s.lastSource())) || s.afterOrdinal() {
			return s.put([]string{full}, k)
		}
		if w == "St" && named {
			return s.put([]string{"Saint"}, k)
		}
	}
	if full := books[w]; full != "" && spaced && verse().MatchString(behind) {
		return s.put([]string{full}, k)
	}
	if full := numberedToo[w]; full != "" && len(after) > 1 && after[0] == ' ' && (isDigit(after[1]) || len(w) > 2 && upper(after[1]) && !joins(firstRune(after[2:]))) {
		return s.put([]string{full}, k)
	}
	if full, ok := unstopped[w]; ok {
		return s.put(strings.Fields(full), k)
	}
	return false
}

// labelAhead is a number with a letter in front: F-22, A1.
var labelAhead = lazy(`^[A-Z](?:(?:-|\.)?\d|[,;:)]|\.?$)`)

var dayParts = set("every only through except service hours brunch morning afternoon evening night nights mornings")

// following is the word behind a space in small letters.
func following(after string) string {
	after = strings.TrimPrefix(after[:min(len(after), 24)], " ")
	return strings.ToLower(after[:wordLen(after)])
}

// charts are words before what a patient complains of.
var charts = set("patient m f old man woman male female he she")

// meridian is a number of degrees.
var meridian = lazy(`^[-−]?\d{1,3}(?:\.\d+)? ?[°º]`)

// codified is the name of a collection of laws, behind the state whose laws they are.
var codified = lazy(`^(?:[A-Z][A-Za-z.&]+ ){1,3}(?:Code|Const|Stat)\b`)

// bracketedToo are abbreviations whose number may stand in parentheses.
var (
	bracketedToo = set("Eq Eqs Ex Fig Sec Art eq eqs")
	inBrackets   = lazy(`^\(\d{1,3}[a-z]?\)`)
)

// revision is the letter of one: Rev. C.
var revision = lazy(`^[A-HJ-Z](?:$|[,;:)]|\s[^A-Z])`)

// approached is what stands behind lim.
var approached = lazy(`^ [a-z] ?(?:→|->)`)

// estimated is what stands behind est. where nothing was founded.
var estimated = lazy(`^(?:[a-hj-z]|i[a-mo-z]|~|[$£€]|(?:\d{1,3}|\d{1,3},\d{3})(?:[^\d,]|$))`)

// codeIs is what a number is said to be.
var codeIs = lazy(`^(?:is|was) (?:\d|[A-Z]{1,4}[ -]?\d)`)

// codeAhead is a code of letters and figures.
var codeAhead = lazy(`^[A-Z]{1,4}[ -]?\d`)

// dimension is the letter of one.
var dimension = lazy(`^ [A-Z](?:$|[^A-Za-z])`)

// courses are how long a treatment lasts.
var courses = lazy(`^ ?\d{1,3} ?(?:days?|weeks?|wks?|months?|mos?|hours?|hrs?|d)\b`)

// afterName reports whether the word before has a capital: Main St.
func (s *scanner) afterName() bool {
	n := len(s.out)
	return n > 0 && s.out[n-1].Kind == Word && s.out[n-1].Text != "" && unicode.IsUpper(firstRune(s.out[n-1].Text)) && s.out[n-1].End+1 >= s.i
}

// houseNumber reports whether a number stands one to three words back, with names
// between.
func (s *scanner) houseNumber() bool {
	for k := len(s.out) - 1; k >= 0 && k >= len(s.out)-4; k-- {
		t := s.out[k]
		if t.Kind != Word || t.Text == "" {
			return false
		}
		if c := s.text[t.Start]; c >= '0' && c <= '9' {
			return true
		}
		if !unicode.IsUpper(firstRune(t.Text)) {
			return false
		}
	}
	return false
}

// afterComma reports whether a comma stands before, or a bracket.
func (s *scanner) afterComma() bool {
	n := len(s.out)
	return n > 0 && s.out[n-1].Kind == Punctuation && (s.out[n-1].Phonemes == "," || s.out[n-1].Phonemes == "(")
}

// weekday reports whether Sun. is a day: next to a number, a comma, another day or
// a preposition of time.
func (s *scanner) weekday(next rune) bool {
	return next >= '0' && next <= '9' || next == '&' || strings.Contains(" on and to or every next last this saturday friday closed open since until till by from through except ", " "+s.lastWord()+" ") && s.lastWord() != ""
}

// initials reads letters with full stops between them.
func (s *scanner) initials(m string) {
	name := strings.ToLower(strings.TrimSuffix(m, "."))
	if a, ok := abbreviations[name]; ok {
		s.put(strings.Fields(a[0].full), len(m))
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
