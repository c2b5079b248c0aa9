package jinja

import (
	"slices"
	"strings"
)

// tuple parses one expression, or several joined by commas as a tuple. cond
// allows an inline if. ends are names that may follow a trailing comma.
func (p *parser) tuple(cond bool, ends ...string) (expr, error) {
	var items []expr
	isTuple := false
	for {
		if len(items) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		if p.tupleEnd(ends) {
			break
		}
		parse := p.or
		if cond {
			parse = p.expression
		}
		e, err := parse()
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if !p.cur().isOp(",") {
			break
		}
		isTuple = true
	}
	if !isTuple {
		if len(items) == 1 {
			return items[0], nil
		}
		return nil, p.fail(p.cur().line, "expected an expression, got %q", p.cur())
	}
	return &tupleExpr{items}, nil
}

func (p *parser) tupleEnd(ends []string) bool {
	t := p.cur()
	return t.kind == tokVarEnd || t.kind == tokBlockEnd || t.isOp(")") ||
		t.kind == tokName && slices.Contains(ends, t.text)
}

// expression parses any expression but a bare tuple: an inline if or less.
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	unknown := p.unknown
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	for p.skipName("if") {
		p.unknown = unknown // what precedes "if" turned out to be conditional
		test, err := p.softly(p.or)
		if err != nil {
			return nil, err
		}
		var els expr
		if p.skipName("else") {
			if els, err = p.softly(p.expression); err != nil {
				return nil, err
			}
		}
		e = &condExpr{test, e, els}
	}
	return e, nil
}

func (p *parser) softly(parse func() (expr, error)) (expr, error) {
	soft := p.soft
	p.soft = true
	e, err := parse()
	p.soft = soft
	return e, err
}

func (p *parser) or() (expr, error) {
	l, err := p.and()
	for err == nil && p.skipName("or") {
		var r expr
		r, err = p.and()
		l = &orExpr{l, r}
	}
	return l, err
}

func (p *parser) and() (expr, error) {
	l, err := p.not()
	for err == nil && p.skipName("and") {
		var r expr
		r, err = p.not()
		l = &andExpr{l, r}
	}
	return l, err
}

func (p *parser) not() (expr, error) {
	if !p.skipName("not") {
		return p.compare()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.not()
	return &notExpr{x}, err
}

func (p *parser) compare() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
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
		r, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, r)
	}
	if len(c.ops) == 0 {
		return first, nil
	}
	return c, nil
}

// binary parses operands joined by any of ops, from the left.
func (p *parser) binary(operand func() (expr, error), ops ...string) (expr, error) {
	l, err := operand()
	for err == nil && p.cur().kind == tokOp && slices.Contains(ops, p.cur().text) {
		op := p.next().text
		var r expr
		r, err = operand()
		l = &binaryExpr{op, l, r}
	}
	return l, err
}

func (p *parser) sum() (expr, error) { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() (expr, error) {
	first, err := p.product()
	if err != nil || !p.cur().isOp("~") {
		return first, err
	}
	c := &concatExpr{[]expr{first}}
	for p.skipOp("~") {
		e, err := p.product()
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, e)
	}
	return c, nil
}

func (p *parser) product() (expr, error) { return p.binary(p.power, "*", "/", "//", "%") }

// power is left-associative in Jinja, unlike in Python.
func (p *parser) power() (expr, error) {
	return p.binary(func() (expr, error) { return p.unary(true) }, "**")
}

func (p *parser) unary(filters bool) (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var x expr
	var err error
	if t := p.cur(); t.isOp("-") || t.isOp("+") {
		p.pos++
		if x, err = p.unary(false); err == nil {
			x = &unaryExpr{t.text, x}
		}
	} else {
		x, err = p.primary()
	}
	if err == nil {
		x, err = p.postfix(x)
	}
	if err == nil && filters {
		x, err = p.filtersAndTests(x)
	}
	return x, err
}

func (p *parser) primary() (expr, error) {
	t := p.cur()
	switch {
	case t.kind == tokName:
		p.pos++
		switch t.text {
		case "true", "True":
			return &constExpr{Bool(true)}, nil
		case "false", "False":
			return &constExpr{Bool(false)}, nil
		case "none", "None":
			return &constExpr{None}, nil
		}
		p.names[t.text] = true
		p.noteSpecial(t.text)
		return &nameExpr{t.text}, nil
	case t.kind == tokString:
		var b strings.Builder
		for p.cur().kind == tokString {
			b.WriteString(p.next().text)
		}
		return &constExpr{Text(b.String())}, nil
	case t.kind == tokInteger:
		p.pos++
		n, err := parseInt(t.text, 0)
		if err != nil {
			return nil, p.wrap(t.line, err)
		}
		return &constExpr{n}, nil
	case t.kind == tokFloat:
		p.pos++
		return &constExpr{parseFloatLiteral(t.text)}, nil
	case t.isOp("("):
		p.pos++
		if p.skipOp(")") {
			return &tupleExpr{}, nil
		}
		e, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		return e, p.expectOp(")")
	case t.isOp("["):
		p.pos++
		items, err := p.items("]")
		return &listExpr{items}, err
	case t.isOp("{"):
		p.pos++
		return p.dict()
	}
	return nil, p.fail(t.line, "unexpected %q", t)
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
func (p *parser) items(end string) ([]expr, error) {
	var items []expr
	for !p.skipOp(end) {
		if len(items) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.skipOp(end) {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, e)
	}
	return items, nil
}

func (p *parser) dict() (expr, error) {
	d := &dictExpr{}
	for !p.skipOp("}") {
		if len(d.keys) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.skipOp("}") {
				break
			}
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.expectOp(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys = append(d.keys, k)
		d.vals = append(d.vals, v)
	}
	return d, nil
}

// postfix parses attributes, subscripts and calls.
func (p *parser) postfix(x expr) (expr, error) {
	for {
		var err error
		switch t := p.cur(); {
		case t.isOp("."):
			p.pos++
			switch a := p.next(); a.kind {
			case tokName:
				x = &attrExpr{x, a.text}
			case tokInteger:
				n, err := parseInt(a.text, 0)
				if err != nil {
					return nil, p.wrap(a.line, err)
				}
				x = &itemExpr{x, &constExpr{n}}
			default:
				return nil, p.fail(a.line, "expected name or number")
			}
		case t.isOp("["):
			p.pos++
			x, err = p.subscript(x)
		case t.isOp("("):
			x, err = p.call(x)
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) subscript(x expr) (expr, error) {
	if p.cur().isOp(":") {
		return p.slice(x, nil)
	}
	var keys []expr
	isTuple := false
	for {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
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
	return &itemExpr{x, key}, p.expectOp("]")
}

// slice parses a slice from its first colon to the bracket.
func (p *parser) slice(x, from expr) (expr, error) {
	s := &sliceExpr{x: x, from: from}
	for _, bound := range []*expr{&s.to, &s.step} {
		if !p.skipOp(":") {
			break
		}
		if t := p.cur(); t.isOp(":") || t.isOp("]") {
			continue
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		*bound = e
	}
	return s, p.expectOp("]")
}

func (p *parser) call(fn expr) (expr, error) {
	args, err := p.args()
	return &callExpr{fn, args}, err
}

// args parses the arguments of a call with their parentheses.
func (p *parser) args() (callArgs, error) {
	var a callArgs
	open := p.cur()
	if err := p.expectOp("("); err != nil {
		return a, err
	}
	for first := true; !p.skipOp(")"); first = false {
		if !first {
			if err := p.expectOp(","); err != nil {
				return a, err
			}
			if p.skipOp(")") {
				break
			}
		}
		var err error
		ok := a.stars == nil
		switch t := p.cur(); {
		case t.isOp("*"):
			p.pos++
			ok = ok && a.star == nil
			a.star, err = p.expression()
		case t.isOp("**"):
			p.pos++
			a.stars, err = p.expression()
		case t.kind == tokName && p.look().isOp("="):
			p.pos += 2
			if slices.Contains(a.names, t.text) {
				return a, p.fail(t.line, "keyword argument repeated: %s", t.text)
			}
			var e expr
			e, err = p.expression()
			a.names = append(a.names, t.text)
			a.named = append(a.named, e)
		default:
			ok = ok && a.star == nil && len(a.named) == 0
			var e expr
			e, err = p.expression()
			a.pos = append(a.pos, e)
		}
		if err != nil {
			return a, err
		}
		if !ok {
			return a, p.fail(open.line, "invalid syntax for function call expression")
		}
	}
	return a, nil
}

// filtersAndTests parses what may follow a whole operand.
func (p *parser) filtersAndTests(x expr) (expr, error) {
	for {
		var err error
		switch t := p.cur(); {
		case t.isOp("|"):
			x, err = p.filterChain(x, false)
		case t.isName("is"):
			x, err = p.test(x)
		case t.isOp("("):
			x, err = p.call(x)
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// noteUnknown records an unknown filter or test. Under an if it may never be
// reached, so there it is an error of rendering.
func (p *parser) noteUnknown(name token, what string) {
	if !p.soft && p.unknown == nil {
		p.unknown = p.fail(name.line, "no %s named '%s'", what, name.text)
	}
}

func (p *parser) dottedName() (token, error) {
	t, err := p.expectKind(tokName)
	for err == nil && p.skipOp(".") {
		var more token
		more, err = p.expectKind(tokName)
		t.text += "." + more.text
	}
	return t, err
}

// filterChain parses filters. inline means that the first has no bar before
// it.
func (p *parser) filterChain(x expr, inline bool) (expr, error) {
	for inline || p.skipOp("|") {
		inline = false
		name, err := p.dottedName()
		if err != nil {
			return nil, err
		}
		f := &filterExpr{x: x, name: name.text}
		if p.cur().isOp("(") {
			if f.args, err = p.args(); err != nil {
				return nil, err
			}
		}
		if _, ok := filters[f.name]; !ok {
			p.noteUnknown(name, "filter")
		}
		x = f
	}
	return x, nil
}

func (p *parser) test(x expr) (expr, error) {
	p.pos++ // is
	negated := p.skipName("not")
	name, err := p.dottedName()
	if err != nil {
		return nil, err
	}
	t := &testExpr{x: x, name: name.text}
	switch c := p.cur(); {
	case c.isOp("("):
		t.args, err = p.args()
	case c.isName("else"), c.isName("or"), c.isName("and"):
	case c.isName("is"):
		return nil, p.fail(c.line, "you cannot chain multiple tests with is")
	case c.kind == tokName, c.kind == tokString, c.kind == tokInteger, c.kind == tokFloat, c.isOp("["), c.isOp("{"):
		var arg expr
		if arg, err = p.primary(); err == nil {
			arg, err = p.postfix(arg)
		}
		t.args.pos = []expr{arg}
	}
	if err != nil {
		return nil, err
	}
	if _, ok := tests[t.name]; !ok {
		p.noteUnknown(name, "test")
	}
	if negated {
		return &notExpr{t}, nil
	}
	return t, nil
}
