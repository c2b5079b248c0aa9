package jinja

import (
	"fmt"
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

// directive formats one directive with one of glibc's flags.
func directive(t time.Time, c, flag byte) (string, bool) {
	num := func(n, width int, pad string) (string, bool) {
		switch flag {
		case '-':
			return fmt.Sprint(n), true
		case '_':
			pad = " "
		case '0':
			pad = "0"
		}
		s := fmt.Sprint(n)
		return strings.Repeat(pad, max(0, width-len(s))) + s, true
	}
	word := func(s string) (string, bool) {
		if flag == '^' || flag == '#' {
			s = strings.ToUpper(s)
		}
		return s, true
	}
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	switch c {
	case 'a':
		return word(t.Format("Mon"))
	case 'A':
		return word(t.Format("Monday"))
	case 'b', 'h':
		return word(t.Format("Jan"))
	case 'B':
		return word(t.Format("January"))
	case 'c':
		return word(t.Format("Mon Jan _2 15:04:05 2006"))
	case 'C':
		return num(t.Year()/100, 2, "0")
	case 'd':
		return num(t.Day(), 2, "0")
	case 'D', 'x':
		return t.Format("01/02/06"), true
	case 'e':
		return num(t.Day(), 2, " ")
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 'F':
		return t.Format("2006-01-02"), true
	case 'g':
		return num(isoYear%100, 2, "0")
	case 'G':
		return num(isoYear, 4, "0")
	case 'H':
		return num(t.Hour(), 2, "0")
	case 'I':
		return num(hour12, 2, "0")
	case 'j':
		return num(t.YearDay(), 3, "0")
	case 'k':
		return num(t.Hour(), 2, " ")
	case 'l':
		return num(hour12, 2, " ")
	case 'm':
		return num(int(t.Month()), 2, "0")
	case 'M':
		return num(t.Minute(), 2, "0")
	case 'n':
		return "\n", true
	case 'p':
		if flag == '#' {
			return t.Format("pm"), true
		}
		return t.Format("PM"), true
	case 'P':
		return t.Format("pm"), true
	case 'r':
		return t.Format("03:04:05 PM"), true
	case 'R':
		return t.Format("15:04"), true
	case 's':
		return fmt.Sprint(t.Unix()), true
	case 'S':
		return num(t.Second(), 2, "0")
	case 't':
		return "\t", true
	case 'T', 'X':
		return t.Format("15:04:05"), true
	case 'u':
		return num((int(t.Weekday())+6)%7+1, 1, "0")
	case 'U':
		return num((t.YearDay()+6-int(t.Weekday()))/7, 2, "0")
	case 'V':
		return num(isoWeek, 2, "0")
	case 'w':
		return num(int(t.Weekday()), 1, "0")
	case 'W':
		return num((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2, "0")
	case 'y':
		return num(t.Year()%100, 2, "0")
	case 'Y':
		return num(t.Year(), 1, "0")
	case 'z', 'Z':
		return "", true
	case '%':
		return "%", true
	}
	return "", false
}
