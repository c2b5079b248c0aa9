package jinja

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokData
	tokVarBegin
	tokVarEnd
	tokBlockBegin
	tokBlockEnd
	tokName
	tokString
	tokInteger
	tokFloat
	tokOp
)

// tokenNames describe the tokens that do not speak for themselves.
var tokenNames = [...]string{
	tokEOF:        "end of template",
	tokData:       "template data",
	tokVarBegin:   "begin of print statement",
	tokVarEnd:     "end of print statement",
	tokBlockBegin: "begin of statement block",
	tokBlockEnd:   "end of statement block",
	tokOp:         "",
}

// A token's text is the data, the name, the decoded string, the number as
// written, or the operator.
type token struct {
	kind tokenKind
	text string
	line int
}

func (t token) isOp(op string) bool     { return t.kind == tokOp && t.text == op }
func (t token) isName(name string) bool { return t.kind == tokName && t.text == name }

// String describes the token for a syntax error.
func (t token) String() string {
	return cmp.Or(tokenNames[t.kind], t.text)
}

// A lexer cuts a template into tokens. It follows Jinja's rules for
// trim_blocks and lstrip_blocks, both on: a block or comment tag swallows the
// newline after it, and the blanks before it on its line.
type lexer struct {
	src  string
	pos  int
	line int
	toks []token
	// lineStart is set when the last tag ended with a newline, so that the
	// data that follows begins a line.
	lineStart bool
}

func lex(src string) []token {
	src = newlines.Replace(strings.ToValidUTF8(src, "\ufffd"))
	src = strings.TrimSuffix(src, "\n") // Jinja drops one trailing newline
	l := &lexer{src: src, line: 1, lineStart: true}
	for l.pos < len(l.src) {
		l.root()
	}
	l.emit(tokEOF, "")
	return l.toks
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (l *lexer) emit(kind tokenKind, text string) {
	l.toks = append(l.toks, token{kind, text, l.line})
}

func (l *lexer) fail(format string, args ...any) thrown {
	return syntaxError(l.line, ErrSyntax, format, args...)
}

// advance moves to byte offset end, counting lines.
func (l *lexer) advance(end int) {
	l.line += strings.Count(l.src[l.pos:end], "\n")
	l.pos = end
}

// root lexes data up to the next tag, then that tag.
func (l *lexer) root() {
	at := l.pos
	for {
		i := strings.IndexByte(l.src[at:], '{')
		if i < 0 || at+i+1 >= len(l.src) {
			l.emit(tokData, l.src[l.pos:])
			l.advance(len(l.src))
			return
		}
		at += i
		if c := l.src[at+1]; c == '%' || c == '{' || c == '#' {
			break
		}
		at++
	}
	opener := l.src[at+1]
	inner := at + 2
	var sign byte
	if inner < len(l.src) && (l.src[inner] == '-' || l.src[inner] == '+') {
		sign = l.src[inner]
		inner++
	}
	l.data(at, sign, opener != '{')
	l.advance(inner)
	switch opener {
	case '#':
		l.comment()
		return
	case '%':
		if body, ok := l.rawBegin(); ok {
			l.advance(body)
			l.raw()
			return
		}
		l.emit(tokBlockBegin, "")
		l.tag("%}", tokBlockEnd)
		return
	default:
		l.emit(tokVarBegin, "")
		l.tag("}}", tokVarEnd)
		return
	}
}

// data emits the text up to offset end, stripped as the tag's sign asks.
func (l *lexer) data(end int, sign byte, block bool) {
	text := l.src[l.pos:end]
	switch {
	case sign == '-':
		text = strings.TrimRightFunc(text, isSpace)
	case sign != '+' && block:
		i := strings.LastIndexByte(text, '\n') + 1
		if (i > 0 || l.lineStart) && strings.TrimLeftFunc(text[i:], isSpace) == "" {
			text = text[:i]
		}
	}
	if text != "" {
		l.emit(tokData, text)
	}
}

// closeTag moves past a tag's end. sign is the character before it; a block
// or comment without a sign swallows one newline.
func (l *lexer) closeTag(end int, sign byte, block bool) {
	switch {
	case sign == '-':
		rest := strings.TrimLeftFunc(l.src[end:], isSpace)
		end = len(l.src) - len(rest)
	case sign == 0 && block && end < len(l.src) && l.src[end] == '\n':
		end++
	}
	l.advance(end)
	l.lineStart = l.src[end-1] == '\n'
}

func (l *lexer) comment() {
	i := strings.Index(l.src[l.pos:], "#}")
	if i < 0 {
		panic(l.fail("missing end of comment tag"))
	}
	var sign byte
	if i > 0 {
		if c := l.src[l.pos+i-1]; c == '-' || c == '+' {
			sign = c
		}
	}
	l.closeTag(l.pos+i+2, sign, true)
}

// rawBegin reports where the body starts if the block tag here is "raw".
func (l *lexer) rawBegin() (body int, ok bool) {
	rest := strings.TrimLeftFunc(l.src[l.pos:], isSpace)
	rest, ok = strings.CutPrefix(rest, "raw")
	if !ok {
		return 0, false
	}
	rest = strings.TrimLeftFunc(rest, isSpace)
	if after, ok := strings.CutPrefix(rest, "-%}"); ok {
		return len(l.src) - len(strings.TrimLeftFunc(after, isSpace)), true
	}
	if after, ok := strings.CutPrefix(rest, "%}"); ok {
		return len(l.src) - len(after), true
	}
	return 0, false
}

// raw emits everything up to the endraw tag as data.
func (l *lexer) raw() {
	l.lineStart = l.src[l.pos-1] == '\n'
	for at := l.pos; ; at += 2 {
		i := strings.Index(l.src[at:], "{%")
		if i < 0 {
			panic(l.fail("missing end of raw directive"))
		}
		at += i
		rest := l.src[at+2:]
		var sign byte
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			sign, rest = rest[0], rest[1:]
		}
		rest, ok := strings.CutPrefix(strings.TrimLeftFunc(rest, isSpace), "endraw")
		if !ok {
			continue
		}
		rest = strings.TrimLeftFunc(rest, isSpace)
		var end byte
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			end, rest = rest[0], rest[1:]
		}
		if rest, ok = strings.CutPrefix(rest, "%}"); !ok {
			continue
		}
		l.data(at, sign, true)
		l.closeTag(len(l.src)-len(rest), end, true)
		return
	}
}

// tag lexes the inside of a block or print tag up to its end.
func (l *lexer) tag(end string, kind tokenKind) {
	var open []byte // the closing bracket each open one waits for
	for {
		l.skipSpace()
		rest := l.src[l.pos:]
		if rest == "" {
			return // the parser reports the missing end
		}
		if len(open) == 0 {
			var sign byte
			tail := rest
			if c := rest[0]; c == '-' || c == '+' && kind == tokBlockEnd {
				sign, tail = c, rest[1:]
			}
			if strings.HasPrefix(tail, end) {
				l.emit(kind, "")
				l.closeTag(len(l.src)-len(tail)+len(end), sign, kind == tokBlockEnd)
				return
			}
		}
		switch c := rest[0]; {
		case c >= '0' && c <= '9':
			l.number()
		case c == '"' || c == '\'':
			l.str(c)
		case isWordByte(rest):
			n := wordLen(rest)
			l.emit(tokName, rest[:n])
			l.pos += n
		default:
			op := operator(rest)
			if op == "" {
				r, _ := utf8.DecodeRuneInString(rest)
				panic(l.fail("unexpected char %q", r))
			}
			switch op {
			case "(":
				open = append(open, ')')
			case "[":
				open = append(open, ']')
			case "{":
				open = append(open, '}')
			case ")", "]", "}":
				if len(open) == 0 {
					panic(l.fail("unexpected %q", op))
				}
				if want := open[len(open)-1]; want != op[0] {
					panic(l.fail("unexpected %q, expected %q", op, string(want)))
				}
				open = open[:len(open)-1]
			}
			l.emit(tokOp, op)
			l.pos += len(op)
		}
	}
}

func (l *lexer) skipSpace() {
	rest := strings.TrimLeftFunc(l.src[l.pos:], isSpace)
	l.advance(len(l.src) - len(rest))
}

// str lexes a quoted string.
func (l *lexer) str(quote byte) {
	for i := l.pos + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case quote:
			text, err := unescape(l.src[l.pos+1 : i])
			if err != nil {
				panic(l.fail("%s", err))
			}
			l.emit(tokString, text)
			l.advance(i + 1)
			return
		}
	}
	panic(l.fail("unexpected char %q", rune(quote)))
}

// number lexes an integer or a float. A number after a dot is always an
// integer, so that x.0.1 is two subscripts.
func (l *lexer) number() {
	rest := l.src[l.pos:]
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.'
	if n := floatLen(rest); n > 0 && !afterDot {
		l.emit(tokFloat, rest[:n])
		l.pos += n
		return
	}
	n := integerLen(rest)
	l.emit(tokInteger, rest[:n])
	l.pos += n
}

// digitsLen is the length of digits in groups joined by single underscores.
func digitsLen(s string, digit func(byte) bool) int {
	n := 0
	for n < len(s) {
		switch {
		case digit(s[n]):
			n++
		case s[n] == '_' && n > 0 && n+1 < len(s) && digit(s[n+1]):
			n += 2
		default:
			return n
		}
	}
	return n
}

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }

// floatLen is the length of the float s starts with, 0 if it starts with none.
func floatLen(s string) int {
	whole := digitsLen(s, isDecimal)
	n := whole
	if n < len(s) && s[n] == '.' {
		if f := digitsLen(s[n+1:], isDecimal); f > 0 {
			n += 1 + f
		}
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if e := digitsLen(s[m:], isDecimal); e > 0 {
			n = m + e
		}
	}
	if n == whole {
		return 0
	}
	return n
}

// integerLen is the length of the integer s, which starts with a digit.
func integerLen(s string) int {
	if len(s) > 2 && s[0] == '0' {
		var digit func(byte) bool
		switch s[1] | 0x20 {
		case 'b':
			digit = func(c byte) bool { return c == '0' || c == '1' }
		case 'o':
			digit = func(c byte) bool { return c >= '0' && c <= '7' }
		case 'x':
			digit = func(c byte) bool { return isDecimal(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
		}
		if digit != nil {
			from := 2
			if s[2] == '_' {
				from = 3
			}
			if n := digitsLen(s[from:], digit); n > 0 {
				return from + n
			}
		}
	}
	if s[0] == '0' {
		return digitsLen(s, func(c byte) bool { return c == '0' })
	}
	return digitsLen(s, isDecimal)
}

// operator returns the operator s starts with, longest first, or "".
func operator(s string) string {
	if len(s) > 1 {
		switch s[:2] {
		case "//", "**", "==", "!=", ">=", "<=":
			return s[:2]
		}
	}
	if strings.IndexByte("+-/*%~[](){}><=.:|,;", s[0]) >= 0 {
		return s[:1]
	}
	return ""
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

func isWordByte(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isWord(r)
}

func wordLen(s string) int {
	if i := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) }); i >= 0 {
		return i
	}
	return len(s)
}

// isSpace is Python's notion of a blank character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
