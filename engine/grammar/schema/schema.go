// Package schema turns JSON Schemas into grammars: exactly the JSON texts that are
// valid, apart from spelling that no model needs.
//
// Drafts 4, 6, 7, 2019-09 and 2020-12 are read as $schema says, else 2020-12. What
// cannot be enforced is refused by keyword and place; nothing is left out silently, and
// what is no keyword or no known format is reported.
//
// Strings, numbers and words are regular sets, so all connectives on them, not and oneOf
// among them, are intersections and complements of expressions (scalar.go). Arrays and
// objects are brought into clauses, of which one must hold (clause.go, refute.go), and
// each clause becomes rules (array.go, object.go).
//
// Spelling: members stand in the order of properties, of those that declare most where several
// do, then the others; declared names once; of the others, one whose value has to differ comes last. White space is one
// blank, or a line break and the blanks that indent a line, 20 bytes at most. Numbers
// under constraints have no exponent, and all have so many digits (writable). Characters are escaped where JSON demands it, or
// outside ASCII; where any text is allowed, any escape is, too.
package schema

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"quern/engine/grammar"
)

// An Error says what of a schema is wrong or cannot be enforced.
type Error struct {
	Pointer string // JSON Pointer to the keyword, or to the schema
	Keyword string // "" when it concerns the whole schema
	Reason  string
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

// Options say how a schema is read. The zero value is ready to use.
type Options struct {
	// Strict refuses what would be reported: unknown keywords and formats.
	Strict bool
	// Name begins the names of the rules, for several schemas in one Builder.
	Name string
	// Limits bound the questions asked about expressions while the schema is read.
	Limits grammar.Limits
}

// Add builds the values that are valid under the schema src. The notes, if any, name
// what was read as a comment. Errors are of type *Error or *grammar.LimitError.
func Add(b *grammar.Builder, src []byte, o Options) (n *grammar.Node, notes []string, err error) {
	c, s, err := read(b, src, o)
	if err != nil {
		return nil, nil, err
	}
	n, err = c.value(literals{}.with(literal{s: s}))
	if err == nil {
		err = b.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	return n, c.notes, nil
}

// Strings returns the strings that are valid under the schema src, as texts without quotes
// and escapes, and whether all are. Notes and errors are those of Add.
func Strings(src []byte, o Options) (text *grammar.Regex, all bool, notes []string, err error) {
	c, s, err := read(nil, src, o)
	if err != nil {
		return nil, false, nil, err
	}
	n, err := c.left(literals{}.with(literal{s: s}), domains.str)
	if err != nil {
		return nil, false, nil, err
	}
	return c.texts.plain(n), n == anything, c.notes, nil
}

// read reads the schema src and what it refers to.
func read(b *grammar.Builder, src []byte, o Options) (*compiler, *schema, error) {
	root, err := decode(src)
	if err != nil {
		return nil, nil, err
	}
	c := &compiler{
		b: b, strict: o.Strict, prefix: o.Name + "#", root: root, draft: draftOf(root),
		expressions: grammar.NewExpressions(o.Limits),
		read:        map[*value]*schema{}, parents: map[*value]*value{}, home: map[*value]*resource{},
		resources: map[string]*resource{}, constants: map[*value]*schema{}, patterns: map[string]*node{},
		answers: map[question]*node{}, forms: map[side]*[]clause{}, voids: map[string]bool{},
		empties: map[*node]bool{}, matched: map[match]bool{}, products: map[string]joining{},
		lexemes: map[*grammar.Regex]*grammar.Node{}, pieces: map[part]*grammar.Node{}, values: map[string]*grammar.Node{},
		texts: newTexts(), nameTexts: map[string]*grammar.Regex{},
	}
	base := &resource{root: root, base: &url.URL{}, anchors: map[string]*value{}}
	c.index(root, base, oneSchema)
	s, err := c.schema(root)
	return c, s, err
}

// AddObject builds any JSON object.
func AddObject(b *grammar.Builder, name string) *grammar.Node {
	c := &compiler{b: b, prefix: name + "#", lexemes: map[*grammar.Regex]*grammar.Node{}}
	return c.anyObject()
}

// Compile makes the grammar of one schema.
func Compile(src []byte, trie *grammar.Trie, l grammar.Limits, o Options) (*grammar.Grammar, []string, error) {
	b := grammar.NewBuilder(l)
	n, notes, err := Add(b, src, o)
	if err != nil {
		return nil, nil, err
	}
	g, err := b.Compile(n, trie)
	if errors.Is(err, grammar.ErrNothing) {
		return nil, nil, &Error{Reason: "no value is valid"}
	}
	return g, notes, err
}

type compiler struct {
	b           *grammar.Builder
	expressions *grammar.Expressions
	strict      bool
	prefix      string
	notes       []string

	// The document.
	root      *value
	draft     int
	parents   map[*value]*value
	home      map[*value]*resource
	resources map[string]*resource

	// What was read of it.
	made      int
	inside    int // values that constant arrays and objects are made of
	read      map[*value]*schema
	constants map[*value]*schema
	patterns  map[string]*node

	// What was found out.
	answers  map[question]*node // nil while asked
	forms    map[side]*[]clause // nil while asked
	joins    int
	voids    map[string]bool
	empties  map[*node]bool
	matched  map[match]bool
	products map[string]joining

	// What was built.
	rules       int
	any, anyObj *grammar.Node
	lexemes     map[*grammar.Regex]*grammar.Node
	pieces      map[part]*grammar.Node
	values      map[string]*grammar.Node
	texts       *texts
	nameTexts   map[string]*grammar.Regex
}

// note remembers what was read as a comment.
func (c *compiler) note(what, why string) {
	if n := what + ": " + why; !slices.Contains(c.notes, n) && len(c.notes) < 20 {
		c.notes = append(c.notes, n)
	}
}

// draftOf is the draft that a document follows.
func draftOf(root *value) int {
	s := root.member("$schema")
	if s == nil {
		return 2020
	}
	for _, d := range []struct {
		part  string
		draft int
	}{{"draft-03", 4}, {"draft-04", 4}, {"draft-06", 6}, {"draft-07", 7}, {"2019-09", 2019}} {
		if strings.Contains(s.text, d.part) {
			return d.draft
		}
	}
	return 2020
}
