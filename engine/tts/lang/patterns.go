package lang

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Numbers as they are written: with points or spaces between thousands and a comma
// before the fraction, with a point before it, and in the English way. In the English way
// only, and with commas as in India: 1,23,456.
const (
	numeral        = `(?:\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:[.\x{a0}\x{202f}\x{2009} ]\d{3})+(?:,\d+)?|\d+(?:[,.]\d+)?)`
	numeralEnglish = `(?:\d{1,3}(?:,\d{2,3})+(?:\.\d+)?|\d+(?:\.\d+)?)`
	gap            = `[ \x{a0}\x{202f}]?`
	minus          = `[-−]?`
)

// ready returns a vocabulary with its patterns, which are compiled when they are first used.
func ready(v *vocabulary) *vocabulary {
	v.patterns = v.build()
	return v
}

// build compiles the patterns of a vocabulary once. Longer and stricter forms stand before those
// they contain.
func (v *vocabulary) build() func() []pattern {
	return sync.OnceValue(func() []pattern {
		months := strings.Join(v.months, "|")
		numeral, oclock := numeral, `h\b`
		if v.english {
			numeral = numeralEnglish
		}
		if v.oclock != "" {
			oclock = v.oclock
		}
		at := func(expression string, say func(s *scanner, m []string) []string) pattern {
			return pattern{regexp.MustCompile(`^(?:` + expression + `)`), say}
		}
		var marked []pattern // times with a point, which only the word behind them shows to be some
		if v.oclock != "" {
			marked = append(marked, at(`([01]?\d|2[0-4])\.([0-5]\d) (?:`+v.oclock+`)`, func(s *scanner, m []string) []string { return v.time(m[1], m[2]) }))
		}
		if v.hours != nil {
			marked = append(marked, at(`([01]?\d|2[0-4])\.([0-5]\d)`, func(s *scanner, m []string) []string {
				if !s.hours[s.lastWord()] {
					return nil
				}
				return s.time(m[1], m[2])
			}))
		}
		return append(marked,
			at(`(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::\d{2})?Z?)?`, func(s *scanner, m []string) []string {
				d := v.day(m[3], m[2], m[1])
				if d != nil && m[4] != "" {
					return append(append(d, ","), v.time(m[4], m[5])...)
				}
				return d
			}),
			at(`(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})`, func(s *scanner, m []string) []string { return v.day(m[1], m[2], m[3]) }),
			at(`(\d{2})/(\d{2})`, func(s *scanner, m []string) []string {
				if !v.dayWords[strings.ToLower(s.lastWord())] {
					return nil
				}
				return v.day(m[1], m[2], "")
			}),
			at(`\d{4,5}-\d{4}`, func(s *scanner, m []string) []string {
				if !strings.HasSuffix(s.text[:s.i], ") ") {
					return nil
				}
				return v.telephone(m[0]) // (11) 5555-0123
			}),
			at(`1(?:º|°|\.º|er|o)?( de)? (`+months+`)`, func(s *scanner, m []string) []string {
				return append(append(v.first(), strings.Fields(m[1])...), m[2])
			}),
			at(`(\d{1,4}(?:[.,]\d+)?)`+gap+`[x×]`+gap+`(\d{1,4}(?:[.,]\d+)?)(?:`+gap+`(`+alternatives(v.units)+`))?`, func(s *scanner, m []string) []string {
				if v.signs['×'] == "" {
					return nil
				}
				second := v.number(m[2], false)
				if m[3] != "" {
					second = v.quantity(m[2], v.units[m[3]])
				}
				return join(v.number(m[1], false), strings.Fields(v.signs['×']), second)
			}),
			at(`(\d{1,3})`+gap+`h`+gap+`(\d{1,2})`+gap+`min`, func(s *scanner, m []string) []string {
				if v.units["h"].many == "" || v.units["min"].many == "" {
					return nil
				}
				return join(v.quantity(m[1], v.units["h"]), v.quantity(m[2], v.units["min"]))
			}),
			at(`([01]?\d|2[0-4])(?:[:h]| h )([0-5]\d)(?::[0-5]\d)?(?:`+gap+`(?:`+oclock+`))?`, func(s *scanner, m []string) []string { return s.time(m[1], m[2]) }),
			at(`(`+minus+`)(R\$|US\$|[€$£¥₹]`+v.marks+`)`+gap+`(`+numeral+`)(?: (`+v.scales+`))?(?:/-)?(?: ([A-Z]{3})\b)?`, func(s *scanner, m []string) []string {
				if _, ok := v.money[m[5]]; ok {
					m[2] = m[5] // $1.500 MXN
				} else if m[5] != "" {
					return nil
				}
				return v.price(m[1], m[3], m[4], m[2])
			}),
			at(`(`+minus+`)(R\$|US\$|[€$£¥₹]`+v.marks+`)`+gap+`(`+numeral+`)(?: (`+v.scales+`))?(?:/-)?`, func(s *scanner, m []string) []string { return v.price(m[1], m[3], m[4], m[2]) }),
			at(`(`+minus+`)(`+numeral+`)(?: (`+v.scales+`)(?: (?:de|di|d['’]))?)?`+gap+`(R\$|US\$|[€$£¥₹]|EUR|USD|GBP|BRL|CHF|INR`+v.marks+`)`, func(s *scanner, m []string) []string { return v.price(m[1], m[2], m[3], m[4]) }),
			at(`(`+minus+`)(`+numeral+`)`+gap+`([%‰])`, func(s *scanner, m []string) []string {
				return join(v.negative(m[1]), v.number(m[2], false), strings.Fields(v.signs[firstRune(m[3])]))
			}),
			at(`(\d{1,4})\.?(`+alternatives(v.endings)+`)`, func(s *scanner, m []string) []string {
				n := atoi(m[1])
				if n == 0 {
					return nil
				}
				if v.rank != nil {
					return v.rank(n, m[2])
				}
				return v.ordinal(n, v.endings[m[2]])
			}),
			at(`(`+minus+`)(`+numeral+`)`+gap+`(`+alternatives(v.units)+`)`, func(s *scanner, m []string) []string {
				u := v.units[m[3]]
				return join(v.negative(m[1]), v.quantity(m[2], u))
			}),
			at(v.phones+`\+\d{1,3}(?:[ -]\d{3,5}){2,4}|\+?\d{1,3}(?:[ .-]\d{2,4}){2,5}|\+\d{6,15}|0\d(?: \d\d){4}|\d{5}-\d{4}`, func(s *scanner, m []string) []string {
				if thousands().MatchString(m[0]) {
					return nil
				}
				return v.telephone(m[0])
			}),
			at(`\d{1,4}(?:\.\d{1,4}){2,3}`, func(s *scanner, m []string) []string {
				if thousands().MatchString(m[0]) {
					return nil
				}
				return v.between(strings.Split(m[0], "."), v.signs['.'])
			}),
			at(`(`+numeral+`)`+gap+`[–-]`+gap+`(`+numeral+`)(?:`+gap+`(%|`+alternatives(v.units)+`))?`, func(s *scanner, m []string) []string {
				u, ok := v.units[m[3]]
				if m[3] == "%" {
					u, ok = unit{many: v.signs['%']}, true
				}
				if !ok {
					return join(v.number(m[1], false), []string{v.to}, s.bare(m[2], len(m[0])))
				}
				return join(v.counted(m[1], u.feminine), []string{v.to}, v.quantity(m[2], u))
			}),
			at(`(?:(\d{1,3}) )?(\d{1,3})/(\d{1,3})(?:`+gap+`(`+alternatives(v.units)+`))?`, func(s *scanner, m []string) []string {
				part, u := v.part(m[1], m[2], m[3]), v.units[m[4]]
				if next := s.nextWord(len(m[0])); v.half != "" && len(part) == 2 && part[1] == v.half && m[4] == "" && next != "" && next != v.of && next != v.and {
					return part[1:] // 1/2 litro
				}
				if m[4] == "" || m[4] == "h" {
					return part
				}
				if m[1] == "" || m[1] == "1" {
					return join(part, strings.Fields(u.one))
				}
				return join(part, strings.Fields(u.many))
			}),
			at(`(`+minus+`)(`+numeral+`)`, func(s *scanner, m []string) []string {
				return join(v.negative(m[1]), s.bare(m[2], len(m[0])))
			}),
		)
	})
}

var thousands = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[1-9]\d{0,2}(?:\.\d{3}(?:\.\d{3})*|(?: \d{3})+)$`)
})

// at is a pattern whose words come as a text; none decline.
func at(expression string, say func(s *scanner, m []string) string) pattern {
	return pattern{regexp.MustCompile(`^(?:` + expression + `)`), func(s *scanner, m []string) []string {
		if said := say(s, m); said != "" {
			return strings.Fields(strings.ReplaceAll(said, ",", " , "))
		}
		return nil
	}}
}

// alternatives returns the keys of a table as an expression, the longest first.
func alternatives[T any](m map[string]T) string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for i, k := range keys {
		keys[i] = regexp.QuoteMeta(k)
	}
	return strings.Join(keys, "|")
}

// matched tries the patterns where the scanner stands and puts what the first says.
func (s *scanner) matched(rest string) bool {
	if s.vocabulary == nil {
		return false
	}
	if r := western(firstRune(rest)); !('0' <= r && r <= '9') && !strings.ContainsRune("-+$RU−€£¥₹", r) && !strings.ContainsRune(s.begins, r) {
		return false
	}
	head := rest[:min(len(rest), lookahead)]
	native := strings.ContainsFunc(head, func(r rune) bool { return western(r) != r })
	if native {
		head = strings.Map(western, head)
	}
	for _, p := range s.patterns() {
		m := p.re.FindStringSubmatch(head)
		if m != nil && s.cuts(m[0], head) {
			unit := m[len(m)-1] // 1/2 litro is none of l
			if m = p.re.FindStringSubmatch(head[:len(m[0])-len(unit)]); unit == "" || m == nil || s.cuts(m[0], head) {
				continue
			}
		}
		if m == nil {
			continue
		}
		n := len(m[0])
		if native {
			n = lengthBefore(rest, n)
		}
		if words := p.say(s, m); len(words) > 0 {
			s.put(words, n)
			if unicode.IsLetter(firstRune(s.text[s.i:])) {
				s.space()
			}
			return true
		}
	}
	return false
}

// cuts reports whether a match at the beginning of head would end inside a number or a word.
func (s *scanner) cuts(match, head string) bool {
	last, _ := utf8.DecodeLastRuneInString(match)
	next := firstRune(head[len(match):])
	return inWord(next) && !s.character(next) && !s.character(last) && (inWord(last) && unicode.IsDigit(next) == unicode.IsDigit(last) || unicode.IsDigit(next))
}

// western returns the digit 0 to 9 of one in Devanagari, the usual form of a wide letter, digit or
// sign, and other characters as they are, the wide comma, which stands in no number, among them.
func western(r rune) rune {
	switch {
	case r >= '०' && r <= '९':
		return r - '०' + '0'
	case r == '，':
		return r
	case r >= '！' && r <= '～':
		return r - '！' + '!'
	case r == '￥':
		return '¥'
	case r == '\u3000':
		return ' '
	}
	return r
}

// lengthBefore returns how many bytes of s are n bytes with western digits.
func lengthBefore(s string, n int) int {
	for i, r := range s {
		if n <= 0 {
			return i
		}
		n -= utf8.RuneLen(western(r))
	}
	return len(s)
}
