package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"quern/engine/grammar"
)

// TestDiffer draws schemas of few names and values, so that keywords meet, and compares
// with another validator: what the masks let through, and values near that, must be
// valid exactly if they pass in some order of their members.
func TestDiffer(t *testing.T) {
	trie := byteTrie(t)
	total := 600
	if *full {
		total = 30_000
	}
	accepted, valid, invalid, failed := 0, 0, 0, 0
	for i := range total {
		d := &drawer{Rand: rand.New(rand.NewPCG(uint64(i), 7))}
		src := d.document()
		check := oracle([]byte(src))
		if check == nil {
			continue // such as an enum with a value twice
		}
		g, err := difference(t, d, src, check, trie, &valid, &invalid)
		if g != nil {
			accepted++
		}
		if err == nil {
			continue
		}
		small := shrink(src, func(src string) bool {
			check := oracle([]byte(src))
			if check == nil {
				return false
			}
			d := &drawer{Rand: rand.New(rand.NewPCG(uint64(i), 8))}
			_, err := difference(t, d, src, check, trie, new(int), new(int))
			return err != nil
		})
		d = &drawer{Rand: rand.New(rand.NewPCG(uint64(i), 8))}
		_, less := difference(t, d, small, oracle([]byte(small)), trie, new(int), new(int))
		t.Errorf("%d: %v\n\tschema %s\n\tsmaller %v\n\tschema %s", i, err, src, less, small)
		if failed++; failed == 10 {
			break
		}
	}
	t.Logf("%d of %d schemas accepted, %d valid and %d invalid values", accepted, total, valid, invalid)
	if failed == 0 && (accepted < total/2 || valid < total || invalid < total) {
		t.Error("too few to tell anything")
	}
}

// difference returns what of the schema src the two do not agree about, and the grammar
// if there is one.
func difference(t *testing.T, d *drawer, src string, check *jsonschema.Schema, trie *grammar.Trie, valid, invalid *int) (*grammar.Grammar, error) {
	g, _, err := Compile([]byte(src), trie, grammar.Limits{}, Options{})
	var e *Error
	var limit *grammar.LimitError
	root, _ := decode([]byte(src))
	switch {
	case errors.As(err, &limit):
		return nil, nil
	case errors.As(err, &e):
		if e := misplaced(root, e); e != nil {
			return nil, e
		}
		if e.Reason != "no value is valid" {
			return nil, nil
		}
	case err != nil:
		return nil, err
	}
	var tries []*value
	for range 40 {
		tries = append(tries, parsed(d.value(2)))
	}
	if g != nil {
		for range 6 {
			text := walk(t, g, d.Rand)
			if text == "" {
				continue
			}
			if ok, err := isValid(check, text); err == nil && !ok {
				return g, fmt.Errorf("passes, but is not valid: %s", text)
			}
			v := parsed(text)
			tries = append(tries, v)
			for range 4 {
				tries = append(tries, d.mutate(v))
			}
		}
	}
	for _, v := range tries {
		text := written(v)
		ok, err := isValid(check, text)
		if err != nil {
			continue // that validator has limits, too
		}
		passes, unknown := false, exponents(v)
		if g != nil {
			all, cut := orders(v)
			unknown = unknown || cut
			for _, p := range all {
				err := reach(g, written(p))
				if err == nil {
					passes = true
					break
				}
				unknown = unknown || errors.As(err, &limit)
			}
		}
		switch {
		case passes && !ok:
			return g, fmt.Errorf("passes, but is not valid: %s", text)
		case ok && !passes && unknown:
		case ok && !passes && g == nil:
			return g, fmt.Errorf("nothing is said to be valid, but this is: %s", text)
		case ok && !passes:
			return g, fmt.Errorf("valid, but does not pass: %s", text)
		case ok:
			*valid++
		default:
			*invalid++
		}
	}
	return g, nil
}

// misplaced says of a refusal that it names a place or a keyword that is not there.
func misplaced(root *value, e *Error) error {
	v := root
	for _, step := range strings.Split(e.Pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next := v.member(step)
		if i, err := strconv.Atoi(step); err == nil && v.kind == array && i < len(v.list) {
			next = v.list[i]
		}
		if next == nil {
			return fmt.Errorf("refused at %q, which is not there: %v", e.Pointer, e)
		}
		v = next
	}
	if e.Keyword != last(e.Pointer) && e.Keyword != "" {
		return fmt.Errorf("refused at %q by %q: %v", e.Pointer, e.Keyword, e)
	}
	return nil
}

// isValid asks the other validator, which panics at numbers above its own limits.
func isValid(check *jsonschema.Schema, text string) (ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return false, err
	}
	err = check.Validate(v)
	var no *jsonschema.ValidationError
	if errors.As(err, &no) {
		return false, nil
	}
	return err == nil, err
}

func parsed(text string) *value {
	v, err := decode([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// written is v as a text.
func written(v *value) string {
	switch v.kind {
	case null:
		return "null"
	case boolean:
		return strconv.FormatBool(v.yes)
	case number:
		return v.text
	case str:
		return quoted(v.text)
	}
	var parts []string
	for i, e := range v.list {
		if v.kind == object {
			parts = append(parts, quoted(v.keys[i])+":"+written(e))
		} else {
			parts = append(parts, written(e))
		}
	}
	if v.kind == object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// exponents says that v has numbers whose spelling constraints may not know.
func exponents(v *value) bool {
	return v.kind == number && strings.ContainsAny(v.text, "eE") || slices.ContainsFunc(v.list, exponents)
}

// orders are v with the members of its objects in other orders. Of more than 1000 it
// leaves some out.
func orders(v *value) (out []*value, cut bool) {
	const limit = 1000
	lists := [][]*value{nil} // choices of the elements or members
	for _, e := range v.list {
		var more [][]*value
		below, less := orders(e)
		cut = cut || less || len(lists)*len(below) > limit
		for _, l := range lists {
			for _, o := range below {
				if len(more) < limit {
					more = append(more, append(slices.Clip(l), o))
				}
			}
		}
		lists = more
	}
	for _, l := range lists {
		add := func(order []int) {
			w := *v
			w.keys, w.list = nil, nil
			for _, i := range order {
				if w.list = append(w.list, l[i]); v.kind == object {
					w.keys = append(w.keys, v.keys[i])
				}
			}
			if cut = cut || len(out) == limit; len(out) < limit {
				out = append(out, &w)
			}
		}
		switch {
		case v.kind == object && len(l) < 6:
			permute(len(l), add)
		default:
			cut = cut || v.kind == object
			inOrder := make([]int, len(l))
			for i := range inOrder {
				inOrder[i] = i
			}
			add(inOrder)
		}
	}
	return out, cut
}

// permute calls f with the orders of n things.
func permute(n int, f func([]int)) {
	var rec func(done []int)
	rec = func(done []int) {
		if len(done) == n {
			f(done)
			return
		}
		for i := range n {
			if !slices.Contains(done, i) {
				rec(append(slices.Clip(done), i))
			}
		}
	}
	rec(nil)
}

// shrink takes parts away from src as long as bad stays true.
func shrink(src string, bad func(string) bool) string {
	for left := 400; left > 0; {
		smaller := ""
		for _, v := range reduced(parsed(src)) {
			if left--; left < 0 {
				break
			}
			if s := written(v); len(s) < len(src) && bad(s) {
				smaller = s
				break
			}
		}
		if smaller == "" {
			break
		}
		src = smaller
	}
	return src
}

// reduced are v with one part less.
func reduced(v *value) (out []*value) {
	for i, e := range v.list {
		w := *v
		w.list = slices.Delete(slices.Clone(v.list), i, i+1)
		if v.kind == object {
			w.keys = slices.Delete(slices.Clone(v.keys), i, i+1)
		}
		out = append(out, &w)
		if e.kind == object || e.kind == array {
			out = append(out, e)
		}
	}
	for i, e := range v.list {
		for _, r := range append(reduced(e), &value{kind: boolean, yes: true}) {
			w := *v
			w.list = slices.Clone(v.list)
			w.list[i] = r
			out = append(out, &w)
		}
	}
	return out
}

// A drawer draws schemas and values.
type drawer struct {
	*rand.Rand
	draft int
	defs  int
}

func (d *drawer) one(list ...string) string { return list[d.IntN(len(list))] }

func (d *drawer) name() string    { return d.one("a", "b", "c", "ab", "x1", "/~") }
func (d *drawer) pattern() string { return d.one("^a", "b", "^x[0-9]$", "^.$", "[^a]") }
func (d *drawer) count() string   { return strconv.Itoa(d.IntN(4)) }
func (d *drawer) number() string {
	return d.one("0", "1", "-1", "2", "3", "10", "0.5", "-1.5", "2.0", "1.25", "100", "-0.0", "0.1", "12.34")
}
func (d *drawer) str() string {
	return d.one(`""`, `"a"`, `"b"`, `"ab"`, `"aba"`, `"x1"`, `"é"`, `"\n"`, `"2024-02-29"`, `"1.2.3.4"`, `"/a~0"`, `"\ud83d\ude00"`)
}

// list is from low to high parts.
func (d *drawer) list(low, high int, part func() string) string {
	var parts []string
	for range low + d.IntN(high-low+1) {
		parts = append(parts, part())
	}
	return strings.Join(parts, ",")
}

// members are up to high members of different names.
func (d *drawer) members(high int, name, part func() string) string {
	var names, parts []string
	for range d.IntN(high + 1) {
		if n := name(); !slices.Contains(names, n) {
			names = append(names, n)
			parts = append(parts, quoted(n)+":"+part())
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (d *drawer) scalar() string {
	switch d.IntN(4) {
	case 0:
		return d.one("null", "true", "false")
	case 1:
		return d.str()
	}
	return d.number()
}

func (d *drawer) value(depth int) string {
	below := func() string { return d.value(depth - 1) }
	switch n := d.IntN(8); {
	case depth == 0 || n < 2:
		return d.scalar()
	case n < 4:
		return "[" + d.list(0, 4, below) + "]"
	}
	return d.members(3, d.name, below)
}

// mutate is v with something changed.
func (d *drawer) mutate(v *value) *value {
	if len(v.list) == 0 || d.IntN(6) == 0 {
		if v.kind == object || v.kind == array {
			v = parsed(d.one(`{"a":0}`, `[0]`, `{}`, `[]`, written(v)))
		}
		return parsed(d.one(written(v), d.value(1)))
	}
	w := *v
	w.list, w.keys = slices.Clone(v.list), slices.Clone(v.keys)
	i := d.IntN(len(v.list))
	switch d.IntN(4) {
	case 0:
		w.list = slices.Delete(w.list, i, i+1)
		if w.kind == object {
			w.keys = slices.Delete(w.keys, i, i+1)
		}
	case 1:
		e := parsed(d.value(1))
		if n := d.name(); w.kind == array {
			w.list = append(w.list, e)
		} else if !slices.Contains(w.keys, n) {
			w.keys, w.list = append(w.keys, n), append(w.list, e)
		}
	case 2:
		w.list[i] = parsed(d.value(1))
	default:
		w.list[i] = d.mutate(w.list[i])
	}
	return &w
}

// document is a schema with definitions.
func (d *drawer) document() string {
	d.draft = []int{7, 2019, 2020, 2020, 2020}[d.IntN(5)]
	d.defs = d.IntN(3)
	var parts []string
	if d.draft == 7 {
		parts = append(parts, `"$schema":"http://json-schema.org/draft-07/schema#"`)
	} else if d.draft == 2019 {
		parts = append(parts, `"$schema":"https://json-schema.org/draft/2019-09/schema"`)
	}
	if d.defs > 0 {
		var defs []string
		for i := range d.defs {
			defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, d.schema(2)))
		}
		parts = append(parts, `"$defs":{`+strings.Join(defs, ",")+`}`)
	}
	if s := d.object(3); s != "{}" {
		parts = append(parts, s[1:len(s)-1])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// schema is a schema, nested to the depth.
func (d *drawer) schema(depth int) string {
	switch d.IntN(16) {
	case 0:
		return "true"
	case 1:
		return "false"
	}
	return d.object(depth)
}

// object is a schema that is no boolean.
func (d *drawer) object(depth int) string {
	below := func() string { return d.schema(depth - 1) }
	many := func() string { return "[" + d.list(1, 3, below) + "]" }
	if d.draft == 7 && d.defs > 0 && d.IntN(8) == 0 {
		return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, d.IntN(d.defs))
	}
	var keys, parts []string
	set := func(k, v string) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
			parts = append(parts, quoted(k)+":"+v)
		}
	}
	scalars := func() {
		switch d.IntN(12) {
		case 0, 1:
			set("type", quoted(d.one("null", "boolean", "number", "integer", "string", "array", "object", "object", "array")))
		case 2:
			set("type", d.one(`["string","integer"]`, `["array","object"]`, `["null","object"]`, `["number","array"]`))
		case 3:
			set("const", d.value(1))
		case 4:
			set("enum", "["+d.list(1, 4, func() string { return d.value(1) })+"]")
		case 5:
			set(d.one("minimum", "exclusiveMinimum"), d.number())
		case 6:
			set(d.one("maximum", "exclusiveMaximum"), d.number())
		case 7:
			set("multipleOf", d.one("1", "2", "3", "0.5", "0.1", "1.5", "10", "0.25"))
		case 8:
			set(d.one("minLength", "maxLength"), d.count())
		case 9:
			set("pattern", quoted(d.pattern()))
		case 10:
			set("format", quoted(d.one("date", "ipv4", "json-pointer")))
		}
	}
	objects := func() {
		switch d.IntN(11) {
		case 0, 1, 2:
			set("properties", d.members(3, d.name, below))
		case 3:
			set("patternProperties", d.members(2, d.pattern, below))
		case 4:
			set("additionalProperties", below())
		case 5:
			set("propertyNames", below())
		case 6:
			set("required", "["+d.list(0, 1, func() string { return quoted(d.name()) })+"]")
		case 7:
			set("minProperties", d.one("0", "1", "1", "2"))
		case 8:
			set("maxProperties", d.count())
		case 9:
			if d.draft == 7 {
				set("dependencies", d.members(2, d.name, func() string {
					if d.IntN(2) == 0 {
						return `["` + d.one("a", "b", "c") + `"]`
					}
					return below()
				}))
				return
			}
			set("dependentRequired", d.members(2, d.name, func() string { return `["` + d.one("a", "b", "c") + `"]` }))
		case 10:
			if d.draft > 7 {
				set("dependentSchemas", d.members(2, d.name, below))
			}
		}
	}
	arrays := func() {
		switch d.IntN(7) {
		case 0, 1:
			switch {
			case d.draft == 2020 || d.IntN(2) == 0:
				set("items", below())
			default:
				set("items", many())
				set("additionalItems", below())
			}
		case 2:
			if d.draft == 2020 {
				set("prefixItems", many())
			}
		case 3, 4:
			set("contains", below())
			if d.draft > 7 && d.IntN(2) == 0 {
				set("minContains", d.count())
			}
			if d.draft > 7 && d.IntN(3) == 0 {
				set("maxContains", d.count())
			}
		case 5:
			set(d.one("minItems", "maxItems"), d.count())
		case 6:
			set("uniqueItems", d.one("true", "false"))
			set("enum", "["+d.list(1, 4, func() string { return d.value(1) })+"]")
		}
	}
	connectives := func() {
		switch d.IntN(9) {
		case 0:
			set("allOf", many())
		case 1, 2:
			set("anyOf", many())
		case 3, 4:
			set("oneOf", many())
		case 5:
			set("not", below())
		case 6:
			set("if", below())
			if d.IntN(3) > 0 {
				set("then", below())
			}
			if d.IntN(3) > 0 {
				set("else", below())
			}
		case 7:
			if d.draft > 7 && d.defs > 0 {
				set("$ref", fmt.Sprintf(`"#/$defs/d%d"`, d.IntN(d.defs)))
			}
		case 8:
			if d.draft > 7 {
				set(d.one("unevaluatedProperties", "unevaluatedItems"), d.one("false", below()))
			}
		}
	}
	for range 1 + d.IntN(3) {
		switch n := d.IntN(8); {
		case depth <= 0 || n == 0:
			scalars()
		case n < 4:
			objects()
		case n < 6:
			arrays()
		default:
			connectives()
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
