package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A pattern is a regular expression of ECMAScript with the u flag, as JSON Schema
// recommends; what only the older syntax allows (escapes of characters that need none,
// lone braces) is read the older way. It is searched for, not matched whole.

const (
	maxPattern  = 1 << 14 // bytes
	maxGroups   = 200     // parentheses inside each other
	maxRepeated = 1 << 16 // {n}
)

type patternParser struct {
	rest  string
	depth int
}

// parsePattern returns the strings in which the pattern is found.
func parsePattern(source string) (*node, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("longer than %d bytes", maxPattern)
	}
	if !utf8.ValidString(source) {
		return nil, errors.New("not UTF-8")
	}
	p := patternParser{rest: source}
	n, err := p.alternatives()
	if err == nil && p.rest != "" {
		err = errors.New("an unmatched )")
	}
	if err != nil {
		return nil, fmt.Errorf("%w in the pattern %q", err, source)
	}
	f, err := anchored(n)
	if err != nil {
		return nil, fmt.Errorf("%w in the pattern %q", err, source)
	}
	var found []*node
	for at, n := range f {
		if n == nil {
			continue
		}
		before, after := anything, anything
		if at&atBegin != 0 {
			before = empty
		}
		if at&atEnd != 0 {
			after = empty
		}
		found = append(found, seq(before, n, after))
	}
	return or(found...), nil
}

// Anchors are taken out of a pattern by telling apart what is only found at the begin
// of the string, only at its end, at both, or anywhere.
const (
	atBegin = 1 << iota
	atEnd
)

// forms are what a pattern matches under each combination of anchors; nil is nothing.
type forms [4]*node

func (f *forms) add(at int, n *node) {
	if f[at] == nil {
		f[at] = n
	} else {
		f[at] = or(f[at], n)
	}
}

func anchored(n *node) (forms, error) {
	var f forms
	switch n.op {
	case class:
		f.add(0, n)
	case begin:
		f.add(atBegin, empty)
	case end:
		f.add(atEnd, empty)
	case either:
		for _, m := range n.list {
			g, err := anchored(m)
			if err != nil {
				return f, err
			}
			for at, n := range g {
				if n != nil {
					f.add(at, n)
				}
			}
		}
	case concat:
		f.add(0, empty)
		for _, m := range n.list {
			right, err := anchored(m)
			if err != nil {
				return f, err
			}
			f = follow(f, right)
		}
	case repeat:
		g, err := anchored(n.list[0])
		if err != nil {
			return f, err
		}
		if g[atBegin] == nil && g[atEnd] == nil && g[atBegin|atEnd] == nil {
			if g[0] != nil {
				f.add(0, times(g[0], n.min, n.max))
			}
			return f, nil
		}
		if n.max != 1 {
			return f, errors.New("^ or $ inside a repetition")
		}
		f = g
		if n.min == 0 {
			f.add(0, empty)
		}
	}
	return f, nil
}

// follow is a after which b comes. What stands before a begin, and after an end, must
// be empty.
func follow(a, b forms) (f forms) {
	for i, x := range a {
		for j, y := range b {
			if x == nil || y == nil {
				continue
			}
			if j&atBegin != 0 {
				if !x.nullable() {
					continue
				}
				x = empty
			}
			if i&atEnd != 0 {
				if !y.nullable() {
					continue
				}
				y = empty
			}
			f.add(i|j, seq(x, y))
			x = a[i]
		}
	}
	return f
}

func (p *patternParser) alternatives() (*node, error) {
	if p.depth++; p.depth > maxGroups {
		return nil, fmt.Errorf("more than %d groups inside each other", maxGroups)
	}
	defer func() { p.depth-- }()
	var list []*node
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if !p.skip("|") {
			if len(list) == 1 {
				return list[0], nil
			}
			return &node{op: either, list: list}, nil
		}
	}
}

func (p *patternParser) skip(s string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, s)
	return ok
}

func (p *patternParser) next() rune {
	r, n := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[n:]
	return r
}

func (p *patternParser) sequence() (*node, error) {
	var list []*node
	for p.rest != "" && p.rest[0] != '|' && p.rest[0] != ')' {
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		if n, err = p.quantified(n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return &node{op: concat, list: list}, nil
}

func (p *patternParser) atom() (*node, error) {
	switch r := p.next(); r {
	case '^':
		return &node{op: begin}, nil
	case '$':
		return &node{op: end}, nil
	case '.':
		return &node{op: class, set: lineEnds.others()}, nil
	case '[':
		set, err := p.brackets()
		return &node{op: class, set: set}, err
	case '(':
		return p.group()
	case '*', '+', '?':
		return nil, fmt.Errorf("nothing before %q to repeat", r)
	case '\\':
		set, err := p.escape(false)
		return &node{op: class, set: set}, err
	default:
		return chars(r, r), nil
	}
}

func (p *patternParser) group() (*node, error) {
	if p.skip("?") {
		switch {
		case p.skip(":"):
		case p.skip("="), p.skip("!"), p.skip("<="), p.skip("<!"):
			return nil, errors.New("look-around is not supported,")
		case p.skip("<"):
			name, rest, ok := strings.Cut(p.rest, ">")
			if !ok || name == "" {
				return nil, errors.New("a group without a name")
			}
			p.rest = rest
		default:
			return nil, errors.New("an unknown kind of group")
		}
	}
	n, err := p.alternatives()
	if err == nil && !p.skip(")") {
		err = errors.New("a missing )")
	}
	return n, err
}

func (p *patternParser) quantified(n *node) (*node, error) {
	least, most := 1, 1
	switch {
	case p.skip("*"):
		least, most = 0, -1
	case p.skip("+"):
		least, most = 1, -1
	case p.skip("?"):
		least, most = 0, 1
	case strings.HasPrefix(p.rest, "{"):
		inside, rest, _ := strings.Cut(p.rest[1:], "}")
		lo, hi, two := strings.Cut(inside, ",")
		var err error
		if least, err = strconv.Atoi(lo); err != nil || !digitsOnly(lo) || !digitsOnly(hi) {
			if digitsOnly(lo) && digitsOnly(hi) && lo != "" {
				return nil, fmt.Errorf("the repetition {%s}, above %d,", inside, maxRepeated)
			}
			return n, nil // a brace
		}
		p.rest = rest
		switch {
		case !two:
			most = least
		case hi == "":
			most = -1
		default:
			if most, err = strconv.Atoi(hi); err != nil {
				most = maxRepeated + 1
			}
			if most < least {
				return nil, fmt.Errorf("the repetition {%s}, which ends before it begins,", inside)
			}
		}
		if least > maxRepeated || most > maxRepeated {
			return nil, fmt.Errorf("the repetition {%s}, above %d,", inside, maxRepeated)
		}
	default:
		return n, nil
	}
	p.skip("?") // lazy: the same strings are matched
	if strings.HasPrefix(p.rest, "*") || strings.HasPrefix(p.rest, "+") || strings.HasPrefix(p.rest, "?") {
		return nil, errors.New("two repetitions in a row")
	}
	return &node{op: repeat, list: []*node{n}, min: least, max: most}, nil
}

func digitsOnly(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// brackets reads a class after its bracket.
func (p *patternParser) brackets() (ranges, error) {
	negated := p.skip("^")
	var set ranges
	for {
		if p.rest == "" {
			return nil, errors.New("a missing ]")
		}
		if p.skip("]") {
			break
		}
		lo, err := p.member()
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(p.rest, "-") || strings.HasPrefix(p.rest, "-]") {
			set = union(set, lo)
			continue
		}
		p.skip("-")
		hi, err := p.member()
		switch {
		case err != nil:
			return nil, err
		case !lo.single() || !hi.single(): // a class on one side: the hyphen is one
			set = union(set, lo, hi, ranges{'-', '-'})
		case lo[0] > hi[0]:
			return nil, errors.New("a range the wrong way round")
		default:
			set = union(set, ranges{lo[0], hi[0]})
		}
	}
	if negated {
		return set.others(), nil
	}
	return set.within(anyChar.set), nil
}

func (s ranges) single() bool { return len(s) == 2 && s[0] == s[1] }

func (p *patternParser) member() (ranges, error) {
	r := p.next()
	if r == '\\' {
		return p.escape(true)
	}
	return ranges{r, r}, nil
}

var (
	lineEnds = ranges{'\n', '\n', '\r', '\r', 0x2028, 0x2029}
	digits   = ranges{'0', '9'}
	words    = ranges{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
	spaces   = ranges{'\t', '\r', ' ', ' ', 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff}
)

// escapes of one character or class.
var escapes = map[rune]ranges{
	'd': digits, 'D': digits.others(), 'w': words, 'W': words.others(), 's': spaces, 'S': spaces.others(),
	'n': {'\n', '\n'}, 'r': {'\r', '\r'}, 't': {'\t', '\t'}, 'v': {'\v', '\v'}, 'f': {'\f', '\f'},
}

// escape reads what follows a backslash, in a class or outside.
func (p *patternParser) escape(inClass bool) (ranges, error) {
	if p.rest == "" {
		return nil, errors.New("a backslash at the end")
	}
	r := p.next()
	if set, ok := escapes[r]; ok {
		return set, nil
	}
	one := func(r rune) (ranges, error) { return ranges{r, r}, nil }
	switch {
	case r == 'b' && inClass:
		return one('\b')
	case r == 'b' || r == 'B':
		return nil, fmt.Errorf(`the word boundary \%c is not supported,`, r)
	case r == '0' && !(p.rest != "" && digitsOnly(p.rest[:1])):
		return one(0)
	case r >= '0' && r <= '9' || r == 'k':
		return nil, errors.New("a back reference or octal escape is not supported,")
	case r == 'c':
		if p.rest != "" && unicode.IsLetter(rune(p.rest[0])) && p.rest[0] < 0x80 {
			return one(p.next() % 32)
		}
		return nil, errors.New(`\c without a letter`)
	case r == 'x':
		return p.hex(2)
	case r == 'u':
		return p.unicodeEscape()
	case r == 'p' || r == 'P':
		set, err := p.property()
		if r == 'P' {
			set = set.others()
		}
		return set, err
	}
	return one(r)
}

func (p *patternParser) hex(n int) (ranges, error) {
	if len(p.rest) >= n {
		if v, err := strconv.ParseUint(p.rest[:n], 16, 32); err == nil && v <= unicode.MaxRune {
			p.rest = p.rest[n:]
			return ranges{rune(v), rune(v)}, nil
		}
	}
	return nil, errors.New("a broken escape of a character")
}

func (p *patternParser) unicodeEscape() (ranges, error) {
	if p.skip("{") {
		n := strings.IndexByte(p.rest, '}')
		if n <= 0 || n > 8 {
			return nil, errors.New("a broken escape of a character")
		}
		set, err := p.hex(n)
		p.skip("}")
		return set, err
	}
	set, err := p.hex(4)
	if err != nil || set[0] < 0xd800 || set[0] > 0xdbff || !strings.HasPrefix(p.rest, `\u`) {
		return set, err
	}
	before := p.rest
	p.skip(`\u`)
	low, err := p.hex(4)
	if err != nil || low[0] < 0xdc00 || low[0] > 0xdfff {
		p.rest = before
		return set, nil
	}
	r := (set[0]-0xd800)<<10 + (low[0] - 0xdc00) + 0x10000
	return ranges{r, r}, nil
}

// longNames of general categories; the short ones are unicode's.
var longNames = map[string]string{
	"Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo",
	"Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me",
	"Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
	"Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps", "Close_Punctuation": "Pe",
	"Initial_Punctuation": "Pi", "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
	"Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk", "Other_Symbol": "So",
	"Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
	"Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Private_Use": "Co",
}

func (p *patternParser) property() (ranges, error) {
	name, rest, ok := strings.Cut(p.rest, "}")
	if !ok || !strings.HasPrefix(name, "{") {
		return nil, errors.New(`\p without {a property}`)
	}
	p.rest = rest
	name = name[1:]
	if name == "Any" {
		return anyChar.set, nil
	}
	if name == "ASCII" {
		return ranges{0, 0x7f}, nil
	}
	key, val, two := strings.Cut(name, "=")
	tables := []map[string]*unicode.RangeTable{unicode.Categories, unicode.Properties}
	switch {
	case !two:
		val = key
	case key == "Script" || key == "sc":
		tables = []map[string]*unicode.RangeTable{unicode.Scripts}
	case key == "General_Category" || key == "gc":
		tables = tables[:1]
	default:
		return nil, fmt.Errorf(`the unknown property \p{%s}`, name)
	}
	if short, ok := longNames[val]; ok {
		val = short
	}
	if val == "Cn" || val == "C" || val == "Unassigned" || val == "LC" {
		return nil, fmt.Errorf(`the unsupported property \p{%s}`, name)
	}
	for _, t := range tables {
		if r, ok := t[val]; ok {
			return tableRanges(r), nil
		}
	}
	switch val {
	case "Alphabetic", "Alpha":
		return union(tableRanges(unicode.L), tableRanges(unicode.Nl), tableRanges(unicode.Other_Alphabetic)), nil
	case "Uppercase", "Upper":
		return union(tableRanges(unicode.Lu), tableRanges(unicode.Other_Uppercase)), nil
	case "Lowercase", "Lower":
		return union(tableRanges(unicode.Ll), tableRanges(unicode.Other_Lowercase)), nil
	}
	return nil, fmt.Errorf(`the unknown property \p{%s}`, name)
}

func tableRanges(t *unicode.RangeTable) ranges {
	var all ranges
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			all = append(all, lo, hi)
			return
		}
		for r := lo; r <= hi; r += stride {
			all = append(all, r, r)
		}
	}
	for _, r := range t.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return union(all).within(anyChar.set)
}
