package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// Schemas of one document refer to each other by $ref: a JSON Pointer, an anchor, or
// the $id of a part of the document, each relative to the nearest $id around it.
// Nothing is ever fetched.

// A resource is a part of the document with an identifier of its own.
type resource struct {
	root    *value
	base    *url.URL // may be empty
	anchors map[string]*value
}

// What stands in a member of a schema object.
const (
	notSchema  = iota // values, or keywords of no draft
	oneSchema         // a schema
	schemaList        // an array of schemas, or one schema
	schemaMap         // an object of schemas, or of something else
)

var places = map[string]int{
	"additionalItems": oneSchema, "additionalProperties": oneSchema, "contains": oneSchema, "contentSchema": oneSchema,
	"else": oneSchema, "if": oneSchema, "items": schemaList, "not": oneSchema, "propertyNames": oneSchema, "then": oneSchema,
	"unevaluatedItems": oneSchema, "unevaluatedProperties": oneSchema,
	"allOf": schemaList, "anyOf": schemaList, "oneOf": schemaList, "prefixItems": schemaList,
	"$defs": schemaMap, "definitions": schemaMap, "dependencies": schemaMap, "dependentSchemas": schemaMap,
	"patternProperties": schemaMap, "properties": schemaMap,
}

// index finds the resources and anchors below v. Pointers may lead anywhere, so every
// value gets a home, but only schemas have identifiers.
func (c *compiler) index(v *value, r *resource, is int) {
	if is == oneSchema && v.kind == object {
		r = c.identify(v, r)
	}
	c.home[v] = r
	for i, e := range v.list {
		c.parents[e] = v
		below := notSchema
		switch {
		case is == schemaMap, is == schemaList && v.kind == array:
			below = oneSchema
		case is == oneSchema && v.kind == object:
			below = places[v.keys[i]]
			if below == schemaList && e.kind == object {
				below = oneSchema
			}
		}
		c.index(e, r, below)
	}
}

// identify takes down the names of the schema v and returns the resource it is of.
func (c *compiler) identify(v *value, r *resource) *resource {
	key := "$id"
	if c.draft == 4 {
		key = "id"
	}
	beside := v.member("$ref") != nil && c.draft < 2019 && v != c.root // members beside $ref say nothing
	if id := v.member(key); id != nil && id.kind == str && !beside {
		if u, err := url.Parse(id.text); err == nil {
			if u.Path != "" || u.Host != "" || u.Opaque != "" {
				r = &resource{root: v, base: r.base.ResolveReference(u), anchors: map[string]*value{}}
				r.base.Fragment = ""
				c.resources[r.base.String()] = r
			}
			if u.Fragment != "" {
				r.anchors[u.Fragment] = v
			}
		}
	}
	for _, k := range []string{"$anchor", "$dynamicAnchor"} {
		if a := v.member(k); a != nil && a.kind == str {
			r.anchors[a.text] = v
		}
	}
	return r
}

func (c *compiler) readRef(s *schema, v *value) error {
	if v.kind != str {
		return wrong(v, "wants a reference")
	}
	target, err := c.resolve(v)
	if err != nil {
		return err
	}
	s.ref, err = c.schema(target)
	return err
}

// resolve finds what the reference v points at.
func (c *compiler) resolve(v *value) (*value, error) {
	u, err := url.Parse(v.text)
	if err != nil {
		return nil, wrong(v, "%q is not a reference", v.text)
	}
	home := c.home[c.parents[v]]
	if home == nil {
		return nil, wrong(v, "a reference inside what is no schema")
	}
	fragment := u.Fragment
	if u.Scheme != "" || u.Host != "" || u.Path != "" || u.Opaque != "" {
		u = home.base.ResolveReference(u)
		u.Fragment, u.RawFragment = "", ""
		home = c.resources[u.String()]
		if home == nil {
			return nil, wrong(v, "%q is another document; none is ever fetched", v.text)
		}
	}
	if fragment != "" && fragment[0] != '/' {
		if t := home.anchors[fragment]; t != nil {
			return t, nil
		}
		return nil, wrong(v, "%q points at nothing", v.text)
	}
	t := home.root
	if fragment == "" {
		return t, nil
	}
	for _, step := range strings.Split(fragment[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if i, err := strconv.Atoi(step); t.kind == array && err == nil && i >= 0 && i < len(t.list) {
			t = t.list[i]
		} else if t = t.member(step); t == nil {
			return nil, wrong(v, "%q points at nothing", v.text)
		}
	}
	return t, nil
}
