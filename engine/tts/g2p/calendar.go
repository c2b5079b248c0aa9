package g2p

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Dates, times and centuries.

const monthNames = `Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?\.?|July?\.?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?`

const dayNames = `Mon(?:day|\.)?|Tue(?:s?\.?|sday)|Wed(?:nesday|\.)?|Thu(?:r?s?\.?|rsday)|Fri(?:day|\.)?|Sat(?:urday|\.)?|Sun(?:day|\.)?`

// shortMonths are months of three letters, as between the dashes of 15-Jan-2024.
const shortMonths = `Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC`

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

// calendar are the patterns of days and times that begin with a digit.
var calendar = slices.Concat([]pattern{
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
}, clocks, dates)

var dates = []pattern{
	// 15-Jan-2024, 15Jan2024, 10/Oct/2000, 15-Jan
	{re(`(\d{1,2})([-/.]?)(` + shortMonths + `)(?:[-/.]?(\d{4}|\d{2}))?`), func(m []string, s *scanner) []string {
		if m[2]+m[4] == "" || m[2] == "" && len(m[4]) < 4 || m[4] == "" && m[2] != "-" || atoi(m[1]) < 1 || atoi(m[1]) > 31 {
			return nil
		}
		return date(month(m[3]), m[1], m[4], s.accent)
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
		if abbreviated := s.lastSource(); strings.EqualFold(abbreviated, "exp") || strings.EqualFold(abbreviated, "exp.") {
			if n := atoi(m[1]); n > 0 && n < 13 && len(m[2]) == 2 {
				return append([]string{month(m[1])}, shortYear(m[2], s.accent)...) // of a card
			}
		}
		common := atoi(m[1]) < atoi(m[2]) && atoi(m[2]) <= 12
		if appointed().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)]) {
			return dayOf(m[1], m[2], "", s.accent) // 10/4 @ 9:15
		}
		if s.accent == US && possessors[s.lastWord()] && dated[s.nextWord()] {
			return dayOf(m[1], m[2], "", s.accent) // the 9/12 visit
		}
		if s.accent == British || !dateWords[s.lastWord()] && !s.afterWeekday() && !s.betweenDays() && !(s.lastWord() == "of" && written[s.wordBack(2)]) && (common || !s.dueBy()) && (common || !strings.HasSuffix(s.lastWord(), "ed") || s.nextWord() != "") {
			return nil
		}
		return dayOf(m[1], m[2], "", s.accent)
	}},
	// 05.03.2024: day first wherever dots are written
	{re(`(\d{1,2})\.(\d{1,2})\.(\d{4})`), func(m []string, s *scanner) []string { return dayOf(m[2], m[1], m[3], s.accent) }},
	{re(`(\d{1,2})\.(\d{1,2})\.(\d{2})`), func(m []string, s *scanner) []string {
		if !dateWords[s.label()] && s.label() != "date" {
			return nil
		}
		return dayOf(m[2], m[1], m[3], s.accent) // dated 4.11.24
	}},
	// 5 March 2024, 5th of March, 3–5 May
	{re(`(\d{1,2})(?:st|nd|rd|th)?(?:` + dash + `(\d{1,2})(?:st|nd|rd|th)?)?\s(?:of\s)?(` + monthNames + `)(?:,?\s(\d{4}))?`), func(m []string, s *scanner) []string {
		if n := atoi(m[1]); n < 1 || n > 31 || atoi(m[2]) > 31 {
			return nil
		}
		out := []string{"the"}
		if w := s.lastWord(); w == "the" || w == "happy" || possessors[w] || w == "next" || w == "last" {
			out = nil // happy 4th of July
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
		if len(m[0]) < 5 && isDigit(m[0][0]) && lasting[s.label()] || s.hyphened() {
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
	dateWords   = set("available exp cob eod on until till since dated due ends ended begins began starts started opens opened closes closed thru expires expired expiring monday tuesday wednesday thursday friday saturday sunday")
	written     = set("week letter email e-mail memo note notice invoice order call meeting message report statement")
	dated       = set("visit meeting appointment call session deadline game match show concert episode issue flight email e-mail memo letter report statement invoice order class exam test party event launch release earnings election hearing attack attacks")
	lasting     = set("after within every took takes take taking last lasts lasted than about under over timeout delay interval waited wait waits sleep equals for another")
	departing   = set("arrives departs leaves train service bus from to arriving departing leaving")
	clockWords  = set("til thru between at by until till before after around from to since dep arr departs arrives departing arriving departure arrival")
	beforeYears = set(`of class since in from to and the by before after until spring summer fall autumn winter late early back circa
		january february march april may june july august september october november december`)
)

// timeWords are what is counted down: T-10 seconds.
var timeWords = set("second seconds minute minutes hour hours day days week weeks month months sec secs min mins hrs")

// dateAhead is the second date of a range.
var dateAhead = lazy(`^\s?(?:(?:` + monthNames + `)\s\d|(?:` + dayNames + `)(?:[\s,.]|$))`)

var dayAhead = lazy(`^(?:\s(?:to|and|through|until)\s|\s?[-–]\s?)\d{1,2}/\d{1,2}\b`)

// appointed is the hour behind a day.
var appointed = lazy(`^,? ?(?:@ ?\d|at \d{1,2}(?::\d\d| ?[ap]\b| ?[ap]\.?m)| \$?\d{1,5}(?:\.\d+)?[CP]\b)`)

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
	// Jan-15-2024, Jan-24
	{re(`(` + shortMonths + `)-(\d{1,2})(?:-(\d{4}|\d{2}))?`), func(m []string, s *scanner) []string {
		switch n := atoi(m[2]); {
		case m[3] == "" && len(m[2]) == 2 && n > 18:
			return append([]string{month(m[1])}, cardinal(m[2], s.accent)...) // a year, more often than a day
		case n < 1 || n > 31:
			return nil
		}
		return date(month(m[1]), m[2], m[3], s.accent)
	}},
	// Tu–Th, Mo/We/Fr
	{re(`(Mo|Tu|We|Th|Fr|Sa|Su)([-–/])(Mo|Tu|We|Th|Fr|Sa|Su)(?:/(Mo|Tu|We|Th|Fr|Sa|Su))?`), func(m []string, s *scanner) []string {
		out := []string{shortDays[m[1]], shortDays[m[3]]}
		if m[2] != "/" {
			out = []string{out[0], "to", out[1]}
		}
		if m[4] != "" {
			out = append(out, shortDays[m[4]])
		}
		return out
	}},
	// T/Th
	{re(`T/Th`), func(m []string, s *scanner) []string { return []string{"Tuesday", "Thursday"} }},
	// MWF at 10, M/W/F
	{re(`M/?W(?:/?(F))?`), func(m []string, s *scanner) []string {
		taught := lessonAhead().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+12)])
		if !taught && (m[1] == "" || !strings.Contains(m[0], "/")) {
			return nil
		}
		if m[1] == "" {
			return []string{"Monday", "Wednesday"}
		}
		return []string{"Monday", "Wednesday", "Friday"}
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
		if s.standsForDay(m[0]) {
			return []string{fullName(m[0], weekdays)}
		}
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
		if n := atoi(m[2]); n < 1 || n > 31 || atoi(m[3]) > 31 || isRate(s.text[s.matchEnd:]) {
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
	// UTC+5:30
	{re(`(UTC|GMT) ?([-+−±])(\d{1,2})(?::?([0-5]\d))?`), func(m []string, s *scanner) []string {
		out := join([]string{"!" + m[1]}, strings.Fields(map[string]string{"+": "plus", "-": "minus", "−": "minus", "±": "plus or minus"}[m[2]]), cardinal(strconv.Itoa(atoi(m[3])), s.accent))
		if m[4] != "" && m[4] != "00" {
			out = join(out, cardinal(m[4], s.accent))
		}
		return out
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

// shortDays are days in two letters; lessonAhead is what stands behind the days of a course.
var (
	shortDays   = map[string]string{"Mo": "Monday", "Tu": "Tuesday", "We": "Wednesday", "Th": "Thursday", "Fr": "Friday", "Sa": "Saturday", "Su": "Sunday"}
	lessonAhead = lazy(`^,? ?(?:@|at |from |class|\d{1,2}(?::\d\d|[-–]|[ap]))`)
)

// isRate reports whether rest is that of a rate, which is no day: APR 6.875%.
func isRate(rest string) bool {
	rest = strings.TrimPrefix(rest, " ")
	return rest != "" && (rest[0] == '%' || rest[0] == '.' && isDigit(after2(rest)))
}

// dayBefore are words behind which Sat is a day though no stop is behind it; dayLinks join two days.
var (
	dayBefore = set("on next last this every each until till by since from for thru through saturday sunday monday tuesday wednesday thursday friday")
	dayLinks  = set("and or & to")
	dayBehind = lazy(`^(?: ?[:|]| (?:morning|afternoon|evening|night|nights|mornings|noon|a\.?m|p\.?m)\b| ?(?:&|and|or|to|thru|,) ?(?:` + dayNames + `)\b)`)
)

// standsForDay reports whether a day in three or four letters, without a stop, is one: on Sat,
// Fri night, Sat & Sun.
func (s *scanner) standsForDay(w string) bool {
	if len(w) > 5 || strings.HasSuffix(w, ".") {
		return false
	}
	if dayBehind().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+24)]) && s.lastWord() != "the" {
		return true
	}
	last := s.lastWord()
	if last == "m" && (s.wordBack(2) == "a" || s.wordBack(2) == "p") {
		return true // 2pm Sun
	}
	if dayLinks[last] {
		last = s.wordBack(2)
		return slices.ContainsFunc(weekdays, func(day string) bool { return strings.EqualFold(day, last) })
	}
	next := s.nextWord()
	return dayBefore[last] && !(next != "" && unicode.IsUpper(firstRune(next)))
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

// afterWeekday reports whether a day of the week stands before, with a comma or without.
func (s *scanner) afterWeekday() bool {
	n := len(s.out)
	w := s.lastWord()
	if n > 1 && s.out[n-1].Phonemes == "," {
		w = s.wordBack(2)
	}
	return slices.ContainsFunc(weekdays, func(day string) bool { return strings.EqualFold(day, w) })
}

// dated reports whether a date with its year stands before.
func (s *scanner) dated() bool {
	t := strings.TrimSuffix(s.lastSource(), ",")
	return len(t) > 5 && len(digitsOf(t)) > 3 && strings.ContainsAny(t, "-/ ")
}
