// Package onnxtest writes ONNX models, for tests and benchmarks that make their
// own.
package onnxtest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strconv"

	"quern/formats/onnx"
)

// Marshal writes a model as Parse of package onnx reads it. Sparse tensors are left out.
//
// ONNX, onnx/onnx.proto3; Protocol Buffers, "Encoding".
func Marshal(m *onnx.Model) []byte {
	return MarshalBeside(m, inline)
}

func inline(*onnx.Tensor) *Place { return nil }

// A Place is where the data of a tensor lie in another file.
type Place struct {
	File           string // beside the model's
	Offset, Length int64
}

// MarshalBeside is Marshal of a model some of whose constants lie in other files: of those
// for which place is not nil. Their Data are not looked at.
func MarshalBeside(m *onnx.Model, place func(*onnx.Tensor) *Place) []byte {
	var b message
	b.int(1, m.IR)
	b.text(2, m.Producer)
	b.bytes(7, graph(m.Graph, place))
	for _, f := range m.Functions {
		b.bytes(25, function(f))
	}
	b.opsets(8, m.Opsets)
	for _, key := range slices.Sorted(maps.Keys(m.Meta)) {
		b.bytes(14, pair(key, m.Meta[key]))
	}
	return b
}

func pair(key, value string) []byte {
	var b message
	b.text(1, key)
	b.text(2, value)
	return b
}

// MarshalTensor writes a tensor as a file of its own.
func MarshalTensor(t *onnx.Tensor) []byte { return tensor(t, nil) }

func tensor(t *onnx.Tensor, at *Place) []byte {
	var b message
	for _, d := range t.Shape {
		b.tag(1, 0)
		b = binary.AppendUvarint(b, uint64(d))
	}
	b.int(2, int64(t.Type))
	for _, s := range t.Strings {
		b.bytes(6, []byte(s))
	}
	b.text(8, t.Name)
	switch {
	case at != nil:
		b.bytes(13, pair("location", at.File))
		b.bytes(13, pair("offset", strconv.FormatInt(at.Offset, 10)))
		b.bytes(13, pair("length", strconv.FormatInt(at.Length, 10)))
		b.int(14, 1) // EXTERNAL
	case t.Type != onnx.String:
		b.bytes(9, t.Data)
	}
	return b
}

// A message is the fields of a protobuf message. Numbers that are zero and texts
// that are empty are left out, as proto3 does.
type message []byte

func (b *message) tag(field, kind uint64) { *b = binary.AppendUvarint(*b, field<<3|kind) }

func (b *message) int(field uint64, v int64) {
	if v != 0 {
		b.tag(field, 0)
		*b = binary.AppendUvarint(*b, uint64(v))
	}
}

func (b *message) float(field uint64, v float32) {
	b.tag(field, 5)
	*b = binary.LittleEndian.AppendUint32(*b, math.Float32bits(v))
}

func (b *message) bytes(field uint64, v []byte) {
	b.tag(field, 2)
	*b = append(binary.AppendUvarint(*b, uint64(len(v))), v...)
}

func (b *message) text(field uint64, v string) {
	if v != "" {
		b.bytes(field, []byte(v))
	}
}

func (b *message) texts(field uint64, list []string) {
	for _, v := range list {
		b.bytes(field, []byte(v)) // an empty one has a meaning
	}
}

func (b *message) opsets(field uint64, list map[string]int64) {
	for _, domain := range slices.Sorted(maps.Keys(list)) {
		var o message
		o.text(1, domain)
		o.int(2, list[domain])
		b.bytes(field, o)
	}
}

func graph(g *onnx.Graph, place func(*onnx.Tensor) *Place) []byte {
	var b message
	for _, n := range g.Nodes {
		b.bytes(1, node(n))
	}
	b.text(2, g.Name)
	for _, t := range g.Initializers {
		b.bytes(5, tensor(t, place(t)))
	}
	for _, v := range g.Inputs {
		b.bytes(11, value(v))
	}
	for _, v := range g.Outputs {
		b.bytes(12, value(v))
	}
	return b
}

func node(n *onnx.Node) []byte {
	var b message
	b.texts(1, n.Inputs)
	b.texts(2, n.Outputs)
	b.text(3, n.Name)
	b.text(4, n.Op)
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		b.bytes(5, attr(name, n.Attrs[name]))
	}
	b.text(7, n.Domain)
	b.text(8, n.Overload)
	return b
}

func attr(name string, a *onnx.Attr) []byte {
	var b message
	b.text(1, name)
	b.text(21, a.Ref)
	b.int(20, int64(a.Type))
	if a.Ref != "" {
		return b
	}
	switch a.Type {
	case onnx.AttrFloat:
		b.float(2, a.F)
	case onnx.AttrInt:
		b.int(3, a.I)
	case onnx.AttrString:
		b.bytes(4, []byte(a.S))
	case onnx.AttrTensor:
		b.bytes(5, MarshalTensor(a.T))
	case onnx.AttrGraph:
		b.bytes(6, graph(a.G, inline))
	}
	for _, v := range a.Floats {
		b.float(7, v)
	}
	for _, v := range a.Ints {
		b.tag(8, 0)
		b = binary.AppendUvarint(b, uint64(v))
	}
	b.texts(9, a.Strings)
	for _, t := range a.Tensors {
		b.bytes(10, MarshalTensor(t))
	}
	for _, g := range a.Graphs {
		b.bytes(11, graph(g, inline))
	}
	return b
}

func value(v onnx.Value) []byte {
	var b message
	b.text(1, v.Name)
	b.bytes(2, typeOf(&v.Type))
	return b
}

func typeOf(t *onnx.Type) []byte {
	var b, inner message
	switch t.Kind {
	case onnx.KindTensor:
		inner.int(1, int64(t.Elem))
		if t.Dims != nil {
			var shape message
			for _, d := range t.Dims {
				var dim message
				if d.Size >= 0 {
					dim.tag(1, 0)
					dim = binary.AppendUvarint(dim, uint64(d.Size))
				} else {
					dim.text(2, d.Param)
				}
				shape.bytes(1, dim)
			}
			inner.bytes(2, shape)
		}
		b.bytes(1, inner)
	case onnx.KindSequence:
		inner.bytes(1, typeOf(t.Of))
		b.bytes(4, inner)
	case onnx.KindOptional:
		inner.bytes(1, typeOf(t.Of))
		b.bytes(9, inner)
	}
	return b
}

func function(f *onnx.Function) []byte {
	var b message
	b.text(1, f.Name)
	b.texts(4, f.Inputs)
	b.texts(5, f.Outputs)
	b.texts(6, f.Attrs)
	for _, n := range f.Nodes {
		b.bytes(7, node(n))
	}
	b.opsets(9, f.Opsets)
	b.text(10, f.Domain)
	for _, name := range slices.Sorted(maps.Keys(f.Defaults)) {
		b.bytes(11, attr(name, f.Defaults[name]))
	}
	b.text(13, f.Overload)
	return b
}
