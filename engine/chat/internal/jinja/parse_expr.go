package jinja

import (
	"slices"
	"strings"
)

// tuple parses one expression, or several joined by commas as a tuple. cond
// allows an inline if. ends are names that may follow a trailing comma.
func (p *parser) tuple(cond bool, ends ...string) expr {
	var items []expr
	isTuple := false
	for {
		if len(items) > 0 {
			p.expectOp(",")
		}
		if p.tupleEnd(ends) {
			break
		}
		parse := p.or
		if cond {
			parse = p.expression
		}
		items = append(items, parse())
		if !p.cur().isOp(",") {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(items) == 1 {
			return items[0]
		}
		panic(p.fail(p.cur().line, "expected an expression, got %q", p.cur()))
	}
	return &tupleExpr{items}
}

func (p *parser) tupleEnd(ends []string) bool {
	t := p.cur()
	return t.kind == tokVarEnd || t.kind == tokBlockEnd || t.isOp(")") ||
		t.kind == tokName && slices.Contains(ends, t.text)
}

// expression parses any expression but a bare tuple: an inline if or less.
func (p *parser) expression() expr {
	p.enter()
	defer p.leave()
	unknown := p.unknown
	e := p.or()
	for p.skipName("if") {
		p.unknown = unknown // what precedes "if" turned out to be conditional
		test := p.softly(p.or)
		var els expr
		if p.skipName("else") {
			els = p.softly(p.expression)
		}
		e = &condExpr{test, e, els}
	}
	return e
}

func (p *parser) softly(parse func() expr) expr {
	soft := p.soft
	p.soft = true
	e := parse()
	p.soft = soft
	return e
}

func (p *parser) or() expr {
	l := p.and()
	for p.skipName("or") {
		l = &orExpr{l, p.and()}
	}
	return l
}

func (p *parser) and() expr {
	l := p.not()
	for p.skipName("and") {
		l = &andExpr{l, p.not()}
	}
	return l
}

func (p *parser) not() expr {
	if !p.skipName("not") {
		return p.compare()
	}
	p.enter()
	defer p.leave()
	return &notExpr{p.not()}
}

func (p *parser) compare() expr {
	first := p.sum()
	c := &compareExpr{first: first}
	for {
		t := p.cur()
		op := ""
		switch {
		case t.kind == tokOp && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, t.text):
			op = t.text
			p.pos++
		case t.isName("in"):
			op = "in"
			p.pos++
		case t.isName("not") && p.look().isName("in"):
			op = "not in"
			p.pos += 2
		}
		if op == "" {
			break
		}
		r := p.sum()
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, r)
	}
	if len(c.ops) == 0 {
		return first
	}
	return c
}

// binary parses operands joined by any of ops, from the left.
func (p *parser) binary(operand func() expr, ops ...string) expr {
	l := operand()
	for p.cur().kind == tokOp && slices.Contains(ops, p.cur().text) {
		op := p.next().text
		l = &binaryExpr{op, l, operand()}
	}
	return l
}

func (p *parser) sum() expr { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() expr {
	first := p.product()
	if !p.cur().isOp("~") {
		return first
	}
	c := &concatExpr{[]expr{first}}
	for p.skipOp("~") {
		c.parts = append(c.parts, p.product())
	}
	return c
}

func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }

// power is left-associative in Jinja, unlike in Python.
func (p *parser) power() expr {
	return p.binary(func() expr { return p.unary(true) }, "**")
}

func (p *parser) unary(filters bool) expr {
	p.enter()
	defer p.leave()
	var x expr
	if t := p.cur(); t.isOp("-") || t.isOp("+") {
		p.pos++
		x = &unaryExpr{t.text, p.unary(false)}
	} else {
		x = p.primary()
	}
	x = p.postfix(x)
	if filters {
		x = p.filtersAndTests(x)
	}
	return x
}

func (p *parser) primary() expr {
	t := p.cur()
	switch {
	case t.kind == tokName:
		p.pos++
		switch t.text {
		case "true", "True":
			return &constExpr{Bool(true)}
		case "false", "False":
			return &constExpr{Bool(false)}
		case "none", "None":
			return &constExpr{None}
		}
		p.noteSpecial(t.text)
		return &nameExpr{t.text}
	case t.kind == tokString:
		var b strings.Builder
		for p.cur().kind == tokString {
			b.WriteString(p.next().text)
		}
		return &constExpr{Text(b.String())}
	case t.kind == tokInteger:
		p.pos++
		return p.integer(t)
	case t.kind == tokFloat:
		p.pos++
		return &constExpr{parseFloatLiteral(t.text)}
	case t.isOp("("):
		p.pos++
		if p.skipOp(")") {
			return &tupleExpr{}
		}
		e := p.tuple(true)
		p.expectOp(")")
		return e
	case t.isOp("["):
		p.pos++
		return &listExpr{p.items("]")}
	case t.isOp("{"):
		p.pos++
		return p.dict()
	}
	panic(p.fail(t.line, "unexpected %q", t))
}

// noteSpecial records that the macros around this point mention a name that
// changes how they may be called.
func (p *parser) noteSpecial(name string) {
	for _, m := range p.macros {
		switch name {
		case "caller":
			m.caller = true
		case "varargs":
			m.varargs = !m.param(name)
		case "kwargs":
			m.kwargs = !m.param(name)
		}
	}
}

// items parses expressions joined by commas up to the closing bracket.
func (p *parser) items(end string) []expr {
	var items []expr
	for !p.skipOp(end) {
		if len(items) > 0 {
			p.expectOp(",")
			if p.skipOp(end) {
				break
			}
		}
		items = append(items, p.expression())
	}
	return items
}

func (p *parser) dict() expr {
	d := &dictExpr{}
	for !p.skipOp("}") {
		if len(d.keys) > 0 {
			p.expectOp(",")
			if p.skipOp("}") {
				break
			}
		}
		k := p.expression()
		p.expectOp(":")
		v := p.expression()
		d.keys = append(d.keys, k)
		d.vals = append(d.vals, v)
	}
	return d
}

// postfix parses attributes, subscripts and calls.
func (p *parser) postfix(x expr) expr {
	for {
		switch t := p.cur(); {
		case t.isOp("."):
			p.pos++
			switch a := p.next(); a.kind {
			case tokName:
				x = &attrExpr{x, a.text}
			case tokInteger:
				x = &itemExpr{x, p.integer(a)}
			default:
				panic(p.fail(a.line, "expected name or number"))
			}
		case t.isOp("["):
			p.pos++
			x = p.subscript(x)
		case t.isOp("("):
			x = p.call(x)
		default:
			return x
		}
	}
}

func (p *parser) subscript(x expr) expr {
	if p.cur().isOp(":") {
		return p.slice(x, nil)
	}
	var keys []expr
	isTuple := false
	for {
		e := p.expression()
		if p.cur().isOp(":") && len(keys) == 0 {
			return p.slice(x, e)
		}
		keys = append(keys, e)
		if !p.skipOp(",") {
			break
		}
		isTuple = true
		if p.cur().isOp("]") {
			break
		}
	}
	key := keys[0]
	if isTuple {
		key = &tupleExpr{keys}
	}
	p.expectOp("]")
	return &itemExpr{x, key}
}

// slice parses a slice from its first colon to the bracket.
func (p *parser) slice(x, from expr) expr {
	s := &sliceExpr{x: x, from: from}
	for _, bound := range []*expr{&s.to, &s.step} {
		if !p.skipOp(":") {
			break
		}
		if t := p.cur(); t.isOp(":") || t.isOp("]") {
			continue
		}
		*bound = p.expression()
	}
	p.expectOp("]")
	return s
}

func (p *parser) call(fn expr) expr {
	return &callExpr{fn, p.args()}
}

// args parses the arguments of a call with their parentheses.
func (p *parser) args() callArgs {
	var a callArgs
	open := p.cur()
	p.expectOp("(")
	for first := true; !p.skipOp(")"); first = false {
		if !first {
			p.expectOp(",")
			if p.skipOp(")") {
				break
			}
		}
		ok := a.stars == nil
		switch t := p.cur(); {
		case t.isOp("*"):
			p.pos++
			ok = ok && a.star == nil
			a.star = p.expression()
		case t.isOp("**"):
			p.pos++
			a.stars = p.expression()
		case t.kind == tokName && p.look().isOp("="):
			p.pos += 2
			if slices.Contains(a.names, t.text) {
				panic(p.fail(t.line, "keyword argument repeated: %s", t.text))
			}
			a.names = append(a.names, t.text)
			a.named = append(a.named, p.expression())
		default:
			ok = ok && a.star == nil && len(a.named) == 0
			a.pos = append(a.pos, p.expression())
		}
		if !ok {
			panic(p.fail(open.line, "invalid syntax for function call expression"))
		}
	}
	return a
}

// filtersAndTests parses what may follow a whole operand.
func (p *parser) filtersAndTests(x expr) expr {
	for {
		switch t := p.cur(); {
		case t.isOp("|"):
			x = p.filterChain(x, false)
		case t.isName("is"):
			x = p.test(x)
		case t.isOp("("):
			x = p.call(x)
		default:
			return x
		}
	}
}

// noteUnknown records an unknown filter or test. Under an if it may never be
// reached, so there it is an error of rendering.
func (p *parser) noteUnknown(name token, what string) {
	if !p.soft && p.unknown.error == nil {
		p.unknown = p.fail(name.line, "no %s named '%s'", what, name.text)
	}
}

func (p *parser) dottedName() token {
	t := p.expectKind(tokName)
	for p.skipOp(".") {
		t.text += "." + p.expectKind(tokName).text
	}
	return t
}

// filterChain parses filters. inline means that the first has no bar before
// it.
func (p *parser) filterChain(x expr, inline bool) expr {
	for inline || p.skipOp("|") {
		inline = false
		name := p.dottedName()
		f := &filterExpr{x: x, name: name.text}
		if p.cur().isOp("(") {
			f.args = p.args()
		}
		if _, ok := filters[f.name]; !ok {
			p.noteUnknown(name, "filter")
		}
		x = f
	}
	return x
}

func (p *parser) test(x expr) expr {
	p.pos++ // is
	negated := p.skipName("not")
	name := p.dottedName()
	t := &testExpr{x: x, name: name.text}
	switch c := p.cur(); {
	case c.isOp("("):
		t.args = p.args()
	case c.isName("else"), c.isName("or"), c.isName("and"):
	case c.isName("is"):
		panic(p.fail(c.line, "you cannot chain multiple tests with is"))
	case c.kind == tokName, c.kind == tokString, c.kind == tokInteger, c.kind == tokFloat, c.isOp("["), c.isOp("{"):
		t.args.pos = []expr{p.postfix(p.primary())}
	}
	if _, ok := tests[t.name]; !ok {
		p.noteUnknown(name, "test")
	}
	if negated {
		return &notExpr{t}
	}
	return t
}
