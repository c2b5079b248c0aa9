package onnx

import (
	"fmt"

	"quern/formats/onnx"
)

// A Tensor is a value of a graph, row-major. One of the slices is set: F for
// float and the narrower floats (rounded to their type), D for double, S for
// strings, and I for integers and bool (uint64 as the int64 of its bits).
// Raw, with or without I, holds integers of 8 bits and less as a file does.
//
// A sequence has Type Undefined and its elements in Seq, which is not nil. An
// optional is what it holds; without that, a Tensor of neither (see none).
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

	constant bool // of the model: the same in every run
	given    bool // by the caller of Run
	mem      *memory
	buf      *buffer // nil for what no Session counts
}

// maxElems bounds the elements of a tensor an operator makes.
const (
	maxElems = 1 << 28
	maxRank  = 16
)

// A failure is what operators panic with; node turns it into an error. It keeps
// a hundred small functions free of error paths, as in encoding/json.
type failure struct{ error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// count returns the product of shape, within the limits.
func count(shape []int) int {
	if len(shape) > maxRank {
		fail("%w: rank %d, limit %d", onnx.ErrUnsupported, len(shape), maxRank)
	}
	n := 1
	for _, d := range shape {
		if d < 0 {
			fail("%w: shape %d", onnx.ErrFormat, shape)
		}
		if d == 0 {
			return 0
		}
	}
	for _, d := range shape {
		if d > maxElems/n {
			fail("%w: shape %d has more than %d elements", onnx.ErrUnsupported, shape, maxElems)
		}
		n *= d
	}
	return n
}

// newTensor returns zeros that no Session counts or uses again. Operators
// better ask their call, see blank and zeros.
func newTensor(t onnx.DType, shape ...int) *Tensor {
	n := count(shape)
	x := &Tensor{Type: t, Shape: append([]int{}, shape...)}
	switch {
	case isFloat(t):
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
		return t.mem.blank(d, shape...)
	}
	return newTensor(d, shape...)
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
	defer rescue(&err)
	t = t.whole()
	if t.Type == to {
		return t, nil
	}
	return cast(t, to, castOptions{saturate: true}), nil
}

func ints(v ...int) *Tensor {
	t := newTensor(onnx.Int64, len(v))
	for i, d := range v {
		t.I[i] = int64(d)
	}
	return t
}

func (t *Tensor) len() int {
	if t.Raw != nil && t.I == nil {
		return count(t.Shape)
	}
	return len(t.F) + len(t.D) + len(t.I) + len(t.S)
}

// none reports whether t is an optional without a value.
func (t *Tensor) none() bool { return t.Type == onnx.Undefined && t.Seq == nil }

// as returns the same elements under another shape.
func (t *Tensor) as(shape ...int) *Tensor {
	if count(shape) != t.len() {
		fail("%w: %d elements of shape %d as %d", onnx.ErrFormat, t.len(), t.Shape, shape)
	}
	c := *t
	c.Shape = append([]int{}, shape...)
	c.constant = false
	return &c
}

// at returns element i as a number.
func (t *Tensor) at(i int) float64 {
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
	}
	fail("%w: a number is wanted, not %v", onnx.ErrFormat, t.Type)
	return 0
}

// put writes a number, rounded to the type.
func (t *Tensor) put(i int, v float64) {
	switch {
	case t.F != nil:
		t.F[i] = float32(round(t.Type, v))
	case t.D != nil:
		t.D[i] = v
	default:
		t.I[i] = wrap(t.Type, int64(v))
	}
}

// pick returns the tensor whose element i is element from[i] of t, and zero
// where that is negative.
func (t *Tensor) pick(from []int, shape ...int) *Tensor {
	t = t.whole()
	out := t.another(t.Type, shape...)
	if len(from) != out.len() {
		fail("%w: %d elements for shape %d", onnx.ErrFormat, len(from), shape)
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

// strides returns the steps of a row-major shape.
func strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// walk returns base + Σ coordinate·step for every coordinate of shape in
// row-major order.
func walk(shape, step []int, base int) []int {
	at := make([]int, 0, count(shape))
	if cap(at) == 0 {
		return at
	}
	pos := make([]int, len(shape))
	for {
		at = append(at, base)
		d := len(shape) - 1
		for ; d >= 0; d-- {
			base += step[d]
			if pos[d]++; pos[d] < shape[d] {
				break
			}
			base -= step[d] * shape[d]
			pos[d] = 0
		}
		if d < 0 {
			return at
		}
	}
}

// broadcast returns the shape two shapes broadcast to.
func broadcast(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append([]int{}, a...)
	for i, d := range b {
		switch o := &out[len(a)-len(b)+i]; {
		case *o == 1:
			*o = d
		case d != 1 && d != *o:
			fail("%w: shapes %d and %d do not broadcast", onnx.ErrFormat, a, b)
		}
	}
	return out
}

// spread returns the elements of shape for each of out, nil if they are the same.
func spread(shape, out []int) []int {
	if len(shape) == len(out) {
		same := true
		for i := range out {
			same = same && shape[i] == out[i]
		}
		if same {
			return nil
		}
	}
	return walk(out, spreadSteps(shape, out), 0)
}

// spreadSteps returns the strides with which a tensor of shape is read as one of
// shape out, which it must broadcast to.
func spreadSteps(shape, out []int) []int {
	if len(shape) > len(out) {
		fail("%w: shape %d as %d", onnx.ErrFormat, shape, out)
	}
	step := make([]int, len(out))
	for i, s := range strides(shape) {
		switch d := len(out) - len(shape) + i; {
		case shape[i] == out[d]:
			step[d] = s
		case shape[i] != 1:
			fail("%w: shape %d as %d", onnx.ErrFormat, shape, out)
		}
	}
	return step
}

// to returns t broadcast to a shape.
func (t *Tensor) to(shape []int) *Tensor {
	if from := spread(t.Shape, shape); from != nil {
		return t.pick(from, shape...)
	}
	return t
}

// axis checks an axis that may count from the end.
func axis(a, rank int) int {
	if a < -rank || a >= rank {
		fail("%w: axis %d of rank %d", onnx.ErrFormat, a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a
}
