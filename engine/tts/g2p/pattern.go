package g2p

import (
	"regexp"
	"strings"
	"sync"
)

// A pattern is something that is not said as it is written. Patterns are tried
// in order where a number may begin; what matches must not run into a letter or
// a digit. say gets the groups and returns the words, or nil to decline.
type pattern struct {
	re  func() *regexp.Regexp
	say func(m []string, s *scanner) []string
}

// longest is how far ahead a pattern may look; it bounds the time of each try.
const longest = 120

// lazy compiles an expression when it is first used: who never speaks starts without them.
func lazy(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

func re(s string) func() *regexp.Regexp { return lazy(`^(?:` + s + `)`) }

const number = `\d{1,3}(?:,\d{3})+|\d+` // with a fraction below

const monthNames = `Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?`

var months = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// month returns the full name of month 1 to 12, or of a name that may be cut.
func month(s string) string {
	if n := atoi(s); n >= 1 && n <= 12 {
		return months[n-1]
	}
	for _, m := range months {
		if len(s) >= 3 && strings.HasPrefix(m, s[:3]) {
			return m
		}
	}
	return ""
}

// Versions: 1.2.3 and v1.2.3; v2 and v2.5.
var (
	dotted = pattern{re(`(?:[vV])?(\d+(?:\.\d+){2,})`), func(m []string, s *scanner) []string {
		out := between(m[1], "point", s.accent)
		if m[0][0] == 'v' || m[0][0] == 'V' {
			out = join([]string{"version"}, out)
		}
		return out
	}}
	version = pattern{re(`[vV](\d+(?:\.\d+)?)`), func(m []string, s *scanner) []string {
		return join([]string{"version"}, between(m[1], "point", s.accent))
	}}
)

var numbers = []pattern{
	// 3:05 pm, 15:30, 1:02:03
	{re(`(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?:\s?([AaPp])\.?[Mm]\b\.?)?`), sayTime},
	{re(`(1[0-2]|[1-9])\s?([AaPp])\.?[Mm]\b\.?`), func(m []string, s *scanner) []string {
		return append(cardinal(m[1], s.accent), strings.ToUpper(m[2]), "M")
	}},
	// 2024-03-05
	{re(`(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`), func(m []string, s *scanner) []string {
		return date(month(m[2]), m[3], m[1], s.accent)
	}},
	// 3/5/2024: month first in the US, day first in Britain
	{re(`(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})`), func(m []string, s *scanner) []string {
		mon, day := m[1], m[2]
		if s.accent == British && atoi(day) <= 12 || atoi(mon) > 12 {
			mon, day = day, mon
		}
		if atoi(mon) < 1 || atoi(mon) > 12 || atoi(day) < 1 || atoi(day) > 31 {
			return nil
		}
		return date(month(mon), day, m[3], s.accent)
	}},
	// 5 March 2024, 5th of March
	{re(`(\d{1,2})(?:st|nd|rd|th)?\s(?:of\s)?(` + monthNames + `)(?:,?\s(\d{4}))?`), func(m []string, s *scanner) []string {
		if n := atoi(m[1]); n < 1 || n > 31 {
			return nil
		}
		out := date(month(m[2]), m[1], m[3], British)
		if n := len(s.out); n > 0 && strings.EqualFold(s.out[n-1].Text, "the") {
			out = out[1:]
		}
		return out
	}},
	// +1 (555) 123-4567, 555-1234
	{re(`(?:(\+\d{1,3})[ .-]?)?\(?(\d{3})\)?[ .-](\d{3})[.-](\d{4})`), func(m []string, s *scanner) []string {
		var out []string
		if m[1] != "" {
			out = append(append([]string{"plus"}, digits(m[1])...), ",")
		}
		return join(out, digits(m[2]), []string{","}, digits(m[3]), []string{","}, digits(m[4]))
	}},
	{re(`(\d{3})-(\d{4})`), func(m []string, s *scanner) []string {
		return join(digits(m[1]), []string{","}, digits(m[2]))
	}},
	{re(`\+\d{7,15}`), func(m []string, s *scanner) []string { return join([]string{"plus"}, digits(m[0])) }},
	// addresses and versions: 192.168.0.1, v1.2.3
	{re(`\d{1,3}(?:\.\d{1,3}){3}`), func(m []string, s *scanner) []string { return between(m[0], "dot", s.accent) }},
	dotted, version,
	// $5-10 million
	{re(`([$£€])(` + number + `)\s?[-–—]\s?[$£€]?(` + number + `)(?:\s?(k|K|M|B|T|bn|m|mn|tn|thousand|million|billion|trillion)\b)?`), func(m []string, s *scanner) []string {
		out := join(cardinal(m[2], s.accent), []string{"to"}, cardinal(m[3], s.accent))
		if m[4] != "" {
			out = append(out, magnitude(m[4]))
		}
		return append(out, currencies[m[1]][1])
	}},
	// $1.2B, £5.99, €20
	{re(`([-−])?([$£€¥₹])\s?(` + number + `)(?:\.(\d+))?(?:\s?(k|K|M|B|T|bn|m|mn|tn|thousand|million|billion|trillion)\b)?`), money},
	// temperatures and angles: -5 °C, 90°
	{re(`([-−])?(` + number + `)(\.\d+)?\s?°\s?([CFK]\b)?`), func(m []string, s *scanner) []string {
		out := join(minus(m[1]), decimal(m[2]+m[3], s.accent), []string{one(m[2]+m[3], "degree", "degrees")})
		return join(out, map[string][]string{"C": {"Celsius"}, "F": {"Fahrenheit"}, "K": {"Kelvin"}}[m[4]])
	}},
	// feet and inches: 5'10"
	{re(`(\d{1,2})['’′](\d{1,2})["”″]`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{one(m[1], "foot", "feet")}, cardinal(m[2], s.accent), []string{one(m[2], "inch", "inches")})
	}},
	// fractions: 1/2, 2 3/4, 24/7
	{re(`24/7`), func(m []string, s *scanner) []string { return []string{"twenty", "four", "seven"} }},
	{re(`(?:(\d{1,3})\s)?(\d{1,3})/(\d{1,3})`), func(m []string, s *scanner) []string { return fraction(m[1], m[2], m[3], s.accent) }},
	{re(`(\d{1,3})?\s?([½⅓⅔¼¾⅕⅛⅜⅝⅞])`), func(m []string, s *scanner) []string {
		f := map[string]string{"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}[m[2]]
		n, d, _ := strings.Cut(f, "/")
		return fraction(m[1], n, d, s.accent)
	}},
	// 21st, 1990s, '80s
	{re(`(` + number + `)(?:st|nd|rd|th|ST|ND|RD|TH)`), func(m []string, s *scanner) []string { return ordinal(cardinal(m[1], s.accent)) }},
	{re(`['’]?(\d{1,2})?(\d0)['’]?s`), func(m []string, s *scanner) []string {
		if m[1] == "" {
			return plural(cardinal(m[2], s.accent))
		}
		return plural(year(m[1]+m[2], s.accent))
	}},
	// 1920x1080, 5x
	{re(`(\d+)\s?[x×]\s?(\d+)`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"by"}, cardinal(m[2], s.accent))
	}},
	{re(`(\d+(?:\.\d+)?)[x×]`), func(m []string, s *scanner) []string { return join(decimal(m[1], s.accent), []string{"times"}) }},
	// numbers with a unit, a percent sign or nothing
	{re(`(` + number + `)?(\.\d+)?\s?(%|‰)`), func(m []string, s *scanner) []string {
		if m[1]+m[2] == "" {
			return nil
		}
		return join(decimal(m[1]+m[2], s.accent), map[string][]string{"%": {"percent"}, "‰": {"per", "mille"}}[m[3]])
	}},
	{re(`(` + number + `)?(\.\d+)?[\s-]?([A-Za-zµμΩ][A-Za-z]{0,4}(?:[²³]|/[A-Za-z]{1,3})?)`), measure},
	{re(`(\d*)\.(\d+)`), func(m []string, s *scanner) []string { return decimal(m[0], s.accent) }},
	{re(`[1-9]\d{3}`), func(m []string, s *scanner) []string { return year(m[0], s.accent) }},
	{re(number), func(m []string, s *scanner) []string { return cardinal(m[0], s.accent) }},
}

// named are patterns that begin with a letter.
var named = []pattern{
	{re(`(` + monthNames + `)\s(\d{1,2})(?:st|nd|rd|th)?(?:,?\s(\d{4}))?`), func(m []string, s *scanner) []string {
		if n := atoi(m[2]); n < 1 || n > 31 {
			return nil
		}
		out := append([]string{month(m[1])}, ordinal(cardinal(strings.TrimLeft(m[2], "0"), US))...)
		if m[3] != "" {
			out = append(out, year(m[3], s.accent)...)
		}
		return out
	}},
	dotted, version,
	{re(`([A-Z]{1,3})&([A-Z]{1,3})`), func(m []string, s *scanner) []string { return []string{"!" + m[1], "and", "!" + m[2]} }},
	{re(`(?:No|no)\.\s?(\d+)`), func(m []string, s *scanner) []string { return join([]string{"number"}, cardinal(m[1], s.accent)) }},
}

func join(parts ...[]string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func minus(sign string) []string {
	if sign == "" {
		return nil
	}
	return []string{"minus"}
}

func one(n, singular, plural string) string {
	if n == "1" {
		return singular
	}
	return plural
}

// between says numbers between dots.
func between(s, dot string, accent Accent) []string {
	var out []string
	for i, part := range strings.Split(s, ".") {
		if i > 0 {
			out = append(out, dot)
		}
		out = append(out, cardinal(part, accent)...)
	}
	return out
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
		out = append(out, cardinal(yr, accent)...)
	}
	return out
}

func sayTime(m []string, s *scanner) []string {
	h, min := atoi(m[1]), atoi(m[2])
	if h > 24 {
		return nil
	}
	out := below(h, false)
	switch {
	case m[3] != "":
		sec := atoi(m[3])
		out = append(out, one(m[1], "hour", "hours"))
		out = append(append(out, below(min, false)...), one(strings.TrimPrefix(m[2], "0"), "minute", "minutes"), "and")
		out = append(append(out, below(sec, false)...), one(strings.TrimPrefix(m[3], "0"), "second", "seconds"))
	case min == 0 && m[4] == "" && h >= 1 && h <= 12:
		out = append(out, "o'clock")
	case min == 0 && m[4] == "":
		out = append(out, "hundred")
	case min == 0:
	case min < 10:
		out = append(out, "oh", ones[min])
	default:
		out = append(out, below(min, false)...)
	}
	if m[4] != "" {
		out = append(out, strings.ToUpper(m[4]), "M")
	}
	return out
}

var currencies = map[string][4]string{
	"$": {"dollar", "dollars", "cent", "cents"},
	"£": {"pound", "pounds", "penny", "pence"},
	"€": {"euro", "euros", "cent", "cents"},
	"¥": {"yen", "yen", "sen", "sen"},
	"₹": {"rupee", "rupees", "paisa", "paise"},
}

var magnitudes = map[string]string{"k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million",
	"B": "billion", "bn": "billion", "T": "trillion", "tn": "trillion"}

func magnitude(s string) string {
	if full, ok := magnitudes[s]; ok {
		return full
	}
	return s
}

func money(m []string, s *scanner) []string {
	names := currencies[m[2]]
	whole, frac := m[3], m[4]
	if mag := m[5]; mag != "" {
		if frac != "" {
			whole += "." + frac
		}
		return join(minus(m[1]), decimal(whole, s.accent), []string{magnitude(mag), names[1]})
	}
	out := minus(m[1])
	if len(frac) > 2 {
		return join(out, decimal(whole+"."+frac, s.accent), []string{names[1]})
	}
	if len(frac) == 1 {
		frac += "0"
	}
	cents := atoi(frac)
	if atoi(whole) > 0 || len(whole) > 9 || cents == 0 {
		out = join(out, cardinal(whole, s.accent), []string{one(whole, names[0], names[1])})
		if cents > 0 {
			out = append(out, "and")
		}
	}
	if cents > 0 {
		out = join(out, below(cents, false), []string{names[3]})
		if cents == 1 {
			out[len(out)-1] = names[2]
		}
	}
	return out
}

func fraction(whole, n, d string, accent Accent) []string {
	den := atoi(d)
	if den < 2 || whole != "" && atoi(n) >= den {
		if whole != "" {
			return nil
		}
		return join(cardinal(n, accent), []string{"over"}, cardinal(d, accent))
	}
	if whole == "" && (n == "9" && d == "11" || n == "50" && d == "50") {
		return join(cardinal(n, accent), cardinal(d, accent))
	}
	var part []string
	switch {
	case den == 2:
		part = []string{"half"}
	case den == 4:
		part = []string{"quarter"}
	case den > 20 && den != 100:
		return join(cardinal(n, accent), []string{"over"}, cardinal(d, accent))
	default:
		part = ordinal(cardinal(d, accent))
	}
	if atoi(n) != 1 {
		if den == 2 {
			part = []string{"halves"}
		} else {
			part = plural(part)
		}
	}
	if whole == "" {
		return join(cardinal(n, accent), part)
	}
	num := cardinal(n, accent)
	if n == "1" {
		num = []string{"a"}
	}
	return join(cardinal(whole, accent), []string{"and"}, num, part)
}

// units are singular and plural names of what may follow a number.
var units = map[string][2]string{
	"mm": {"millimeter", "millimeters"}, "cm": {"centimeter", "centimeters"}, "m": {"meter", "meters"}, "km": {"kilometer", "kilometers"},
	"ft": {"foot", "feet"}, "yd": {"yard", "yards"}, "mi": {"mile", "miles"}, "nm": {"nanometer", "nanometers"},
	"mg": {"milligram", "milligrams"}, "g": {"gram", "grams"}, "kg": {"kilogram", "kilograms"}, "lb": {"pound", "pounds"}, "lbs": {"pound", "pounds"}, "oz": {"ounce", "ounces"},
	"ml": {"milliliter", "milliliters"}, "mL": {"milliliter", "milliliters"}, "l": {"liter", "liters"}, "L": {"liter", "liters"}, "gal": {"gallon", "gallons"},
	"ms": {"millisecond", "milliseconds"}, "s": {"second", "seconds"}, "sec": {"second", "seconds"}, "min": {"minute", "minutes"}, "h": {"hour", "hours"}, "hr": {"hour", "hours"}, "hrs": {"hour", "hours"},
	"mph": {"mile per hour", "miles per hour"}, "km/h": {"kilometer per hour", "kilometers per hour"}, "kph": {"kilometer per hour", "kilometers per hour"}, "m/s": {"meter per second", "meters per second"}, "rpm": {"R P M", "R P M"}, "fps": {"frame per second", "frames per second"},
	"Hz": {"hertz", "hertz"}, "kHz": {"kilohertz", "kilohertz"}, "MHz": {"megahertz", "megahertz"}, "GHz": {"gigahertz", "gigahertz"},
	"kB": {"kilobyte", "kilobytes"}, "KB": {"kilobyte", "kilobytes"}, "MB": {"megabyte", "megabytes"}, "GB": {"gigabyte", "gigabytes"}, "TB": {"terabyte", "terabytes"}, "Mbps": {"megabit per second", "megabits per second"}, "Gbps": {"gigabit per second", "gigabits per second"},
	"W": {"watt", "watts"}, "kW": {"kilowatt", "kilowatts"}, "MW": {"megawatt", "megawatts"}, "kWh": {"kilowatt hour", "kilowatt hours"}, "V": {"volt", "volts"}, "mV": {"millivolt", "millivolts"}, "A": {"amp", "amps"}, "mAh": {"milliamp hour", "milliamp hours"}, "dB": {"decibel", "decibels"},
	"m²": {"square meter", "square meters"}, "km²": {"square kilometer", "square kilometers"}, "m³": {"cubic meter", "cubic meters"}, "cal": {"calorie", "calories"}, "kcal": {"kilocalorie", "kilocalories"}, "px": {"pixel", "pixels"},
	"k": {"thousand", "thousand"}, "bn": {"billion", "billion"}, "Ω": {"ohm", "ohms"}, "µs": {"microsecond", "microseconds"}, "μs": {"microsecond", "microseconds"}, "µm": {"micrometer", "micrometers"}, "μm": {"micrometer", "micrometers"},
}

func measure(m []string, s *scanner) []string {
	u, ok := units[m[3]]
	n := m[1] + m[2]
	if !ok || n == "" {
		return nil
	}
	// A letter on its own is a unit only right behind its number: "5 A grades".
	if len(m[3]) == 1 && len(m[0]) > len(n)+1 && !strings.Contains("mgVW", m[3]) {
		return nil
	}
	name := one(n, u[0], u[1])
	if m[0][len(n)] == '-' { // a 5-km run
		name = u[0]
	}
	return join(decimal(n, s.accent), strings.Fields(name))
}
