package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A DType is an element type, numbered as TensorProto.DataType.
type DType uint8

const (
	Undefined DType = iota
	Float
	Uint8
	Int8
	Uint16
	Int16
	Int32
	Int64
	String
	Bool
	Float16
	Double
	Uint32
	Uint64
	Complex64
	Complex128
	BFloat16
	Float8E4M3FN
	Float8E4M3FNUZ
	Float8E5M2
	Float8E5M2FNUZ
	Uint4
	Int4
	Float4E2M1
	Float8E8M0
	Uint2
	Int2
)

// dtypes are the names of the types, their bits, and the field of TensorProto
// that holds their values when raw_data does not. Types without bits are
// refused, strings apart.
var dtypes = [...]struct {
	name  string
	bits  int
	field uint64
}{
	Undefined: {name: "undefined"}, String: {name: "string", field: 6},
	Float: {"float", 32, 4}, Double: {"double", 64, 10},
	Int32: {"int32", 32, 5}, Int16: {"int16", 16, 5}, Int8: {"int8", 8, 5}, Int4: {"int4", 4, 5}, Int2: {"int2", 2, 5},
	Uint16: {"uint16", 16, 5}, Uint8: {"uint8", 8, 5}, Uint4: {"uint4", 4, 5}, Uint2: {"uint2", 2, 5}, Bool: {"bool", 8, 5},
	Int64: {"int64", 64, 7}, Uint32: {"uint32", 32, 11}, Uint64: {"uint64", 64, 11},
	Float16: {"float16", 16, 5}, BFloat16: {"bfloat16", 16, 5},
	Float8E4M3FN: {"float8e4m3fn", 8, 5}, Float8E4M3FNUZ: {"float8e4m3fnuz", 8, 5},
	Float8E5M2: {"float8e5m2", 8, 5}, Float8E5M2FNUZ: {"float8e5m2fnuz", 8, 5},
	Float8E8M0: {"float8e8m0", 8, 5}, Float4E2M1: {"float4e2m1", 4, 5},
	Complex64: {name: "complex64"}, Complex128: {name: "complex128"},
}

func (t DType) String() string {
	if int(t) < len(dtypes) {
		return dtypes[t].name
	}
	return "DType(" + strconv.Itoa(int(t)) + ")"
}

// Spelled is the type's name as GGUF spells it, "" of Undefined.
func (t DType) Spelled() string {
	switch t {
	case Undefined:
		return ""
	case Float:
		return "F32"
	case Float16:
		return "F16"
	case BFloat16:
		return "BF16"
	}
	return strings.ToUpper(t.String())
}

// Bits returns the bits of an element, zero for strings and for types that
// are not read.
func (t DType) Bits() int {
	if int(t) < len(dtypes) {
		return dtypes[t].bits
	}
	return 0
}

// A Tensor is a constant. Data is little-endian and packed as raw_data is: the
// first of several elements in a byte lies in its lowest bits. It may alias the
// file.
type Tensor struct {
	Name    string
	Type    DType
	Shape   []int
	Data    []byte
	Strings []string // of Type String
}

// A Sparse is a tensor that is zero except for Values (n) at Indices, which has
// shape (n) and counts elements, or (n, rank).
type Sparse struct {
	Values, Indices *Tensor
	Shape           []int
}

const (
	maxRank  = 32
	maxElems = math.MaxInt / 64 // so that the bits of a tensor fit an int
)

// shape checks dimensions and returns their product.
func shape(dims []int64) ([]int, int, error) {
	if len(dims) > maxRank {
		return nil, 0, fmt.Errorf("%w: a tensor of rank %d, limit %d", ErrFormat, len(dims), maxRank)
	}
	n, empty := int64(1), false
	s := make([]int, len(dims))
	for i, d := range dims {
		if d < 0 || d > maxElems || d > 0 && n > maxElems/d {
			return nil, 0, fmt.Errorf("%w: a tensor of shape %d", ErrFormat, dims)
		}
		if d == 0 {
			empty = true
		} else {
			n *= d
		}
		s[i] = int(d)
	}
	if empty {
		n = 0
	}
	return s, int(n), nil
}

// tensor reads a TensorProto.
func (r *reader) tensor(msg []byte, depth int) (*Tensor, error) {
	t := &Tensor{}
	var dims []int64
	var dtype, location int64
	var raw []byte
	hasRaw := false
	typed := make(map[uint64][]uint64)
	ext := make(map[string]string)
	err := fields(msg, depth, func(f field) error {
		keep := func(v uint64) { typed[f.num] = append(typed[f.num], v) }
		switch f.num {
		case 1:
			return f.numbers(varint, func(v uint64) { dims = append(dims, int64(v)) })
		case 2:
			return f.int(&dtype)
		case 3:
			return fmt.Errorf("%w: a tensor in segments", ErrUnsupported)
		case 4:
			return f.numbers(fixed32, keep)
		case 5, 7, 11:
			return f.numbers(varint, keep)
		case 6:
			t.Strings = append(t.Strings, string(f.b))
			return f.want(bytes)
		case 8:
			return f.text(&t.Name)
		case 9:
			raw, hasRaw = f.b, true
			return f.want(bytes)
		case 10:
			return f.numbers(fixed64, keep)
		case 13:
			var key, value string
			err := pair(f, depth+1, &key, &value)
			ext[key] = value
			return err
		case 14:
			return f.int(&location)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if dtype <= 0 || dtype >= int64(len(dtypes)) {
		return nil, fmt.Errorf("%w: tensor %.100q has element type %d", ErrUnsupported, t.Name, dtype)
	}
	t.Type = DType(dtype)
	bits := t.Type.Bits()
	if bits == 0 && t.Type != String {
		return nil, fmt.Errorf("%w: tensor %.100q has elements of type %v", ErrUnsupported, t.Name, t.Type)
	}
	var n int
	if t.Shape, n, err = shape(dims); err != nil {
		return nil, err
	}
	size := (n*bits + 7) / 8
	switch {
	case t.Type == String:
		if hasRaw || location != 0 || len(t.Strings) != n {
			return nil, fmt.Errorf("%w: tensor %.100q of shape %d has %d strings", ErrFormat, t.Name, t.Shape, len(t.Strings))
		}
		return t, nil
	case location == 1:
		t.Data, err = r.external(ext, size)
	case location != 0:
		err = fmt.Errorf("%w: data location %d", ErrUnsupported, location)
	case hasRaw:
		t.Data = raw
	default:
		t.Data = pack(t.Type, typed[dtypes[t.Type].field])
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %.100q: %w", t.Name, err)
	}
	if len(t.Data) != size || t.Strings != nil {
		return nil, fmt.Errorf("%w: tensor %.100q, %v of shape %d, has %d bytes, want %d", ErrFormat, t.Name, t.Type, t.Shape, len(t.Data), size)
	}
	return t, nil
}

// pack turns the values of a typed field into the bytes of raw_data. Elements
// smaller than a byte come packed: one number holds what a byte does.
func pack(t DType, values []uint64) []byte {
	b := make([]byte, 0, len(values)*max(t.Bits(), 8)/8)
	for _, v := range values {
		switch t.Bits() {
		case 64:
			b = binary.LittleEndian.AppendUint64(b, v)
		case 32:
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		case 16:
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		default:
			b = append(b, byte(v))
		}
	}
	return b
}

// sparse reads a SparseTensorProto.
func (r *reader) sparse(msg []byte, depth int) (*Sparse, error) {
	s := &Sparse{}
	var dims []int64
	err := fields(msg, depth, func(f field) error {
		switch f.num {
		case 1, 2:
			if err := f.want(bytes); err != nil {
				return err
			}
			t, err := r.tensor(f.b, depth+1)
			if f.num == 1 {
				s.Values = t
			} else {
				s.Indices = t
			}
			return err
		case 3:
			return f.numbers(varint, func(v uint64) { dims = append(dims, int64(v)) })
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var n int
	if s.Shape, n, err = shape(dims); err != nil {
		return nil, err
	}
	v, ix := s.Values, s.Indices
	if v == nil || ix == nil || len(v.Shape) != 1 || ix.Type != Int64 || v.Type == String ||
		len(ix.Shape) == 0 || ix.Shape[0] != v.Shape[0] || len(ix.Shape) > 2 || len(ix.Shape) == 2 && ix.Shape[1] != len(s.Shape) {
		return nil, fmt.Errorf("%w: a sparse tensor whose values and indices do not match", ErrFormat)
	}
	if v.Shape[0] > n || n > math.MaxInt32 {
		return nil, fmt.Errorf("%w: a sparse tensor of shape %d with %d values", ErrFormat, s.Shape, v.Shape[0])
	}
	limits := s.Shape
	if len(ix.Shape) == 1 {
		limits = []int{n}
	}
	for at := range len(ix.Data) / 8 {
		if i := binary.LittleEndian.Uint64(ix.Data[8*at:]); i >= uint64(limits[at%len(limits)]) {
			return nil, fmt.Errorf("%w: index %d of a sparse tensor of shape %d", ErrFormat, int64(i), s.Shape)
		}
	}
	return s, nil
}
