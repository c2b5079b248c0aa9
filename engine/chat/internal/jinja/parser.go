package jinja

import (
	"errors"
	"slices"
)

const (
	// maxSource bounds a template's bytes; the largest seen in the wild is
	// under 32 KiB.
	maxSource = 1 << 20
	// maxNesting bounds the parser's recursion.
	maxNesting = 200
)

// A Template is a parsed template. It is safe for concurrent use.
type Template struct {
	body []stmt
}

// Parse parses a template. Its error is a *SyntaxError.
func Parse(src string) (t *Template, err error) {
	defer catch(&err)
	if len(src) > maxSource {
		panic(syntaxError(0, ErrLimit, "the template has %d bytes, more than %d", len(src), maxSource))
	}
	p := &parser{toks: lex(src)}
	body := p.statements()
	if p.unknown.error != nil {
		panic(p.unknown)
	}
	return &Template{body: body}, nil
}

type parser struct {
	toks   []token
	pos    int
	depth  int
	loops  int         // loops around the statement, for break and continue
	macros []*macroDef // macros around the expression
	// soft is set inside if: there an unknown filter or test is an error only
	// when it is reached, as in Jinja.
	soft    bool
	unknown thrown // the first filter or test that does not exist
}

func (p *parser) cur() token { return p.toks[p.pos] }

func (p *parser) look() token {
	if p.pos+1 < len(p.toks) {
		return p.toks[p.pos+1]
	}
	return p.toks[p.pos]
}

// next returns the current token and moves past it. It never moves past the
// end.
func (p *parser) next() token {
	t := p.toks[p.pos]
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

func (p *parser) fail(line int, format string, args ...any) thrown {
	return syntaxError(line, ErrSyntax, format, args...)
}

// integer is the value of an integer token.
func (p *parser) integer(t token) expr {
	n, err := try(func() Value { return parseInt(t.text, 0) })
	switch {
	case errors.Is(err, ErrLimit):
		panic(syntaxError(t.line, ErrLimit, "%s", err))
	case err != nil:
		panic(p.fail(t.line, "%s", err))
	}
	return &constExpr{n}
}

// enter counts one level of nesting; the caller defers leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		panic(syntaxError(p.cur().line, ErrLimit, "the template is nested too deeply"))
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) skipOp(op string) bool {
	if p.cur().isOp(op) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.cur().isName(name) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expectOp(op string) {
	if !p.skipOp(op) {
		panic(p.fail(p.cur().line, "expected %q, got %q", op, p.cur()))
	}
}

func (p *parser) expectKind(kind tokenKind) token {
	t := p.cur()
	if t.kind != kind {
		panic(p.fail(t.line, "expected %s, got %q", token{kind: kind, text: "a name"}, t))
	}
	return p.next()
}

// statements parses until one of the end tags, leaving the parser at its
// name, or until the end of the template when there are none.
func (p *parser) statements(ends ...string) []stmt {
	var body []stmt
	start := p.cur().line
	for {
		t := p.cur()
		switch t.kind {
		case tokEOF:
			if len(ends) > 0 {
				panic(p.fail(start, "unexpected end of template: looking for %q", ends))
			}
			return body
		case tokData:
			p.pos++
			body = append(body, &dataStmt{line(t.line), t.text})
		case tokVarBegin:
			p.pos++
			e := p.tuple(true)
			p.expectKind(tokVarEnd)
			body = append(body, &outputStmt{line(t.line), []expr{e}})
		default: // the lexer lets only a block begin here
			p.pos++
			if name := p.cur(); name.kind == tokName && slices.Contains(ends, name.text) {
				return body
			}
			s := p.statement()
			p.expectKind(tokBlockEnd)
			if s != nil {
				body = append(body, s)
			}
		}
	}
}

// block parses the rest of an opening tag and the body up to one of the end
// tags, whose name it returns and moves past.
func (p *parser) block(ends ...string) ([]stmt, string) {
	p.skipOp(":")
	p.expectKind(tokBlockEnd)
	body := p.statements(ends...)
	return body, p.next().text
}

// scoped parses a block whose body is not inside the loops around it.
func (p *parser) scoped(ends ...string) []stmt {
	loops, soft := p.loops, p.soft
	p.loops, p.soft = 0, false
	body, _ := p.block(ends...)
	p.loops, p.soft = loops, soft
	return body
}

func (p *parser) statement() stmt {
	p.enter()
	defer p.leave()
	t := p.cur()
	if t.kind != tokName {
		panic(p.fail(t.line, "tag name expected"))
	}
	p.pos++
	at := line(t.line)
	switch t.text {
	case "set":
		return p.set(at)
	case "if":
		return p.ifBlock(at)
	case "for":
		return p.forBlock(at)
	case "with":
		return p.with(at)
	case "macro":
		return p.macro(at)
	case "call":
		return p.callBlock(at)
	case "filter":
		f := p.filterChain(nil, true)
		return &filterStmt{at, f, p.scoped("endfilter")}
	case "generation":
		return &scopeStmt{at, p.scoped("endgeneration")}
	case "print":
		return p.print(at)
	case "break", "continue":
		if p.loops == 0 {
			panic(p.fail(t.line, "%q outside loop", t.text))
		}
		if t.text == "break" {
			return &jumpStmt{at, flowBreak}
		}
		return &jumpStmt{at, flowContinue}
	case "include", "import", "from", "extends", "block", "autoescape":
		panic(syntaxError(t.line, ErrUnsupported, "a chat template cannot use the %q tag", t.text))
	}
	panic(p.fail(t.line, "encountered unknown tag %q", t.text))
}

func (p *parser) print(at line) stmt {
	s := &outputStmt{line: at}
	for p.cur().kind != tokBlockEnd {
		if len(s.exprs) > 0 {
			p.expectOp(",")
		}
		s.exprs = append(s.exprs, p.expression())
	}
	return s
}

func (p *parser) set(at line) stmt {
	t := p.assignTarget(true)
	if p.skipOp("=") {
		return &setStmt{at, t, p.tuple(true)}
	}
	var filter expr
	if p.cur().isOp("|") {
		filter = p.filterChain(nil, false)
	}
	return &setBlockStmt{at, t, filter, p.scoped("endset")}
}

func (p *parser) ifBlock(at line) stmt {
	soft := p.soft
	p.soft = true
	defer func() { p.soft = soft }()
	s := &ifStmt{line: at}
	for {
		test := p.tuple(false)
		body, end := p.block("elif", "else", "endif")
		s.tests = append(s.tests, test)
		s.bodies = append(s.bodies, body)
		switch end {
		case "else":
			s.els, _ = p.block("endif")
			return s
		case "endif":
			return s
		}
	}
}

func (p *parser) forBlock(at line) stmt {
	soft := p.soft
	p.soft = false
	defer func() { p.soft = soft }()
	s := &forStmt{line: at}
	s.target = p.assignTarget(false, "in")
	if s.target.binds("loop") {
		panic(p.fail(int(at), "can't assign to the special loop variable in a for-loop"))
	}
	if !p.skipName("in") {
		panic(p.fail(p.cur().line, "expected \"in\", got %q", p.cur()))
	}
	s.iter = p.tuple(false, "recursive")
	if p.skipName("if") {
		s.test = p.expression()
	}
	s.recursive = p.skipName("recursive")
	p.loops++
	body, end := p.block("endfor", "else")
	p.loops--
	s.body = body
	if end == "else" {
		s.els, _ = p.block("endfor")
	}
	return s
}

func (p *parser) with(at line) stmt {
	s := &withStmt{line: at}
	for p.cur().kind != tokBlockEnd {
		if len(s.targets) > 0 {
			p.expectOp(",")
		}
		t := p.assignTarget(false)
		p.expectOp("=")
		v := p.expression()
		s.targets = append(s.targets, t)
		s.values = append(s.values, v)
	}
	body, _ := p.block("endwith")
	s.body = body
	return s
}

func (p *parser) macro(at line) stmt {
	d := &macroDef{name: p.expectKind(tokName).text}
	p.signature(d)
	p.macroBody(d, int(at), "endmacro")
	return &macroStmt{at, d}
}

func (p *parser) callBlock(at line) stmt {
	d := &macroDef{name: "caller"}
	if p.cur().isOp("(") {
		p.signature(d)
	}
	call, ok := p.expression().(*callExpr)
	if !ok {
		panic(p.fail(int(at), "expected call"))
	}
	p.macroBody(d, int(at), "endcall")
	return &callStmt{at, call, d}
}

// signature parses the parameters of a macro. Defaults may use the special
// names of the macros around it, not its own.
func (p *parser) signature(d *macroDef) {
	p.expectOp("(")
	for !p.cur().isOp(")") {
		if len(d.params) > 0 {
			p.expectOp(",")
		}
		name := p.expectKind(tokName)
		if p.skipOp("=") {
			d.defaults = append(d.defaults, p.expression())
		} else if len(d.defaults) > 0 {
			panic(p.fail(name.line, "non-default argument follows default argument"))
		}
		d.params = append(d.params, name.text)
	}
	p.expectOp(")")
}

func (p *parser) macroBody(d *macroDef, at int, end string) {
	p.macros = append(p.macros, d)
	body := p.scoped(end)
	p.macros = p.macros[:len(p.macros)-1]
	d.body = body
	i := slices.Index(d.params, "caller")
	if d.caller && i >= 0 && i < len(d.params)-len(d.defaults) {
		panic(p.fail(at, "the special \"caller\" parameter needs a default"))
	}
}

// assignTarget parses what is assigned to. ends are names that may follow a
// trailing comma.
func (p *parser) assignTarget(namespaces bool, ends ...string) target {
	first := p.oneTarget(namespaces)
	if !p.cur().isOp(",") {
		return first
	}
	t := target{tuple: true, items: []target{first}}
	for p.skipOp(",") {
		c := p.cur()
		if c.kind == tokBlockEnd || c.isOp(")") || c.isOp("=") || c.kind == tokName && slices.Contains(ends, c.text) {
			break
		}
		t.items = append(t.items, p.oneTarget(namespaces))
	}
	return t
}

func (p *parser) oneTarget(namespaces bool) target {
	p.enter()
	defer p.leave()
	t := p.next()
	if t.isOp("(") {
		inner := p.assignTarget(false)
		p.expectOp(")")
		return inner
	}
	if t.kind != tokName {
		panic(p.fail(t.line, "can't assign to %q", t))
	}
	switch t.text {
	case "true", "false", "none", "True", "False", "None":
		panic(p.fail(t.line, "can't assign to %q", t))
	}
	if namespaces && p.skipOp(".") {
		return target{name: t.text, attr: p.expectKind(tokName).text}
	}
	return target{name: t.text}
}

// binds reports whether assigning to t sets the name.
func (t target) binds(name string) bool {
	if t.tuple {
		return slices.ContainsFunc(t.items, func(i target) bool { return i.binds(name) })
	}
	return t.name == name && t.attr == ""
}
