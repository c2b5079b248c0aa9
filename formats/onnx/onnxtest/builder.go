package onnxtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"quern/formats/onnx"
	"quern/kernels/quant"
)

// A Builder puts a graph together. Methods that make a value return its name.
type Builder struct {
	Model onnx.Model
	Half  bool // floats are of float16
	made  int
}

// New returns a Builder of a model in an operator set of ai.onnx, with
// com.microsoft beside it.
func New(opset int64) *Builder {
	return &Builder{Model: onnx.Model{
		IR: 8, Producer: "quern", Opsets: map[string]int64{"": opset, "com.microsoft": 1}, Graph: &onnx.Graph{Name: "main"},
	}}
}

// Bytes returns the model as a file has it.
func (b *Builder) Bytes() []byte { return Marshal(&b.Model) }

// name makes up the name of a value that was given none.
func (b *Builder) name(given string) string {
	if given != "" {
		return given
	}
	b.made++
	return fmt.Sprintf("v%d", b.made)
}

// Tensor returns the declaration of a tensor. Dimensions are int, or string for
// a size only known when the graph runs.
func Tensor(name string, elem onnx.DType, dims ...any) onnx.Value {
	t := onnx.Type{Kind: onnx.KindTensor, Elem: elem, Dims: []onnx.Dim{}}
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			t.Dims = append(t.Dims, onnx.Dim{Size: int64(d)})
		case string:
			t.Dims = append(t.Dims, onnx.Dim{Size: -1, Param: d})
		default:
			panic(fmt.Sprintf("onnxtest: a dimension of type %T", d))
		}
	}
	return onnx.Value{Name: name, Type: t}
}

// Input declares an input of the graph.
func (b *Builder) Input(name string, elem onnx.DType, dims ...any) string {
	b.Model.Graph.Inputs = append(b.Model.Graph.Inputs, Tensor(name, elem, dims...))
	return name
}

// Output gives a value the name of an output and declares that.
func (b *Builder) Output(name, value string, elem onnx.DType, dims ...any) {
	if value != name {
		b.Named([]string{name}, "Identity", []string{value})
	}
	b.Model.Graph.Outputs = append(b.Model.Graph.Outputs, Tensor(name, elem, dims...))
}

// Weight adds a constant. name may be "".
func (b *Builder) Weight(t *onnx.Tensor) string {
	t.Name = b.name(t.Name)
	b.Model.Graph.Initializers = append(b.Model.Graph.Initializers, t)
	return t.Name
}

// FloatType is the type of Floats.
func (b *Builder) FloatType() onnx.DType {
	if b.Half {
		return onnx.Float16
	}
	return onnx.Float
}

// Cast adds a node that makes values of a type of x.
func (b *Builder) Cast(x string, to onnx.DType) string {
	return b.Node("Cast", []string{x}, Int("to", int64(to)))
}

// Floats adds a constant of FloatType. A nil shape is a scalar's.
func (b *Builder) Floats(shape []int, v ...float32) string {
	t := FloatTensor(shape, v...)
	if b.Half {
		t = HalfTensor(shape, v...)
	}
	return b.Weight(t)
}

// Filled adds a constant of FloatType of what f returns, element by element.
func (b *Builder) Filled(shape []int, f func() float32) string {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = f()
	}
	return b.Floats(shape, v...)
}

// Ints adds a constant of int64. A nil shape is a scalar's.
func (b *Builder) Ints(shape []int, v ...int64) string { return b.Weight(IntTensor(shape, v...)) }

// List adds a constant of int64 of rank 1.
func (b *Builder) List(v ...int64) string { return b.Ints([]int{len(v)}, v...) }

// FloatTensor returns a tensor of float32 without a name.
func FloatTensor(shape []int, v ...float32) *onnx.Tensor {
	t := &onnx.Tensor{Type: onnx.Float, Shape: append([]int{}, shape...)}
	for _, x := range v {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(x))
	}
	return t
}

// HalfTensor returns a tensor of float16 without a name.
func HalfTensor(shape []int, v ...float32) *onnx.Tensor {
	t := &onnx.Tensor{Type: onnx.Float16, Shape: append([]int{}, shape...), Data: make([]byte, 2*len(v))}
	quant.F16.Layout().Encode(t.Data, v)
	return t
}

// IntTensor returns a tensor of int64 without a name.
func IntTensor(shape []int, v ...int64) *onnx.Tensor {
	t := &onnx.Tensor{Type: onnx.Int64, Shape: append([]int{}, shape...)}
	for _, x := range v {
		t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(x))
	}
	return t
}

// Node adds a node with one output. Operators of other domains have the domain
// before them, as "com.microsoft.FastGelu".
func (b *Builder) Node(op string, in []string, attrs ...*onnx.Attr) string {
	out := b.name("")
	b.Named([]string{out}, op, in, attrs...)
	return out
}

// Named is Node with outputs that have names. Empty ones are left out.
func (b *Builder) Named(out []string, op string, in []string, attrs ...*onnx.Attr) {
	b.Model.Graph.Nodes = append(b.Model.Graph.Nodes, NewNode(out, op, in, attrs...))
}

// NewNode returns a node of no graph yet.
func NewNode(out []string, op string, in []string, attrs ...*onnx.Attr) *onnx.Node {
	n := &onnx.Node{Op: op, Inputs: in, Outputs: out}
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		n.Domain, n.Op = op[:i], op[i+1:]
	}
	for _, a := range attrs {
		if n.Attrs == nil {
			n.Attrs = make(map[string]*onnx.Attr)
		}
		n.Attrs[a.Name] = a
	}
	return n
}

// Int is an attribute of an integer.
func Int(name string, v int64) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrInt, I: v}
}

// Float is an attribute of a float.
func Float(name string, v float32) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrFloat, F: v}
}

// Text is an attribute of a text.
func Text(name, v string) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrString, S: v}
}

// IntList is an attribute of several integers.
func IntList(name string, v ...int64) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrInts, Ints: v}
}

// FloatList is an attribute of several floats.
func FloatList(name string, v ...float32) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrFloats, Floats: v}
}

// Constant is an attribute of a tensor.
func Constant(name string, t *onnx.Tensor) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrTensor, T: t}
}

// Body is an attribute of a graph, as If and Loop have.
func Body(name string, g *onnx.Graph) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrGraph, G: g}
}
