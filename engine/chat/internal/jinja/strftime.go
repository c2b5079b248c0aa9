package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// strftime formats a time as C's strftime does in the C locale. The time has
// no zone, as in Python's datetime.now. Unknown directives stay as written.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		flag := byte(0)
		if strings.IndexByte("-_0^#", format[i]) >= 0 && i+1 < len(format) {
			flag = format[i]
			i++
		}
		text, ok := directive(t, format[i], flag)
		if !ok {
			b.WriteByte('%')
			if flag != 0 {
				b.WriteByte(flag)
			}
			text = format[i : i+1]
		}
		b.WriteString(text)
	}
	return b.String()
}

// layouts are the directives that package time has a layout for.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006",
	'D': "01/02/06", 'x': "01/02/06", 'F': "2006-01-02", 'p': "PM", 'P': "pm", 'r': "03:04:05 PM", 'R': "15:04",
	'T': "15:04:05", 'X': "15:04:05", 'n': "\n", 't': "\t", 'z': "", 'Z': "", '%': "%",
}

// numbers are the directives that are numbers, of at least so many digits.
var numbers = map[byte]struct {
	width int
	pad   string
	of    func(time.Time) int
}{
	'C': {2, "0", func(t time.Time) int { return t.Year() / 100 }},
	'd': {2, "0", time.Time.Day},
	'e': {2, " ", time.Time.Day},
	'g': {2, "0", func(t time.Time) int { year, _ := t.ISOWeek(); return year % 100 }},
	'G': {4, "0", func(t time.Time) int { year, _ := t.ISOWeek(); return year }},
	'H': {2, "0", time.Time.Hour},
	'I': {2, "0", hour12},
	'j': {3, "0", time.Time.YearDay},
	'k': {2, " ", time.Time.Hour},
	'l': {2, " ", hour12},
	'm': {2, "0", func(t time.Time) int { return int(t.Month()) }},
	'M': {2, "0", time.Time.Minute},
	'S': {2, "0", time.Time.Second},
	'u': {1, "0", func(t time.Time) int { return sinceMonday(t) + 1 }},
	'U': {2, "0", func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }},
	'V': {2, "0", func(t time.Time) int { _, week := t.ISOWeek(); return week }},
	'w': {1, "0", func(t time.Time) int { return int(t.Weekday()) }},
	'W': {2, "0", func(t time.Time) int { return (t.YearDay() + 6 - sinceMonday(t)) / 7 }},
	'y': {2, "0", func(t time.Time) int { return t.Year() % 100 }},
	'Y': {1, "0", time.Time.Year},
}

func hour12(t time.Time) int      { return (t.Hour()+11)%12 + 1 }
func sinceMonday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

// directive formats one directive with one of glibc's flags.
func directive(t time.Time, c, flag byte) (string, bool) {
	if n, ok := numbers[c]; ok {
		s := strconv.Itoa(n.of(t))
		pad := n.pad
		switch flag {
		case '-':
			return s, true
		case '_':
			pad = " "
		case '0':
			pad = "0"
		}
		return strings.Repeat(pad, max(0, n.width-len(s))) + s, true
	}
	if layout, ok := layouts[c]; ok {
		text := t.Format(layout)
		switch {
		case strings.IndexByte("aAbhBc", c) >= 0 && (flag == '^' || flag == '#'):
			text = strings.ToUpper(text)
		case c == 'p' && flag == '#':
			text = strings.ToLower(text)
		}
		return text, true
	}
	switch c {
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	}
	return "", false
}
