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
	apply    func(r *run, s Str, a []Value) (Value, error)
	raw      func(r *run, s Str, a args) (Value, error)
}

var strMethods = map[string]strMethod{
	"capitalize":   rewrite(capitalize),
	"casefold":     rewrite(func(s string) string { return lower(strings.ReplaceAll(s, "ß", "ss")) }),
	"center":       padMethod('^'),
	"count":        {params: []string{"sub", "start", "end"}, required: 1, apply: strCount},
	"endswith":     {params: []string{"suffix", "start", "end"}, required: 1, apply: affix(strings.HasSuffix, "endswith")},
	"expandtabs":   {params: []string{"tabsize"}, keywords: true, apply: strExpandTabs},
	"find":         findMethod(strings.Index, false),
	"format":       {raw: func(r *run, s Str, a args) (Value, error) { return r.format(s, a) }},
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

func (m strMethod) call(r *run, name string, s Str, a args) (Value, error) {
	if err := r.charge(len(s.s)); err != nil {
		return nil, err
	}
	if m.raw != nil {
		return m.raw(r, s, a)
	}
	if len(a.names) > 0 && !m.keywords {
		return nil, typeErrorf("str.%s() takes no keyword arguments", name)
	}
	vals, err := a.bind(name, m.required, m.params...)
	if err != nil {
		return nil, err
	}
	return m.apply(r, s, vals)
}

// strArg is a string argument.
func strArg(v Value) (Str, error) {
	s, ok := v.(Str)
	if !ok {
		if _, u := v.(undefined); u {
			return s, typeErrorf("must be str, not Undefined")
		}
		return s, typeErrorf("must be str, not %s", v.typeName())
	}
	return s, nil
}

func rewrite(f func(string) string) strMethod {
	return strMethod{apply: func(r *run, s Str, _ []Value) (Value, error) { return s.rewritten(f(s.s)), nil }}
}

func predicate(f func(string) bool) strMethod {
	return strMethod{apply: func(_ *run, s Str, _ []Value) (Value, error) { return Bool(f(s.s)), nil }}
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
	return strMethod{params: []string{"chars"}, apply: func(_ *run, s Str, a []Value) (Value, error) {
		chars, err := charsArg(a[0])
		if err != nil {
			return nil, err
		}
		return s.strip(left, right, chars), nil
	}}
}

func padMethod(side byte) strMethod {
	return strMethod{params: []string{"width", "fillchar"}, required: 1, apply: func(r *run, s Str, a []Value) (Value, error) {
		width, err := index(a[0])
		if err != nil {
			return nil, err
		}
		fill := Text(" ")
		if a[1] != nil {
			if fill, err = strArg(a[1]); err != nil {
				return nil, err
			}
			if fill.runes() != 1 {
				return nil, typeErrorf("The fill character must be exactly one character long")
			}
		}
		if origin(fill) != trusted {
			s = s.rewritten(s.s)
			out, err := r.pad(s, width, side, fill.s)
			return markAll(out.s, Outside), err
		}
		return r.pad(s, width, side, fill.s)
	}}
}

// pad fills s to width code points: '<' on the right, '>' on the left, '^' on
// both sides.
func (r *run) pad(s Str, width int, side byte, fill string) (Str, error) {
	n := width - s.runes()
	if n <= 0 {
		return s, nil
	}
	if err := r.chargeTimes(n, len(fill)); err != nil {
		return Str{}, err
	}
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
	return out, nil
}

func strZfill(r *run, s Str, a []Value) (Value, error) {
	width, err := index(a[0])
	if err != nil {
		return nil, err
	}
	sign := 0
	if s.s != "" && (s.s[0] == '+' || s.s[0] == '-') {
		sign = 1
	}
	digits, err := r.pad(s.sub(sign, len(s.s)), width-sign, '>', "0")
	return concat(s.sub(0, sign), digits), err
}

// window is s[start:end] and the code point it starts at.
func window(s Str, start, end Value) (part string, from int, ok bool, err error) {
	n := s.runes()
	from, to, err := findBounds(n, start, end)
	if err != nil {
		return "", 0, false, err
	}
	if i, small := smallInt(start); start != nil && small && i > int64(n) || from > to {
		return "", from, false, nil
	}
	if n == len(s.s) {
		return s.s[from:to], from, true, nil
	}
	at := s.offsets()
	return s.s[at[from]:at[to]], from, true, nil
}

func findMethod(find func(s, sub string) int, must bool) strMethod {
	return strMethod{params: []string{"sub", "start", "end"}, required: 1, apply: func(_ *run, s Str, a []Value) (Value, error) {
		sub, err := strArg(a[0])
		if err != nil {
			return nil, err
		}
		part, from, ok, err := window(s, a[1], a[2])
		if err != nil {
			return nil, err
		}
		if ok {
			if i := find(part, sub.s); i >= 0 {
				return Int(from + utf8.RuneCountInString(part[:i])), nil
			}
		}
		if must {
			return nil, valueErrorf("substring not found")
		}
		return Int(-1), nil
	}}
}

func strCount(_ *run, s Str, a []Value) (Value, error) {
	sub, err := strArg(a[0])
	if err != nil {
		return nil, err
	}
	part, _, ok, err := window(s, a[1], a[2])
	if err != nil || !ok {
		return Int(0), err
	}
	return Int(strings.Count(part, sub.s)), nil
}

func affix(has func(s, affix string) bool, name string) func(*run, Str, []Value) (Value, error) {
	return func(r *run, s Str, a []Value) (Value, error) {
		part, _, ok, err := window(s, a[1], a[2])
		if err != nil {
			return nil, err
		}
		options := []Value{a[0]}
		if t, isTuple := a[0].(tuple); isTuple {
			options = t.items
		}
		for _, o := range options {
			x, isStr := o.(Str)
			if !isStr {
				return nil, typeErrorf("%s first arg must be str or a tuple of str, not %s", name, o.typeName())
			}
			if err := r.charge(1); err != nil {
				return nil, err
			}
			if ok && has(part, x.s) {
				return Bool(true), nil
			}
		}
		return Bool(false), nil
	}
}

func strJoin(r *run, sep Str, a []Value) (Value, error) {
	next, err := iterate(a[0])
	if err != nil {
		return nil, typeErrorf("can only join an iterable")
	}
	var b builder
	for i := 0; ; i++ {
		item, ok, err := next()
		if err != nil {
			return nil, err
		}
		if !ok {
			out := b.str()
			out.markup = sep.markup
			return out, r.charge(24 * len(b.marks))
		}
		s, ok := item.(Str)
		if !ok {
			return nil, typeErrorf("sequence item %d: expected str instance, %s found", i, item.typeName())
		}
		if sep.markup {
			s = escape(s)
		}
		if err := r.chargeJoin(&b, len(sep.s)+len(s.s)); err != nil {
			return nil, err
		}
		if i > 0 {
			b.add(sep)
		}
		b.add(s)
	}
}

func strReplace(r *run, s Str, a []Value) (Value, error) {
	old, err := strArg(a[0])
	if err != nil {
		return nil, err
	}
	repl, err := strArg(a[1])
	if err != nil {
		return nil, err
	}
	n := -1
	if a[2] != nil {
		if n, err = index(a[2]); err != nil {
			return nil, err
		}
	}
	if s.markup {
		repl = escape(repl)
	}
	return r.replace(s, old, repl, n)
}

// replace replaces old by repl at most n times; n < 0 is no limit. An empty
// old matches before every character and at the end.
func (r *run) replace(s, old, repl Str, n int) (Value, error) {
	found := strings.Count(s.s, old.s)
	if n >= 0 {
		found = min(found, n)
	}
	if err := r.chargeTimes(found, len(repl.s)+24*(1+len(repl.marks))); err != nil {
		return nil, err
	}
	if err := r.charge(len(s.s) + 24*len(s.marks)); err != nil {
		return nil, err
	}
	if found == 0 {
		return s, nil
	}
	if len(s.marks) == 0 && len(repl.marks) == 0 {
		return Str{s: strings.Replace(s.s, old.s, repl.s, n), markup: s.markup}, nil
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
	return out, nil
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

func splitMethod(on func(Str, string, int) []Str, blanks func(Str, int) []Str) func(*run, Str, []Value) (Value, error) {
	return func(r *run, s Str, a []Value) (Value, error) {
		n, err := intArg(a[1], -1)
		if err != nil {
			return nil, err
		}
		var parts []Str
		if isNone(a[0]) {
			if err := r.chargeSplit(s, len(strings.Fields(s.s))); err != nil {
				return nil, err
			}
			parts = blanks(s, n)
		} else {
			sep, err := strArg(a[0])
			if err != nil {
				return nil, err
			}
			if sep.s == "" {
				return nil, valueErrorf("empty separator")
			}
			if err := r.chargeSplit(s, strings.Count(s.s, sep.s)); err != nil {
				return nil, err
			}
			parts = on(s, sep.s, n)
		}
		return strList(parts), nil
	}
}

// chargeSplit pays for cutting s into n parts, each of which looks at every
// mark.
func (r *run) chargeSplit(s Str, n int) error {
	if err := r.chargeTimes(n+1, 2*valueSize); err != nil {
		return err
	}
	r.steps -= min(n*len(s.marks)/8, r.steps)
	return r.charge(1)
}

func strList(parts []Str) *List {
	items := make([]Value, len(parts))
	for i, p := range parts {
		items[i] = p
	}
	return &List{items}
}

func strSplitLines(r *run, s Str, a []Value) (Value, error) {
	if err := r.chargeSplit(s, strings.Count(s.s, "\n")); err != nil {
		return nil, err
	}
	lines := splitLines(s, boolArg(a[0]))
	return strList(lines), r.charge(valueSize * len(lines))
}

func partition(find func(s, sep string) int, right bool) func(*run, Str, []Value) (Value, error) {
	return func(_ *run, s Str, a []Value) (Value, error) {
		sep, err := strArg(a[0])
		if err != nil {
			return nil, err
		}
		if sep.s == "" {
			return nil, valueErrorf("empty separator")
		}
		i := find(s.s, sep.s)
		switch {
		case i >= 0:
			return tuple{items: []Value{s.sub(0, i), s.sub(i, i+len(sep.s)), s.sub(i+len(sep.s), len(s.s))}}, nil
		case right:
			return tuple{items: []Value{Str{}, Str{}, s}}, nil
		}
		return tuple{items: []Value{s, Str{}, Str{}}}, nil
	}
}

func strRemovePrefix(_ *run, s Str, a []Value) (Value, error) {
	p, err := strArg(a[0])
	if err == nil && strings.HasPrefix(s.s, p.s) {
		s = s.sub(len(p.s), len(s.s))
	}
	return s, err
}

func strRemoveSuffix(_ *run, s Str, a []Value) (Value, error) {
	p, err := strArg(a[0])
	if err == nil && strings.HasSuffix(s.s, p.s) {
		s = s.sub(0, len(s.s)-len(p.s))
	}
	return s, err
}

func strExpandTabs(r *run, s Str, a []Value) (Value, error) {
	size, err := intArg(a[0], 8)
	if err != nil {
		return nil, err
	}
	if err := r.chargeTimes(strings.Count(s.s, "\t"), max(size, 0)); err != nil {
		return nil, err
	}
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
	return s.rewritten(b.String()), nil
}

func strFormatMap(r *run, s Str, a []Value) (Value, error) {
	d, ok := a[0].(*Dict)
	if !ok {
		return nil, typeErrorf("'%s' object is not a mapping", a[0].typeName())
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
