package g2p

import (
	"slices"
	"strings"
	"unicode"
)

// Dates, times and centuries.

const monthNames = `Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?\.?|July?\.?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?`

const dayNames = `Mon(?:day|\.)?|Tue(?:s?\.?|sday)|Wed(?:nesday|\.)?|Thu(?:r?s?\.?|rsday)|Fri(?:day|\.)?|Sat(?:urday|\.)?|Sun(?:day|\.)?`

const dash = `\s?[-–—]\s?`

var months = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

var weekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

// month returns the full name of month 1 to 12, or of a name that may be cut.
func month(s string) string {
	if n := atoi(s); n >= 1 && n <= 12 {
		return months[n-1]
	}
	return fullName(s, months)
}

func fullName(s string, of []string) string {
	for _, m := range of {
		if len(s) >= 3 && strings.EqualFold(m[:3], s[:3]) {
			return m
		}
	}
	return ""
}

var calendar = []pattern{
	// 2024-03-05T14:30:00Z
	{re(`(\d{4}-\d\d-\d\d)[T ](\d\d):([0-5]\d)(?::([0-5]\d)(?:[.,]\d+)?)?(?:(Z)|([+-])(\d\d):?(\d\d))?`), func(m []string, s *scanner) []string {
		out := isoDate(m[1], s.accent)
		if out == nil || atoi(m[2]) > 24 {
			return nil
		}
		out = join(out, clock(m[2], m[3]))
		if sec := m[4]; sec != "" && sec != "00" {
			sec = strings.TrimPrefix(sec, "0")
			out = append(append(append(out, "and"), below(atoi(sec), false)...), one(sec, "second", "seconds"))
		}
		m = slices.Delete(m, 4, 5)
		switch {
		case m[4] != "":
			out = append(out, "!UTC")
		case m[5] != "":
			out = join(out, []string{"!UTC", map[string]string{"+": "plus", "-": "minus"}[m[5]]}, cardinal(strings.TrimPrefix(m[6], "0"), s.accent))
			if m[7] != "00" {
				out = append(out, cardinal(m[7], s.accent)...)
			}
		}
		return out
	}},
	{re(`\d{4}(?:-\d\d-|/\d\d/|\.\d\d\.)\d\d`), func(m []string, s *scanner) []string { return isoDate(m[0], s.accent) }},
	// 0630 hours, at 1430 hrs, by 0900
	{re(`([01]\d|2[0-4])([0-5]\d)(?:\s?(?:hours|hrs|h))?`), func(m []string, s *scanner) []string {
		unit, zero := m[0] != m[1]+m[2], m[1][0] == '0'
		if strings.HasSuffix(m[0], m[2]+"h") && atoi(m[2])%15 == 0 && m[1] != "20" {
			zero = true // the 1400h briefing
		}
		if !unit && !zero && !zones[s.nextWord()] || !(unit && zero) && !clockWords[s.lastWord()] && !zones[s.nextWord()] {
			return nil
		}
		out := below(atoi(m[1]), false)
		if m[1][0] == '0' && m[1] != "00" {
			out = append([]string{"oh"}, out...)
		}
		if m[2] == "00" {
			out = append(out, "hundred")
		} else {
			out = append(out, shortYear(m[2], s.accent)...)
		}
		if unit {
			out = append(out, "hours")
		}
		return out
	}},
	// 1:27:57.940 of a long one
	{re(`(\d{1,2}):([0-5]\d):([0-5]\d)\.(\d{1,3})`), func(m []string, s *scanner) []string {
		out := join(cardinal(m[1], s.accent), []string{one(m[1], "hour", "hours")}, below(atoi(m[2]), false), []string{"minutes", "and"}, below(atoi(m[3]), false), []string{"point"}, digits(m[4]), []string{"seconds"})
		if s.dated() {
			return join(clock(m[1], m[2]), []string{"and"}, below(atoi(m[3]), false), []string{"point"}, digits(m[4]), []string{"seconds"})
		}
		return out
	}},
	// 3:59.4 of a race
	{re(`(\d{1,2}):([0-5]\d)\.(\d{1,3})`), func(m []string, s *scanner) []string {
		out := below(atoi(m[1]), false)
		if m[2] == "00" {
			out = append(out, "flat")
		} else {
			out = append(out, shortYear(m[2], s.accent)...)
		}
		return join(out, []string{"point"}, digits(m[3]))
	}},
	// 3:05 pm, 15:30, 1:02:03
	{re(`(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?:\s?([AaPp])(?:[Mm]\b|\.[Mm]\.?))?`), sayTime},
	// 14:05Z
	{re(`([01]?\d|2[0-3]):([0-5]\d)Z`), func(m []string, s *scanner) []string { return append(clock(m[1], m[2]), "!Z") }},
	// 6:30a–7p
	{re(`(\d{1,2})(?::([0-5]\d))?([ap])[-–](\d{1,2})(?::([0-5]\d))?([ap])`), func(m []string, s *scanner) []string {
		return join(halfDayTime(m[1], m[2], m[3]), []string{"to"}, halfDayTime(m[4], m[5], m[6]))
	}},
	{re(`(\d{1,2}):([0-5]\d)([ap])`), func(m []string, s *scanner) []string { return halfDayTime(m[1], m[2], m[3]) }},
	// 6.45 a.m.; at 9.30, in Britain
	{re(`(\d{1,2})\.([0-5]\d)()\s?([AaPp])(?:[Mm]\b|\.[Mm]\.?)`), sayTime},
	{re(`([1-9]|1\d|2[0-3])\.([0-5]\d)()()`), func(m []string, s *scanner) []string {
		train := s.lastWord() == "the" && departing[s.nextWord()] // the 17.42 from Leeds
		if !train && (s.accent != British || s.lastWord() != "at" || quantified[s.nextWord()]) {
			return nil
		}
		return sayTime(m, s)
	}},
	{re(`(\d{1,2})h([0-5]\d)`), func(m []string, s *scanner) []string {
		if atoi(m[1]) > 24 {
			return nil
		}
		return clock(m[1], m[2])
	}},
	// 9–5pm
	{re(`(1[0-2]|[1-9])` + dash + `(1[0-2]|[1-9])\s?([AaPp])(?:[Mm]\b|\.[Mm]\.?)`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"to"}, cardinal(m[2], s.accent), []string{strings.ToUpper(m[3]), "M"})
	}},
	{re(`(1[0-2]|[1-9])\s?([AaPp])(?:[Mm]\b|\.[Mm]\.?)`), func(m []string, s *scanner) []string {
		return append(cardinal(m[1], s.accent), strings.ToUpper(m[2]), "M")
	}},
	// 3/5/2024: month first in the US, day first in Britain
	{re(`(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})`), func(m []string, s *scanner) []string {
		mon, day := m[1], m[2]
		if s.accent == British && atoi(day) <= 12 || atoi(mon) > 12 {
			mon, day = day, mon
		}
		return dayOf(mon, day, m[3], s.accent)
	}},
	{re(`(\d{1,2})-(\d{1,2})-(\d{4})`), func(m []string, s *scanner) []string {
		mon, day := m[1], m[2]
		if s.accent == British && atoi(day) <= 12 || atoi(mon) > 12 {
			mon, day = day, mon
		}
		return dayOf(mon, day, m[3], s.accent)
	}},
	// 2024-07, where no season is
	{re(`((?:19|20)\d\d)-(0[1-9]|1[0-2])`), func(m []string, s *scanner) []string {
		if atoi(m[1][2:])+1 == atoi(m[2]) {
			return nil
		}
		return append([]string{month(m[2])}, year(m[1], s.accent)...)
	}},
	// 03/2024
	{re(`(0?[1-9]|1[0-2])/((?:19|20)\d\d)`), func(m []string, s *scanner) []string { return append([]string{month(m[1])}, year(m[2], s.accent)...) }},
	// on 10/31
	{re(`(\d{1,2})/(\d{1,2})`), func(m []string, s *scanner) []string {
		common := atoi(m[1]) < atoi(m[2]) && atoi(m[2]) <= 12
		if appointed().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)]) {
			return dayOf(m[1], m[2], "", s.accent) // 10/4 @ 9:15
		}
		if s.accent == British || !dateWords[s.lastWord()] && !s.afterWeekday() && !s.betweenDays() && !(s.lastWord() == "of" && written[s.wordBack(2)]) && (common || !s.dueBy()) && (common || !strings.HasSuffix(s.lastWord(), "ed") || s.nextWord() != "") {
			return nil
		}
		return dayOf(m[1], m[2], "", s.accent)
	}},
	// 05.03.2024: day first wherever dots are written
	{re(`(\d{1,2})\.(\d{1,2})\.(\d{4})`), func(m []string, s *scanner) []string { return dayOf(m[2], m[1], m[3], s.accent) }},
	// 5 March 2024, 5th of March, 3–5 May
	{re(`(\d{1,2})(?:st|nd|rd|th)?(?:` + dash + `(\d{1,2})(?:st|nd|rd|th)?)?\s(?:of\s)?(` + monthNames + `)(?:,?\s(\d{4}))?`), func(m []string, s *scanner) []string {
		if n := atoi(m[1]); n < 1 || n > 31 || atoi(m[2]) > 31 {
			return nil
		}
		out := []string{"the"}
		if s.lastWord() == "the" {
			out = nil
		}
		out = join(out, ordinal(cardinal(strings.TrimLeft(m[1], "0"), US)))
		if m[2] != "" {
			out = join(out, []string{"to"}, ordinal(cardinal(strings.TrimLeft(m[2], "0"), US)))
		}
		out = append(out, "of", month(m[3]))
		if m[4] != "" {
			out = append(out, year(m[4], s.accent)...)
		}
		return out
	}},
	// 100s of
	{re(`(100|1,?000|1,?000,?000)s`), func(m []string, s *scanner) []string {
		if s.nextWord() != "of" {
			return nil
		}
		return plural(cardinal(digitsOf(m[1]), s.accent)[1:])
	}},
	// 1990s, '80s, class of '99; but after 30s
	{re(`['’]?(\d{1,2})?(\d0)['’]?s`), func(m []string, s *scanner) []string {
		if len(m[0]) < 5 && isDigit(m[0][0]) && lasting[s.lastWord()] || s.hyphened() {
			return nil
		}
		if m[1] == "" {
			return plural(cardinal(m[2], s.accent))
		}
		return plural(year(m[1]+m[2], s.accent))
	}},
	{re(`['’](\d{2})`), func(m []string, s *scanner) []string {
		if model := unicode.IsUpper(firstRune(s.nextWord())) && !joins(s.before()); !beforeYears[s.lastWord()] && !model && !(s.afterName() && unicode.IsSpace(s.before())) {
			return nil
		}
		return shortYear(m[1], s.accent)
	}},
	// 2019-20
	{re(`((?:1[1-9]|20)\d\d)[-–](\d\d)`), func(m []string, s *scanner) []string {
		if atoi(m[2]) <= atoi(m[1][2:]) {
			return nil
		}
		return join(year(m[1], s.accent), []string{"to"}, shortYear(m[2], s.accent))
	}},
}

// dateWords are words behind which 10/31 is a day, written those before "of" and one, clockWords those behind which 0900 is a time,
// beforeYears those behind which '08 is a year.
var (
	dateWords   = set("on until till since dated due ends ended begins began starts started opens opened closes closed thru expires expired expiring monday tuesday wednesday thursday friday saturday sunday")
	written     = set("week letter email e-mail memo note notice invoice order call meeting message report statement")
	lasting     = set("after within every took takes take taking last lasts lasted than about under over timeout delay interval waited wait waits sleep equals for another")
	departing   = set("arrives departs leaves train service bus from to arriving departing leaving")
	clockWords  = set("at by until till before after around from to since dep arr departs arrives departing arriving departure arrival")
	beforeYears = set(`of class since in from to and the by before after until spring summer fall autumn winter late early back circa
		january february march april may june july august september october november december`)
)

// zones are names of zones behind a time in four figures.
var zones = map[string]bool{"GMT": true, "UTC": true, "EST": true, "EDT": true, "CST": true, "CDT": true, "MST": true, "MDT": true, "PST": true, "PDT": true, "CET": true, "BST": true, "CEST": true, "ET": true, "PT": true, "Zulu": true}

// quantified are words behind a number that is no time.
var quantified = set("percent per million billion trillion times degrees")

// timeWords are what is counted down: T-10 seconds.
var timeWords = set("second seconds minute minutes hour hours day days week weeks month months sec secs min mins hrs")

// dateAhead is the second date of a range.
var dateAhead = lazy(`^\s?(?:(?:` + monthNames + `)\s\d|(?:` + dayNames + `)(?:[\s,.]|$))`)

var dayAhead = lazy(`^(?:\s(?:to|and|through|until)\s|\s?[-–]\s?)\d{1,2}/\d{1,2}\b`)

// appointed is the hour behind a day.
var appointed = lazy(`^,? ?(?:@ ?\d|at \d{1,2}(?::\d\d| ?[ap]\b| ?[ap]\.?m))`)

// betweenDays reports whether 5/12 is the first or second day of a range: from 5/12 to 5/19.
func (s *scanner) betweenDays() bool {
	switch s.lastWord() {
	case "from", "between":
		return dayAhead().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+20)])
	case "to", "and", "through", "until":
		n := len(s.out)
		return n > 1 && strings.Contains(s.text[s.out[n-2].Start:s.out[n-2].End], "/") && (s.monthBack(3) || s.monthBack(4))
	}
	return false
}

// dueBy reports whether a day may follow, if what is written is no common fraction: by 5/1.
func (s *scanner) dueBy() bool {
	w := s.lastWord()
	return w == "by" || w == "before" || w == "after" || w == "of" && s.wordBack(2) == "week" || w == "is" && (s.wordBack(2) == "deadline" || s.wordBack(2) == "birthday" || s.wordBack(2) == "date")
}

// monthBack reports whether the k-th item from the end is a month.
func (s *scanner) monthBack(k int) bool {
	w := s.wordBack(k)
	return slices.ContainsFunc(months, func(m string) bool { return strings.EqualFold(m, w) })
}

// toDate reports whether a dash with rest behind it stands between two dates.
func (s *scanner) toDate(rest string) bool {
	last := s.lastSource()
	return last != "" && (strings.ContainsAny(last, "0123456789") || slices.Contains(weekdays, s.out[len(s.out)-1].Text)) && dateAhead().MatchString(rest[:min(len(rest), 16)])
}

var namedDates = []pattern{
	// Mon/Wed/Fri
	{re(`(` + dayNames + `)[-–/](` + dayNames + `)[-–/](` + dayNames + `)`), func(m []string, s *scanner) []string {
		return []string{fullName(m[1], weekdays), fullName(m[2], weekdays), fullName(m[3], weekdays)}
	}},
	{re(`(` + dayNames + `)/(` + dayNames + `)`), func(m []string, s *scanner) []string {
		return []string{fullName(m[1], weekdays), fullName(m[2], weekdays)}
	}},
	// M–F
	{re(`M[-–](F|Th|Sa|Su)`), func(m []string, s *scanner) []string {
		after := strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+4)], " ,:")
		if after != "" && !isDigit(after[0]) {
			return nil
		}
		return []string{"Monday", "to", map[string]string{"F": "Friday", "Th": "Thursday", "Sa": "Saturday", "Su": "Sunday"}[m[1]]}
	}},
	// S02E05
	{re(`S(\d{1,2})\s?E(\d{1,3})`), func(m []string, s *scanner) []string {
		return join([]string{"season"}, cardinal(strings.TrimLeft(m[1], "0"), s.accent), []string{"episode"}, cardinal(strings.TrimLeft(m[2], "0"), s.accent))
	}},
	// Sat. 5 May, Mon–Fri
	{re(`(` + dayNames + `)[-–](` + dayNames + `)`), func(m []string, s *scanner) []string {
		return []string{fullName(m[1], weekdays), "to", fullName(m[2], weekdays)}
	}},
	{re(`(` + monthNames + `)[-–](` + monthNames + `)`), func(m []string, s *scanner) []string {
		return []string{month(m[1]), "to", month(m[2])}
	}},
	{re(dayNames), func(m []string, s *scanner) []string {
		after := strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)], ", ")
		if shut := strings.HasPrefix(after, "closed") || strings.HasPrefix(after, "only"); shut && len(m[0]) < 6 && s.lastWord() != "the" {
			return []string{fullName(m[0], weekdays)}
		}
		if len(m[0]) > 5 || after == "" || after[0] < '0' || after[0] > '9' && fullName(after, months) == "" {
			return nil
		}
		return []string{fullName(m[0], weekdays)}
	}},
	// March 5, 2024; Mar. 3–5
	{re(`((?i:` + monthNames + `))\s(\d{1,2})(?:st|nd|rd|th|ST|ND|RD|TH)?(?:` + dash + `(\d{1,2})(?:st|nd|rd|th)?)?(?:,?\s(\d{4}))?`), func(m []string, s *scanner) []string {
		if n := atoi(m[2]); n < 1 || n > 31 || atoi(m[3]) > 31 {
			return nil
		}
		out := append([]string{month(m[1])}, ordinal(cardinal(strings.TrimLeft(m[2], "0"), US))...)
		if m[3] != "" {
			out = join(out, []string{"to"}, ordinal(cardinal(strings.TrimLeft(m[3], "0"), US)))
		}
		if m[4] != "" {
			out = append(out, year(m[4], s.accent)...)
		}
		return out
	}},
	{re(`(` + monthNames + `),?\s['’](\d\d)`), func(m []string, s *scanner) []string {
		return append([]string{month(m[1])}, shortYear(m[2], s.accent)...)
	}},
	{re(`(` + monthNames + `),?\s(\d{4})`), func(m []string, s *scanner) []string {
		return append([]string{month(m[1])}, year(m[2], s.accent)...)
	}},
	// 9 p.m. ET
	{re(`[ECMP]T`), func(m []string, s *scanner) []string {
		if last := s.lastSource(); !strings.Contains(last, ":") && s.lastWord() != "m" && s.lastWord() != "o'clock" {
			return nil
		}
		return []string{"!" + m[0]}
	}},
	{re(`AM/PM`), func(m []string, s *scanner) []string { return []string{"!AM", "!PM"} }},
	// T-10 seconds
	{re(`T[-−–](\d{1,4})`), func(m []string, s *scanner) []string {
		if !timeWords[s.nextWord()] {
			return nil
		}
		return append([]string{"!T", "minus"}, cardinal(m[1], s.accent)...)
	}},
	{re(`(AD|A\.D\.|CE|BCE)\s(\d{1,4})`), func(m []string, s *scanner) []string {
		return append([]string{"!" + strings.ReplaceAll(m[1], ".", "")}, year(m[2], s.accent)...)
	}},
}

func isoDate(text string, accent Accent) []string {
	return dayOf(text[5:7], text[8:10], text[:4], accent)
}

// dayOf is date, or nil if there is no such day.
func dayOf(mon, day, yr string, accent Accent) []string {
	if atoi(mon) < 1 || atoi(mon) > 12 || atoi(day) < 1 || atoi(day) > 31 {
		return nil
	}
	return date(month(mon), day, yr, accent)
}

func date(mon, day, yr string, accent Accent) []string {
	d := ordinal(cardinal(strings.TrimLeft(day, "0"), US))
	out := join([]string{mon}, d)
	if accent == British {
		out = join([]string{"the"}, d, []string{"of", mon})
	}
	switch len(yr) {
	case 4:
		out = append(out, year(yr, accent)...)
	case 2:
		out = append(out, shortYear(yr, accent)...)
	}
	return out
}

// shortYear says the last two digits of a year: oh five.
func shortYear(s string, accent Accent) []string {
	if s[0] == '0' {
		return []string{"oh", ones[s[1]-'0']}
	}
	return cardinal(s, accent)
}

// clock says a time of 24 hours.
func clock(hour, minute string) []string {
	h, min := atoi(hour), atoi(minute)
	out := below(h, false)
	switch {
	case min == 0 && h >= 1 && h <= 12:
		return append(out, "o'clock")
	case min == 0:
		return append(out, "hundred")
	case min < 10:
		return append(out, "oh", ones[min])
	}
	return append(out, below(min, false)...)
}

// halfDayTime says 6:30a.
func halfDayTime(hour, minute, half string) []string {
	out := below(atoi(hour), false)
	if atoi(minute) > 0 {
		out = append(out, shortYear(minute, US)...)
	}
	return append(out, strings.ToUpper(half), "M")
}

// halfDay is the rest of a range whose end says which half of the day both are in.
var halfDay = lazy(`^\s?[-–]\s?\d{1,2}(?::\d\d)?\s?[AaPp]\.?[Mm]`)

// afterWeekday reports whether a day of the week stands before, with a comma or without.
func (s *scanner) afterWeekday() bool {
	n := len(s.out)
	w := s.lastWord()
	if n > 1 && s.out[n-1].Phonemes == "," {
		w = s.wordBack(2)
	}
	return slices.ContainsFunc(weekdays, func(day string) bool { return strings.EqualFold(day, w) })
}

// offset is the time of a place from that of Greenwich.
var offset = lazy(`^ ([+-])(\d\d):?([0-5]\d)\b`)

// dated reports whether a date with its year stands before.
func (s *scanner) dated() bool {
	t := strings.TrimSuffix(s.lastSource(), ",")
	return len(t) > 5 && len(digitsOf(t)) > 3 && strings.ContainsAny(t, "-/ ")
}

var thousands = lazy(`^,\d{3}`)

// proportions are words before which 5:10 is no time.
var proportions = set("reverse split slope mixture mix gear leverage ratio odds scale aspect proportion proportions dilution")

func sayTime(m []string, s *scanner) []string {
	h, minute := atoi(m[1]), atoi(m[2])
	for k := 1; k <= 10; k++ {
		if proportions[s.wordBack(k)] {
			return nil
		}
	}
	if m[3]+m[4] == "" && proportions[s.nextWord()] {
		return nil // a 1:18 scale model
	}
	if h > 24 || m[3]+m[4] == "" && thousands().MatchString(s.text[s.matchEnd:]) {
		return nil // of a scale of 1:50,000
	}
	out := below(h, false)
	switch {
	case m[3] != "" && m[4] == "" && (zones[s.nextWord()] || s.dated() || offset().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)])):
		sec := strings.TrimPrefix(m[3], "0")
		out = clock(m[1], m[2])
		if sec != "0" {
			out = append(append(append(out, "and"), below(atoi(sec), false)...), one(sec, "second", "seconds"))
		}
		if m := offset().FindStringSubmatch(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]); m != nil {
			s.matchEnd += len(m[0])
			out = join(out, []string{"!UTC", map[string]string{"+": "plus", "-": "minus"}[m[1]]}, cardinal(strings.TrimPrefix(m[2], "0"), s.accent))
			if m[3] != "00" {
				out = append(out, cardinal(m[3], s.accent)...)
			}
		}
		return out
	case m[3] != "" && m[4] != "":
		out = append(join(out, shortYear(m[2], s.accent), []string{"and"}, below(atoi(m[3]), false)), one(strings.TrimPrefix(m[3], "0"), "second", "seconds"))
		if m[2] == "00" {
			out = join(below(h, false), []string{"o'clock"}, out[3:])
		}
	case m[3] != "":
		sec := atoi(m[3])
		if out = append(out, one(m[1], "hour", "hours")); h == 0 {
			out = nil
		}
		out = append(append(out, below(minute, false)...), one(strings.TrimPrefix(m[2], "0"), "minute", "minutes"), "and")
		out = append(append(out, below(sec, false)...), one(strings.TrimPrefix(m[3], "0"), "second", "seconds"))
	case m[4] == "" && !(minute == 0 && halfDay().MatchString(s.text[s.matchEnd:])):
		return clock(m[1], m[2])
	case minute == 0:
	case minute < 10:
		out = append(out, "oh", ones[minute])
	default:
		out = append(out, below(minute, false)...)
	}
	if m[4] != "" {
		out = append(out, strings.ToUpper(m[4]), "M")
	}
	return out
}
