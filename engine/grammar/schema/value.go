package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// A kind is the type of a JSON value. Kinds are bits, so that a set of them is one too.
type kind uint8

const (
	null kind = 1 << iota
	boolean
	number
	str
	array
	object
	anyKind = null | boolean | number | str | array | object
)

// A value is a JSON value that remembers where it stands and in which order its
// members came.
type value struct {
	kind kind
	at   string   // JSON Pointer
	text string   // of strings the characters, of numbers the literal
	yes  bool     // of booleans
	keys []string // of objects, each once
	list []*value // elements, or the members' values in the order of keys
}

// member returns the value of a member, or nil.
func (v *value) member(key string) *value {
	if v.kind == object {
		for i, k := range v.keys {
			if k == key {
				return v.list[i]
			}
		}
	}
	return nil
}

// size is how many values v is made of.
func (v *value) size() int {
	n := 1
	for _, e := range v.list {
		n += e.size()
	}
	return n
}

// Bounds of a schema's text.
const (
	maxDepth  = 256
	maxValues = 1 << 16
	// maxPointers bounds the bytes of the pointers to all values: a long name counts
	// once for each value below it.
	maxPointers = 8 << 20
)

// decode reads one JSON value. Of members with the same name the last counts, in the
// place of the first, as in every reader of JSON.
func decode(src []byte) (*value, error) {
	d := decoder{Decoder: json.NewDecoder(bytes.NewReader(src))}
	d.UseNumber()
	v, err := d.value("", maxDepth)
	if err != nil {
		if _, ok := errors.AsType[*Error](err); ok {
			return nil, err
		}
		return nil, &Error{Reason: "not JSON: " + err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &Error{Reason: "more than one JSON value"}
	}
	return v, nil
}

// A decoder counts what it has read.
type decoder struct {
	*json.Decoder
	values   int
	pointers int // bytes of those to the values
}

// value reads the value at a pointer.
func (d *decoder) value(at string, depth int) (*value, error) {
	if d.values++; d.values > maxValues {
		return nil, &Error{Pointer: at, Reason: fmt.Sprintf("more than %d values in one schema", maxValues)}
	}
	t, err := d.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	v := &value{at: at}
	switch t := t.(type) {
	case nil:
		v.kind = null
	case bool:
		v.kind, v.yes = boolean, t
	case json.Number:
		v.kind, v.text = number, t.String()
	case string:
		v.kind, v.text = str, t
	case json.Delim:
		if depth == 0 {
			return nil, &Error{Pointer: at, Reason: fmt.Sprintf("nested more than %d deep", maxDepth)}
		}
		v.kind = array
		if t == '{' {
			v.kind = object
		}
		var seen map[string]int
		if v.kind == object {
			seen = map[string]int{}
		}
		for d.More() {
			place := strconv.Itoa(len(v.list))
			again := -1
			if v.kind == object {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				key := k.(string)
				place = escape(key)
				if i, ok := seen[key]; ok {
					again = i
				} else {
					seen[key] = len(v.keys)
					v.keys = append(v.keys, key)
				}
			}
			const wide = len("99999") // an index counts as much, at least
			n := len(place)
			if v.kind == array {
				n = max(n, wide)
			}
			if d.pointers += len(at) + 1 + n; d.pointers > maxPointers {
				return nil, &Error{Reason: fmt.Sprintf("the names on the way to its values have more than %d bytes; use shorter names, or nest less", maxPointers)}
			}
			e, err := d.value(at+"/"+place, depth-1)
			if err != nil {
				return nil, err
			}
			if again >= 0 {
				v.list[again] = e
			} else {
				v.list = append(v.list, e)
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// escape writes one step of a JSON Pointer (RFC 6901).
func escape(key string) string { return pointerStep.Replace(key) }

var pointerStep = strings.NewReplacer("~", "~0", "/", "~1")

// maxDigits bounds the numbers of a schema, written out without an exponent.
const maxDigits = 400

// rational returns the exact value of a number, or nil when writing it out takes more
// than maxDigits digits.
func (v *value) rational() *big.Rat {
	mantissa, exp, _ := strings.Cut(strings.ToLower(v.text), "e")
	e := 0
	if exp != "" {
		var err error
		if e, err = strconv.Atoi(exp); err != nil {
			return nil
		}
	}
	if e > maxDigits || e < -maxDigits || len(mantissa) > maxDigits {
		return nil
	}
	r, ok := new(big.Rat).SetString(v.text)
	if !ok {
		return nil
	}
	return r
}

// equal reports whether two values are the same in the sense of JSON Schema: numbers by
// value, objects without regard to order.
func equal(a, b *value) bool {
	if a.kind != b.kind || len(a.list) != len(b.list) {
		return false
	}
	switch a.kind {
	case boolean:
		return a.yes == b.yes
	case str:
		return a.text == b.text
	case number:
		x, y := a.rational(), b.rational()
		if x == nil || y == nil {
			return a.text == b.text
		}
		return x.Cmp(y) == 0
	case array:
		for i := range a.list {
			if !equal(a.list[i], b.list[i]) {
				return false
			}
		}
	case object:
		for i, k := range a.keys {
			m := b.member(k)
			if m == nil || !equal(a.list[i], m) {
				return false
			}
		}
	}
	return true
}
