package jinja

import (
	"errors"
	"fmt"
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
	body  []stmt
	names map[string]bool // every variable name read anywhere
}

// Uses reports whether the template reads a variable of that name somewhere.
func (t *Template) Uses(name string) bool { return t.names[name] }

// Parse parses a template. Its error is a *SyntaxError.
func Parse(src string) (*Template, error) {
	if len(src) > maxSource {
		return nil, &SyntaxError{
			Message: fmt.Sprintf("the template has %d bytes, more than %d", len(src), maxSource),
			cause:   ErrLimit,
		}
	}
	toks, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks, names: make(map[string]bool)}
	body, err := p.statements()
	if err == nil {
		err = p.unknown
	}
	if err != nil {
		return nil, err
	}
	return &Template{body: body, names: p.names}, nil
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
	names   map[string]bool
	unknown error // the first filter or test nobody knows
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

func (p *parser) fail(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Message: fmt.Sprintf(format, args...), cause: ErrSyntax}
}

// wrap makes a syntax error of what a literal was refused for.
func (p *parser) wrap(line int, err error) error {
	cause := ErrSyntax
	if errors.Is(err, ErrLimit) {
		cause = ErrLimit
	}
	return &SyntaxError{Line: line, Message: err.Error(), cause: cause}
}

func (p *parser) unsupported(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Message: fmt.Sprintf(format, args...), cause: ErrUnsupported}
}

// enter counts one level of nesting; the caller defers leave.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxNesting {
		return &SyntaxError{Line: p.cur().line, Message: "the template is nested too deeply", cause: ErrLimit}
	}
	return nil
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

func (p *parser) expectOp(op string) error {
	if !p.skipOp(op) {
		return p.fail(p.cur().line, "expected %q, got %q", op, p.cur())
	}
	return nil
}

func (p *parser) expectKind(kind tokenKind) (token, error) {
	t := p.cur()
	if t.kind != kind {
		return t, p.fail(t.line, "expected %s, got %q", token{kind: kind, text: "a name"}, t)
	}
	return p.next(), nil
}

// statements parses until one of the end tags, leaving the parser at its
// name, or until the end of the template when there are none.
func (p *parser) statements(ends ...string) ([]stmt, error) {
	var body []stmt
	start := p.cur().line
	for {
		t := p.cur()
		switch t.kind {
		case tokEOF:
			if len(ends) > 0 {
				return nil, p.fail(start, "unexpected end of template: looking for %q", ends)
			}
			return body, nil
		case tokData:
			p.pos++
			body = append(body, &dataStmt{line(t.line), t.text})
		case tokVarBegin:
			p.pos++
			e, err := p.tuple(true)
			if err != nil {
				return nil, err
			}
			if _, err := p.expectKind(tokVarEnd); err != nil {
				return nil, err
			}
			body = append(body, &outputStmt{line(t.line), []expr{e}})
		default: // the lexer lets only a block begin here
			p.pos++
			if name := p.cur(); name.kind == tokName && slices.Contains(ends, name.text) {
				return body, nil
			}
			s, err := p.statement()
			if err != nil {
				return nil, err
			}
			if _, err := p.expectKind(tokBlockEnd); err != nil {
				return nil, err
			}
			if s != nil {
				body = append(body, s)
			}
		}
	}
}

// block parses the rest of an opening tag and the body up to one of the end
// tags, whose name it returns and moves past.
func (p *parser) block(ends ...string) ([]stmt, string, error) {
	p.skipOp(":")
	if _, err := p.expectKind(tokBlockEnd); err != nil {
		return nil, "", err
	}
	body, err := p.statements(ends...)
	if err != nil {
		return nil, "", err
	}
	return body, p.next().text, nil
}

// scoped parses a block whose body is not inside the loops around it.
func (p *parser) scoped(ends ...string) ([]stmt, error) {
	loops, soft := p.loops, p.soft
	p.loops, p.soft = 0, false
	body, _, err := p.block(ends...)
	p.loops, p.soft = loops, soft
	return body, err
}

func (p *parser) statement() (stmt, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.cur()
	if t.kind != tokName {
		return nil, p.fail(t.line, "tag name expected")
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
		f, err := p.filterChain(nil, true)
		if err != nil {
			return nil, err
		}
		body, err := p.scoped("endfilter")
		return &filterStmt{at, f, body}, err
	case "generation":
		body, err := p.scoped("endgeneration")
		return &scopeStmt{at, body}, err
	case "print":
		return p.print(at)
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.fail(t.line, "%q outside loop", t.text)
		}
		if t.text == "break" {
			return &jumpStmt{at, flowBreak}, nil
		}
		return &jumpStmt{at, flowContinue}, nil
	case "include", "import", "from", "extends", "block", "autoescape":
		return nil, p.unsupported(t.line, "a chat template cannot use the %q tag", t.text)
	}
	return nil, p.fail(t.line, "encountered unknown tag %q", t.text)
}

func (p *parser) print(at line) (stmt, error) {
	s := &outputStmt{line: at}
	for p.cur().kind != tokBlockEnd {
		if len(s.exprs) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.exprs = append(s.exprs, e)
	}
	return s, nil
}

func (p *parser) set(at line) (stmt, error) {
	t, err := p.assignTarget(true)
	if err != nil {
		return nil, err
	}
	if p.skipOp("=") {
		v, err := p.tuple(true)
		return &setStmt{at, t, v}, err
	}
	var filter expr
	if p.cur().isOp("|") {
		if filter, err = p.filterChain(nil, false); err != nil {
			return nil, err
		}
	}
	body, err := p.scoped("endset")
	return &setBlockStmt{at, t, filter, body}, err
}

func (p *parser) ifBlock(at line) (stmt, error) {
	soft := p.soft
	p.soft = true
	defer func() { p.soft = soft }()
	s := &ifStmt{line: at}
	for {
		test, err := p.tuple(false)
		if err != nil {
			return nil, err
		}
		body, end, err := p.block("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		s.tests = append(s.tests, test)
		s.bodies = append(s.bodies, body)
		switch end {
		case "else":
			s.els, _, err = p.block("endif")
			return s, err
		case "endif":
			return s, nil
		}
	}
}

func (p *parser) forBlock(at line) (stmt, error) {
	soft := p.soft
	p.soft = false
	defer func() { p.soft = soft }()
	s := &forStmt{line: at}
	var err error
	if s.target, err = p.assignTarget(false, "in"); err != nil {
		return nil, err
	}
	if s.target.binds("loop") {
		return nil, p.fail(int(at), "can't assign to the special loop variable in a for-loop")
	}
	if !p.skipName("in") {
		return nil, p.fail(p.cur().line, "expected \"in\", got %q", p.cur())
	}
	if s.iter, err = p.tuple(false, "recursive"); err != nil {
		return nil, err
	}
	if p.skipName("if") {
		if s.test, err = p.expression(); err != nil {
			return nil, err
		}
	}
	s.recursive = p.skipName("recursive")
	p.loops++
	body, end, err := p.block("endfor", "else")
	p.loops--
	if err != nil {
		return nil, err
	}
	s.body = body
	if end == "else" {
		s.els, _, err = p.block("endfor")
	}
	return s, err
}

func (p *parser) with(at line) (stmt, error) {
	s := &withStmt{line: at}
	for p.cur().kind != tokBlockEnd {
		if len(s.targets) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		t, err := p.assignTarget(false)
		if err != nil {
			return nil, err
		}
		if err := p.expectOp("="); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.targets = append(s.targets, t)
		s.values = append(s.values, v)
	}
	body, _, err := p.block("endwith")
	s.body = body
	return s, err
}

func (p *parser) macro(at line) (stmt, error) {
	name, err := p.expectKind(tokName)
	if err != nil {
		return nil, err
	}
	d := &macroDef{name: name.text}
	if err := p.signature(d); err != nil {
		return nil, err
	}
	if err := p.macroBody(d, int(at), "endmacro"); err != nil {
		return nil, err
	}
	return &macroStmt{at, d}, nil
}

func (p *parser) callBlock(at line) (stmt, error) {
	d := &macroDef{name: "caller"}
	if p.cur().isOp("(") {
		if err := p.signature(d); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	call, ok := e.(*callExpr)
	if !ok {
		return nil, p.fail(int(at), "expected call")
	}
	if err := p.macroBody(d, int(at), "endcall"); err != nil {
		return nil, err
	}
	return &callStmt{at, call, d}, nil
}

// signature parses the parameters of a macro. Defaults may use the special
// names of the macros around it, not its own.
func (p *parser) signature(d *macroDef) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for !p.cur().isOp(")") {
		if len(d.params) > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
		}
		name, err := p.expectKind(tokName)
		if err != nil {
			return err
		}
		if p.skipOp("=") {
			e, err := p.expression()
			if err != nil {
				return err
			}
			d.defaults = append(d.defaults, e)
		} else if len(d.defaults) > 0 {
			return p.fail(name.line, "non-default argument follows default argument")
		}
		d.params = append(d.params, name.text)
	}
	return p.expectOp(")")
}

func (p *parser) macroBody(d *macroDef, at int, end string) error {
	p.macros = append(p.macros, d)
	body, err := p.scoped(end)
	p.macros = p.macros[:len(p.macros)-1]
	if err != nil {
		return err
	}
	d.body = body
	i := slices.Index(d.params, "caller")
	if d.caller && i >= 0 && i < len(d.params)-len(d.defaults) {
		return p.fail(at, "the special \"caller\" parameter needs a default")
	}
	return nil
}

// assignTarget parses what is assigned to. ends are names that may follow a
// trailing comma.
func (p *parser) assignTarget(namespaces bool, ends ...string) (target, error) {
	first, err := p.oneTarget(namespaces)
	if err != nil || !p.cur().isOp(",") {
		return first, err
	}
	t := target{tuple: true, items: []target{first}}
	for p.skipOp(",") {
		c := p.cur()
		if c.kind == tokBlockEnd || c.isOp(")") || c.isOp("=") || c.kind == tokName && slices.Contains(ends, c.text) {
			break
		}
		item, err := p.oneTarget(namespaces)
		if err != nil {
			return t, err
		}
		t.items = append(t.items, item)
	}
	return t, nil
}

func (p *parser) oneTarget(namespaces bool) (target, error) {
	if err := p.enter(); err != nil {
		return target{}, err
	}
	defer p.leave()
	t := p.next()
	if t.isOp("(") {
		inner, err := p.assignTarget(false)
		if err != nil {
			return inner, err
		}
		return inner, p.expectOp(")")
	}
	if t.kind != tokName {
		return target{}, p.fail(t.line, "can't assign to %q", t)
	}
	switch t.text {
	case "true", "false", "none", "True", "False", "None":
		return target{}, p.fail(t.line, "can't assign to %q", t)
	}
	if namespaces && p.skipOp(".") {
		attr, err := p.expectKind(tokName)
		return target{name: t.text, attr: attr.text}, err
	}
	return target{name: t.text}, nil
}

// binds reports whether assigning to t sets the name.
func (t target) binds(name string) bool {
	if t.tuple {
		return slices.ContainsFunc(t.items, func(i target) bool { return i.binds(name) })
	}
	return t.name == name && t.attr == ""
}
