package schema

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A drawer draws schemas and values.
type drawer struct {
	*rand.Rand
	draft int
	defs  int
}

func (d *drawer) one(list ...string) string { return list[d.IntN(len(list))] }

func (d *drawer) name() string { return d.one("a", "b", "c", "ab", "x1", "/~") }

func (d *drawer) pattern() string { return d.one("^a", "b", "^x[0-9]$", "^.$", "[^a]") }

func (d *drawer) count() string { return strconv.Itoa(d.IntN(4)) }

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
