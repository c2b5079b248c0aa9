package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// A schema is one schema object or boolean, its keywords read and checked.
type schema struct {
	id   int // order of reading, the name of the schema in keys
	at   string
	bool bool // of boolean schemas: whether everything is valid
	kind kind // types allowed; the zero value is a boolean schema

	integer  bool     // numbers must be whole ("integer" without "number")
	values   []*value // enum and const; nil means any
	valuesAt string

	minLength, maxLength count
	pattern              *node
	format               string

	minimum, maximum   *big.Rat
	above, below       bool // minimum and maximum are excluded themselves
	multipleOf         *big.Rat
	minAt, maxAt, mult string

	names         []string // properties in declared order
	properties    map[string]*schema
	patterns      []patternProperty
	additional    *schema // nil means anything
	propertyNames *schema
	required      []string
	needs         []dependency
	minProperties count
	maxProperties count

	prefix                   []*schema
	items                    *schema // of elements after prefix; nil means anything
	minItems, maxItems       count
	contains                 *schema
	minContains, maxContains count
	unique                   bool
	uniqueAt                 string

	allOf, anyOf, oneOf    []*schema
	not, when, then, else_ *schema
	ref                    *schema

	unevaluatedProperties, unevaluatedItems *schema

	order map[string]int // of the keywords in the text

	// made is of a schema made of a value of enum or const. Its place is that keyword,
	// and members may come in any order.
	made bool
}

// A patternProperty is a rule for members whose names match.
type patternProperty struct {
	source string
	match  *node
	schema *schema
}

// A dependency holds when a member is there.
type dependency struct {
	keyword  string
	name     string
	required []string // other members that must be there
	schema   *schema  // what the object must satisfy, or nil
}

// A count is a limit on lengths. The zero value is no limit.
type count struct {
	n   int
	set bool
	at  string
}

// most bounds counts; what is above it makes no difference to limits of our own.
const most = 1 << 30

// maxSchemas bounds the schemas that are read, and those made of values: 1 KB each.
const maxSchemas = 20_000

// schema reads v, which stands where a schema is due. A value is read once.
func (c *compiler) schema(v *value) (*schema, error) {
	if s, ok := c.read[v]; ok {
		return s, nil
	}
	if len(c.read) >= maxSchemas {
		return nil, &Error{Reason: fmt.Sprintf("more than %d schemas in one", maxSchemas)}
	}
	s := &schema{id: c.fresh(), at: v.at}
	c.read[v] = s
	switch v.kind {
	case boolean:
		s.bool = v.yes
		return s, nil
	case object:
	default:
		return nil, &Error{Pointer: v.at, Keyword: last(v.at), Reason: "a schema is an object or a boolean"}
	}
	s.kind, s.order = anyKind, make(map[string]int, len(v.keys))
	if ref := v.member("$ref"); ref != nil && c.draft < 2019 {
		return s, c.readRef(s, ref) // members beside $ref say nothing in these drafts
	}
	for i, k := range v.keys {
		s.order[k] = i
		read, ok := keywords[k]
		switch {
		case ok:
			if err := read(c, s, v.list[i]); err != nil {
				return nil, err
			}
		case annotations[k] || strings.HasPrefix(k, "x-"):
		case c.strict:
			return nil, &Error{Pointer: v.at + "/" + escape(k), Keyword: k, Reason: "not a keyword of JSON Schema, which strict: true does not allow"}
		default:
			c.note(k, "not a keyword of JSON Schema, ignored")
		}
	}
	if s.when == nil {
		s.then, s.else_ = nil, nil
	}
	if s.contains == nil {
		s.minContains, s.maxContains = count{}, count{}
	}
	return s, s.consistent(v)
}

// last is the last step of a pointer.
func last(at string) string {
	if i := strings.LastIndexByte(at, '/'); i >= 0 {
		return strings.NewReplacer("~1", "/", "~0", "~").Replace(at[i+1:])
	}
	return ""
}

// wrong is the error of a keyword whose value cannot be.
func wrong(v *value, format string, args ...any) error {
	return &Error{Pointer: v.at, Keyword: last(v.at), Reason: fmt.Sprintf(format, args...)}
}

func unsupported(_ *compiler, _ *schema, v *value) error {
	return wrong(v, "not supported")
}

// low and high narrow the range.
func (s *schema) low(r *big.Rat, excluded bool, at string) {
	if s.minimum != nil {
		if d := s.minimum.Cmp(r); d > 0 || d == 0 && s.above {
			return
		}
	}
	s.minimum, s.above, s.minAt = r, excluded, at
}

func (s *schema) high(r *big.Rat, excluded bool, at string) {
	if s.maximum != nil {
		if d := s.maximum.Cmp(r); d < 0 || d == 0 && s.below {
			return
		}
	}
	s.maximum, s.below, s.maxAt = r, excluded, at
}

// only leaves list of the values allowed so far.
func (c *compiler) only(s *schema, list []*value, v *value) error {
	for _, e := range list {
		if len(e.list) > 0 {
			c.inside += e.size()
		}
	}
	if c.inside > maxSchemas {
		return wrong(v, "more than %d values in constant arrays and objects", maxSchemas)
	}
	if s.values != nil {
		kept := []*value{}
		for _, a := range s.values {
			if slices.ContainsFunc(list, func(b *value) bool { return equal(a, b) }) {
				kept = append(kept, a)
			}
		}
		list = kept
	}
	s.values, s.valuesAt = append([]*value{}, list...), v.at
	return nil
}

func (c *compiler) readPattern(s *schema, v *value) error {
	if v.kind != str {
		return wrong(v, "wants a regular expression")
	}
	n, err := c.pattern(v.text)
	if err != nil {
		return wrong(v, "%v", err)
	}
	s.pattern = n
	return nil
}

// pattern reads a pattern once, so that what is the same is known as the same.
func (c *compiler) pattern(source string) (*node, error) {
	if n, ok := c.patterns[source]; ok {
		return n, nil
	}
	n, err := parsePattern(source)
	if err == nil {
		c.patterns[source] = n
	}
	return n, err
}

func (c *compiler) readFormat(s *schema, v *value) error {
	if v.kind != str {
		return wrong(v, "wants the name of a format")
	}
	if irregular[v.text] {
		return wrong(v, "format %q is not supported", v.text)
	}
	if _, ok := formats[v.text]; !ok {
		if c.strict {
			return wrong(v, "format %q is not known; known are %s", v.text, knownFormats())
		}
		c.note("format "+v.text, "not known, ignored")
		return nil
	}
	s.format = v.text
	return nil
}

func (c *compiler) readProperties(s *schema, v *value) error {
	if v.kind != object {
		return wrong(v, "wants an object of schemas")
	}
	s.properties = make(map[string]*schema, len(v.keys))
	for i, k := range v.keys {
		p, err := c.schema(v.list[i])
		if err != nil {
			return err
		}
		s.properties[k] = p
		s.names = append(s.names, k)
	}
	return nil
}

func (c *compiler) readPatternProperties(s *schema, v *value) error {
	if v.kind != object {
		return wrong(v, "wants an object of schemas")
	}
	for i, k := range v.keys {
		p, err := c.schema(v.list[i])
		if err != nil {
			return err
		}
		n, err := c.pattern(k)
		if err != nil {
			return wrong(v, "%q: %v", k, err)
		}
		s.patterns = append(s.patterns, patternProperty{k, n, p})
	}
	return nil
}

// stringList returns the elements of an array of strings.
func stringList(v *value) ([]string, error) {
	var list []string
	seen := make(map[string]bool, len(v.list))
	for _, e := range v.list {
		if e.kind != str {
			return nil, wrong(v, "wants an array of strings")
		}
		if !seen[e.text] {
			seen[e.text] = true
			list = append(list, e.text)
		}
	}
	if v.kind != array {
		return nil, wrong(v, "wants an array of strings")
	}
	return list, nil
}

func (c *compiler) readRequired(s *schema, v *value) (err error) {
	if v.kind == boolean {
		// Draft 3, and people who mean it: it constrains the member, not the value.
		return wrong(v, "wants an array of names in the schema of the object")
	}
	s.required, err = stringList(v)
	return err
}

func (c *compiler) readDependencies(s *schema, v *value) error {
	if v.kind != object {
		return wrong(v, "wants an object")
	}
	for i, k := range v.keys {
		e := v.list[i]
		d := dependency{keyword: last(v.at), name: k}
		var err error
		switch {
		case e.kind == array && last(v.at) != "dependentSchemas":
			d.required, err = stringList(e)
		case last(v.at) == "dependentRequired":
			return wrong(v, "wants arrays of names")
		default:
			d.schema, err = c.schema(e)
		}
		if err != nil {
			return err
		}
		s.needs = append(s.needs, d)
	}
	return nil
}

func (c *compiler) readItems(s *schema, v *value) (err error) {
	if v.kind == array {
		if s.prefix, err = c.schemas(v); err == nil && s.prefix == nil {
			s.prefix = []*schema{}
		}
		return err
	}
	s.items, err = c.schema(v)
	return err
}

// readAdditionalItems: the keyword counts only beside an array of items.
func (c *compiler) readAdditionalItems(s *schema, v *value) (err error) {
	if m := c.parents[v].member("items"); m == nil || m.kind != array {
		return nil
	}
	s.items, err = c.schema(v)
	return err
}

func readUnique(_ *compiler, s *schema, v *value) error {
	if v.kind != boolean {
		return wrong(v, "wants true or false")
	}
	s.unique, s.uniqueAt = v.yes, v.at
	return nil
}

// consistent refuses limits that exclude each other. What only turns out when the
// grammar is built is refused there.
func (s *schema) consistent(v *value) error {
	for _, p := range []struct {
		low, high count
		kind      kind
	}{
		{s.minLength, s.maxLength, str},
		{s.minItems, s.maxItems, array},
		{s.minProperties, s.maxProperties, object},
	} {
		if p.low.set && p.high.set && p.low.n > p.high.n && s.kind == p.kind {
			return &Error{Pointer: p.high.at, Keyword: last(p.high.at), Reason: fmt.Sprintf("%d is below %s %d, so nothing is valid", p.high.n, last(p.low.at), p.low.n)}
		}
	}
	return nil
}
