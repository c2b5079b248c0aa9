// Package tensor has the values of ONNX graphs: their elements and types, the
// shapes they are read with, the memory they lie in and the files they come from.
package tensor

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"quern/engine/rescue"
	"quern/formats/onnx"
)

// A Tensor is a value of a graph, row-major. One of the slices is set: F for
// float and the narrower floats (rounded to their type), D for double, S for
// strings, and I for integers and bool (uint64 as the int64 of its bits).
// Raw, with or without I, holds integers of 8 bits and less as a file does.
//
// A sequence has Type Undefined and its elements in Seq, which is not nil. An
// optional is what it holds; without that, a Tensor of neither (see None).
//
// Tensors that were given to or came from a Session are not written to.
type Tensor struct {
	Type  onnx.DType
	Shape []int
	F     []float32
	D     []float64
	I     []int64
	S     []string
	Raw   []byte
	Seq   []*Tensor

	halves   []byte     // see Halves; nil where F is set
	halvesOf onnx.DType // their type

	constant bool // of the model: the same in every run
	given    bool // by the caller of Run
	mem      *Memory
	buf      *buffer // nil for what no Session counts
}

const (
	MaxElems = 1 << 28 // of a tensor that an operator makes
	MaxRank  = 16
)

// A failure is what operators panic with; Rescue turns it into an error. It keeps
// a hundred small functions free of error paths, as in encoding/json.
type failure struct{ error }

// Fail ends an operator with an error.
func Fail(err error) { panic(failure{err}) }

// Malformed ends an operator that its model or the caller of Run gave what it must
// not have.
func Malformed(format string, args ...any) {
	Fail(fmt.Errorf("%w: %w", onnx.ErrFormat, fmt.Errorf(format, args...)))
}

// Unsupported ends an operator that is asked for what it does not do.
func Unsupported(format string, args ...any) {
	Fail(fmt.Errorf("%w: %w", onnx.ErrUnsupported, fmt.Errorf(format, args...)))
}

// New returns zeros that no Session counts or uses again. Operators better ask
// their Call for Blank and Zeros.
func New(t onnx.DType, shape ...int) *Tensor {
	n := Count(shape)
	x := &Tensor{Type: t, Shape: append([]int{}, shape...)}
	switch {
	case IsFloat(t):
		x.F = make([]float32, n)
	case t == onnx.Double:
		x.D = make([]float64, n)
	case t == onnx.String:
		x.S = make([]string, n)
	default:
		x.I = make([]int64, n)
	}
	return x
}

// another returns a tensor of undefined contents from the memory of t.
func (t *Tensor) another(d onnx.DType, shape ...int) *Tensor {
	if t.mem != nil {
		return t.mem.Blank(d, shape...)
	}
	return New(d, shape...)
}

// NewFloats returns a tensor of float32. Data is kept, not copied, as in the
// other constructors; all panic where its length is not the product of shape.
func NewFloats(shape []int, data []float32) *Tensor {
	return given(&Tensor{Type: onnx.Float, Shape: shape, F: data}, len(data))
}

// NewDoubles returns a tensor of float64.
func NewDoubles(shape []int, data []float64) *Tensor {
	return given(&Tensor{Type: onnx.Double, Shape: shape, D: data}, len(data))
}

// NewInts returns a tensor of int64.
func NewInts(shape []int, data []int64) *Tensor {
	return given(&Tensor{Type: onnx.Int64, Shape: shape, I: data}, len(data))
}

// NewStrings returns a tensor of strings.
func NewStrings(shape []int, data []string) *Tensor {
	return given(&Tensor{Type: onnx.String, Shape: shape, S: data}, len(data))
}

// NewSequence returns a sequence.
func NewSequence(elems ...*Tensor) *Tensor {
	return &Tensor{Seq: append([]*Tensor{}, elems...)}
}

func given(t *Tensor, n int) *Tensor {
	want := 1
	for _, d := range t.Shape {
		want *= d
	}
	if want != n {
		panic(fmt.Sprintf("onnx: %d elements for shape %d", n, t.Shape))
	}
	t.Shape = append([]int{}, t.Shape...)
	return t
}

// Convert returns t as another type of number, as Cast does.
func (t *Tensor) Convert(to onnx.DType) (out *Tensor, err error) {
	defer Rescue(&err)
	t = t.Whole()
	if t.Type == to {
		return t, nil
	}
	return Cast(t, to, CastOptions{Saturate: true}), nil
}

// Ints returns a row of int64.
func Ints(v ...int) *Tensor {
	t := New(onnx.Int64, len(v))
	for i, d := range v {
		t.I[i] = int64(d)
	}
	return t
}

// Len is the number of elements.
func (t *Tensor) Len() int {
	if t.Raw != nil && t.I == nil || t.AreHalves() {
		return Count(t.Shape)
	}
	return len(t.F) + len(t.D) + len(t.I) + len(t.S)
}

// None reports whether t is an optional without a value.
func (t *Tensor) None() bool { return t.Type == onnx.Undefined && t.Seq == nil }

// As returns the same elements under another shape.
func (t *Tensor) As(shape ...int) *Tensor {
	if Count(shape) != t.Len() {
		Malformed("%d elements of shape %d as %d", t.Len(), t.Shape, shape)
	}
	c := *t
	c.Shape = append([]int{}, shape...)
	c.constant = false
	return &c
}

// At returns element i as a number.
func (t *Tensor) At(i int) float64 {
	switch {
	case t.F != nil:
		return float64(t.F[i])
	case t.D != nil:
		return t.D[i]
	case t.I != nil && t.Type == onnx.Uint64:
		return float64(uint64(t.I[i]))
	case t.I != nil:
		return float64(t.I[i])
	case t.Raw != nil:
		return float64(t.small(i))
	case t.halves != nil:
		t.Widen()
		return float64(t.F[i])
	}
	Malformed("a number is wanted, not %v", t.Type)
	return 0
}

// Put writes a number, rounded to the type.
func (t *Tensor) Put(i int, v float64) {
	switch {
	case t.F != nil:
		t.F[i] = float32(Round(t.Type, v))
	case t.D != nil:
		t.D[i] = v
	default:
		t.I[i] = Wrap(t.Type, int64(v))
	}
}

// Pick returns the tensor whose element i is element from[i] of t, and zero
// where that is negative.
func (t *Tensor) Pick(from []int, shape ...int) *Tensor {
	t = t.Whole()
	out := t.another(t.Type, shape...)
	if len(from) != out.Len() {
		Malformed("%d elements for shape %d", len(from), shape)
	}
	take(out.F, t.F, from)
	take(out.D, t.D, from)
	take(out.I, t.I, from)
	take(out.S, t.S, from)
	return out
}

func take[T any](dst, src []T, from []int) {
	var zero T
	for i := range dst {
		if from[i] >= 0 {
			dst[i] = src[from[i]]
		} else {
			dst[i] = zero
		}
	}
}

// To returns t broadcast to a shape.
func (t *Tensor) To(shape []int) *Tensor {
	if from := Spread(t.Shape, shape); from != nil {
		return t.Pick(from, shape...)
	}
	return t
}

// Order returns how two elements of t compare. NaN is the smallest.
func (t *Tensor) Order() func(i, j int) int {
	switch {
	case t.F != nil:
		return func(i, j int) int { return cmp.Compare(t.F[i], t.F[j]) }
	case t.D != nil:
		return func(i, j int) int { return cmp.Compare(t.D[i], t.D[j]) }
	case t.S != nil:
		return func(i, j int) int { return strings.Compare(t.S[i], t.S[j]) }
	case t.Type == onnx.Uint64:
		return func(i, j int) int { return cmp.Compare(uint64(t.I[i]), uint64(t.I[j])) }
	}
	return func(i, j int) int { return cmp.Compare(t.I[i], t.I[j]) }
}

// CopyElems copies n elements of src from from to dst at at.
func CopyElems(dst *Tensor, at int, src *Tensor, from, n int) {
	switch {
	case dst.F != nil:
		copy(dst.F[at:at+n], src.F[from:from+n])
	case dst.D != nil:
		copy(dst.D[at:at+n], src.D[from:from+n])
	case dst.S != nil:
		copy(dst.S[at:at+n], src.S[from:from+n])
	default:
		copy(dst.I[at:at+n], src.I[from:from+n])
	}
}

// List returns integers as a list.
func (t *Tensor) List() []int {
	t = t.Whole()
	if t.F != nil || t.D != nil || t.S != nil || t.Seq != nil {
		Malformed("integers are wanted, not %v", t.Type)
	}
	v := make([]int, len(t.I))
	for i, d := range t.I {
		v[i] = int(d)
	}
	return v
}

// Scalar returns t, which must have one element.
func (t *Tensor) Scalar() *Tensor {
	if t.Len() != 1 {
		Malformed("a scalar is wanted, not shape %d", t.Shape)
	}
	return t
}

// Valid reports whether the slice of t's type has as many elements as its shape.
func (t *Tensor) Valid() bool {
	n, held := Count(t.Shape), 0
	switch {
	case IsFloat(t.Type):
		held = len(t.F) + len(t.halves)/2
	case t.Type == onnx.Double:
		held = len(t.D)
	case t.Type == onnx.String:
		held = len(t.S)
	case t.Raw != nil && t.I == nil:
		return t.Type.Bits() > 0 && t.Type.Bits() <= 8 && len(t.Raw) == (n*t.Type.Bits()+7)/8
	default:
		held = len(t.I)
	}
	return held == n && held == t.Len()
}

// Bytes returns the elements of a tensor of uint8 or int8 as they lie in a file.
func Bytes(t *Tensor) []byte {
	if t.Type != onnx.Uint8 && t.Type != onnx.Int8 {
		Unsupported("product of %v", t.Type)
	}
	if t.Raw != nil {
		return t.Raw
	}
	b := make([]byte, len(t.I))
	for i, v := range t.I {
		b[i] = byte(v)
	}
	return b
}

// Rescue turns what an operator panicked with into an error. Operators check what graphs give them:
// a panic that is no failure is a fault of theirs, and no graph is blamed for it.
func Rescue(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.error
	default:
		if *err = rescue.Error(p); !errors.Is(*err, rescue.ErrFault) {
			*err = fmt.Errorf("a fault of quern's own, please report it: %w", *err)
		}
	}
}
