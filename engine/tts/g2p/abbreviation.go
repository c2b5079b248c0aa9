package g2p

import (
	"strings"
	"unicode"
)

// starters begin sentences, so that a capital behind a stop is no name.
var starters = set(`the it he she we they i this that these those a an in on at but and so then there when if as my your his her our their what who how why where is was are do does did no yes you`)

// abbreviated reads an abbreviation of k bytes, with what stands after it.
func (s *scanner) abbreviated(w string, k int, after string) bool {
	if u, ok := units[w]; ok && len(w) > 1 && w != "in" && s.lastSource() == "+" {
		n := k
		if strings.HasPrefix(after, ".") && len(after) > 1 {
			n++
		}
		s.put(strings.Fields(u[1]), n) // 10+ yrs.
		return true
	}
	if u, ok := units[w]; ok && len(w) > 1 && (s.lastWord() == "per" || perWords[s.lastWord()] && spans[w] && strings.HasPrefix(after, ".")) {
		n := k
		if strings.HasPrefix(after, ".") && len(after) > 1 {
			n++
		}
		s.put(strings.Fields(u[0]), n)
		return true
	}
	if !strings.HasPrefix(after, ".") {
		return s.unstopped(w, k, after)
	}
	if last := s.lastWord(); lone[w] && (last == "a" || last == "an" || last == "many" || last == "one") {
		name := units[w][0]
		if last == "many" {
			name = units[w][1]
		}
		s.put([]string{name}, k+1) // how many oz. in a lb.
		return true
	}
	next := strings.TrimLeft(after[1:min(len(after), 24)], " ")
	first := firstRune(next)
	digit := first >= '0' && first <= '9' || first == '~' && len(next) > 1 && isDigit(next[1]) || priced[w] && strings.ContainsRune(currencyMarks, first)
	upper := unicode.IsUpper(first)
	name := upper && !starters[strings.ToLower(next[:wordLen(next)])]
	small := w == strings.ToLower(w)
	if len(w) == 1 && unicode.IsUpper(rune(w[0])) && w != "I" && (upper || digit && directions[w] != "") && strings.HasPrefix(after, ". ") {
		if d := directions[w]; d != "" && (streetAhead().MatchString(next) || numberedStreet().MatchString(next)) {
			s.put([]string{d}, k+1)
			return true
		} else if upper && d != "" && s.onRoad() {
			s.put([]string{d}, k)
			return true
		} else if upper {
			s.put([]string{"!" + w}, k+1) // J. Smith
			return true
		}
	}
	if full := books[w]; full != "" && verse().MatchString(next) {
		s.put([]string{full}, k+1)
		return true
	}
	if w == "v" && name && s.afterName() {
		s.put([]string{"versus"}, k+1) // Roe v. Wade
		return true
	}
	if full := beforeOf[w]; full != "" && strings.HasPrefix(next, "of ") {
		s.put([]string{full}, k+1)
		return true
	}
	if w == "Gen" && len(next) > 0 && next[0] >= 'X' && next[0] <= 'Z' && !joins(firstRune(next[1:])) {
		s.put([]string{"generation"}, k+1)
		return true
	}
	if d := directions[w]; d != "" && (s.onRoad() || streetEnds[s.lastWord()]) {
		s.put([]string{d}, k)
		return true
	}
	if head := next[:wordLen(next)]; w == "Pt" && name && len(head) > 1 && romanNumber(head) == 0 {
		s.put([]string{"Point"}, k+1) // Pt. Reyes
		return true
	} else if w == "Pt" && (beForms[head] || charted[head] || strings.HasPrefix(next, "c/o ")) {
		s.put([]string{"patient"}, k+1)
		return true
	}
	if full := s.counts(w, next); full != "" {
		s.put([]string{full}, k+1)
		return true
	}
	if len(w) == 3 && initialisms[w] && !s.capitals && !digit {
		return false // the SAT.
	}
	for _, a := range abbreviations[strings.ToLower(w)] {
		if small && len(after) > 1 && after[1] >= 'a' && after[1] <= 'z' || strings.HasPrefix(a.full, "section") && len(w) < 3 && s.before() == '/' {
			continue // utils.load, 5 GFLOP/s
		}
		stop := upper || next == ""
		if len(w) > 1 && strings.HasPrefix(after, ".:") && (a.kind == counted || a.kind == anywhere) && !scripture[strings.ToLower(a.full)] {
			s.put(strings.Fields(a.full), k+1) // wt.: 154 lb
			return true
		}
		switch a.kind {
		case beforeName:
			if small || !name && !s.titles(w, next, upper) || s.ofRoad(w) && s.houseNumber() {
				continue
			}
			stop = false
		case counted:
			if len(w) == 1 && !small || !digit && !labelAhead().MatchString(next) && !hasNumber(w, a.full, next) {
				continue
			}
			if w == "cat" || w == "tab" {
				continue
			}
			if scripture[strings.ToLower(a.full)] && (small || people[strings.ToLower(w)] && !verse().MatchString(next) && !nths[s.lastWord()]) {
				continue // I met Tim. 5 others came.
			}
			stop = false
		case street:
			if small || !s.afterName() && !s.houseNumber() {
				continue
			}
			stop = upper && !name || next == ""
		case state:
			if small || !s.afterComma() && !stateWords[s.lastWord()] && !onlyStates[w] && !codified().MatchString(next) && !(w == "Wash" && strings.HasPrefix(next, "D.C")) {
				continue
			}
			stop = upper && starters[strings.ToLower(next[:wordLen(next)])] || next == ""
		case ofWhat:
			if small || s.lastWord() != "of" {
				continue
			}
		case anywhere:
			if w == "Co" && s.lastWord() != "and" && countyAhead().MatchString(next) {
				a.full = "County"
			}
			if small && (w == "min" || w == "max") && unicode.IsLower(first) && !perWords[s.lastWord()] {
				break // the min. wage
			}
			if w == "est" && strings.HasPrefix(next, "in ") {
				break
			}
			if w == "EST" && !s.capitals && !digit {
				continue
			}
			if small && (w == "temp" && (digit || first == '−' || first == '-') || shortened[w] && (first == ',' || unicode.IsLower(first))) && (beForms[following(next)] || !starters[following(next)]) {
				break // the temp. outside
			}
			if small && ordinary[w] && !(priced[w] && digit) && !(w == "al" && s.lastWord() == "et") || w == "Sun" && !s.weekday(first) && !dayParts[strings.ToLower(next[:wordLen(next)])] {
				continue
			}
			if strings.Contains(" cf viz tel ", " "+strings.ToLower(w)+" ") {
				stop = false
			}
		}
		n := k + 1
		if stop {
			n = k // it ends the sentence as well
		}
		s.put(strings.Fields(a.full), n)
		return true
	}
	if full, ok := unstopped[w]; ok && (upper || next == "") {
		s.put(strings.Fields(full), k) // the stop is the sentence's
		return true
	}
	return false
}

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
		amount := s.lastSource()
		name := map[string]string{"T": "tablespoon", "t": "teaspoon"}[w]
		if amount == "1" || amount[0] >= 0x80 || len(amount) == 3 && amount[1] == '/' {
			return name
		}
		return name + "s"
	case (w == "min" || w == "maj") && len(s.lastWord()) == 1 && (s.wordBack(2) == "in" || s.wordBack(2) == "of"):
		return map[string]string{"min": "minor", "maj": "major"}[w] // in C min.
	case (w == "Sq" || w == "sq") && unicode.IsLower(first):
		return "square"
	case (w == "rm" || w == "rms") && unicode.IsNumber(firstRune(s.lastSource())):
		return map[string]string{"rm": "room", "rms": "rooms"}[w]
	case works[w] != "" && strings.HasPrefix(next, "No."):
		return works[w]
	case w == "c" && (unicode.IsLower(first) || first == ')'):
		amount := s.lastSource()
		if r := firstRune(amount); !unicode.IsNumber(r) || strings.HasSuffix(amount, "s") {
			return ""
		}
		if amount == "1" || amount[0] >= 0x80 || len(amount) == 3 && amount[1] == '/' {
			return "cup"
		}
		return "cups"
	}
	return ""
}

func (s *scanner) unstopped(w string, k int, after string) bool {
	switch {
	case directions[w] != "" && (strings.HasPrefix(after, " ") && streetAhead().MatchString(after[1:min(len(after), 48)]) || s.onRoad()):
		s.put([]string{directions[w]}, k)
		return true
	case over[w] != "" && strings.HasPrefix(after, "/"+w) && !joins(firstRune(after[1+len(w):])): // y/y
		s.put([]string{over[w], "over", over[w]}, 2*k+1)
		return true
	case trigonometry[w] != "" && angle().MatchString(after[:min(len(after), 16)]):
		s.put(strings.Fields(trigonometry[w]), k)
		if strings.HasPrefix(after, "²") || strings.HasPrefix(after, "³") {
			s.operator(true) // sin² x
		}
		return true
	case w == "yo" && unicode.IsNumber(firstRune(s.lastSource())):
		s.put([]string{"year", "old"}, k)
		return true
	case (w == "y" || w == "yr") && strings.HasPrefix(after, "/o") && !joins(firstRune(after[2:])):
		s.put([]string{"year", "old"}, k+2)
		return true
	case w == "x" && s.lastWord() != "" && s.lastWord() != "for" && courses().MatchString(after[:min(len(after), 16)]):
		s.put([]string{"for"}, k) // 2 tablets x 7 days
		return true
	case strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "://") && labelNames[strings.ToLower(w)] != "" && !(w == strings.ToUpper(w) && len(w) < 4):
		s.put(strings.Fields(labelNames[strings.ToLower(w)]), k)
		return true
	case behindOrdinals[strings.ToLower(w)] != "" && len(w) > 1 && w != "Inf" && w != "Div" && ends[w] == "" && s.afterOrdinal():
		s.put([]string{behindOrdinals[strings.ToLower(w)]}, k)
		return true
	case w == "w" && strings.HasPrefix(after, "/"):
		if strings.HasPrefix(after, "/e") && !joins(firstRune(after[2:])) {
			s.put([]string{"whatever"}, k+2)
			return true
		}
		if strings.HasPrefix(after, "/o") && !joins(firstRune(after[2:])) {
			s.put([]string{"without"}, k+2)
			s.space()
			return true
		}
		if r := firstRune(after[1:]); r == ' ' || unicode.IsLetter(r) {
			s.put([]string{"with"}, k+1)
			s.space()
			return true
		}
		return false
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
		s.put([]string{"limit", "as"}, k)
		return true
	case (w == "wt" || w == "vol" || w == "mol") && strings.HasPrefix(after, "%"):
		s.put([]string{map[string]string{"wt": "weight", "vol": "volume", "mol": "mole"}[w]}, k)
		return true
	case len(w) < 5 && dose[w] != "" && (taken[s.wordBack(2)] || taken[following(after)]) && unicode.IsNumber(firstRune(s.lastSource())):
		s.put([]string{one(s.lastSource(), dose[w], dose[w]+"s")}, k)
		return true
	case w == "x" && len(s.lastSource()) == 1 && upper(s.lastSource()[0]) && dimension().MatchString(after[:min(len(after), 4)]):
		s.put([]string{"by"}, k) // W x H x D
		return true
	case w == "Del" && s.lastWord() == "plus":
		s.put([]string{"delete"}, k)
		return true
	case w == "v" && s.afterName() && strings.HasPrefix(after, " ") && unicode.IsUpper(firstRune(after[1:])):
		s.put([]string{"versus"}, k)
		return true
	case w == "Dr" && s.afterName() && !(strings.HasPrefix(after, " ") && unicode.IsUpper(firstRune(after[1:]))):
		s.put([]string{"Drive"}, k)
		return true
	}
	if len(w) < 3 && s.towards(w, k, after) {
		return true
	}
	if d := compass[w]; len(w) == 2 && d != "" && (s.lastWord() == "the" && quarters[following(after)] || streetEnds[s.lastWord()] || streetAhead().MatchString(strings.TrimPrefix(after[:min(len(after), 48)], " ")) || s.houseNumber() && len(after) > 1 && after[0] == ' ' && (unicode.IsUpper(firstRune(after[1:])) || unicode.IsDigit(firstRune(after[1:])))) {
		s.put([]string{d}, k)
		return true
	}
	if full := ends[w]; full != "" {
		named := strings.HasPrefix(after, " ") && unicode.IsUpper(firstRune(after[1:])) && !starters[following(after)]
		if s.afterName() && !(w == "St" && named) || s.houseNumber() && !unicode.IsDigit(firstRune(s.lastSource())) || s.afterOrdinal() {
			s.put([]string{full}, k)
			return true
		}
		if w == "St" && named {
			s.put([]string{"Saint"}, k)
			return true
		}
	}
	if full := books[w]; full != "" && strings.HasPrefix(after, " ") && verse().MatchString(after[1:]) {
		s.put([]string{full}, k)
		return true
	}
	if full := numberedToo[w]; full != "" && len(after) > 1 && after[0] == ' ' && (isDigit(after[1]) || len(w) > 2 && upper(after[1]) && !joins(firstRune(after[2:]))) {
		s.put([]string{full}, k)
		return true
	}
	if full, ok := unstopped[w]; ok {
		s.put(strings.Fields(full), k)
		return true
	}
	return false
}

// ends are those of streets, written without a stop too.
var ends = map[string]string{"St": "Street", "Ave": "Avenue", "Rd": "Road", "Blvd": "Boulevard", "Ln": "Lane", "Pkwy": "Parkway", "Hwy": "Highway", "Ct": "Court", "Pl": "Place", "Sq": "Square"}

// numberedToo are abbreviations before a number that are written without a stop too.
var numberedToo = map[string]string{"Apt": "apartment", "Ste": "suite", "Fig": "figure", "Figs": "figures", "Vol": "volume", "Vols": "volumes", "Ch": "chapter", "Rm": "room", "Bldg": "building", "Hwy": "highway", "Rte": "route", "Pt": "part", "Sec": "section", "Eq": "equation", "Op": "opus", "Nos": "numbers", "Flt": "flight", "Ct": "court", "wt": "weight", "ht": "height", "para": "paragraph", "paras": "paragraphs", "Ext": "extension", "ext": "extension", "Tel": "telephone"}

// labelAhead is a number with a letter in front: F-22, A1.
var labelAhead = lazy(`^[A-Z](?:(?:-|\.)?\d|[,;:)]|\.?$)`)

var dayParts = set("every only through except service hours brunch morning afternoon evening night nights mornings")

// following is the word behind a space in small letters.
func following(after string) string {
	after = strings.TrimPrefix(after[:min(len(after), 24)], " ")
	return strings.ToLower(after[:wordLen(after)])
}

// labelNames are abbreviations before a colon.
var labelNames = map[string]string{"hrs": "hours", "tel": "telephone", "wt": "weight", "ht": "height", "amt": "amount", "acct": "account", "addr": "address", "dept": "department", "appt": "appointment", "qty": "quantity", "mgr": "manager", "desc": "description", "ext": "extension", "sched": "schedule", "bal": "balance", "temp": "temperature"}

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
