package wire

import "bytes"

// Where a reader is in calls of Python.
const (
	pyOpen uint8 = iota // before the list
	pyNext              // before a call
	pyName
	pyArgs // before an argument or the end of the call
	pyValue
	pyAfter // behind an argument
	pySkip  // in a call that went wrong
)

// pythonStep reads some of a list of calls, f(a=1), g(). The list may stand in
// brackets; calls are parted by commas, blanks or line breaks.
func (r *Reader) pythonStep() bool {
	c := &r.call
	if c.python != pyValue && c.python != pySkip && c.python != pyName {
		if n := blanks(r.in); n > 0 {
			r.eat(n)
			return true
		}
	}
	if len(r.in) == 0 {
		return false
	}
	ch := r.in[0]
	switch c.python {
	case pyOpen:
		c.python = pyNext
		if ch == '[' {
			c.object.array = true
			r.eat(1)
		}
	case pyNext:
		switch {
		case ch == ',':
			r.eat(1)
		case ch == '{' && c.pieces[0].Kind == Literal:
			// Objects where the family's other models write Python.
			c.pieces = append([]piece{{Element: Element{Kind: Objects}}}, closers(c.pieces)...)
			c.pc = 0
			if c.object.array {
				c.object.state = objItem
			}
		case c.object.array && ch == ']':
			r.eat(1)
			r.endPython()
		case !c.object.array && !isIdent(ch):
			r.endPython()
		default:
			r.newCall()
			c.python = pyName
		}
	case pyName:
		return r.pythonName()
	case pyArgs:
		switch {
		case ch == ')':
			r.eat(1)
			r.closePython()
		case ch == ',':
			r.eat(1)
		default:
			return r.pythonKey()
		}
	case pyValue:
		return r.pythonValue()
	case pyAfter:
		switch ch {
		case ',':
			c.python = pyArgs
			r.eat(1)
		case ')':
			r.eat(1)
			r.closePython()
		default:
			r.wrongPython()
		}
	case pySkip:
		i := bytes.IndexByte(r.in, ')')
		if i < 0 {
			r.eat(len(r.in))
			return false
		}
		r.eat(i + 1)
		c.python = pyNext
	}
	return true
}

func isIdent(c byte) bool {
	return c == '_' || c == '.' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 && c != symbol
}

// ident returns the name the input begins with, and whether it is whole.
func (r *Reader) ident() (int, bool) {
	n := 0
	for n < len(r.in) && isIdent(r.in[n]) {
		n++
	}
	return n, n < len(r.in) || r.last || n > MaxName
}

// pythonName reads the name of a tool. Where the list has no marker, what does
// not look like a call of a known tool is content, as a link of Markdown is.
func (r *Reader) pythonName() bool {
	c := &r.call
	n, whole := r.ident()
	if !whole {
		return false
	}
	if n == len(r.in) && n <= MaxName {
		return false // cut off
	}
	name := string(r.in[:n])
	switch {
	case n == 0 || n > MaxName || r.in[n] != '(':
		if r.tentative() {
			return r.wrong()
		}
		r.wrongPython()
		if n > 0 {
			r.eat(n)
		}
		return true
	case c.pieces[0].Kind != Literal && !r.known(name):
		return r.wrong()
	}
	r.eat(n + 1)
	if c.pieces[0].Kind == Literal {
		r.commit()
	}
	c.name = name
	c.python = pyArgs
	return true
}

func (r *Reader) pythonKey() bool {
	c := &r.call
	n, whole := r.ident()
	if !whole {
		return false
	}
	end := n + blanks(r.in[n:])
	if end == len(r.in) && (end < maxGap || r.last) {
		return false
	}
	if n == 0 || n > MaxName || end == len(r.in) || r.in[end] != '=' {
		return r.wrongPython()
	}
	open := byte(',')
	if len(c.args) == 0 && !c.started {
		open = '{'
	}
	c.args = append(c.args, open, '"')
	c.args = appendEscaped(c.args, r.in[:n])
	c.args = append(c.args, '"', ':')
	r.eat(end + 1)
	c.val.reset()
	c.val.dialect = Python
	c.python = pyValue
	return true
}

func (r *Reader) pythonValue() bool {
	c := &r.call
	n, st := c.val.run(r.in, r.last)
	r.eat(n)
	c.args = append(c.args, c.val.out...)
	// The first byte of a value shows that the arguments are what they seem.
	c.ready = c.ready || len(c.val.out) > 0
	c.val.out = c.val.out[:0]
	r.flushArgs()
	switch st {
	case bad:
		r.wrongPython()
	case more:
		return false
	default:
		c.python = pyAfter
	}
	return true
}

func (r *Reader) closePython() {
	c := &r.call
	if c.started {
		c.args = append(c.args, '}')
	} else if len(c.args) > 0 {
		c.args = append(c.args, '}')
	}
	r.endCall()
	r.commit()
	c.python = pyNext
}

// endPython ends the list.
func (r *Reader) endPython() {
	r.call.closed = true
	r.call.pc++
}

// wrongPython is wrong for a list: the call is left out, and reading continues after it.
func (r *Reader) wrongPython() bool {
	if r.tentative() {
		return r.wrong()
	}
	r.call.python = pySkip
	r.call.name = ""
	return true
}
