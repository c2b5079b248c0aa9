package g2p

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Products and quotients of units: m·s⁻¹, kg·m², J/(mol·K), W·m⁻²·K⁻⁴.

// A factor is a unit in a product, with its power; one that is divided by has a power below 0.
type factor struct {
	unit  [2]string
	power int
}

// productUnits are units that only a product shows to be some: 5 K may be anything.
var productUnits = map[string][2]string{
	"K": {"kelvin", "kelvin"}, "C": {"coulomb", "coulombs"}, "T": {"tesla", "tesla"}, "H": {"henry", "henries"}, "F": {"farad", "farads"}, "S": {"siemens", "siemens"},
	"rad": {"radian", "radians"}, "sr": {"steradian", "steradians"}, "cd": {"candela", "candela"}, "Bq": {"becquerel", "becquerels"}, "Gy": {"gray", "grays"}, "Wb": {"weber", "webers"},
}

// maxFactors is the most factors that are read as one unit.
const maxFactors = 6

var (
	compoundAhead = lazy(`^[A-Za-zµμΩ]{1,4}(?:[⁻⁰¹²³⁴-⁹]|\^-?\d)*(?:[·⋅∙]|/\(| )?[A-Za-zµμΩ⁻/]`) // the least of what factors reads
	negativeUnit  = lazy(`^ [A-Za-zµμΩ]{1,4}(?:⁻|\^-)[¹²³⁴1-4]`)
)

// compound reads the compound unit that rest begins with, and its length, 0 if there is none;
// single is set where there is one of it.
func compound(rest string, single bool) ([]string, int) {
	if !compoundAhead().MatchString(rest) {
		return nil, 0
	}
	list, n := factors(rest)
	if !strings.ContainsAny(rest[:n], "·⋅∙⁻^(") {
		return nil, 0 // km/h is a quantity
	}
	last := -1 // the factor whose name is a plural
	for k, f := range list {
		if f.power > 0 {
			last = k
		}
	}
	var out []string
	for k, f := range list {
		name := f.unit[0]
		if k == last && !single {
			name = f.unit[1]
		}
		if f.power < 0 {
			out = append(out, "per")
		}
		out = join(out, powered(name, max(f.power, -f.power)))
	}
	return out, n
}

// factors parses a compound unit. A product of single letters could as well be one of variables:
// it is none of units.
func factors(rest string) ([]factor, int) {
	var list []factor
	certain, sign, grouped := false, 1, false
	for i := 0; len(list) < maxFactors; {
		unit, k := productUnit(rest[i:])
		if k == 0 {
			return nil, 0
		}
		i += k
		power, n := exponent(rest[i:])
		i += n
		list = append(list, factor{unit, sign * power})
		certain = certain || power < 0 || grouped || k > 1
		if grouped && strings.HasPrefix(rest[i:], ")") {
			i, grouped, sign = i+1, false, 1
		}
		r, n := utf8.DecodeRuneInString(rest[i:])
		switch {
		case n > 0 && strings.ContainsRune("·⋅∙", r):
			i += n
		case strings.HasPrefix(rest[i:], "/(") && sign > 0:
			i, sign, grouped, certain = i+2, -1, true, true
		case r == '/' && sign > 0:
			i, sign = i+1, -1
		case negativeUnit().MatchString(rest[i:]):
			i++
		case grouped || n > 0 && joins(r) || !certain || len(list) < 2 && power > 0:
			return nil, 0
		default:
			return list, i
		}
	}
	return nil, 0
}

// productUnit is the unit rest begins with, and its length, 0 if there is none.
func productUnit(rest string) ([2]string, int) {
	k := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) || raised[r] != 0 })
	if k < 0 {
		k = len(rest)
	}
	unit, ok := productUnits[rest[:k]]
	if !ok {
		unit, ok = unitOf(rest[:k])
	}
	if !ok {
		return unit, 0
	}
	return unit, k
}

// exponent reads the power of at most two digits rest begins with, and its length; 1 if there is none.
func exponent(rest string) (int, int) {
	digits, caret := strings.CutPrefix(rest, "^")
	n, sign, value := len(rest)-len(digits), 1, 0
	for _, r := range digits {
		d := raised[r]
		if caret {
			d = r
		}
		switch {
		case d == '-' && value == 0:
			sign = -1
		case d >= '0' && d <= '9' && value < 10:
			value = 10*value + int(d-'0')
		default:
			d = 0
		}
		if d == 0 {
			break
		}
		n += utf8.RuneLen(r)
	}
	if value == 0 {
		return 1, 0
	}
	return sign * value, n
}

// powered is a unit with its power: square meter, second squared.
func powered(name string, power int) []string {
	length := strings.Contains(name, "meter") || name == "foot" || name == "feet" || name == "inch" || name == "inches"
	before, behind := map[int]string{2: "square", 3: "cubic"}[power], map[int]string{2: "squared", 3: "cubed"}[power]
	out := strings.Fields(name)
	switch {
	case power < 2:
		return out
	case before == "":
		return join(out, []string{"to", "the"}, ordinal(cardinal(decimalOf(power), US)))
	case length:
		return append([]string{before}, out...)
	}
	return append(out, behind)
}

var perAgain = lazy(`^/([A-Za-z]{1,3})\b`)

// perArea is a second thing that is divided by, with its number.
var perArea = lazy(`^/ ?(\d+(?:\.\d+)?) ?(m|cm|km|ft)([²³])`)

// voltsAhead is the voltage behind a current: 15 A, 250 V.
var voltsAhead = lazy(`^,? \d{1,4} ?V`)

// golden are words behind carats, tardy those behind a time in minutes.
var (
	golden = set("gold diamond diamonds white yellow rose ring stone")
	tardy  = set("late early behind ahead delay ago remaining left")
)

// awaited are words before the time in which something happens: back in 10m.
var awaited = set("restarts retries retry times expires back ready done starts ends leaving there resumes due")

// dottedLetter reports whether rest goes on with another letter and its stop.
func dottedLetter(rest string) bool {
	return len(rest) > 2 && rest[0] == '.' && rest[2] == '.' && rest[1] >= 'a' && rest[1] <= 'z'
}

// rating is the rest of a class: V-0.
var rating = lazy(`^-\d(?:$|[\s,.;)])`)

// aged is what stands behind y of years.
var aged = lazy(`^(?:$|[.,;)]|\s(?:old|ago)\b)`)

// measure says a number with its unit. Groups: sign, number, what stands between,
// square or cubic, unit, power, per, power of per, stop.
func measure(m []string, s *scanner) []string {
	sign, n, gap, shape, unit, power, slash, power2, stop := m[1], m[2], m[3], m[4], m[5], m[6], strings.TrimPrefix(m[7], "."), m[8], m[9]
	u, ok := unitOf(unit)
	switch {
	case !ok && slash != "" && len(unit) > 1:
		u, ok = productUnits[unit] // rad/s
	case gap == "" && (unit == "us" || unit == "um"):
		u, ok = units["µ"+unit[1:]]
	}
	if !ok {
		return nil
	}
	end := s.matchEnd - len(stop)
	after := s.text[end:min(len(s.text), end+3)]
	spaced := gap != "" && gap != "-"
	bare := shape+power+slash == ""
	if (power == "2" || power == "3") && !lengths[unit] && unit != "km" && unit != "mi" {
		return nil
	}
	// A letter on its own is a unit only right behind its number ("5 A grades"), but
	// for those no sentence goes on with.
	if unit == "d" && !(s.lastWord() == "for" || s.lastWord() == "times" || gap == "" && atoi(n) > 3 && !strings.Contains(n, ".")) || unit == "y" && !(spaced && !s.equated() && aged().MatchString(s.text[end:])) {
		return nil
	}
	if bare && len(unit) == 1 && spaced && unit != "d" && unit != "y" && !strings.Contains("mghslLVW", unit) && !(unit == "A" && (preps[following(s.text[end:])] || voltsAhead().MatchString(s.text[end:min(len(s.text), end+12)]))) && !(strings.Contains("NJKA", unit) && strings.Contains(n, ".")) {
		return nil
	}
	if unit == "A" && gap == "" && unicode.IsUpper(firstRune(strings.TrimPrefix(after, " "))) {
		return nil // 31A High St.
	}
	if unit == "m" && bare && gap == "" && (lasting[s.lastWord()] || s.lastWord() == "in" && awaited[s.wordBack(2)] || s.cooking()) {
		u = units["min"] // lasts 45m
	}
	if next := s.nextWord(); unit == "pt" && !poured[next] && (gap == "-" || scored[next]) {
		u = units["pts"] // a 1.2-pt. margin
	}
	if unit == "ct" && (s.accent == British || golden[s.nextWord()]) {
		u = [2]string{"carat", "carats"}
	}
	if unit == "m" && bare && gap == "" && tardy[s.nextWord()] {
		u = units["min"] // 40m late
	}
	if unit == "pts" && poured[s.nextWord()] {
		u = units["pt"] // 2 pts. cream
	}
	if unit == "pp" && (stop != "" || !strings.Contains(n, ".") && sign == "") {
		return nil // pages
	}
	if unit == "in" && spaced && bare && stop == "" && !set("foot feet")[s.lastWord()] && after != "" && !strings.ContainsAny(after[:1], ",);.:!?") {
		return nil
	}
	if gap == "-" && len(unit) == 1 && upper(unit[0]) && slash == "" && !unicode.IsLower(firstRune(s.nextWord())) {
		return nil // unit 11-A
	}
	if bare && spaced && len(unit) == 1 && upper(unit[0]) && strings.HasPrefix(after, "-") && len(after) > 1 && isLetter(after[1]) {
		return nil // 5 V-shaped blocks
	}
	if bare && len(unit) == 1 && upper(unit[0]) && rating().MatchString(s.text[end:min(len(s.text), end+4)]) {
		return nil // UL 94 V-0
	}
	if unit == "ac" && gap == "" {
		return nil // b² − 4ac, 802.11ac
	}
	if unit == "in" && gap == "-" && strings.HasPrefix(after, "-a") {
		return nil // a 1-in-a-million chance
	}
	if unit == "W" && spaced && (strings.HasPrefix(after, ". ") || streetAhead().MatchString(strings.TrimPrefix(s.text[end:min(len(s.text), end+48)], " "))) {
		return nil // 1200 W. Oak St.
	}
	if last := s.lastSource(); unit == "s" && gap == "" && len(n) == 1 && bare && last != "" && (digitsOf(last) == last || s.wordBack(2) == "of") {
		return plural(cardinal(n, s.accent)) // nine 3s
	}
	if gap == "" && joins(s.before()) && s.lastWord() != "for" {
		return nil // MP3s
	}
	if unit == "k" && bare && gap == "" && sumBehind().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]) {
		return nil // 2k + 1
	}
	if unit == "k" && bare && s.raced(n) || bare && len(unit) == 1 && s.labelled() {
		return nil
	}
	if stop != "" && s.matchEnd < len(s.text) && s.text[s.matchEnd] == '/' || bare && dottedLetter(s.text[end:]) {
		return nil // 1.28 gal./flush; > 0 s.t.
	}
	if stop != "" {
		// The stop of a shortened unit, unless the sentence ends.
		rest := strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+6)], " ")
		if rest == "" || unicode.IsUpper(firstRune(rest)) {
			return nil
		}
	}
	n = strings.ReplaceAll(n, " ", "")
	if whole, frac, ok := strings.Cut(n, ","); ok && len(frac) < 3 {
		n = whole + "." + frac
	}
	name := s.named1(n, u[0], u[1])
	if gap == "-" {
		name = u[0] // a 5-km run
	}
	switch power = shape + power; {
	case power == "":
	case strings.ContainsAny(power, "s²2"):
		name = "square " + name
	default:
		name = "cubic " + name
	}
	if slash != "" {
		p, ok := per[slash[1:]]
		if base, square := strings.CutSuffix(slash[1:], "²"); square && per[base] != "" {
			p, ok = "square "+per[base], true
		} else if base, cubic := strings.CutSuffix(slash[1:], "³"); cubic && per[base] != "" {
			p, ok = "cubic "+per[base], true
		} else if len(slash) > 4 && !ok {
			p, ok = slash[1:], true // 320 cal/serving
		}
		if !ok {
			return nil
		}
		name += " per " + p
		switch power2 {
		case "²":
			name += " squared"
		case "³":
			name += " cubed"
		}
		if area := perArea().FindStringSubmatch(s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)]); area != nil {
			name += " per " + strings.Join(decimal(area[1], s.accent), " ") + map[string]string{"²": " square", "³": " cubic"}[area[3]] + " " + units[area[2]][1] // mL/min/1.73 m²
			s.matchEnd += len(area[0])
		}
		if again := perAgain().FindStringSubmatch(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]); again != nil && (per[again[1]] != "" || units[again[1]][0] != "") {
			name += " per " + cmp.Or(per[again[1]], units[again[1]][0]) // km/s/Mpc
			s.matchEnd += len(again[0])
		}
	} else if power2 != "" {
		return nil
	}
	out := join(minus(sign), decimal(n, s.accent), strings.Fields(name))
	if unit == "k" && gap == "" {
		out = join(out, s.countedUnit()) // 98k mi.
	}
	return out
}

// areaBehind is a unit of areas or volumes.
var areaBehind = lazy(`^ (sq|cu)\.? ?(ft|mi|km|m|yd|in)\b`)

// countedUnit reads the unit of more than one letter behind a number in thousands or millions.
func (s *scanner) countedUnit() []string {
	rest := s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)]
	if m := areaBehind().FindStringSubmatch(rest); m != nil {
		s.matchEnd += len(m[0])
		return []string{map[string]string{"sq": "square", "cu": "cubic"}[m[1]], units[m[2]][1]}
	}
	if len(rest) < 3 || rest[0] != ' ' || wordLen(rest[1:]) < 2 {
		return nil
	}
	return s.unitAfter(false)
}

// scientific reports whether ten is what is raised to a power.
func (s *scanner) scientific() bool { return s.lastSource() == "10" || s.lastWord() == "ten" }

var powerOfUnit = lazy(`^ ?([A-Za-zµΩ]{1,3})(?:/([A-Za-z]{1,3}))?(?:$|[\s,.;)])`)

// unitOfPower reads the unit behind a power of ten, where single letters are units too: ×10⁻²³ J/K.
func (s *scanner) unitOfPower() []string {
	m := powerOfUnit().FindStringSubmatch(s.text[s.matchEnd:min(len(s.text), s.matchEnd+12)])
	if m == nil {
		return nil
	}
	u, k := productUnit(m[1])
	if k == 0 || m[1] == "in" {
		return nil
	}
	out := strings.Fields(u[1])
	if m[2] != "" {
		per, k := productUnit(m[2])
		if k == 0 {
			return nil
		}
		out = join(out, []string{"per"}, strings.Fields(per[0]))
	}
	s.matchEnd += len(strings.TrimRight(m[0], " \n\t,.;)"))
	return out
}
