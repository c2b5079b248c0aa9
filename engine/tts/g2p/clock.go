package g2p

import "strings"

// Times of day and durations.
var clocks = []pattern{
	// 0630 hours, at 1430 hrs, by 0900
	{re(`([01]\d|2[0-4])([0-5]\d)(?:\s?(?:hours|hrs|h))?`), func(m []string, s *scanner) []string {
		unit, zero := m[0] != m[1]+m[2], m[1][0] == '0'
		if strings.HasSuffix(m[0], m[2]+"h") && atoi(m[2])%15 == 0 && m[1] != "20" {
			zero = true // the 1400h briefing
		}
		if strings.HasSuffix(m[0], m[2]+"hrs") && m[2] != "00" {
			zero = true // 1530hrs
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
	// 15:00h
	{re(`([01]?\d|2[0-4]):([0-5]\d)h`), func(m []string, s *scanner) []string { return clock(m[1], m[2]) }},
	// 14:05Z
	{re(`([01]?\d|2[0-3]):([0-5]\d)Z`), func(m []string, s *scanner) []string { return append(clock(m[1], m[2]), "!Z") }},
	// 6:30a–7p
	{re(`(\d{1,2})(?::([0-5]\d))?([ap])[-–](\d{1,2})(?::([0-5]\d))?([ap])`), func(m []string, s *scanner) []string {
		return join(halfDayTime(m[1], m[2], m[3]), []string{"to"}, halfDayTime(m[4], m[5], m[6]))
	}},
	// 6:30a; between 9a and 12p, in America
	{re(`(\d{1,2})(?::([0-5]\d))?([ap])`), func(m []string, s *scanner) []string {
		if h := atoi(m[1]); m[2] == "" && (s.accent == British || h < 1 || h > 12 || raised[firstRune(s.text[s.matchEnd:])] != 0 || m[3] == "a" && !clockWords[s.lastWord()] || s.labelled()) {
			return nil
		}
		return halfDayTime(m[1], m[2], m[3])
	}},
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
}

// zones are names of zones behind a time in four figures.
var zones = map[string]bool{"GMT": true, "UTC": true, "EST": true, "EDT": true, "CST": true, "CDT": true, "MST": true, "MDT": true, "PST": true, "PDT": true, "CET": true, "BST": true, "CEST": true, "ET": true, "PT": true, "Zulu": true}

// quantified are words behind a number that is no time.
var quantified = set("percent per million billion trillion times degrees")

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

// offset is the time of a place from that of Greenwich.
var offset = lazy(`^ ([+-])(\d\d):?([0-5]\d)\b`)

var thousands = lazy(`^,\d{3}`)

// proportions are words before which 5:10 is no time.
var proportions = set("reverse split slope mixture mix gear leverage ratio odds scale aspect proportion proportions dilution")

// lastsMinutes are units behind 4:33 that is so long and no time of day.
var lastsMinutes = set("min mins minutes")

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
	if m[3]+m[4] == "" && lastsMinutes[s.nextWord()] {
		s.matchEnd += len(s.nextWord()) + 1
		return join(cardinal(m[1], s.accent), []string{one(m[1], "minute", "minutes"), "and"}, below(minute, false), []string{one(m[2], "second", "seconds")})
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
