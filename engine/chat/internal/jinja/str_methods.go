package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A strMethod is a method of str. Its params are positional only unless
// keywords is set; missing ones are nil.
type strMethod struct {
	params   []string
	required int
	keywords bool
	apply    func(r *run, s Str, a []Value) Value
	raw      func(r *run, s Str, a args) Value
}

var strMethods = map[string]strMethod{
	"capitalize":   rewrite(capitalize),
	"casefold":     rewrite(func(s string) string { return lower(strings.ReplaceAll(s, "ß", "ss")) }),
	"center":       padMethod('^'),
	"count":        {params: []string{"sub", "start", "end"}, required: 1, apply: strCount},
	"endswith":     {params: []string{"suffix", "start", "end"}, required: 1, apply: affix(strings.HasSuffix, "endswith")},
	"expandtabs":   {params: []string{"tabsize"}, keywords: true, apply: strExpandTabs},
	"find":         findMethod(strings.Index, false),
	"format":       {raw: func(r *run, s Str, a args) Value { return r.format(s, a) }},
	"format_map":   {params: []string{"mapping"}, required: 1, apply: strFormatMap},
	"index":        findMethod(strings.Index, true),
	"isalnum":      every(isAlnum),
	"isalpha":      every(unicode.IsLetter),
	"isascii":      predicate(isASCII),
	"isdecimal":    every(unicode.IsDigit),
	"isdigit":      every(isDigit),
	"isidentifier": predicate(isIdentifier),
	"islower":      predicate(isLower),
	"isnumeric":    every(isNumeric),
	"isprintable":  predicate(func(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 }),
	"isspace":      every(isSpace),
	"istitle":      predicate(isTitle),
	"isupper":      predicate(isUpper),
	"join":         {params: []string{"iterable"}, required: 1, apply: strJoin},
	"ljust":        padMethod('<'),
	"lower":        rewrite(lower),
	"lstrip":       stripMethod(true, false),
	"partition":    {params: []string{"sep"}, required: 1, apply: partition(strings.Index, false)},
	"removeprefix": {params: []string{"prefix"}, required: 1, apply: strRemovePrefix},
	"removesuffix": {params: []string{"suffix"}, required: 1, apply: strRemoveSuffix},
	"replace":      {params: []string{"old", "new", "count"}, required: 2, apply: strReplace},
	"rfind":        findMethod(strings.LastIndex, false),
	"rindex":       findMethod(strings.LastIndex, true),
	"rjust":        padMethod('>'),
	"rpartition":   {params: []string{"sep"}, required: 1, apply: partition(strings.LastIndex, true)},
	"rsplit":       {params: []string{"sep", "maxsplit"}, keywords: true, apply: splitMethod(splitOnRight, splitBlanksRight)},
	"rstrip":       stripMethod(false, true),
	"split":        {params: []string{"sep", "maxsplit"}, keywords: true, apply: splitMethod(splitOn, splitBlanks)},
	"splitlines":   {params: []string{"keepends"}, keywords: true, apply: strSplitLines},
	"startswith":   {params: []string{"prefix", "start", "end"}, required: 1, apply: affix(strings.HasPrefix, "startswith")},
	"strip":        stripMethod(true, true),
	"swapcase":     rewrite(swapCase),
	"title":        rewrite(title),
	"upper":        rewrite(upper),
	"zfill":        {params: []string{"width"}, required: 1, apply: strZfill},
}

func (m strMethod) call(r *run, name string, s Str, a args) Value {
	r.charge(len(s.s))
	if m.raw != nil {
		return m.raw(r, s, a)
	}
	if len(a.names) > 0 && !m.keywords {
		panic(typeErrorf("str.%s() takes no keyword arguments", name))
	}
	return m.apply(r, s, a.bind(name, m.required, m.params...))
}

// strArg is a string argument.
func strArg(v Value) Str {
	s, ok := v.(Str)
	if !ok {
		panic(typeErrorf("must be str, not %s", v.typeName()))
	}
	return s
}

func rewrite(f func(string) string) strMethod {
	return strMethod{apply: func(r *run, s Str, _ []Value) Value { return s.rewritten(f(s.s)) }}
}

func predicate(f func(string) bool) strMethod {
	return strMethod{apply: func(_ *run, s Str, _ []Value) Value { return Bool(f(s.s)) }}
}

// every holds for a string that is not empty and whose every character
// passes.
func every(f func(rune) bool) strMethod {
	return predicate(func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !f(r) }) < 0
	})
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !isWord(r) || i == 0 && !(r == '_' || unicode.IsLetter(r)) {
			return false
		}
	}
	return s != ""
}

func stripMethod(left, right bool) strMethod {
	return strMethod{params: []string{"chars"}, apply: func(_ *run, s Str, a []Value) Value {
		return s.strip(left, right, charsArg(a[0]))
	}}
}

func padMethod(side byte) strMethod {
	return strMethod{params: []string{"width", "fillchar"}, required: 1, apply: func(r *run, s Str, a []Value) Value {
		width := index(a[0])
		fill := Text(" ")
		if a[1] != nil {
			fill = strArg(a[1])
			if fill.runes() != 1 {
				panic(typeErrorf("The fill character must be exactly one character long"))
			}
		}
		if origin(fill) != trusted {
			s = s.rewritten(s.s)
			return markAll(r.pad(s, width, side, fill.s).s, Outside)
		}
		return r.pad(s, width, side, fill.s)
	}}
}

// pad fills s to width code points: '<' on the right, '>' on the left, '^' on
// both sides.
func (r *run) pad(s Str, width int, side byte, fill string) Str {
	n := width - s.runes()
	if n <= 0 {
		return s
	}
	r.chargeTimes(n, len(fill))
	left := 0
	switch side {
	case '>':
		left = n
	case '^':
		left = n/2 + n&width&1 // where Python puts the odd one
	}
	var b builder
	b.text(strings.Repeat(fill, left))
	b.add(s)
	b.text(strings.Repeat(fill, n-left))
	out := b.str()
	out.markup = s.markup
	return out
}

func strZfill(r *run, s Str, a []Value) Value {
	width := index(a[0])
	sign := 0
	if s.s != "" && (s.s[0] == '+' || s.s[0] == '-') {
		sign = 1
	}
	digits := r.pad(s.sub(sign, len(s.s)), width-sign, '>', "0")
	return concat(s.sub(0, sign), digits)
}

// window is s[start:end] and the code point it starts at.
func window(s Str, start, end Value) (part string, from int, ok bool) {
	n := s.runes()
	from, to := findBounds(n, start, end)
	if i, small := smallInt(start); start != nil && small && i > int64(n) || from > to {
		return "", from, false
	}
	if n == len(s.s) {
		return s.s[from:to], from, true
	}
	at := s.offsets()
	return s.s[at[from]:at[to]], from, true
}

func findMethod(find func(s, sub string) int, must bool) strMethod {
	return strMethod{params: []string{"sub", "start", "end"}, required: 1, apply: func(_ *run, s Str, a []Value) Value {
		sub := strArg(a[0])
		part, from, ok := window(s, a[1], a[2])
		if ok {
			if i := find(part, sub.s); i >= 0 {
				return Int(from + utf8.RuneCountInString(part[:i]))
			}
		}
		if must {
			panic(valueErrorf("substring not found"))
		}
		return Int(-1)
	}}
}

func strCount(_ *run, s Str, a []Value) Value {
	sub := strArg(a[0])
	part, _, ok := window(s, a[1], a[2])
	if !ok {
		return Int(0)
	}
	return Int(strings.Count(part, sub.s))
}

func affix(has func(s, affix string) bool, name string) func(*run, Str, []Value) Value {
	return func(r *run, s Str, a []Value) Value {
		part, _, ok := window(s, a[1], a[2])
		options := []Value{a[0]}
		if t, isTuple := a[0].(tuple); isTuple {
			options = t.items
		}
		for _, o := range options {
			x, isStr := o.(Str)
			if !isStr {
				panic(typeErrorf("%s first arg must be str or a tuple of str, not %s", name, o.typeName()))
			}
			r.charge(1)
			if ok && has(part, x.s) {
				return Bool(true)
			}
		}
		return Bool(false)
	}
}

func strJoin(r *run, sep Str, a []Value) Value {
	it, ok := a[0].(iterable)
	if !ok {
		panic(typeErrorf("can only join an iterable"))
	}
	next := it.iter()
	var b builder
	for i := 0; ; i++ {
		item, ok := next()
		if !ok {
			out := b.str()
			out.markup = sep.markup
			r.charge(24 * len(b.marks))
			return out
		}
		s, ok := item.(Str)
		if !ok {
			panic(typeErrorf("sequence item %d: expected str instance, %s found", i, item.typeName()))
		}
		if sep.markup {
			s = escape(s)
		}
		r.chargeJoin(&b, len(sep.s)+len(s.s))
		if i > 0 {
			b.add(sep)
		}
		b.add(s)
	}
}

func strReplace(r *run, s Str, a []Value) Value {
	old := strArg(a[0])
	repl := strArg(a[1])
	n := -1
	if a[2] != nil {
		n = index(a[2])
	}
	if s.markup {
		repl = escape(repl)
	}
	return r.replace(s, old, repl, n)
}

// replace replaces old by repl at most n times; n < 0 is no limit. An empty
// old matches before every character and at the end.
func (r *run) replace(s, old, repl Str, n int) Value {
	found := strings.Count(s.s, old.s)
	if n >= 0 {
		found = min(found, n)
	}
	r.chargeTimes(found, len(repl.s)+24*(1+len(repl.marks)))
	r.charge(len(s.s) + 24*len(s.marks))
	if found == 0 {
		return s
	}
	if len(s.marks) == 0 && len(repl.marks) == 0 {
		return Str{s: strings.Replace(s.s, old.s, repl.s, n), markup: s.markup}
	}
	var b builder
	at := 0
	cut := cutter{s: s}
	for ; found > 0; found-- {
		i := strings.Index(s.s[at:], old.s)
		if i < 0 {
			break
		}
		b.add(cut.sub(at, at+i))
		b.add(repl)
		at += i + len(old.s)
		if old.s == "" {
			_, w := utf8.DecodeRuneInString(s.s[at:])
			b.add(cut.sub(at, at+w))
			at += w
		}
	}
	b.add(cut.sub(at, len(s.s)))
	out := b.str()
	out.markup = s.markup
	return out
}

// A cutter takes substrings from left to right in time linear in the marks.
type cutter struct {
	s    Str
	mark int // first mark that may still matter
}

func (c *cutter) sub(from, to int) Str {
	marks := c.s.marks
	for c.mark < len(marks) && marks[c.mark].To <= from {
		c.mark++
	}
	end := c.mark
	for end < len(marks) && marks[end].From < to {
		end++
	}
	return Str{s: c.s.s, marks: marks[c.mark:end], markup: c.s.markup}.sub(from, to)
}

func splitMethod(on func(Str, string, int) []Str, blanks func(Str, int) []Str) func(*run, Str, []Value) Value {
	return func(r *run, s Str, a []Value) Value {
		n := intArg(a[1], -1)
		var parts []Str
		if isNone(a[0]) {
			r.chargeSplit(s, len(strings.Fields(s.s)))
			parts = blanks(s, n)
		} else {
			sep := strArg(a[0])
			if sep.s == "" {
				panic(valueErrorf("empty separator"))
			}
			r.chargeSplit(s, strings.Count(s.s, sep.s))
			parts = on(s, sep.s, n)
		}
		return strList(parts)
	}
}

// chargeSplit pays for cutting s into n parts, each of which looks at every
// mark.
func (r *run) chargeSplit(s Str, n int) {
	r.chargeTimes(n+1, 2*valueSize)
	r.steps -= min(n*len(s.marks)/8, r.steps)
	r.charge(1)
}

func strList(parts []Str) *List {
	items := make([]Value, len(parts))
	for i, p := range parts {
		items[i] = p
	}
	return &List{items}
}

func strSplitLines(r *run, s Str, a []Value) Value {
	r.chargeSplit(s, strings.Count(s.s, "\n"))
	lines := splitLines(s, boolArg(a[0]))
	r.charge(valueSize * len(lines))
	return strList(lines)
}

func partition(find func(s, sep string) int, right bool) func(*run, Str, []Value) Value {
	return func(_ *run, s Str, a []Value) Value {
		sep := strArg(a[0])
		if sep.s == "" {
			panic(valueErrorf("empty separator"))
		}
		i := find(s.s, sep.s)
		switch {
		case i >= 0:
			return tuple{items: []Value{s.sub(0, i), s.sub(i, i+len(sep.s)), s.sub(i+len(sep.s), len(s.s))}}
		case right:
			return tuple{items: []Value{Str{}, Str{}, s}}
		}
		return tuple{items: []Value{s, Str{}, Str{}}}
	}
}

func strRemovePrefix(_ *run, s Str, a []Value) Value {
	p := strArg(a[0])
	if strings.HasPrefix(s.s, p.s) {
		s = s.sub(len(p.s), len(s.s))
	}
	return s
}

func strRemoveSuffix(_ *run, s Str, a []Value) Value {
	p := strArg(a[0])
	if strings.HasSuffix(s.s, p.s) {
		s = s.sub(0, len(s.s)-len(p.s))
	}
	return s
}

func strExpandTabs(r *run, s Str, a []Value) Value {
	size := intArg(a[0], 8)
	r.chargeTimes(strings.Count(s.s, "\t"), max(size, 0))
	var b strings.Builder
	col := 0
	for _, c := range s.s {
		switch c {
		case '\t':
			if size > 0 {
				n := size - col%size
				b.WriteString(strings.Repeat(" ", n))
				col += n
			}
			continue
		case '\n', '\r':
			col = -1
		}
		b.WriteRune(c)
		col++
	}
	return s.rewritten(b.String())
}

func strFormatMap(r *run, s Str, a []Value) Value {
	d, ok := a[0].(*Dict)
	if !ok {
		panic(typeErrorf("'%s' object is not a mapping", a[0].typeName()))
	}
	kw := args{}
	for i, k := range d.keys {
		if name, ok := k.(Str); ok {
			kw.names = append(kw.names, name.s)
			kw.named = append(kw.named, d.vals[i])
		}
	}
	return r.format(s, kw)
}
