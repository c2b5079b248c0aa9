package schema

import (
	"fmt"
	"slices"

	"quern/engine/grammar"
)

// Members come in the order in which they are declared, then those of patternProperties
// and additionalProperties. A declared name does not come again among those.

const (
	maxPatterns = 7    // different name patterns of one object
	maxLoose    = 6    // members without a declared order
	maxSome     = 3    // conditions on members that are not declared
	maxStations = 5000 // rules that count the members or elements of one schema
)

// object is an object that satisfies the clause.
func (c *compiler) object(cl clause) (*grammar.Node, error) {
	o := &objectMaker{compiler: c, clause: cl, needed: map[string]bool{}, declared: map[string]bool{}}
	o.low, o.high = limits(cl)
	for i, x := range cl {
		if !x.orders() {
			continue
		}
		for _, name := range x.s.names {
			if !x.leaves(name, cl[i+1:]) {
				o.declare(name)
			}
		}
	}
	o.ordered = len(o.names)
	for _, x := range cl {
		switch x.kind {
		case members:
			for _, name := range x.s.names {
				o.declare(name)
			}
		case member:
			o.declare(x.name)
		case present:
			o.declare(x.name)
			o.needed[x.name] = true
		}
	}
	if len(o.names)-o.ordered > maxLoose {
		o.ordered = len(o.names)
	}
	for i, x := range cl {
		if x.kind != some {
			continue
		}
		if x.from == 0 {
			return o.choose(i)
		}
		o.some = append(o.some, x)
	}
	return o.build()
}

// orders says that members come in the order of x.
func (x constraint) orders() bool { return x.kind == members && !x.s.made && !x.silent }

// leaves says that the place of a name is for one of those behind x to say, which declares more: a
// condition before the properties names those that it speaks of only.
func (x constraint) leaves(name string, behind []constraint) bool {
	return slices.ContainsFunc(behind, func(y constraint) bool {
		return y.orders() && len(y.s.names) > len(x.s.names) && y.s.properties[name] != nil
	})
}

type objectMaker struct {
	*compiler
	clause    clause
	names     []string // declared somewhere
	declared  map[string]bool
	ordered   int // of names, those that come in this order
	needed    map[string]bool
	low, high int
	some      []constraint // each satisfied by a member that is not declared
	sticky    int          // the bit of the one of some that depends on the value

	fields []field
}

// A field is a declared member that may come.
type field struct {
	node   *grammar.Node // name, colon and value
	needed bool
	loose  bool
}

func (o *objectMaker) declare(name string) {
	if !o.declared[name] {
		o.declared[name] = true
		o.names = append(o.names, name)
	}
}

// choose tells apart which member satisfies the condition i of the clause: one of the
// declared ones, or one that is not declared.
func (o *objectMaker) choose(i int) (*grammar.Node, error) {
	x := o.clause[i]
	without := slices.Delete(slices.Clone(o.clause), i, i+1)
	other := x
	other.from = 1 // known to be none of the declared
	choices := []clause{append(slices.Clone(without), other)}
	for _, name := range o.names {
		fits, err := o.matches(x.names, name)
		if err != nil {
			return nil, err
		}
		if fits {
			choices = append(choices, append(slices.Clone(without), constraint{kind: present, name: name}, constraint{kind: member, name: name, l: x.l}))
		}
	}
	var ways []*grammar.Node
	for _, cl := range choices {
		if hopeless, err := o.hopeless(cl, object); err != nil || hopeless {
			if err != nil {
				return nil, err
			}
			continue
		}
		if o.joins++; o.joins > 20*maxClauses {
			return nil, &Error{Pointer: x.at, Keyword: last(x.at), Reason: "too many ways in which a member may be the one that has to differ"}
		}
		n, err := o.object(cl)
		if err != nil {
			return nil, err
		}
		ways = append(ways, n)
	}
	return o.b.Alt(ways...), nil
}

// neededFields is how many declared members must come.
func (o *objectMaker) neededFields() int {
	n := 0
	for _, f := range o.fields {
		if f.needed {
			n++
		}
	}
	return n
}

// refuse is the error of the first constraint whose keyword is in where.
func (o *objectMaker) refuse(where func(constraint) string, reason string) error {
	for _, x := range o.clause {
		if at := where(x); at != "" {
			return &Error{Pointer: at, Keyword: last(at), Reason: reason}
		}
	}
	return &Error{Reason: reason}
}

// build makes the object of the fields and of members that are not declared.
func (o *objectMaker) build() (*grammar.Node, error) {
	if len(o.some) > maxSome {
		x := o.some[0]
		return nil, &Error{Pointer: x.at, Keyword: last(x.at), Reason: fmt.Sprintf("more than %d members that have to differ", maxSome)}
	}
	if err := o.findSticky(); err != nil {
		return nil, err
	}
	if err := o.makeFields(); err != nil {
		return nil, err
	}
	// By the conditions a member satisfies; the first is any that may come.
	tails := make([]*grammar.Node, 1<<len(o.some))
	for mask := range tails {
		var err error
		if tails[mask], err = o.makeTail(mask); err != nil {
			return nil, err
		}
	}
	needed := o.neededFields()
	if o.low > max(1, needed) && tails[0] != nil {
		// The same name twice is one member.
		return nil, o.refuse(func(x constraint) string {
			if x.kind == size && x.min == o.low {
				return x.at
			}
			return ""
		}, "asks for more than 1 member, not supported where members need not be declared")
	}
	loose := slices.ContainsFunc(o.fields, func(f field) bool { return f.loose })
	var body *grammar.Node
	if len(o.some) == 0 && !loose && o.low <= needed && o.high == most {
		body = o.chain(tails[0])
	} else {
		var err error
		if body, err = o.counted(tails); err != nil {
			return nil, err
		}
	}
	return o.b.Seq(o.lexeme(openBrace), body, o.lexeme(closeBrace)), nil
}

// findSticky finds the condition that depends on the member's value. Names that are not
// declared may come again, so the members of two such cannot come in either order.
func (o *objectMaker) findSticky() error {
	for i, x := range o.some {
		byName, err := o.void(literals{}.with(x.l.opposite()))
		if err != nil {
			return err
		}
		switch {
		case byName:
		case o.sticky != 0:
			return &Error{Pointer: x.at, Keyword: last(x.at), Reason: "more than one member whose value has to differ"}
		default:
			o.sticky = 1 << i
		}
	}
	return nil
}

// makeFields makes the declared members. One whose value cannot be is left out, or,
// where it is needed, makes the object impossible.
func (o *objectMaker) makeFields() error {
	o.fields = nil
	for i, name := range o.names {
		lits, err := o.about(o.clause, name)
		if err != nil {
			return err
		}
		void, err := o.void(lits)
		if err != nil {
			return err
		}
		f := field{node: o.b.Alt(), needed: o.needed[name], loose: i >= o.ordered}
		if !void {
			v, err := o.value(lits)
			if err != nil {
				return err
			}
			f.node = o.b.Seq(o.lexeme(o.name(name)), v)
		}
		if !void || f.needed {
			o.fields = append(o.fields, f)
		}
	}
	return nil
}

// name is a declared name with its colon.
func (c *compiler) name(name string) *grammar.Regex {
	r, ok := c.nameTexts[name]
	if !ok {
		r = grammar.Concat(c.texts.quoted(word(name)), colon)
		c.nameTexts[name] = r
	}
	return r
}

// makeTail makes a member whose name is not declared, or nil if there can be none. Its
// name and value satisfy those of the conditions that are in the mask, too.
func (o *objectMaker) makeTail(conditions int) (*grammar.Node, error) {
	base := anything
	if len(o.names) > 0 {
		var words []*node
		for _, name := range o.names {
			words = append(words, word(name))
		}
		base = not(or(words...))
	}
	var sources []*node
	add := func(g *schema) {
		for _, p := range g.patterns {
			if !slices.Contains(sources, p.match) {
				sources = append(sources, p.match)
			}
		}
	}
	for _, y := range o.clause {
		switch y.kind {
		case members:
			add(y.s)
		case remaining:
			for _, g := range y.groups {
				add(g)
			}
		case namesAre:
			n, err := o.leaves(y.l.s, domains.str)
			if err != nil {
				return nil, err
			}
			base = and(base, n)
		}
	}
	if len(sources) > maxPatterns {
		return nil, o.refuse(func(x constraint) string {
			for _, g := range append(slices.Clip(x.groups), x.s) {
				if g != nil && len(g.patterns) > 0 {
					return g.at + "/patternProperties"
				}
			}
			return ""
		}, fmt.Sprintf("more than %d patterns for the members of one object", maxPatterns))
	}
	var also []literal
	for i, x := range o.some {
		if conditions>>i&1 == 1 {
			base = and(base, x.names)
			also = append(also, x.l)
		}
	}
	// Names are classified by the patterns they match; classes with the same
	// values are one.
	classes := map[string]*node{}
	values := map[string]literals{}
	var order []string
	for mask := range 1 << len(sources) {
		names := base
		for i, p := range sources {
			if mask>>i&1 == 1 {
				names = and(names, p)
			} else {
				names = and(names, not(p))
			}
		}
		if none, err := o.empty(names); err != nil || none {
			if err != nil {
				return nil, err
			}
			continue
		}
		lits, err := o.says(o.clause, named{matches: func(n *node) (bool, error) {
			i := slices.Index(sources, n)
			return i >= 0 && mask>>i&1 == 1, nil
		}})
		if err != nil {
			return nil, err
		}
		lits = lits.with(also...)
		if void, err := o.void(lits); err != nil || void {
			if err != nil {
				return nil, err
			}
			continue
		}
		key := lits.key()
		if _, ok := classes[key]; !ok {
			order = append(order, key)
			classes[key] = nothing
		}
		classes[key] = or(classes[key], names)
		values[key] = lits
	}
	var ways []*grammar.Node
	for _, key := range order {
		v, err := o.value(values[key])
		if err != nil {
			return nil, err
		}
		text := anyName
		if classes[key] != anything {
			text = grammar.Concat(o.texts.quoted(classes[key]), colon)
		}
		ways = append(ways, o.b.Seq(o.lexeme(text), v))
	}
	if len(ways) == 0 {
		return nil, nil
	}
	return o.b.Alt(ways...), nil
}

// chain is the members in order, where no count matters.
func (o *objectMaker) chain(tail *grammar.Node) *grammar.Node {
	// after is what may follow once a member is there, from each field on.
	after := make([]*grammar.Node, len(o.fields)+1)
	end := o.b.Seq()
	if tail != nil {
		end = o.more(tail, 0, most)
	}
	after[len(o.fields)] = end
	for i := len(o.fields) - 1; i >= 0; i-- {
		f := o.fields[i]
		n := o.b.Seq(o.lexeme(comma), f.node)
		if !f.needed {
			n = o.b.Opt(n)
		}
		after[i] = o.rule()
		o.b.Define(after[i], o.b.Seq(n, after[i+1]))
	}
	var ways []*grammar.Node
	for i, f := range o.fields {
		ways = append(ways, o.b.Seq(f.node, after[i+1]))
		if f.needed {
			return o.b.Alt(ways...)
		}
	}
	if tail != nil {
		ways = append(ways, o.b.Seq(tail, end))
	}
	return o.b.Alt(append(ways, o.b.Seq())...)
}

// counted is the members where their number matters, where some may come in any order,
// or where some member has to differ.
func (o *objectMaker) counted(tails []*grammar.Node) (*grammar.Node, error) {
	top := o.low // counts above make no difference
	if o.high < most {
		top = o.high
	}
	top = max(top, 1)
	var ordered, loose []field
	for _, f := range o.fields {
		if f.loose {
			loose = append(loose, f)
		} else {
			ordered = append(ordered, f)
		}
	}
	if (len(ordered)+1<<len(loose))*(top+1)*len(tails) > maxStations {
		return nil, o.refuse(func(x constraint) string {
			switch {
			case x.kind == size || x.kind == some:
				return x.at
			case x.kind == members && len(x.s.names) > 0:
				return x.s.keyword("properties")
			}
			return ""
		}, fmt.Sprintf("counting members takes more than %d rules", maxStations))
	}
	// A station is how far a text has come.
	type station struct{ field, count, loose, done int }
	made := map[station]*grammar.Node{}
	var from func(s station) *grammar.Node
	from = func(s station) *grammar.Node {
		if n, ok := made[s]; ok {
			return n
		}
		n := o.rule()
		made[s] = n
		var ways []*grammar.Node
		then := func(item *grammar.Node, next station) {
			if item == nil || o.high < most && s.count >= o.high {
				return
			}
			next.count = min(s.count+1, top)
			if s.count > 0 {
				item = o.b.Seq(o.lexeme(comma), item)
			}
			ways = append(ways, o.b.Seq(item, from(next)))
		}
		next := s
		if s.field < len(ordered) {
			f := ordered[s.field]
			next.field++
			then(f.node, next)
			if !f.needed {
				ways = append(ways, from(next))
			}
			o.b.Define(n, o.b.Alt(ways...))
			return n
		}
		end := s.count >= o.low && s.done == len(tails)-1
		for i, f := range loose {
			if s.loose>>i&1 == 1 {
				continue
			}
			end = end && !f.needed
			next = s
			next.loose |= 1 << i
			then(f.node, next)
		}
		if end {
			ways = append(ways, o.b.Seq())
		}
		for mask, tail := range tails {
			// A name may come again, and its last value counts: after a member whose
			// value has to differ only such come.
			if s.done&o.sticky&^mask == 0 {
				next = s
				next.done |= mask
				then(tail, next)
			}
		}
		o.b.Define(n, o.b.Alt(ways...))
		return n
	}
	return from(station{}), nil
}
