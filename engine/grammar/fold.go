package grammar

import "slices"

// Before a grammar becomes productions it is simplified, which does not change its
// texts: rules that only recur at one end become repetitions, and small regular
// parts become one lexeme. So a text needs few rows, and masks, which are
// remembered by lexeme, are found again.

// A fold is what a node was simplified to.
type fold struct {
	busy     bool   // a rule that is being simplified: it recurs
	regular  bool   // is just the lexeme regex
	regex    *Regex // if regular
	shortest bool   // ends at the first match: never part of another lexeme
	wide     bool   // regular, with a loop over many bytes: see joinable
	size     int    // of regex, with repetitions counted in full
	own      bool   // was a lexeme or a rule in the grammar
	node     *Node  // if not regular; its kids are simplified too
}

const (
	wideBytes = 8       // a loop over fewer bytes is not wide: blanks
	foldSize  = 1 << 13 // larger parts are not joined
)

// joinable reports whether f may become part of a larger lexeme. A lexeme that reads
// long text stays one of its own, in order that its states, and the masks of
// those, are the same wherever it is used.
func (f *fold) joinable() bool {
	return f.regular && !f.shortest && !(f.wide && f.own) && f.size <= foldSize
}

// reduce simplifies n.
func (c *compiler) reduce(n *Node) *fold {
	if f, ok := c.folded[n]; ok {
		return f
	}
	f := &fold{busy: true}
	c.folded[n] = f
	if !c.x.spend(1 + len(n.kids)) {
		return f
	}
	switch n.op {
	case nodeLexeme:
		*f = fold{regular: true, regex: n.regex, shortest: n.shortest, own: true}
		f.size, f.wide = c.measure(n.regex)
	case nodeToken:
		*f = fold{node: n}
	case nodeRule:
		c.rule(n, f)
	case nodeSeq:
		c.seq(n, f)
	case nodeAlt:
		c.alternatives(n, f)
	case nodeRepeat:
		k := c.reduce(n.kids[0])
		if size := k.size * max(n.max, n.min, 1); k.joinable() && size <= foldSize {
			r := Repeat(k.regex, n.min, n.max)
			_, wide := c.measure(r)
			*f = fold{regular: true, regex: r, size: size + 1, wide: k.wide || wide}
			break
		}
		*f = fold{node: n}
	}
	return f
}

func (c *compiler) rule(n *Node, f *fold) {
	body := c.straighten(n)
	k := c.reduce(body)
	if k.regular {
		*f = *k
		f.own = true
		return
	}
	*f = fold{node: body}
	if k.node != nil && !k.busy {
		f.node = k.node
	}
}

// seq joins neighbours.
func (c *compiler) seq(n *Node, f *fold) {
	var kids []*Node
	var run []*Node
	flush := func() {
		if len(run) > 0 {
			kids = append(kids, c.join(run, opConcat))
		}
		run = nil
	}
	size := 0
	for _, k := range n.kids {
		kf := c.reduce(k)
		if !kf.joinable() {
			flush()
			kids = append(kids, k)
			continue
		}
		if size+kf.size > foldSize {
			flush()
			size = 0
		}
		size += kf.size
		run = append(run, k)
	}
	flush()
	c.settle(n, f, kids, opConcat)
}

// alternatives joins what can be joined into one lexeme.
func (c *compiler) alternatives(n *Node, f *fold) {
	var kids, run []*Node
	for _, k := range n.kids {
		if c.reduce(k).joinable() {
			run = append(run, k)
		} else {
			kids = append(kids, k)
		}
	}
	if len(run) > 0 {
		kids = append(kids, c.join(run, opOr))
	}
	c.settle(n, f, kids, opOr)
}

func (c *compiler) settle(n *Node, f *fold, kids []*Node, op regexOp) {
	switch {
	case len(kids) == 0 && op == opConcat:
		*f = fold{regular: true, regex: Lit("")}
	case len(kids) == 0:
		*f = fold{regular: true, regex: Nothing()}
	case len(kids) == 1 && c.folded[kids[0]].regular:
		*f = *c.folded[kids[0]]
	default:
		*f = fold{node: &Node{op: n.op, kids: kids}}
	}
}

// join makes one lexeme of joinable nodes.
func (c *compiler) join(run []*Node, op regexOp) *Node {
	if len(run) == 1 {
		return run[0]
	}
	f := &fold{regular: true}
	parts := make([]*Regex, len(run))
	for i, k := range run {
		kf := c.folded[k]
		parts[i] = kf.regex
		f.size += kf.size
		f.wide = f.wide || kf.wide
	}
	if op == opOr {
		f.regex = Or(parts...)
	} else {
		f.regex = Concat(parts...)
	}
	n := &Node{op: nodeLexeme, regex: f.regex}
	c.folded[n] = f
	return n
}

// measure returns the size of r, with repetitions counted in full, and whether it
// has a loop over many bytes.
func (c *compiler) measure(r *Regex) (size int, wide bool) {
	if m, ok := c.measured[r]; ok {
		return m.size, m.wide
	}
	size = 1 + len(r.lit)
	c.x.spend(1 + len(r.kids))
	for _, k := range r.kids {
		s, w := c.measure(k)
		size = min(size+s, 1<<30)
		wide = wide || w
	}
	switch r.op {
	case opRepeat:
		if r.max < 0 || r.max > 8 {
			first := c.x.first(c.conv.convert(r.kids[0]))
			wide = wide || first.size() >= wideBytes
		}
		size = min(size*max(r.max, r.min, 1), 1<<30)
	case opNot, opAnd, opTable:
		wide = true
	}
	c.measured[r] = measure{size, wide}
	return size, wide
}

type measure struct {
	size int
	wide bool
}

// straighten returns the body of a rule, without the rule itself where it stands at
// one end only: a ::= x a | y is x* y, and a ::= a x | y is y x* (Arden, 1961).
func (c *compiler) straighten(rule *Node) *Node {
	clear(c.mention)
	if !c.mentions(rule.body, rule) {
		return rule.body
	}
	for _, last := range []bool{true, false} {
		again, stop, ok := c.split(rule.body, rule, last)
		if !ok {
			continue
		}
		if stop == nil {
			return &Node{op: nodeAlt} // can never end
		}
		loop := &Node{op: nodeRepeat, kids: []*Node{again}, max: Unbounded}
		if last {
			return &Node{op: nodeSeq, kids: []*Node{loop, stop}}
		}
		return &Node{op: nodeSeq, kids: []*Node{stop, loop}}
	}
	return rule.body
}

// mentions reports whether rule stands in n, not looking into other rules.
func (c *compiler) mentions(n, rule *Node) bool {
	if n == rule {
		return true
	}
	if n.op == nodeRule || !c.x.spend(1) {
		return false
	}
	m, ok := c.mention[n]
	if !ok {
		m = slices.ContainsFunc(n.kids, func(k *Node) bool { return c.mentions(k, rule) })
		c.mention[n] = m
	}
	return m
}

// split writes n as again·rule | stop, or with last false as rule·again | stop; nil
// is no text. It fails if the rule stands elsewhere.
func (c *compiler) split(n, rule *Node, last bool) (again, stop *Node, ok bool) {
	switch {
	case n == rule:
		return &Node{op: nodeSeq}, nil, true
	case !c.mentions(n, rule):
		return nil, n, true
	case !c.x.spend(1 + len(n.kids)):
		return nil, nil, false
	}
	switch n.op {
	case nodeSeq:
		at, rest := 0, n.kids[1:]
		if last {
			at, rest = len(n.kids)-1, n.kids[:len(n.kids)-1]
		}
		for _, k := range rest {
			if c.mentions(k, rule) {
				return nil, nil, false
			}
		}
		a, s, ok := c.split(n.kids[at], rule, last)
		with := func(end *Node) *Node {
			if end == nil {
				return nil
			}
			kids := make([]*Node, 0, len(n.kids))
			if last {
				kids = append(append(kids, rest...), end)
			} else {
				kids = append(append(kids, end), rest...)
			}
			return &Node{op: nodeSeq, kids: kids}
		}
		return with(a), with(s), ok
	case nodeAlt:
		var as, ss []*Node
		for _, k := range n.kids {
			a, s, ok := c.split(k, rule, last)
			if !ok {
				return nil, nil, false
			}
			if a != nil {
				as = append(as, a)
			}
			if s != nil {
				ss = append(ss, s)
			}
		}
		return either(as), either(ss), true
	case nodeRepeat:
		if n.min != 0 || n.max != 1 {
			return nil, nil, false
		}
		a, s, ok := c.split(n.kids[0], rule, last)
		ss := []*Node{{op: nodeSeq}}
		if s != nil {
			ss = append(ss, s)
		}
		return a, either(ss), ok
	}
	return nil, nil, false
}

func either(list []*Node) *Node {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &Node{op: nodeAlt, kids: list}
}
