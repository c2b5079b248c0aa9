package jinja

import (
	"fmt"
	"html"
	"net/url"
	"strings"
)

func filterTrim(r *run, v Value, a []Value) Value {
	s := r.str(v)
	chars := charsArg(a[0])
	r.charge(len(s.s))
	return s.strip(true, true, chars)
}

// charsArg is the optional argument of strip.
func charsArg(v Value) *Str {
	if isNone(v) {
		return nil
	}
	s, ok := v.(Str)
	if !ok {
		panic(typeErrorf("strip arg must be None or str"))
	}
	return &s
}

func filterEscape(r *run, v Value, _ []Value) Value {
	s := escape(r.str(v))
	r.charge(len(s.s))
	return s
}

func filterForceEscape(r *run, v Value, _ []Value) Value {
	s := r.str(v)
	s.markup = false
	return filterEscape(r, s, nil)
}

func filterSafe(r *run, v Value, _ []Value) Value {
	s := r.str(v)
	s.markup = true
	return s
}

func filterStriptags(r *run, v Value, _ []Value) Value {
	s := r.str(v)
	text := cutAll(cutAll(s.s, "<!--", "-->"), "<", ">")
	text = html.UnescapeString(strings.Join(strings.FieldsFunc(text, isSpace), " "))
	s.markup = false
	r.charge(3 * len(s.s))
	return s.rewritten(text)
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

func filterReplace(r *run, v Value, a []Value) Value {
	s := r.str(v)
	old := r.str(a[0])
	repl := r.str(a[1])
	n := -1
	if !isNone(a[2]) {
		n = index(a[2])
	}
	s.markup = false
	return r.replace(s, old, repl, n)
}

func filterJoin(r *run, v Value, a []Value) Value {
	sep := Value(Text(""))
	if a[0] != nil {
		sep = a[0]
	}
	d := r.str(sep)
	d.markup = false
	next := iterate(v)
	path := pathOf(a[1])
	var b builder
	for first := true; ; first = false {
		item, ok := next()
		if !ok {
			r.charge(24 * len(b.marks))
			return b.str()
		}
		item = r.follow(item, path, nil)
		s := r.str(item)
		r.chargeJoin(&b, len(d.s)+len(s.s))
		if !first {
			b.add(d)
		}
		b.add(s)
	}
}

func filterCenter(r *run, v Value, a []Value) Value {
	s := r.str(v)
	return r.pad(s, intArg(a[0], 80), '^', " ")
}

func filterIndent(r *run, v Value, a []Value) Value {
	s, ok := v.(Str)
	if !ok {
		defined(v)
		panic(typeErrorf("unsupported operand type(s) for +=: '%s' and 'str'", v.typeName()))
	}
	pad := Text("    ")
	switch w := a[0].(type) {
	case nil:
	case Str:
		pad = w
	default:
		n := index(w)
		r.chargeTimes(n, 1)
		pad = Text(strings.Repeat(" ", max(n, 0)))
	}
	lines := splitLines(s, false)
	if strings.HasSuffix(s.s, "\n") || s.s == "" {
		lines = append(lines, Str{})
	}
	r.chargeTimes(len(lines), len(pad.s)+24*(len(pad.marks)+1))
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
	r.charge(len(s.s))
	return out
}

func filterTruncate(r *run, v Value, a []Value) Value {
	n := intArg(a[0], 255)
	end := Text("...")
	if a[2] != nil {
		end = r.str(a[2])
	}
	leeway := 5
	if !isNone(a[3]) {
		leeway = index(a[3])
	}
	if n < end.runes() {
		panic(raisef("AssertionError", "expected length >= %d, got %d", end.runes(), n))
	}
	if leeway < 0 {
		panic(raisef("AssertionError", "expected leeway >= 0, got %d", leeway))
	}
	if length(v) <= n+leeway {
		return v
	}
	s, ok := v.(Str)
	if !ok {
		panic(typeErrorf("'%s' object cannot be truncated", v.typeName()))
	}
	head := r.sliceStr(s, None, Int(n-end.runes()), None).(Str)
	if !boolArg(a[1]) {
		if i := strings.LastIndexByte(head.s, ' '); i >= 0 {
			head = head.sub(0, i)
		}
	}
	r.charge(len(head.s))
	return concat(head, end)
}

func filterWordcount(r *run, v Value, _ []Value) Value {
	s := r.str(v)
	r.charge(len(s.s))
	return Int(len(strings.FieldsFunc(s.s, func(r rune) bool { return !isAlnum(r) && r != '_' })))
}

func filterURLEncode(r *run, v Value, _ []Value) Value {
	if s, ok := v.(Str); ok {
		r.charge(3 * len(s.s))
		return s.rewritten(urlQuote(s.s, "/", "%20"))
	}
	d, isDict := v.(*Dict)
	if isDict {
		v = &dictView{d, "items"}
	}
	it, ok := v.(iterable)
	if !ok {
		s := r.str(v)
		return s.rewritten(urlQuote(s.s, "/", "%20"))
	}
	next := it.iter()
	var b builder
	for {
		item, ok := next()
		if !ok {
			r.charge(b.size())
			return b.str()
		}
		kv := r.unpack(item, 2)
		for i, part := range kv {
			s := r.str(part)
			switch {
			case i == 1:
				b.text("=")
			case b.len() > 0:
				b.text("&")
			}
			b.add(s.rewritten(urlQuote(s.s, "", "+")))
			r.charge(3 * len(s.s))
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

func filterFilesize(r *run, v Value, a []Value) Value {
	n := r.toFloat(v)
	base, unit := 1000.0, "B"
	prefixes := "kMGTPEZY"
	if boolArg(a[0]) {
		base, unit, prefixes = 1024, "iB", "KMGTPEZY"
	}
	if n == 1 {
		return Text("1 Byte")
	}
	if n < base {
		return Text(numberText(truncate(n)) + " Bytes")
	}
	for i := 0; ; i++ {
		n /= base
		if n < base || i == len(prefixes)-1 {
			return Text(fmt.Sprintf("%.1f %c%s", n, prefixes[i], unit))
		}
	}
}

func filterWordwrap(r *run, v Value, a []Value) Value {
	s, ok := v.(Str)
	if !ok {
		defined(v)
		panic(raisef("AttributeError", "'%s' object has no attribute 'splitlines'", v.typeName()))
	}
	width := intArg(a[0], 79)
	if width <= 0 {
		panic(valueErrorf("invalid width %d (must be > 0)", width))
	}
	sep := Text("\n")
	if !isNone(a[2]) {
		sep = r.str(a[2])
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
		r.charge(len(l.s) + len(rows)*(len(sep.s)+valueSize))
		for _, row := range rows {
			if !first {
				b.add(sep)
			}
			first = false
			b.add(s.rewritten(row))
		}
	}
	return b.str()
}
