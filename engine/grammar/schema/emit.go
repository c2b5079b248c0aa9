package schema

import (
	"fmt"

	"quern/engine/grammar"
)

// space is what may stand between the parts of a value: one blank, or a line break and
// the blanks that indent the next line, 20 bytes at most. Without the limit weak models
// print blanks for ever.
var space = grammar.Opt(grammar.Or(grammar.Lit(" "), grammar.Concat(
	grammar.Opt(grammar.Lit("\r")), grammar.Lit("\n"), grammar.Repeat(grammar.Chars(grammar.OneOf(" \t")), 0, 18))))

// around is a mark with space on both sides.
func around(mark string) *grammar.Regex { return grammar.Concat(space, grammar.Lit(mark), space) }

var (
	colon      = grammar.Concat(grammar.Opt(grammar.Lit(" ")), grammar.Lit(":"), space)
	comma      = around(",")
	openBrace  = grammar.Concat(grammar.Lit("{"), space)
	closeBrace = grammar.Concat(space, grammar.Lit("}"))
	openArray  = grammar.Concat(grammar.Lit("["), space)
	closeArray = grammar.Concat(space, grammar.Lit("]"))
	numbers    = newTexts().plain(writable(anything))
)

// lexeme is the node of an expression; the same expression gives the same node.
func (c *compiler) lexeme(r *grammar.Regex) *grammar.Node {
	n, ok := c.lexemes[r]
	if !ok {
		n = c.b.Lexeme(r)
		c.lexemes[r] = n
	}
	return n
}

// rule declares a rule.
func (c *compiler) rule() *grammar.Node {
	c.rules++
	return c.b.Rule(fmt.Sprintf("%s%d", c.prefix, c.rules))
}

// anyValue is any JSON value.
func (c *compiler) anyValue() *grammar.Node {
	if c.any == nil {
		c.any = c.rule()
		c.b.Define(c.any, c.b.Alt(
			c.lexeme(anyScalar),
			c.anyObject(),
			c.listOf(c.lexeme(openArray), c.any, c.lexeme(closeArray))))
	}
	return c.any
}

// anyObject is any JSON object.
func (c *compiler) anyObject() *grammar.Node {
	if c.anyObj == nil {
		c.anyObj = c.rule()
		c.b.Define(c.anyObj, c.listOf(c.lexeme(openBrace),
			c.b.Seq(c.lexeme(anyName), c.anyValue()), c.lexeme(closeBrace)))
	}
	return c.anyObj
}

var (
	anyName   = grammar.Concat(anyString, colon)
	anyScalar = grammar.Or(grammar.Lit("null"), grammar.Lit("true"), grammar.Lit("false"), numbers, anyString)
)

// listOf is any number of items between marks.
func (c *compiler) listOf(begin, item, end *grammar.Node) *grammar.Node {
	return c.b.Seq(begin, c.b.Opt(c.several(item, 1, most)), end)
}

// several is from low to high items with commas between them; low is at least 1.
func (c *compiler) several(item *grammar.Node, low, high int) *grammar.Node {
	return c.b.Seq(item, c.more(item, low-1, high-1))
}

// more is from low to high items, each behind a comma.
func (c *compiler) more(item *grammar.Node, low, high int) *grammar.Node {
	if high >= most-1 {
		high = grammar.Unbounded
	}
	return c.b.Repeat(c.b.Seq(c.lexeme(comma), item), low, high)
}

// maxCombined bounds the different values of one schema.
const maxCombined = 20000

// value is a value that is valid under all of lits.
func (c *compiler) value(lits literals) (*grammar.Node, error) {
	if len(lits) == 0 {
		return c.anyValue(), nil
	}
	key := lits.key()
	if n, ok := c.values[key]; ok {
		return n, nil
	}
	if len(c.values) == maxCombined {
		return nil, &Error{Pointer: lits[0].s.at, Reason: fmt.Sprintf("more than %d different values", maxCombined)}
	}
	if err := c.b.Err(); err != nil {
		return nil, err
	}
	ways, err := c.scalars(lits)
	if err != nil {
		return nil, err
	}
	arrays, err := c.join(lits, array)
	if err != nil {
		return nil, err
	}
	objects, err := c.join(lits, object)
	if err != nil {
		return nil, err
	}
	if len(arrays)+len(objects) == 0 {
		n := c.b.Alt(ways...)
		c.values[key] = n
		return n, nil
	}
	n := c.rule()
	c.values[key] = n
	for _, cl := range arrays {
		a, err := c.array(cl)
		if err != nil {
			return nil, err
		}
		ways = append(ways, a)
	}
	for _, cl := range objects {
		o, err := c.object(cl)
		if err != nil {
			return nil, err
		}
		ways = append(ways, o)
	}
	c.b.Define(n, c.b.Alt(ways...))
	return n, nil
}

// scalars are the strings, numbers and words that are valid under all of lits.
func (c *compiler) scalars(lits literals) ([]*grammar.Node, error) {
	var texts []*grammar.Regex
	for _, w := range []struct {
		d    *domain
		text string
	}{{domains.null, "null"}, {domains.yes, "true"}, {domains.no, "false"}} {
		n, err := c.left(lits, w.d)
		if err != nil {
			return nil, err
		}
		if n != nothing {
			texts = append(texts, grammar.Lit(w.text))
		}
	}
	n, err := c.left(lits, domains.number)
	if err != nil {
		return nil, err
	}
	if n == anything {
		texts = append(texts, numbers)
	} else if n != nothing {
		if none, err := c.empty(numeral(n)); err != nil {
			return nil, err
		} else if !none {
			texts = append(texts, c.texts.plain(writable(n)))
		}
	}
	n, err = c.left(lits, domains.str)
	if err != nil {
		return nil, err
	}
	var ways []*grammar.Node
	if none, err := c.empty(n); err != nil {
		return nil, err
	} else if long := c.long(n); !none && long != nil {
		ways = append(ways, long)
	} else if !none {
		texts = append(texts, c.texts.quoted(n))
	}
	for _, t := range texts {
		ways = append(ways, c.lexeme(t))
	}
	return ways, nil
}

// join returns the clauses of arrays or objects that are valid under all of lits.
func (c *compiler) join(lits literals, k kind) ([]clause, error) {
	out := []clause{nil}
	for _, l := range lits {
		list, err := c.clauses(side{l, k, false})
		if err != nil {
			return nil, err
		}
		if out, err = c.product(out, list, k, l.s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// empty says that no string matches n.
func (c *compiler) empty(n *node) (bool, error) {
	switch n {
	case nothing:
		return true, nil
	case anything:
		return false, nil
	}
	if none, ok := c.empties[n]; ok {
		return none, nil
	}
	none, err := c.expressions.Empty(c.texts.plain(n))
	if err != nil {
		return false, err
	}
	c.empties[n] = none
	return none, nil
}

// matches reports whether n matches s.
func (c *compiler) matches(n *node, s string) (bool, error) {
	switch n {
	case nothing:
		return false, nil
	case anything:
		return true, nil
	}
	q := match{n, s}
	if yes, ok := c.matched[q]; ok {
		return yes, nil
	}
	yes, err := c.expressions.Matches(c.texts.plain(n), s)
	if err == nil {
		c.matched[q] = yes
	}
	return yes, err
}

type match struct {
	n *node
	s string
}
