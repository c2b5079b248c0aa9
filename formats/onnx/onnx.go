// Package onnx reads ONNX models: the protobuf messages of onnx.proto that
// inference needs, and files of external data.
//
// Unknown fields are skipped, as protobuf asks. What is read is not checked
// against the operators: that is the work of the package that runs the graph.
//
// ONNX, onnx/onnx.proto3 and docs/IR.md.
package onnx

import (
	"fmt"
	"io/fs"
	"math"
	"slices"

	"quern/formats/weights"
)

// Every error for what a file holds wraps one of these. They are the errors of
// package weights under the names of this one.
var (
	ErrFormat      = weights.ErrFormat
	ErrUnsupported = weights.ErrUnsupported
)

// A Model is a graph and the operator sets it is written in.
type Model struct {
	IR        int64
	Producer  string
	Opsets    map[string]int64 // version by domain; "" is ai.onnx
	Meta      map[string]string
	Graph     *Graph
	Functions []*Function

	maps weights.Mappings
}

// A Graph is a list of nodes in an order in which they can run.
type Graph struct {
	Name            string
	Nodes           []*Node
	Initializers    []*Tensor
	Sparse          []*Sparse // named by Values.Name
	Inputs, Outputs []Value
}

// Asked are the inputs that must be given; old files list weights among the inputs.
func (g *Graph) Asked() []Value {
	given := make(map[string]bool)
	for _, t := range g.Initializers {
		given[t.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(g.Inputs), func(v Value) bool { return given[v.Name] })
}

// A Node applies an operator. An empty name stands for an input or output that
// is left out.
type Node struct {
	Name, Op, Domain, Overload string
	Inputs, Outputs            []string
	Attrs                      map[string]*Attr
}

// An AttrType says which field of an Attr is set, numbered as
// AttributeProto.AttributeType.
type AttrType int64

const (
	AttrFloat AttrType = 1 + iota
	AttrInt
	AttrString
	AttrTensor
	AttrGraph
	AttrFloats
	AttrInts
	AttrStrings
	AttrTensors
	AttrGraphs
	AttrSparse
)

// An Attr is an attribute of a node. Ref, when not empty, names the attribute
// of the enclosing function whose value it takes.
type Attr struct {
	Name    string
	Type    AttrType
	Ref     string
	F       float32
	I       int64
	S       string
	T       *Tensor
	G       *Graph
	Floats  []float32
	Ints    []int64
	Strings []string
	Tensors []*Tensor
	Graphs  []*Graph
	Sparse  *Sparse
}

// A Value is a named value of a graph.
type Value struct {
	Name string
	Type Type
}

// A Kind says what a value is.
type Kind uint8

const (
	KindUnknown Kind = iota
	KindTensor
	KindSequence
	KindOptional
	KindMap
	KindSparse
)

// A Type is the declared type of a value. Dims is nil where nothing is declared.
type Type struct {
	Kind Kind
	Elem DType
	Dims []Dim
	Of   *Type // of a sequence or an optional
}

// A Dim is a size, a name that stands for one, or, as zero value but for Size
// -1, neither.
type Dim struct {
	Size  int64 // -1 when not known
	Param string
}

// A Function is an operator given by a graph. Attributes without a default are
// in Attrs, the others in Defaults.
type Function struct {
	Name, Domain, Overload string
	Inputs, Outputs, Attrs []string
	Defaults               map[string]*Attr
	Nodes                  []*Node
	Opsets                 map[string]int64
}

type reader struct {
	load  func(name string) ([]byte, error)
	files map[string][]byte
}

// Parse reads a model. Tensors alias data, which must stay unchanged while they
// are used. Files of external data come from external, which may be nil; each is
// read whole. Memory use beside them is at most 200 times data, and that only
// for messages that are empty; for models it is a small part of it.
func Parse(data []byte, external fs.FS) (*Model, error) {
	if external == nil {
		return parse(data, nil)
	}
	return parse(data, func(name string) ([]byte, error) { return fs.ReadFile(external, name) })
}

func parse(data []byte, load func(string) ([]byte, error)) (*Model, error) {
	r := &reader{load: load, files: make(map[string][]byte)}
	m := &Model{Meta: make(map[string]string)}
	err := fields(data, 0, func(f field) (err error) {
		switch f.num {
		case 1:
			return f.int(&m.IR)
		case 2:
			return f.text(&m.Producer)
		case 7:
			m.Graph, err = one(f, 1, r.graph)
			return err
		case 8:
			return opset(f, 1, &m.Opsets)
		case 14:
			var k, v string
			err := pair(f, 1, &k, &v)
			m.Meta[k] = v
			return err
		case 25:
			return list(f, 1, r.function, &m.Functions)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m.Graph == nil {
		return nil, fmt.Errorf("%w: no graph", ErrFormat)
	}
	return m, nil
}

// ParseTensor reads a TensorProto that is a file of its own.
func ParseTensor(data []byte) (*Tensor, error) {
	return (&reader{}).tensor(data, 0)
}

// one returns what read makes of a message.
func one[T any](f field, depth int, read func([]byte, int) (T, error)) (v T, err error) {
	if err = f.want(bytes); err == nil {
		v, err = read(f.b, depth)
	}
	return v, err
}

// list appends what read makes of a message.
func list[T any](f field, depth int, read func([]byte, int) (T, error), dst *[]T) error {
	v, err := one(f, depth, read)
	if err != nil {
		return err
	}
	*dst = append(*dst, v)
	return nil
}

// pair reads a StringStringEntryProto.
func pair(f field, depth int, key, value *string) error {
	return f.each(depth, func(f field) error {
		switch f.num {
		case 1:
			return f.text(key)
		case 2:
			return f.text(value)
		}
		return nil
	})
}

// domain gives the two names of ai.onnx one spelling.
func domain(s string) string {
	if s == "ai.onnx" {
		return ""
	}
	return s
}

func opset(f field, depth int, dst *map[string]int64) error {
	var name string
	var version int64
	err := f.each(depth, func(f field) error {
		switch f.num {
		case 1:
			return f.text(&name)
		case 2:
			return f.int(&version)
		}
		return nil
	})
	if *dst == nil {
		*dst = make(map[string]int64)
	}
	(*dst)[domain(name)] = version
	return err
}

func texts(f field, dst *[]string) error {
	*dst = append(*dst, string(f.b))
	return f.want(bytes)
}

func (r *reader) graph(msg []byte, depth int) (*Graph, error) {
	g := &Graph{}
	return g, fields(msg, depth, func(f field) error {
		switch f.num {
		case 1:
			return list(f, depth+1, r.node, &g.Nodes)
		case 2:
			return f.text(&g.Name)
		case 5:
			return list(f, depth+1, r.tensor, &g.Initializers)
		case 11:
			return list(f, depth+1, value, &g.Inputs)
		case 12:
			return list(f, depth+1, value, &g.Outputs)
		case 15:
			return list(f, depth+1, r.sparse, &g.Sparse)
		}
		return nil
	})
}

func (r *reader) node(msg []byte, depth int) (*Node, error) {
	n := &Node{}
	err := fields(msg, depth, func(f field) error {
		switch f.num {
		case 1:
			return texts(f, &n.Inputs)
		case 2:
			return texts(f, &n.Outputs)
		case 3:
			return f.text(&n.Name)
		case 4:
			return f.text(&n.Op)
		case 5:
			return r.attrTo(f, depth+1, &n.Attrs)
		case 7:
			return f.text(&n.Domain)
		case 8:
			return f.text(&n.Overload)
		}
		return nil
	})
	n.Domain = domain(n.Domain)
	return n, err
}

func (r *reader) attrTo(f field, depth int, dst *map[string]*Attr) error {
	a, err := one(f, depth, r.attr)
	if err != nil {
		return err
	}
	if (*dst)[a.Name] != nil {
		return fmt.Errorf("%w: attribute %.100q occurs twice", ErrFormat, a.Name)
	}
	if *dst == nil {
		*dst = make(map[string]*Attr)
	}
	(*dst)[a.Name] = a
	return nil
}

func (r *reader) attr(msg []byte, depth int) (*Attr, error) {
	a := &Attr{}
	err := fields(msg, depth, func(f field) (err error) {
		switch f.num {
		case 1:
			return f.text(&a.Name)
		case 2:
			return f.float(&a.F)
		case 3:
			return f.int(&a.I)
		case 4:
			return f.text(&a.S)
		case 5:
			a.T, err = one(f, depth+1, r.tensor)
		case 6:
			a.G, err = one(f, depth+1, r.graph)
		case 22:
			a.Sparse, err = one(f, depth+1, r.sparse)
		case 7:
			return f.numbers(fixed32, func(v uint64) { a.Floats = append(a.Floats, math.Float32frombits(uint32(v))) })
		case 8:
			return f.numbers(varint, func(v uint64) { a.Ints = append(a.Ints, int64(v)) })
		case 9:
			return texts(f, &a.Strings)
		case 10:
			return list(f, depth+1, r.tensor, &a.Tensors)
		case 11:
			return list(f, depth+1, r.graph, &a.Graphs)
		case 20:
			return f.int((*int64)(&a.Type))
		case 21:
			return f.text(&a.Ref)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if a.Ref == "" && (a.Type == AttrTensor && a.T == nil || a.Type == AttrGraph && a.G == nil || a.Type == AttrSparse && a.Sparse == nil) {
		return nil, fmt.Errorf("%w: attribute %.100q has no value", ErrFormat, a.Name)
	}
	return a, nil
}

func value(msg []byte, depth int) (Value, error) {
	var v Value
	return v, fields(msg, depth, func(f field) (err error) {
		switch f.num {
		case 1:
			return f.text(&v.Name)
		case 2:
			v.Type, err = one(f, depth+1, typeOf)
		}
		return err
	})
}

// kinds are the fields of TypeProto.
var kinds = map[uint64]Kind{1: KindTensor, 4: KindSequence, 5: KindMap, 8: KindSparse, 9: KindOptional}

func typeOf(msg []byte, depth int) (Type, error) {
	var t Type
	return t, fields(msg, depth, func(f field) error {
		kind, ok := kinds[f.num]
		if !ok {
			return nil
		}
		t = Type{Kind: kind}
		return f.each(depth+1, func(f field) error {
			switch {
			case f.num == 1 && kind == KindTensor:
				var n int64
				if err := f.int(&n); err != nil {
					return err
				}
				if n < 0 || n >= int64(len(dtypes)) {
					return fmt.Errorf("%w: element type %d", ErrUnsupported, n)
				}
				t.Elem = DType(n)
			case f.num == 2 && kind == KindTensor:
				t.Dims = []Dim{}
				return f.each(depth+2, func(f field) error {
					if f.num != 1 {
						return nil
					}
					if len(t.Dims) == maxRank {
						return fmt.Errorf("%w: a type of rank above %d", ErrFormat, maxRank)
					}
					return list(f, depth+3, dim, &t.Dims)
				})
			case f.num == 1 && (kind == KindSequence || kind == KindOptional):
				of, err := one(f, depth+2, typeOf)
				t.Of = &of
				return err
			}
			return nil
		})
	})
}

func dim(msg []byte, depth int) (Dim, error) {
	d := Dim{Size: -1}
	return d, fields(msg, depth, func(f field) error {
		switch f.num {
		case 1:
			return f.int(&d.Size)
		case 2:
			return f.text(&d.Param)
		}
		return nil
	})
}

func (r *reader) function(msg []byte, depth int) (*Function, error) {
	fn := &Function{}
	err := fields(msg, depth, func(f field) error {
		switch f.num {
		case 1:
			return f.text(&fn.Name)
		case 4:
			return texts(f, &fn.Inputs)
		case 5:
			return texts(f, &fn.Outputs)
		case 6:
			return texts(f, &fn.Attrs)
		case 7:
			return list(f, depth+1, r.node, &fn.Nodes)
		case 9:
			return opset(f, depth+1, &fn.Opsets)
		case 10:
			return f.text(&fn.Domain)
		case 11:
			return r.attrTo(f, depth+1, &fn.Defaults)
		case 13:
			return f.text(&fn.Overload)
		}
		return nil
	})
	fn.Domain = domain(fn.Domain)
	return fn, err
}
