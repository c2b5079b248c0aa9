package jinja

import (
	"strings"
	"unicode/utf8"
)

// format is Python's str.format.
func (r *run) format(s Str, a args) Value {
	f := formatter{r: r, args: a}
	out := f.expand(s, 2)
	out.markup = s.markup
	return out
}

type formatter struct {
	r      *run
	args   args
	auto   int  // next automatic field
	manual bool // a numbered field was seen
}

// expand replaces the fields of s. Fields may nest, in specs, to depth.
func (f *formatter) expand(s Str, depth int) Str {
	if depth == 0 {
		panic(valueErrorf("Max string recursion exceeded"))
	}
	var b builder
	src := s.s
	for at := 0; at < len(src); {
		f.r.charge(8)
		i := strings.IndexAny(src[at:], "{}")
		if i < 0 {
			b.add(s.sub(at, len(src)))
			break
		}
		b.add(s.sub(at, at+i))
		at += i
		c := src[at]
		if at+1 < len(src) && src[at+1] == c {
			b.add(s.sub(at, at+1))
			at += 2
			continue
		}
		if c == '}' {
			panic(valueErrorf("Single '}' encountered in format string"))
		}
		end := fieldEnd(src, at+1)
		if end < 0 {
			if at+1 == len(src) {
				panic(valueErrorf("Single '{' encountered in format string"))
			}
			panic(valueErrorf("expected '}' before end of string"))
		}
		b.add(f.field(s, at+1, end, depth))
		at = end + 1
	}
	f.r.charge(b.size())
	return b.str()
}

// fieldEnd finds the brace that closes a field.
func fieldEnd(src string, from int) int {
	depth := 1
	for i := from; i < len(src); i++ {
		switch src[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// field formats the field between its braces.
func (f *formatter) field(s Str, from, to, depth int) Str {
	name, rest := s.s[from:to], ""
	specAt := to
	inKey := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '[' || c == ']' {
			inKey = c == '['
		}
		if (c == '!' || c == ':') && !inKey {
			name, rest, specAt = name[:i], name[i:], from+i
			break
		}
	}
	v := f.value(name)
	if strings.HasPrefix(rest, "!") {
		if len(rest) < 2 || len(rest) > 2 && rest[2] != ':' {
			panic(valueErrorf("expected ':' after conversion specifier"))
		}
		var text Str
		switch rest[1] {
		case 's':
			text = f.r.str(v)
		case 'r':
			text = f.r.repr(v)
		case 'a':
			text = f.r.repr(v)
			text = text.rewritten(asciiOnly(text.s))
		default:
			panic(valueErrorf("Unknown conversion specifier %c", rest[1]))
		}
		v, specAt = text, specAt+2
	}
	spec := Str{}
	if specAt < to {
		spec = f.expand(s.sub(specAt+1, to), depth-1)
	}
	out := f.r.formatValue(v, spec)
	if s.markup {
		out = escape(out)
	}
	return out
}

// value finds what a field names: an argument, then attributes and elements
// of it.
func (f *formatter) value(name string) Value {
	n := strings.IndexAny(name, ".[")
	if n < 0 {
		n = len(name)
	}
	v := f.argument(name[:n])
	for rest := name[n:]; rest != ""; {
		if rest[0] == '.' {
			rest = rest[1:]
			n := strings.IndexAny(rest, ".[")
			if n < 0 {
				n = len(rest)
			}
			if n == 0 {
				panic(valueErrorf("Empty attribute in format string"))
			}
			v = f.r.attr(v, rest[:n])
			rest = rest[n:]
		} else {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				panic(valueErrorf("Missing ']' in format string"))
			}
			key := Value(Text(rest[1:end]))
			if isDigits(rest[1:end]) {
				key = parseInt(rest[1:end], 10)
			}
			v = f.r.item(v, key)
			if rest = rest[end+1:]; rest != "" && rest[0] != '.' && rest[0] != '[' {
				panic(valueErrorf("Only '.' or '[' may follow ']' in format field specifier"))
			}
		}
	}
	return v
}

func (f *formatter) argument(name string) Value {
	if name == "" || isDigits(name) {
		i := f.auto
		if name == "" {
			if f.manual {
				panic(valueErrorf("cannot switch from manual field specification to automatic field numbering"))
			}
			f.auto++
		} else {
			if f.auto > 0 {
				panic(valueErrorf("cannot switch from automatic field numbering to manual field specification"))
			}
			f.manual = true
			n, ok := smallInt(parseInt(name, 10))
			if i = int(n); !ok {
				panic(valueErrorf("Too many decimal digits in format string"))
			}
		}
		if i >= len(f.args.pos) {
			panic(raisef("IndexError", "Replacement index %d out of range for positional args tuple", i))
		}
		return f.args.pos[i]
	}
	if v, ok := f.args.keyword(name); ok {
		return v
	}
	panic(raisef("KeyError", "%s", quote(name)))
}

// formatValue is Python's format.
func (r *run) formatValue(v Value, text Str) Str {
	if text.s == "" {
		return r.str(v)
	}
	out := r.applySpec(v, parseSpec(text.s))
	if origin(text) != trusted { // the fill character came from outside
		out = markAll(out.s, Outside)
	}
	return out
}

func (r *run) applySpec(v Value, f spec) Str {
	switch v := v.(type) {
	case Str:
		if f.verb != 0 && f.verb != 's' {
			panic(unknownCode(f.verb, v))
		}
		if f.sign != 0 || f.alt || f.align == '=' || f.group != 0 {
			panic(valueErrorf("that format is not allowed for a string"))
		}
		if f.align == 0 {
			f.align = '<'
		}
		if f.zero {
			f.fill = "0"
		}
		return r.clipAndPad(v, f)
	case Bool, Int, bigInt:
		if f.align == 0 {
			f.align = '>'
		}
		switch f.verb {
		case 0, 'n':
			f.verb = 'd'
			fallthrough
		case 'b', 'd', 'o', 'x', 'X':
			if f.prec >= 0 {
				panic(valueErrorf("Precision not allowed in integer format specifier"))
			}
			if f.group == ',' && f.verb != 'd' {
				panic(valueErrorf("Cannot specify ',' with '%c'.", f.verb))
			}
			return r.formatInt(v, f)
		case 'c':
			return r.clipAndPad(charOf(v), f)
		case 'e', 'E', 'f', 'F', 'g', 'G', '%':
			return r.formatFloat(floatOf(v), f)
		}
		panic(unknownCode(f.verb, v))
	case Float:
		if f.align == 0 {
			f.align = '>'
		}
		switch f.verb {
		case 0:
			return r.formatPlainFloat(float64(v), f)
		case 'n':
			f.verb = 'g'
			fallthrough
		case 'e', 'E', 'f', 'F', 'g', 'G', '%':
			return r.formatFloat(float64(v), f)
		}
		panic(unknownCode(f.verb, v))
	case undefined:
		panic(typeErrorf("unsupported format string passed to Undefined.__format__"))
	}
	panic(typeErrorf("unsupported format string passed to %s.__format__", v.typeName()))
}

func unknownCode(verb byte, v Value) thrown {
	return valueErrorf("Unknown format code '%c' for object of type '%s'", verb, v.typeName())
}

// formatPlainFloat formats a float without a verb: like repr, or like g but
// with a digit after the point.
func (r *run) formatPlainFloat(x float64, f spec) Str {
	text := floatText(x)
	if f.prec >= 0 {
		g := r.formatFloat(x, spec{prec: f.prec, verb: 'g'})
		if text = g.s; !strings.ContainsAny(text, ".en") {
			if len(strings.TrimLeft(text, "-0")) < max(f.prec, 1) {
				text += ".0"
			} else {
				text = trimExponent(r.formatFloat(x, spec{prec: max(f.prec, 1) - 1, verb: 'e'}).s)
			}
		}
	}
	head := ""
	if strings.HasPrefix(text, "-") {
		head, text = "-", text[1:]
	} else {
		head = signOf(false, f.sign)
	}
	whole := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' })
	if whole < 0 {
		whole = len(text)
	}
	return r.number(head, text[:whole], text[whole:], 3, f)
}

// trimExponent drops the zeros at the end of a mantissa.
func trimExponent(s string) string {
	m, e, _ := strings.Cut(s, "e")
	if strings.Contains(m, ".") {
		m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
	}
	return m + "e" + e
}

// parseSpec reads Python's format specification.
func parseSpec(s string) spec {
	f := spec{prec: -1}
	bad := valueErrorf("Invalid format specifier '%s'", s)
	_, n := utf8.DecodeRuneInString(s)
	switch {
	case len(s) > n && strings.IndexByte("<>^=", s[n]) >= 0:
		f.fill, f.align, s = s[:n], s[n], s[n+1:]
	case strings.IndexByte("<>^=", s[0]) >= 0:
		f.align, s = s[0], s[1:]
	}
	next := func(set string) byte {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			c := s[0]
			s = s[1:]
			return c
		}
		return 0
	}
	if c := next("+- "); c != '-' {
		f.sign = c
	}
	f.alt = next("#") != 0
	if next("0") != 0 {
		f.zero = f.fill == "" && f.align == 0
		if f.fill == "" && f.align != 0 {
			f.fill = "0"
		}
	}
	number := func() int {
		i := 0
		n := 0
		for i < len(s) && isDecimal(s[i]) {
			n = n*10 + int(s[i]-'0')
			if n > 1<<40 {
				panic(valueErrorf("Too many decimal digits in format string"))
			}
			i++
		}
		if i == 0 {
			return -1
		}
		s = s[i:]
		return n
	}
	f.width = max(number(), 0)
	f.group = next(",_")
	if next(".") != 0 {
		f.prec = number()
		if f.prec < 0 {
			panic(valueErrorf("Format specifier missing precision"))
		}
	}
	if len(s) > 1 {
		panic(bad)
	}
	if s != "" {
		f.verb = s[0]
	}
	return f
}
