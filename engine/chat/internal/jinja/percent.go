package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxPrecision bounds the digits asked of a float, as Python's does not.
const maxPrecision = 2000

// A spec is how one value is to be formatted, in either style.
type spec struct {
	fill      string // "" is a blank
	align     byte   // '<' '>' '^' '=' or 0
	sign      byte   // '+' ' ' or 0
	alt, zero bool
	width     int
	prec      int  // -1 if not given
	group     byte // ',' '_' or 0
	verb      byte // 0 if not given
}

func filterFormat(r *run, v Value, a args) Value {
	if len(a.pos) > 0 && len(a.names) > 0 {
		panic(raisef("FilterArgumentError", "can't handle positional and keyword arguments at the same time"))
	}
	s := r.str(v)
	if len(a.names) == 0 {
		return r.percent(s, tuple{items: a.pos})
	}
	d := NewDict()
	a.setNamed(d)
	return r.percent(s, d)
}

// percent is Python's s % v.
func (r *run) percent(s Str, v Value) Value {
	p := percenter{r: r, rest: []Value{v}, cut: cutter{s: s}}
	if t, ok := v.(tuple); ok {
		p.rest, p.fromTuple = t.items, true
	}
	p.dict, _ = v.(*Dict)
	for p.at < len(s.s) {
		i := strings.IndexByte(s.s[p.at:], '%')
		if i < 0 {
			break
		}
		p.out.add(p.cut.sub(p.at, p.at+i))
		p.at += i + 1
		p.one()
		r.charge(8)
	}
	p.out.add(p.cut.sub(p.at, len(s.s)))
	_, isList := v.(*List)
	if len(p.rest) > 0 && (p.fromTuple || p.dict == nil && !isList) && !p.named {
		panic(typeErrorf("not all arguments converted during string formatting"))
	}
	out := p.out.str()
	out.markup = s.markup
	r.charge(p.out.size())
	return out
}

type percenter struct {
	r         *run
	cut       cutter
	at        int
	out       builder
	rest      []Value
	dict      *Dict
	fromTuple bool
	named     bool
}

func (p *percenter) peek() byte {
	if p.at < len(p.cut.s.s) {
		return p.cut.s.s[p.at]
	}
	return 0
}

func (p *percenter) next() Value {
	if len(p.rest) == 0 {
		panic(typeErrorf("not enough arguments for format string"))
	}
	v := p.rest[0]
	p.rest = p.rest[1:]
	return v
}

// count reads a width or precision: digits, or * for an argument.
func (p *percenter) count() int {
	if p.peek() == '*' {
		p.at++
		n, ok := smallInt(p.next())
		if !ok {
			panic(typeErrorf("* wants int"))
		}
		return int(min(max(n, -1<<40), 1<<40))
	}
	n := 0
	for c := p.peek(); isDecimal(c); c = p.peek() {
		n = min(n*10+int(c-'0'), 1<<40)
		p.at++
	}
	return n
}

// one formats what follows a percent sign.
func (p *percenter) one() {
	src := p.cut.s.s
	var v Value
	if p.peek() == '(' {
		if p.dict == nil {
			panic(typeErrorf("format requires a mapping"))
		}
		depth, i := 1, p.at+1
		for ; i < len(src) && depth > 0; i++ {
			switch src[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		if depth > 0 {
			panic(valueErrorf("incomplete format key"))
		}
		key := src[p.at+1 : i-1]
		p.at = i
		item, ok := p.dict.Get(key)
		if !ok {
			panic(raisef("KeyError", "%s", quote(key)))
		}
		v, p.named = item, true
	}
	f := spec{prec: -1, align: '>'}
flags:
	for {
		switch c := p.peek(); c {
		case '-':
			f.align = '<'
		case '+':
			f.sign = '+'
		case ' ':
			if f.sign == 0 {
				f.sign = ' '
			}
		case '#':
			f.alt = true
		case '0':
			f.zero = true
		default:
			break flags
		}
		p.at++
	}
	f.width = p.count()
	if f.width < 0 {
		f.align, f.width = '<', -f.width
	}
	if p.peek() == '.' {
		p.at++
		f.prec = p.count()
		f.prec = max(f.prec, 0)
	}
	for c := p.peek(); c == 'h' || c == 'l' || c == 'L'; c = p.peek() {
		p.at++
	}
	if p.at >= len(src) {
		panic(valueErrorf("incomplete format"))
	}
	f.verb = src[p.at]
	p.at++
	if f.verb == '%' {
		p.out.text("%")
		return
	}
	if v == nil {
		v = p.next()
	}
	p.out.add(p.convert(v, f))
}

func (p *percenter) convert(v Value, f spec) Str {
	r := p.r
	switch f.verb {
	case 's', 'r', 'a':
		s := r.str(v)
		if f.verb != 's' {
			s = r.repr(v)
		}
		if f.verb == 'a' {
			s = s.rewritten(asciiOnly(s.s))
		}
		if p.cut.s.markup {
			s = escape(s)
		}
		return r.clipAndPad(s, f)
	case 'c':
		if s, ok := v.(Str); ok {
			if s.runes() != 1 {
				panic(typeErrorf("%%c requires int or char"))
			}
			return r.clipAndPad(s, f)
		}
		return r.clipAndPad(charOf(v), f)
	case 'd', 'i', 'u', 'o', 'x', 'X':
		if !isNumber(v) {
			panic(typeErrorf("%%%c format: a real number is required, not %s", f.verb, v.typeName()))
		}
		if x, ok := v.(Float); ok {
			if f.verb == 'o' || f.verb == 'x' || f.verb == 'X' {
				panic(typeErrorf("%%%c format: an integer is required, not float", f.verb))
			}
			v = truncate(float64(x))
		}
		if f.verb == 'i' || f.verb == 'u' {
			f.verb = 'd'
		}
		return r.formatInt(v, f)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		defined(v)
		if !isNumber(v) {
			panic(typeErrorf("must be real number, not %s", v.typeName()))
		}
		x := floatOf(v)
		if f.align == '<' {
			f.zero = false
		}
		return r.formatFloat(x, f)
	}
	panic(valueErrorf("unsupported format character '%c' (0x%x) at index %d", f.verb, f.verb, p.at-1))
}

// charOf is Python's chr. The result counts as from outside: a number from a
// client must not become a character of a control token.
func charOf(v Value) Str {
	n, ok := smallInt(v)
	if !ok {
		panic(typeErrorf("%%c requires int or char"))
	}
	if n < 0 || n > 0x10ffff {
		panic(raisef("OverflowError", "%%c arg not in range(0x110000)"))
	}
	return TextFrom(string(rune(n)), Outside)
}

// asciiOnly escapes what is not ASCII, as Python's ascii does.
func asciiOnly(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		hex := strconv.FormatInt(int64(r), 16)
		switch {
		case r < 0x100:
			b.WriteString(`\x` + hex)
		case r < 0x10000:
			b.WriteString(`\u` + strings.Repeat("0", 4-len(hex)) + hex)
		default:
			b.WriteString(`\U` + strings.Repeat("0", 8-len(hex)) + hex)
		}
	}
	return b.String()
}

// clipAndPad formats text: at most prec code points, at least width.
func (r *run) clipAndPad(s Str, f spec) Str {
	if f.prec >= 0 && f.prec < s.runes() {
		s = r.sliceStr(s, None, Int(f.prec), None).(Str)
	}
	fill := f.fill
	if fill == "" {
		fill = " "
	}
	if f.align == '^' { // format centres to the left, str.center to the right
		n := f.width - s.runes()
		if n > 0 {
			return r.pad(r.pad(s, s.runes()+n/2, '>', fill), f.width, '<', fill)
		}
	}
	return r.pad(s, f.width, f.align, fill)
}

// formatInt formats an int with verb b, d, o, x or X.
func (r *run) formatInt(v Value, f spec) Str {
	n := bigOf(v)
	base := map[byte]int{'b': 2, 'd': 10, 'o': 8, 'x': 16, 'X': 16}[f.verb]
	digits := new(big.Int).Abs(n).Text(base)
	prefix := ""
	if f.alt {
		prefix = map[byte]string{'b': "0b", 'o': "0o", 'x': "0x", 'X': "0X"}[f.verb]
	}
	if f.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if f.prec > len(digits) {
		r.chargeTimes(f.prec, 1)
		digits = strings.Repeat("0", f.prec-len(digits)) + digits
	}
	every := 3
	if f.verb != 'd' {
		every = 4
	}
	return r.number(signOf(n.Sign() < 0, f.sign)+prefix, digits, "", every, f)
}

func signOf(negative bool, sign byte) string {
	switch {
	case negative:
		return "-"
	case sign != 0:
		return string(rune(sign))
	}
	return ""
}

// formatFloat formats a float with verb e, f, g, their capitals, or %.
func (r *run) formatFloat(x float64, f spec) Str {
	prec := f.prec
	if prec < 0 {
		prec = 6
	}
	if prec > maxPrecision {
		panic(limitf("a float is formatted with more than %d digits", maxPrecision))
	}
	verb := f.verb | 0x20
	tail := ""
	if f.verb == '%' {
		verb, tail = 'f', "%"
		x *= 100
	}
	if verb == 'g' && prec == 0 {
		prec = 1
	}
	var text string
	switch {
	case math.IsNaN(x):
		text = "nan"
	case math.IsInf(x, 0):
		text = "inf"
	default:
		text = strconv.FormatFloat(math.Abs(x), verb, prec, 64)
		if f.alt && verb != 'g' && !strings.Contains(text, ".") {
			text += "."
		}
	}
	if f.verb >= 'A' && f.verb <= 'Z' {
		text = strings.ToUpper(text)
	}
	whole := len(text)
	if i := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' }); i >= 0 {
		whole = i
	}
	return r.number(signOf(math.Signbit(x) && !math.IsNaN(x), f.sign), text[:whole], text[whole:]+tail, 3, f)
}

// number puts a number together: sign and prefix, whole digits grouped every
// so many, the rest, and padding.
func (r *run) number(head, whole, rest string, every int, f spec) Str {
	zeros := f.zero && f.align != '<' || f.align == '=' && f.fill == "0"
	if zeros && (whole != "" || f.group == 0) {
		for pad := f.width - len(head) - len(grouped(whole, f.group, every)) - len(rest); pad > 0; {
			r.chargeTimes(pad, 2)
			if f.group == 0 {
				whole = strings.Repeat("0", pad) + whole
				break
			}
			whole = strings.Repeat("0", max(1, pad*every/(every+1))) + whole
			pad = f.width - len(head) - len(grouped(whole, f.group, every)) - len(rest)
		}
	}
	body := grouped(whole, f.group, every) + rest
	if f.align == '=' && !zeros {
		padded := r.clipAndPad(Text(body), spec{fill: f.fill, align: '>', width: f.width - len(head), prec: -1})
		return Text(head + padded.s)
	}
	return r.clipAndPad(Text(head+body), spec{fill: f.fill, align: f.align, width: f.width, prec: -1})
}

// grouped puts sep between groups of digits.
func grouped(digits string, sep byte, every int) string {
	if sep == 0 || len(digits) <= every {
		return digits
	}
	var b strings.Builder
	for i := 0; i < len(digits); i++ {
		if i > 0 && (len(digits)-i)%every == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}
