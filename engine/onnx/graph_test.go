package onnx_test

import (
	"context"
	"strings"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// node builds a node; inputs and outputs are lists of names with blanks
// between them, "_" for one left out.
func node(op, in, out string, attrs ...*onnx.Attr) *onnx.Node {
	n := &onnx.Node{Op: op, Inputs: strings.Fields(in), Outputs: strings.Fields(out), Attrs: make(map[string]*onnx.Attr)}
	for _, list := range [][]string{n.Inputs, n.Outputs} {
		for i, name := range list {
			if name == "_" {
				list[i] = ""
			}
		}
	}
	for _, a := range attrs {
		n.Attrs[a.Name] = a
	}
	return n
}

func intAttr(name string, v int64) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrInt, I: v}
}

func graphAttr(name string, g *onnx.Graph) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrGraph, G: g}
}

// value declares a tensor; a dimension is a number or a name.
func value(name string, t onnx.DType, dims ...any) onnx.Value {
	v := onnx.Value{Name: name, Type: onnx.Type{Kind: onnx.KindTensor, Elem: t, Dims: []onnx.Dim{}}}
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			v.Type.Dims = append(v.Type.Dims, onnx.Dim{Size: int64(d)})
		case string:
			v.Type.Dims = append(v.Type.Dims, onnx.Dim{Size: -1, Param: d})
		}
	}
	return v
}

// anything declares a value of which nothing is known.
func anything(names string) (v []onnx.Value) {
	for _, name := range strings.Fields(names) {
		v = append(v, onnx.Value{Name: name, Type: onnx.Type{Kind: onnx.KindTensor}})
	}
	return v
}

func newSession(t testing.TB, g *onnx.Graph, o run.Options, functions ...*onnx.Function) *run.Session {
	t.Helper()
	o.Pool = threads.NewPool(2)
	t.Cleanup(o.Pool.Close)
	s, err := run.New(&onnx.Model{Graph: g, Functions: functions, Opsets: map[string]int64{"": 21}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func doubles(t *testing.T, x *run.Tensor) []float64 {
	t.Helper()
	d, err := x.Convert(onnx.Double)
	if err != nil {
		t.Fatal(err)
	}
	return d.D
}

func floats(shape []int, v ...float32) *run.Tensor { return run.NewFloats(shape, v) }

func ints64(shape []int, v ...int64) *run.Tensor { return run.NewInts(shape, v) }

func convert(t *testing.T, x *run.Tensor, to onnx.DType) *run.Tensor {
	t.Helper()
	c, err := x.Convert(to)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runNode runs a graph of one node on inputs a, b, c and so on and returns its
// output y.
func runNode(t *testing.T, n *onnx.Node, o run.Options, in ...*run.Tensor) (*run.Tensor, error) {
	t.Helper()
	given := make(map[string]*run.Tensor)
	g := &onnx.Graph{Nodes: []*onnx.Node{n}, Outputs: anything("y")}
	for i, x := range in {
		name := string(rune('a' + i))
		given[name] = x
		g.Inputs = append(g.Inputs, onnx.Value{Name: name, Type: onnx.Type{Kind: onnx.KindTensor, Elem: x.Type}})
	}
	out, err := newSession(t, g, o).Run(context.Background(), given)
	return out["y"], err
}
