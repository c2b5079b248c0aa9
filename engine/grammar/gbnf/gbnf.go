// Package gbnf reads llama.cpp's grammars.
//
//	root  ::= item ("," item)*   # rules, alternatives with |, groups
//	item  ::= "a" | [0-9]{1,3} | [^x] | . | <[128009]> | <|eot_id|>
//
// A grammar means what a context-free grammar means; left recursion is fine. A
// token in angle brackets is that token and never its text. A line may go on with
// "|". Not supported, and refused: tokens that are barred (!<…>).
package gbnf

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"quern/engine/grammar"
)

// Options say how to read a grammar.
type Options struct {
	Root  string                                // rule to begin with; "root" if empty
	Token func(text string) (id int32, ok bool) // finds <name>, with its brackets; nil: there are none
}

// Limits of the format; what is built counts against those of the Builder.
const (
	MaxBytes  = 1 << 20 // of a grammar
	MaxRepeat = 4096    // in {m,n}
	MaxDepth  = 200     // of groups in groups
)

// An Error is a mistake in a grammar.
type Error struct {
	Line, Column int // from 1; columns count characters
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("gbnf: line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Parse builds the rules of a grammar and returns its root.
func Parse(b *grammar.Builder, text string, o Options) (*grammar.Node, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("gbnf: a grammar of %d bytes; at most %d are read", len(text), MaxBytes)
	}
	o.Root = cmp.Or(o.Root, "root")
	p := &parser{b: b, text: text, token: o.Token, rules: map[string]*rule{}}
	p.grammar()
	if p.err == nil {
		p.err = b.Err()
	}
	if p.err == nil {
		p.resolve()
	}
	if p.err != nil {
		return nil, p.err
	}
	root := p.rules[o.Root]
	if root == nil {
		return nil, fmt.Errorf("gbnf: there is no rule %q to begin with", o.Root)
	}
	return root.node, nil
}

type rule struct {
	node    *grammar.Node
	name    string
	used    int // where it was named first
	defined bool
}

// A parser reads by recursive descent. After a mistake it is at the end of the text.
type parser struct {
	b     *grammar.Builder
	text  string
	at    int
	token func(string) (int32, bool)
	rules map[string]*rule
	order []*rule
	err   error
}

func (p *parser) fail(at int, format string, args ...any) {
	if p.err != nil {
		return
	}
	if p.err = p.b.Err(); p.err != nil {
		return // reading stopped there: what follows only looks like a mistake
	}
	before := p.text[:at]
	line := strings.Count(before, "\n")
	p.err = &Error{line + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1, fmt.Sprintf(format, args...)}
	p.at = len(p.text)
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// take steps over s if it is next.
func (p *parser) take(s string) bool {
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// space steps over blanks and comments, and over lines too.
func (p *parser) space(lines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t':
		case (c == '\n' || c == '\r') && lines:
		case c == '#':
			n := strings.IndexAny(p.text[p.at:], "\r\n")
			if n < 0 {
				p.at = len(p.text)
				return
			}
			p.at += n
			continue
		default:
			return
		}
		p.at++
	}
}

func (p *parser) name() string {
	from := p.at
	for {
		c := p.peek()
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return p.text[from:p.at]
		}
		p.at++
	}
}

func (p *parser) rule(name string, at int) *rule {
	r := p.rules[name]
	if r == nil {
		r = &rule{node: p.b.Rule(name), name: name, used: at}
		p.rules[name] = r
		p.order = append(p.order, r)
	}
	return r
}

func (p *parser) grammar() {
	for p.space(true); p.at < len(p.text) && p.b.Err() == nil; p.space(true) {
		at := p.at
		name := p.name()
		if name == "" {
			p.fail(at, "want the name of a rule")
			return
		}
		p.space(false)
		if !p.take("::=") {
			p.fail(p.at, "want ::= after the name of rule %q", name)
			return
		}
		r := p.rule(name, at)
		if r.defined {
			p.fail(at, "rule %q is defined twice", name)
			return
		}
		r.defined = true
		p.space(true)
		p.b.Define(r.node, p.alternatives(0))
		if c := p.peek(); c != 0 && c != '\n' && c != '\r' {
			p.fail(p.at, "unexpected %q; want a symbol, |, or the end of the rule", rest(p.text[p.at:]))
		}
	}
}

// rest returns the first character of s.
func rest(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

func (p *parser) resolve() {
	for _, r := range p.order {
		if !r.defined {
			p.fail(r.used, "rule %q is not defined", r.name)
		}
	}
}

func (p *parser) alternatives(depth int) *grammar.Node {
	list := []*grammar.Node{p.sequence(depth)}
	for {
		// The next line may begin with |.
		at := p.at
		p.space(true)
		if !p.take("|") {
			p.at = at
			return p.b.Alt(list...)
		}
		p.space(true)
		list = append(list, p.sequence(depth))
	}
}

func (p *parser) sequence(depth int) *grammar.Node {
	var list []*grammar.Node
	for p.b.Err() == nil {
		n := p.symbol(depth)
		if n == nil {
			break
		}
		p.space(depth > 0)
		for n = p.repetition(n); p.err == nil; {
			at := p.at
			if n = p.repetition(n); at == p.at {
				break
			}
		}
		list = append(list, n)
	}
	return p.b.Seq(list...)
}

// symbol reads what may be repeated, or returns nil if there is none.
func (p *parser) symbol(depth int) *grammar.Node {
	at := p.at
	switch c := p.peek(); c {
	case '"':
		return p.literal()
	case '[':
		return p.class()
	case '.':
		p.at++
		return p.b.Lexeme(grammar.AnyChar())
	case '<':
		return p.special()
	case '!':
		p.fail(at, "barred tokens (!<…>) are not supported; list the tokens that are allowed")
	case '*', '+', '?', '{':
		p.fail(at, "nothing to repeat before %q", string(c))
	case '(':
		if depth >= MaxDepth {
			p.fail(at, "more than %d groups in groups", MaxDepth)
			return nil
		}
		p.at++
		p.space(true)
		n := p.alternatives(depth + 1)
		p.space(true)
		if p.err == nil && !p.take(")") {
			p.fail(p.at, "want a symbol, | or )")
		}
		return n
	default:
		if name := p.name(); name != "" {
			return p.rule(name, at).node
		}
	}
	return nil
}

// repetition applies the operator that follows, if there is one.
func (p *parser) repetition(n *grammar.Node) *grammar.Node {
	at := p.at
	lo, hi := 0, grammar.Unbounded
	switch p.peek() {
	case '*':
	case '+':
		lo = 1
	case '?':
		hi = 1
	case '{':
		p.at++
		p.space(false)
		lo = p.count()
		hi = lo
		if p.take(",") {
			p.space(false)
			if hi = grammar.Unbounded; p.peek() != '}' {
				if hi = p.count(); hi < lo && p.err == nil {
					p.fail(at, "{%d,%d} ends before it begins", lo, hi)
				}
			}
		}
		if p.err == nil && p.peek() != '}' {
			p.fail(p.at, "want , or } in a repetition")
		}
	default:
		return n
	}
	if p.err != nil {
		return n
	}
	p.at++
	p.space(false)
	return p.b.Repeat(n, lo, hi)
}

func (p *parser) count() int {
	at := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	if at == p.at {
		p.fail(at, "want a number in a repetition")
		return 0
	}
	n, err := strconv.Atoi(p.text[at:p.at])
	if err != nil || n > MaxRepeat {
		p.fail(at, "more than %d repetitions", MaxRepeat)
		return 0
	}
	p.space(false)
	return n
}

func (p *parser) literal() *grammar.Node {
	at := p.at
	p.at++
	var s []byte
	for p.err == nil && p.peek() != '"' {
		if p.at == len(p.text) {
			p.fail(at, "a literal without its closing quote")
			break
		}
		s = utf8.AppendRune(s, p.char())
	}
	p.at = min(p.at+1, len(p.text))
	return p.b.Literal(string(s))
}

func (p *parser) class() *grammar.Node {
	at := p.at
	p.at++
	negated := p.take("^")
	var ranges []grammar.RuneRange
	for p.err == nil && p.peek() != ']' {
		if p.at == len(p.text) {
			p.fail(at, "a character class without its closing bracket")
			break
		}
		from := p.at
		lo := p.char()
		hi := lo
		if p.peek() == '-' && p.at+1 < len(p.text) && p.text[p.at+1] != ']' {
			p.at++
			if hi = p.char(); hi < lo {
				p.fail(from, "the range %q-%q ends before it begins", lo, hi)
			}
		}
		ranges = append(ranges, grammar.RuneRange{Lo: lo, Hi: hi})
	}
	if len(ranges) == 0 {
		p.fail(at, "an empty character class")
	}
	p.at = min(p.at+1, len(p.text))
	set := grammar.Runes(ranges...)
	if negated {
		set = set.Negate()
	}
	return p.b.Lexeme(grammar.Chars(set))
}

// escapes are those of one character; hex are those that are followed by digits.
var (
	escapes = map[byte]rune{'t': '\t', 'r': '\r', 'n': '\n', '\\': '\\', '"': '"', '[': '[', ']': ']'}
	hex     = map[byte]int{'x': 2, 'u': 4, 'U': 8}
)

// char reads a character, perhaps escaped.
func (p *parser) char() rune {
	at := p.at
	r, n := utf8.DecodeRuneInString(p.text[at:])
	if r == utf8.RuneError && n <= 1 {
		p.fail(at, "broken UTF-8")
		return 0
	}
	p.at += n
	if r != '\\' {
		return r
	}
	c := p.peek()
	p.at++
	if r, ok := escapes[c]; ok {
		return r
	}
	n = hex[c]
	if p.at = min(p.at, len(p.text)); n == 0 {
		p.fail(at, "unknown escape \\%s; want \\n, \\r, \\t, \\\\, \\\", \\[, \\], \\xHH, \\uHHHH or \\UHHHHHHHH", rest(p.text[min(at+1, len(p.text)):]))
		return 0
	}
	digits := p.text[p.at:min(p.at+n, len(p.text))]
	code, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) < n || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		p.fail(at, "\\%c wants the %d hexadecimal digits of a character", c, n)
		return 0
	}
	p.at += n
	return rune(code)
}

// special reads <[id]> or <name>.
func (p *parser) special() *grammar.Node {
	at := p.at
	n := strings.IndexAny(p.text[at:], ">\n")
	if n < 0 || p.text[at+n] != '>' {
		p.fail(at, "a token without its closing >")
		return nil
	}
	text := p.text[at : at+n+1]
	p.at = at + n + 1
	if digits, ok := strings.CutPrefix(text, "<["); ok {
		id, err := strconv.ParseInt(strings.TrimSuffix(digits, "]>"), 10, 32)
		if err != nil || id < 0 || !strings.HasSuffix(text, "]>") {
			p.fail(at, "want the number of a token, as <[123]>")
			return nil
		}
		return p.b.Token(int32(id))
	}
	if p.token != nil {
		if id, ok := p.token(text); ok {
			return p.b.Token(id)
		}
	}
	p.fail(at, "the vocabulary has no token %s", text)
	return nil
}
