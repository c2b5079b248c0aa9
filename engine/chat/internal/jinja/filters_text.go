package jinja

import (
	"fmt"
	"html"
	"net/url"
	"strings"
)

func filterTrim(r *run, v Value, a []Value) (Value, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	chars, err := charsArg(a[0])
	if err != nil {
		return nil, err
	}
	return s.strip(true, true, chars), r.charge(len(s.s))
}

// charsArg is the optional argument of strip.
func charsArg(v Value) (*Str, error) {
	if isNone(v) {
		return nil, nil
	}
	s, ok := v.(Str)
	if !ok {
		return nil, typeErrorf("strip arg must be None or str")
	}
	return &s, nil
}

func filterEscape(r *run, v Value, _ []Value) (Value, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	s = escape(s)
	return s, r.charge(len(s.s))
}

func filterForceEscape(r *run, v Value, _ []Value) (Value, error) {
	s, err := r.str(v)
	s.markup = false
	if err != nil {
		return nil, err
	}
	s = escape(s)
	return s, r.charge(len(s.s))
}

func filterSafe(r *run, v Value, _ []Value) (Value, error) {
	s, err := r.str(v)
	s.markup = true
	return s, err
}

func filterStriptags(r *run, v Value, _ []Value) (Value, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	text := cutAll(cutAll(s.s, "<!--", "-->"), "<", ">")
	text = html.UnescapeString(strings.Join(strings.FieldsFunc(text, isSpace), " "))
	s.markup = false
	return s.rewritten(text), r.charge(3 * len(s.s))
}

// cutAll removes every shortest run from open to end.
func cutAll(s, open, end string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, open)
		if i < 0 {
			break
		}
		j := strings.Index(s[i+len(open):], end)
		if j < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i+len(open)+j+len(end):]
	}
	b.WriteString(s)
	return b.String()
}

func filterReplace(r *run, v Value, a []Value) (Value, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	old, err := r.str(a[0])
	if err != nil {
		return nil, err
	}
	repl, err := r.str(a[1])
	if err != nil {
		return nil, err
	}
	n := -1
	if !isNone(a[2]) {
		if n, err = index(a[2]); err != nil {
			return nil, err
		}
	}
	s.markup = false
	return r.replace(s, old, repl, n)
}

func filterJoin(r *run, v Value, a []Value) (Value, error) {
	sep := Value(Text(""))
	if a[0] != nil {
		sep = a[0]
	}
	d, err := r.str(sep)
	if err != nil {
		return nil, err
	}
	d.markup = false
	next, err := iterate(v)
	if err != nil {
		return nil, err
	}
	path := pathOf(a[1])
	var b builder
	for first := true; ; first = false {
		item, ok, err := next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return b.str(), r.charge(24 * len(b.marks))
		}
		if item, err = r.follow(item, path, nil); err != nil {
			return nil, err
		}
		s, err := r.str(item)
		if err != nil {
			return nil, err
		}
		if err := r.chargeJoin(&b, len(d.s)+len(s.s)); err != nil {
			return nil, err
		}
		if !first {
			b.add(d)
		}
		b.add(s)
	}
}

func filterCenter(r *run, v Value, a []Value) (Value, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	width, err := intArg(a[0], 80)
	if err != nil {
		return nil, err
	}
	return r.pad(s, width, '^', " ")
}

func filterIndent(r *run, v Value, a []Value) (Value, error) {
	s, ok := v.(Str)
	if !ok {
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
		return nil, typeErrorf("unsupported operand type(s) for +=: '%s' and 'str'", v.typeName())
	}
	pad := Text("    ")
	switch w := a[0].(type) {
	case nil:
	case Str:
		pad = w
	default:
		n, err := index(w)
		if err != nil {
			return nil, err
		}
		if err := r.chargeTimes(n, 1); err != nil {
			return nil, err
		}
		pad = Text(strings.Repeat(" ", max(n, 0)))
	}
	lines := splitLines(s, false)
	if strings.HasSuffix(s.s, "\n") || s.s == "" {
		lines = append(lines, Str{})
	}
	if err := r.chargeTimes(len(lines), len(pad.s)+24*(len(pad.marks)+1)); err != nil {
		return nil, err
	}
	var b builder
	if boolArg(a[1]) {
		b.add(pad)
	}
	for i, l := range lines {
		if i > 0 {
			b.text("\n")
			if l.s != "" || boolArg(a[2]) {
				b.add(pad)
			}
		}
		b.add(l)
	}
	out := b.str()
	out.markup = s.markup
	return out, r.charge(len(s.s))
}

func filterTruncate(r *run, v Value, a []Value) (Value, error) {
	n, err := intArg(a[0], 255)
	if err != nil {
		return nil, err
	}
	end := Text("...")
	if a[2] != nil {
		if end, err = r.str(a[2]); err != nil {
			return nil, err
		}
	}
	leeway := 5
	if !isNone(a[3]) {
		if leeway, err = index(a[3]); err != nil {
			return nil, err
		}
	}
	if n < end.runes() {
		return nil, raisef("AssertionError", "expected length >= %d, got %d", end.runes(), n)
	}
	if leeway < 0 {
		return nil, raisef("AssertionError", "expected leeway >= 0, got %d", leeway)
	}
	size, err := length(v)
	if err != nil || size <= n+leeway {
		return v, err
	}
	s, ok := v.(Str)
	if !ok {
		return nil, typeErrorf("'%s' object cannot be truncated", v.typeName())
	}
	cut, err := r.sliceStr(s, None, Int(n-end.runes()), None)
	if err != nil {
		return nil, err
	}
	head := cut.(Str)
	if !boolArg(a[1]) {
		if i := strings.LastIndexByte(head.s, ' '); i >= 0 {
			head = head.sub(0, i)
		}
	}
	return concat(head, end), r.charge(len(head.s))
}

func filterWordcount(r *run, v Value, _ []Value) (Value, error) {
	s, err := r.str(v)
	if err != nil {
		return nil, err
	}
	return Int(len(strings.FieldsFunc(s.s, func(r rune) bool { return !isAlnum(r) && r != '_' }))), r.charge(len(s.s))
}

func filterURLEncode(r *run, v Value, _ []Value) (Value, error) {
	if s, ok := v.(Str); ok {
		return s.rewritten(urlQuote(s.s, "/", "%20")), r.charge(3 * len(s.s))
	}
	d, isDict := v.(*Dict)
	if isDict {
		v = &dictView{d, "items"}
	}
	next, err := iterate(v)
	if err != nil {
		s, err := r.str(v)
		return s.rewritten(urlQuote(s.s, "/", "%20")), err
	}
	var b builder
	for {
		item, ok, err := next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return b.str(), r.charge(b.size())
		}
		kv, err := r.unpack(item, 2)
		if err != nil {
			return nil, err
		}
		for i, part := range kv {
			s, err := r.str(part)
			if err != nil {
				return nil, err
			}
			switch {
			case i == 1:
				b.text("=")
			case b.len() > 0:
				b.text("&")
			}
			b.add(s.rewritten(urlQuote(s.s, "", "+")))
			if err := r.charge(3 * len(s.s)); err != nil {
				return nil, err
			}
		}
	}
}

// urlQuote escapes all but unreserved characters and those in safe.
func urlQuote(s, safe, space string) string {
	s = url.QueryEscape(s) // leaves letters, digits and -_.~
	s = strings.ReplaceAll(s, "+", space)
	if safe == "/" {
		s = strings.ReplaceAll(s, "%2F", "/")
	}
	return s
}

func filterFilesize(r *run, v Value, a []Value) (Value, error) {
	n, err := r.toFloat(v)
	if err != nil {
		return nil, err
	}
	base, unit := 1000.0, "B"
	prefixes := "kMGTPEZY"
	if boolArg(a[0]) {
		base, unit, prefixes = 1024, "iB", "KMGTPEZY"
	}
	if n == 1 {
		return Text("1 Byte"), nil
	}
	if n < base {
		whole, err := truncate(n)
		if err != nil {
			return nil, err
		}
		return Text(numberText(whole) + " Bytes"), nil
	}
	for i := 0; ; i++ {
		n /= base
		if n < base || i == len(prefixes)-1 {
			return Text(fmt.Sprintf("%.1f %c%s", n, prefixes[i], unit)), nil
		}
	}
}

func filterWordwrap(r *run, v Value, a []Value) (Value, error) {
	s, ok := v.(Str)
	if !ok {
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
		return nil, raisef("AttributeError", "'%s' object has no attribute 'splitlines'", v.typeName())
	}
	width, err := intArg(a[0], 79)
	if err != nil {
		return nil, err
	}
	if width <= 0 {
		return nil, valueErrorf("invalid width %d (must be > 0)", width)
	}
	sep := Text("\n")
	if !isNone(a[2]) {
		if sep, err = r.str(a[2]); err != nil {
			return nil, err
		}
	}
	long := a[1] == nil || truth(a[1])
	hyphens := a[3] == nil || truth(a[3])
	var b builder
	first := true
	for _, l := range splitLines(s, false) {
		rows := wrapLine(l.s, width, long, hyphens)
		if len(rows) == 0 {
			rows = []string{""}
		}
		if err := r.charge(len(l.s) + len(rows)*(len(sep.s)+valueSize)); err != nil {
			return nil, err
		}
		for _, row := range rows {
			if !first {
				b.add(sep)
			}
			first = false
			b.add(s.rewritten(row))
		}
	}
	return b.str(), nil
}
