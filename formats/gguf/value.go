package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"quern/formats/internal/scan"
	"quern/formats/weights"
)

// The type numbers of metadata that are named in code; valueTypes has all.
const (
	typeString = 8
	typeArray  = 9
)

// valueTypes is indexed by type number. size is the bytes of a value, for
// strings and arrays the bytes of an empty one.
var valueTypes = [...]struct {
	kind weights.Kind
	size int
}{
	0:          {weights.Uint8, 1},
	1:          {weights.Int8, 1},
	2:          {weights.Uint16, 2},
	3:          {weights.Int16, 2},
	4:          {weights.Uint32, 4},
	5:          {weights.Int32, 4},
	6:          {weights.Float32, 4},
	7:          {weights.Bool, 1},
	typeString: {weights.String, 8},
	typeArray:  {0, 12},
	10:         {weights.Uint64, 8},
	11:         {weights.Int64, 8},
	12:         {weights.Float64, 8},
}

// errShort is returned where a value runs past the end of the file.
var errShort = fmt.Errorf("%w: the value is cut short; the file is incomplete or damaged", ErrFormat)

// readValue reads a value of type t, depth arrays deep. The kind is zero for
// an array of arrays whose innermost elements are not all of one kind.
func readValue(c *scan.Cursor, t uint32, depth int) (weights.Value, weights.Kind, error) {
	if !c.OK() {
		return nil, 0, errShort
	}
	if t >= uint32(len(valueTypes)) {
		return nil, 0, fmt.Errorf("%w: unknown metadata type %d", ErrFormat, t)
	}
	if t == typeArray {
		return readArray(c, depth+1)
	}
	kind := valueTypes[t].kind
	var v weights.Value
	switch kind {
	case weights.String:
		v = string(c.Bytes(c.Uint64()))
	case weights.Bool:
		b, err := readBool(c)
		if err != nil {
			return nil, 0, err
		}
		v = b
	case weights.Float32, weights.Float64:
		v = readFloat(c, kind)
	case weights.Uint64:
		n := c.Uint64()
		if v = int64(n); n > math.MaxInt64 {
			v = n
		}
	default:
		v = readInt(c, kind)
	}
	if !c.OK() {
		return nil, 0, errShort
	}
	return v, kind, nil
}

func readArray(c *scan.Cursor, depth int) (weights.Value, weights.Kind, error) {
	if depth > maxDepth {
		return nil, 0, fmt.Errorf("%w: arrays nested more than %d deep", ErrFormat, maxDepth)
	}
	t, n := c.Uint32(), c.Uint64()
	if !c.OK() {
		return nil, 0, errShort
	}
	if t >= uint32(len(valueTypes)) {
		return nil, 0, fmt.Errorf("%w: array of unknown metadata type %d", ErrFormat, t)
	}
	if !c.Fits(n, valueTypes[t].size) {
		return nil, 0, fmt.Errorf("%w: an array of %d elements does not fit in the %d bytes left; the file is incomplete or damaged", ErrFormat, n, c.Left())
	}
	kind := valueTypes[t].kind
	if t == typeArray {
		return readNested(c, int(n), depth)
	}
	// From here on everything but strings and bools fits and is valid.
	switch kind {
	case weights.String:
		a, err := readStrings(c, int(n))
		return a, kind, err
	case weights.Bool:
		a := make([]bool, n)
		for i := range a {
			b, err := readBool(c)
			if err != nil {
				return nil, 0, err
			}
			a[i] = b
		}
		return a, kind, nil
	case weights.Float32, weights.Float64:
		a := make([]float64, n)
		for i := range a {
			a[i] = readFloat(c, kind)
		}
		return a, kind, nil
	}
	a := make([]int64, n)
	for i := range a {
		a[i] = readInt(c, kind)
		if kind == weights.Uint64 && a[i] < 0 {
			return nil, 0, fmt.Errorf("%w: array element %d is above the range of int64", ErrUnsupported, uint64(a[i]))
		}
	}
	return a, kind, nil
}

// readNested reads n arrays. Their size is bounded: the caller compared 12
// bytes for each with what is left.
func readNested(c *scan.Cursor, n, depth int) (weights.Value, weights.Kind, error) {
	a := make([]weights.Value, n)
	var all weights.Kind
	for i := range a {
		v, kind, err := readArray(c, depth+1)
		if err != nil {
			return nil, 0, err
		}
		a[i] = v
		if i == 0 {
			all = kind
		} else if kind != all {
			all = 0
		}
	}
	return a, all, nil
}

// readStrings reads n strings. All of them share one copy of the file's bytes:
// vocabularies have some hundred thousand, and one allocation each would be
// most of the time it takes to open a model.
func readStrings(c *scan.Cursor, n int) ([]string, error) {
	ahead := *c
	for range n {
		ahead.Bytes(ahead.Uint64())
	}
	if !ahead.OK() {
		return nil, errShort
	}
	all := string(c.Bytes(uint64(ahead.Offset() - c.Offset())))
	a := make([]string, n)
	at := 0
	for i := range a {
		// The lengths were read above; this walks them again in the copy.
		size := int(binary.LittleEndian.Uint64([]byte(all[at : at+8])))
		at += 8
		a[i] = all[at : at+size]
		at += size
	}
	return a, nil
}

func readBool(c *scan.Cursor) (bool, error) {
	b := c.Uint8()
	if b > 1 {
		return false, fmt.Errorf("%w: a bool of value %d", ErrFormat, b)
	}
	return b == 1, nil
}

func readFloat(c *scan.Cursor, k weights.Kind) float64 {
	if k == weights.Float32 {
		return float64(c.Float32())
	}
	return c.Float64()
}

// readInt reads an integer of kind k. A Uint64 above the range of int64 comes
// out negative.
func readInt(c *scan.Cursor, k weights.Kind) int64 {
	switch k {
	case weights.Uint8:
		return int64(c.Uint8())
	case weights.Int8:
		return int64(int8(c.Uint8()))
	case weights.Uint16:
		return int64(c.Uint16())
	case weights.Int16:
		return int64(int16(c.Uint16()))
	case weights.Uint32:
		return int64(c.Uint32())
	case weights.Int32:
		return int64(int32(c.Uint32()))
	}
	return int64(c.Uint64())
}
