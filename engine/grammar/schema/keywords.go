package schema

import (
	"math/big"
	"strings"
)

// A keyword reads one member of a schema object.
type keyword func(c *compiler, s *schema, v *value) error

// keywords are those that constrain. Filled by init, since subschemas use it.
var keywords map[string]keyword

func init() {
	keywords = map[string]keyword{
		"type":  (*compiler).readType,
		"enum":  readEnum,
		"const": readConst,

		"minLength": counter(func(s *schema) *count { return &s.minLength }),
		"maxLength": counter(func(s *schema) *count { return &s.maxLength }),
		"pattern":   (*compiler).readPattern,
		"format":    (*compiler).readFormat,

		"minimum":          bound(func(s *schema, r *big.Rat, at string) { s.low(r, false, at) }),
		"maximum":          bound(func(s *schema, r *big.Rat, at string) { s.high(r, false, at) }),
		"exclusiveMinimum": exclusive(func(s *schema, r *big.Rat, at string) { s.low(r, true, at) }, "minimum"),
		"exclusiveMaximum": exclusive(func(s *schema, r *big.Rat, at string) { s.high(r, true, at) }, "maximum"),
		"multipleOf":       readMultipleOf,

		"properties":           (*compiler).readProperties,
		"patternProperties":    (*compiler).readPatternProperties,
		"additionalProperties": sub(func(s *schema) **schema { return &s.additional }),
		"propertyNames":        sub(func(s *schema) **schema { return &s.propertyNames }),
		"required":             (*compiler).readRequired,
		"minProperties":        counter(func(s *schema) *count { return &s.minProperties }),
		"maxProperties":        counter(func(s *schema) *count { return &s.maxProperties }),
		"dependencies":         (*compiler).readDependencies,
		"dependentRequired":    (*compiler).readDependencies,
		"dependentSchemas":     (*compiler).readDependencies,

		"items":           (*compiler).readItems,
		"prefixItems":     subs(func(s *schema) *[]*schema { return &s.prefix }),
		"additionalItems": (*compiler).readAdditionalItems,
		"minItems":        counter(func(s *schema) *count { return &s.minItems }),
		"maxItems":        counter(func(s *schema) *count { return &s.maxItems }),
		"contains":        sub(func(s *schema) **schema { return &s.contains }),
		"minContains":     counter(func(s *schema) *count { return &s.minContains }),
		"maxContains":     counter(func(s *schema) *count { return &s.maxContains }),
		"uniqueItems":     readUnique,

		"allOf": subs(func(s *schema) *[]*schema { return &s.allOf }),
		"anyOf": subs(func(s *schema) *[]*schema { return &s.anyOf }),
		"oneOf": subs(func(s *schema) *[]*schema { return &s.oneOf }),
		"not":   sub(func(s *schema) **schema { return &s.not }),
		"if":    sub(func(s *schema) **schema { return &s.when }),
		"then":  sub(func(s *schema) **schema { return &s.then }),
		"else":  sub(func(s *schema) **schema { return &s.else_ }),
		"$ref":  (*compiler).readRef,

		"unevaluatedProperties": sub(func(s *schema) **schema { return &s.unevaluatedProperties }),
		"unevaluatedItems":      sub(func(s *schema) **schema { return &s.unevaluatedItems }),

		"$dynamicRef":   unsupported,
		"$recursiveRef": unsupported,
	}
}

// Constrains reports whether a keyword says what is valid. Others are comments, or not known.
func Constrains(keyword string) bool {
	_, ok := keywords[keyword]
	return ok
}

// annotations constrain nothing.
var annotations = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true, "example": true,
	"deprecated": true, "readOnly": true, "writeOnly": true, "$comment": true,
	"contentEncoding": true, "contentMediaType": true, "contentSchema": true,
	"$schema": true, "$id": true, "id": true, "$anchor": true, "$vocabulary": true,
	"$dynamicAnchor": true, "$recursiveAnchor": true, "$defs": true, "definitions": true,
	"discriminator": true, "externalDocs": true, "xml": true, // OpenAPI's
}

func sub(field func(*schema) **schema) keyword {
	return func(c *compiler, s *schema, v *value) (err error) {
		*field(s), err = c.schema(v)
		return err
	}
}

func subs(field func(*schema) *[]*schema) keyword {
	return func(c *compiler, s *schema, v *value) error {
		if v.kind != array || len(v.list) == 0 && last(v.at) != "prefixItems" {
			return wrong(v, "wants an array of at least one schema")
		}
		list, err := c.schemas(v)
		*field(s) = list
		return err
	}
}

func (c *compiler) schemas(v *value) ([]*schema, error) {
	var list []*schema
	for _, e := range v.list {
		s, err := c.schema(e)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func counter(field func(*schema) *count) keyword {
	return func(_ *compiler, s *schema, v *value) error {
		if v.kind != number {
			return wrong(v, "wants a whole number")
		}
		r := v.rational()
		n := most
		switch {
		case r == nil && !strings.HasPrefix(v.text, "-"):
		case r == nil || r.Sign() < 0 || !r.IsInt():
			return wrong(v, "wants a whole number, not below 0")
		case r.Cmp(big.NewRat(most, 1)) < 0:
			n = int(r.Num().Int64())
		}
		*field(s) = count{n: n, set: true, at: v.at}
		return nil
	}
}

// exact returns the value of a number that a keyword gives.
func exact(v *value) (*big.Rat, error) {
	if v.kind != number {
		return nil, wrong(v, "wants a number")
	}
	r := v.rational()
	if r == nil {
		return nil, wrong(v, "%.40s has more than %d digits", v.text, maxDigits)
	}
	return r, nil
}

func bound(set func(s *schema, r *big.Rat, at string)) keyword {
	return func(_ *compiler, s *schema, v *value) error {
		r, err := exact(v)
		if err == nil {
			set(s, r, v.at)
		}
		return err
	}
}

// exclusive reads a bound that may be a boolean about its sister in draft 4.
func exclusive(set func(s *schema, r *big.Rat, at string), sister string) keyword {
	return func(c *compiler, s *schema, v *value) error {
		if v.kind != boolean {
			return bound(set)(c, s, v)
		}
		if !v.yes {
			return nil
		}
		parent := c.parents[v]
		m := parent.member(sister)
		if m == nil {
			return nil
		}
		return bound(set)(c, s, m)
	}
}

func readMultipleOf(_ *compiler, s *schema, v *value) error {
	r, err := exact(v)
	if err != nil {
		return err
	}
	if r.Sign() <= 0 {
		return wrong(v, "wants a number above 0")
	}
	s.multipleOf, s.mult = r, v.at
	return nil
}

// types are the names of the kinds.
var types = map[string]kind{
	"null": null, "boolean": boolean, "number": number, "integer": number,
	"string": str, "array": array, "object": object,
}

func (c *compiler) readType(s *schema, v *value) error {
	list := []*value{v}
	if v.kind == array {
		if list = v.list; len(list) == 0 {
			return wrong(v, "names no type")
		}
	}
	s.kind, s.integer = 0, false
	fraction := false
	for _, e := range list {
		k, ok := types[e.text]
		if e.kind != str || !ok {
			if e.kind == str {
				return wrong(v, "%q is not a type", e.text)
			}
			return wrong(v, "wants the name of a type, or an array of them")
		}
		s.kind |= k
		s.integer = s.integer || e.text == "integer"
		fraction = fraction || e.text == "number"
	}
	s.integer = s.integer && !fraction
	return nil
}

func readEnum(c *compiler, s *schema, v *value) error {
	if v.kind != array {
		return wrong(v, "wants an array of values")
	}
	return c.only(s, v.list, v)
}

func readConst(c *compiler, s *schema, v *value) error { return c.only(s, []*value{v}, v) }
