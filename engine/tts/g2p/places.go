package g2p

import (
	"cmp"
	"strings"
	"unicode"
)

// states are their letters in addresses.
var states = map[string]string{
	"AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California", "CO": "Colorado", "CT": "Connecticut", "DC": "!DC", "DE": "Delaware", "FL": "Florida",
	"GA": "Georgia", "HI": "Hawaii", "IA": "Iowa", "ID": "Idaho", "IL": "Illinois", "IN": "Indiana", "KS": "Kansas", "KY": "Kentucky", "LA": "Louisiana", "MA": "Massachusetts",
	"MD": "Maryland", "ME": "Maine", "MI": "Michigan", "MN": "Minnesota", "MO": "Missouri", "MS": "Mississippi", "MT": "Montana", "NC": "North Carolina", "ND": "North Dakota", "NE": "Nebraska",
	"NH": "New Hampshire", "NJ": "New Jersey", "NM": "New Mexico", "NV": "Nevada", "NY": "New York", "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania", "RI": "Rhode Island",
	"SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas", "UT": "Utah", "VA": "Virginia", "VT": "Vermont", "WA": "Washington", "WI": "Wisconsin", "WV": "West Virginia", "WY": "Wyoming",
}

// doubtful are letters that mean something else as often, OK and a doctor, and the cities behind
// which they are a state.
var doubtful = map[string]map[string]bool{
	"OK": set("tulsa city norman edmond lawton enid stillwater moore muskogee"),
	"MD": set("baltimore bethesda rockville annapolis frederick columbia towson gaithersburg spring"),
}

// stressed are states that are words in capitals too, unless placed, a preposition or nothing
// follows.
var (
	stressed = set("OR IN ME HI OH")
	placed   = set("to and where when is was has who vs versus on at this last next")
)

// degreed are states whose letters are a degree, or a profession, behind a person's name.
var degreed = set("MA PA MD MS")

// provinces of Canada, before a postal code or where nothing follows.
var provinces = map[string]string{"ON": "Ontario", "BC": "British Columbia", "QC": "Quebec", "AB": "Alberta", "MB": "Manitoba", "SK": "Saskatchewan", "NS": "Nova Scotia", "NB": "New Brunswick", "NL": "Newfoundland", "PE": "Prince Edward Island"}

var canadian = lazy(`^ [A-Z]\d[A-Z] ?\d[A-Z]\d\b`)

// stateBehind is the state that letters behind a comma and a name stand for: Austin, TX.
func (s *scanner) stateBehind(letters string) string {
	n := len(s.out)
	if s.capitals || n < 2 || s.out[n-1].Phonemes != "," || s.out[n-2].Kind != Word || !unicode.IsUpper(firstRune(s.text[s.out[n-2].Start:])) {
		return ""
	}
	rest := s.text[s.i+len(letters):]
	if full := provinces[letters]; full != "" && (canadian().MatchString(rest[:min(len(rest), 12)]) || letters != "ON" && letters != "PE" && (rest == "" || strings.ContainsRune(",.;)\n", firstRune(rest)))) {
		return full
	}
	if cities := doubtful[letters]; cities != nil && !cities[s.wordBack(2)] && !s.placedName() {
		return ""
	}
	after := following(rest)
	small := after != "" && unicode.IsLower(firstRune(rest[1:])) && !preps[after] && !placed[after]
	if stressed[letters] && small && !s.placedName() {
		return "" // Call Bob, OR write.
	}
	if degreed[letters] && !s.placedName() && (small || s.person()) {
		return "" // Dana Wu, PA, said
	}
	return states[letters]
}

// nameBack is how many items from the end the name before a comma begins.
func (s *scanner) nameBack() int {
	k := 2
	for k < 6 {
		n := len(s.out) - k - 1
		if n < 0 || s.out[n].Kind != Word || s.out[n].Text == "" || !unicode.IsUpper(firstRune(s.text[s.out[n].Start:])) {
			break
		}
		k++
	}
	return k
}

// placedName reports whether a preposition of place, or a number of a house, stands before the name.
func (s *scanner) placedName() bool {
	w := s.wordBack(s.nameBack() + 1)
	return w != "" && (placing[w] || unicode.IsDigit(firstRune(s.text[s.out[len(s.out)-s.nameBack()-1].Start:])))
}

// person reports whether the name before a comma is one of a person.
func (s *scanner) person() bool {
	k := s.nameBack()
	first, last := s.wordBack(k), s.wordBack(2)
	return given[first] || monarchs[first] || people[first] || firstNames[first] || calling[first] || k == 3 && firstNames[last] // Ask Dana, PA
}

var (
	placing = set("in from to near of outside around through leave leaving left visit visited visiting reach reached via between suburban downtown historic")
	calling = set("mister missus miz doctor professor nurse officer sergeant captain judge senator representative")
	// firstNames are common ones that Roman numerals seldom follow.
	firstNames = set(`ann anna anne amy alice alan albert alex alexis amanda andrea angela ashley barbara beth betty brandon brenda brian bruce carol carolyn catherine cheryl chris christina christine christopher cindy claire craig cynthia dana deborah debra denise dennis diana diane donna doris dorothy doug douglas
		elaine elena ellen emily emma eric erica erin ethan evelyn frances gary gloria grace greg gregory hannah heather helen holly irene jacob jacqueline james jamie jan jane janet janice jason jean jeff jeffrey jennifer jenny jeremy jessica jill joan joann john jordan joshua joyce juan judith judy julia julie justin karen kate katherine kathleen kathryn kathy keith kelly ken kevin kim
		kimberly kyle larry laura lauren linda lisa logan lori louise lucy lynn maria marie marilyn mark martha mary matt megan melissa michelle mike mohammed monica nancy natalie nicole noah olivia pam pamela pat patricia paula peggy penny peter philip phil rachel rebecca rita rob robin rose roy ruth ryan sandra sara sarah scott sean sharon sheila shirley sophia stephanie sue susan
		suzanne tammy tara teresa terry theresa tiffany tim tina todd tony tracy tyler valerie vanessa victor victoria wanda wendy xavier yvonne zachary mei wei li raj priya ahmed ali fatima omar carlos jose luis miguel sofia luca marco hans`)
)

// party reads a senator's party and state: (D-Calif.), R-Texas.
func (s *scanner) party(w string, k int, after string) bool {
	if len(w) < 4 || w[1] != '-' || w[0] != 'D' && w[0] != 'R' && w[0] != 'I' || !s.afterComma() {
		return false
	}
	full := ""
	for _, a := range abbreviations[strings.ToLower(w[2:])] {
		if a.kind == state && strings.HasPrefix(after, ".") {
			full, k = a.full, k+1
		}
	}
	if full == "" && len(w) == 4 {
		full = states[w[2:]]
	}
	if full == "" {
		return false
	}
	return s.put(append([]string{"!" + w[:1]}, strings.Fields(full)...), k)
}

// ofRoad reports whether w may be what a road ends with: Elm Dr., 5 Main St., but 3 St. Johns.
func (s *scanner) ofRoad(w string) bool {
	return w == "Dr" || w == "St" && !unicode.IsDigit(firstRune(s.lastSource()))
}

// titles reports whether w is a title before what is no name as it stands: a rank, a word in capitals
// at the beginning, or one of two: Drs. and Mrs.
func (s *scanner) titles(w, next string, upper bool) bool {
	switch {
	case rankAhead().MatchString(next), upper && !s.afterName():
		return true
	case (w == "Dr" || w == "St") && s.afterName() && s.lastWord() != "dear":
		return false // Elm Dr. and Oak
	}
	return strings.HasPrefix(next, "and ") || strings.HasPrefix(next, "or ") || strings.HasPrefix(next, "& ") && w != "St"
}

// countyAhead is what stands behind Co. where it is a county, and no company.
var countyAhead = lazy(`^(?:[Ss]heriff|[Dd]eput|[Jj]ail|[Cc]ourthouse|[Cc]ommissioner|[Cc]oroner|[Rr]esident|Clerk|Court|Fair\b|Judge|Executive|(?:Tex|Calif|Fla|Ala|Ga|Va|Ind|Ill|Pa|Wis|Mich|Minn|Ohio|Iowa)\b|, (?:[A-Z]{2}\b|Alabama|Arizona|Arkansas|California|Colorado|Florida|Georgia|Illinois|Indiana|Iowa|Kansas|Kentucky|M[aio]|Nebraska|Nevada|New |North |Ohio|Oklahoma|Oregon|Pennsylvania|South |Tennessee|Texas|Utah|Virginia|W[aei]))`)

var directions = map[string]string{"N": "North", "S": "South", "E": "East", "W": "West"}

// winds are words next to the direction that a wind comes from.
var winds = set("wind winds gust gusts breeze swell")

var compass = map[string]string{"NW": "northwest", "NE": "northeast", "SW": "southwest", "SE": "southeast"}

// quarters are what lies in a direction: the NE corner.
var quarters = set("corner side coast wind winds region quadrant part end edge wall of slope tip")

// headings are words before the direction one goes in, and what it is measured by; goingOn is what
// may stand behind it.
var (
	headings = set("go head heading drive continue walk turn travel proceed bear keep sail fly miles mile kilometers kilometer minutes blocks block feet meters yards")
	goingOn  = set("on of to from along past toward towards then until for and")
)

// heading reports whether a letter before after is the direction that one goes in, or in which
// something lies: go N on Elm, 12 km S of Izmir.
func (s *scanner) heading(after string) bool {
	return headings[s.lastWord()] && (after == "" || goingOn[following(after)])
}

// roads are letters before the number of one.
var roads = set("US SR CR FM SH")

// onRoad reports whether the number of a road was read last: I-95 N.
func (s *scanner) onRoad() bool {
	t := s.lastSource()
	if t == "" || !isDigit(t[len(t)-1]) {
		return false
	}
	number := len(s.out) // where its words begin
	for number > 0 && s.out[number-1].Start == s.out[len(s.out)-1].Start {
		number--
	}
	if before := len(s.out) - number + 1; strings.HasPrefix(t, "I-") || roads[s.sourceBack(before)] {
		return true
	}
	for k := 2; k <= 5; k++ {
		if w := s.wordBack(k); w == "highway" || w == "route" || w == "interstate" {
			return true
		}
	}
	return false
}

var streetEnds = set(`street avenue road boulevard drive lane court place square way parkway quay crescent terrace highway trail plaza circle row`)

var streetAhead = lazy(`^(?:[A-Z0-9]\w+ ){0,2}(?:[A-Z0-9]\w+ )(?:St|Ave|Rd|Blvd|Dr|Ln|Street|Avenue|Road|Drive|Lane)`)

// numberedStreet is one without its kind: E. 34th.
var numberedStreet = lazy(`^\d{1,3}(?:st|nd|rd|th)\b`)

// towards reads a letter or two that say where a wind comes from or one goes: winds NW, go N on Elm.
func (s *scanner) towards(w string, k int, after string) bool {
	d := cmp.Or(compass[w], directions[w])
	if d == "" || !(s.heading(after) || winds[s.lastWord()] && (after == "" || after[0] == ' ' || after[0] == ',') || strings.HasPrefix(after, " ") && winds[following(after)]) {
		return false
	}
	s.put([]string{d}, k)
	return true
}
