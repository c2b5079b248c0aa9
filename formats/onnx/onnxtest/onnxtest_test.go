package onnxtest_test

import (
	"bytes"
	"reflect"
	"testing"
	"testing/fstest"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// TestRoundTrip reads what was written.
func TestRoundTrip(t *testing.T) {
	b := onnxtest.New(17)
	x := b.Input("x", onnx.Float, "rows", 3)
	w := b.Floats([]int{3, 2}, 1, -2, 3, 4.5, 0, 6)
	y := b.Node("MatMul", []string{x, w})
	y = b.Node("com.microsoft.Odd", []string{y, "", b.Ints(nil, -1)},
		onnxtest.Int("i", -7), onnxtest.Float("f", 0.5), onnxtest.Text("s", "text"), onnxtest.IntList("is", 0, -1, 1<<40),
		onnxtest.FloatList("fs", 1, 2), onnxtest.Constant("t", onnxtest.IntTensor([]int{2}, 4, -5)),
		onnxtest.Body("g", &onnx.Graph{Name: "inner", Nodes: []*onnx.Node{onnxtest.NewNode([]string{"z"}, "Neg", []string{"x"})},
			Outputs: []onnx.Value{onnxtest.Tensor("z", onnx.Float)}}))
	b.Output("y", y, onnx.Float, "rows", 2)
	b.Model.Functions = []*onnx.Function{{Name: "Odd", Domain: "com.microsoft", Inputs: []string{"a"}, Outputs: []string{"b"}, Attrs: []string{"i"},
		Nodes:    []*onnx.Node{onnxtest.NewNode([]string{"b"}, "Elu", []string{"a"}, &onnx.Attr{Name: "alpha", Ref: "f", Type: onnx.AttrFloat})},
		Defaults: map[string]*onnx.Attr{"f": onnxtest.Float("f", 1)}, Opsets: map[string]int64{"": 17}}}
	got, err := onnx.Parse(b.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := b.Model
	want.Meta = map[string]string{} // Parse never leaves it nil
	if !reflect.DeepEqual(got, &want) {
		t.Errorf("got  %+v\nwant %+v", got.Graph, want.Graph)
		for i, n := range got.Graph.Nodes {
			t.Errorf("node %d: got %+v, want %+v", i, n, want.Graph.Nodes[i])
		}
	}
}

// TestBeside reads metadata, and a constant whose data lie in another file.
func TestBeside(t *testing.T) {
	b := onnxtest.New(17)
	w := onnxtest.FloatTensor([]int{2}, 1, 2)
	b.Output("y", b.Node("Identity", []string{b.Weight(w)}), onnx.Float, 2)
	b.Model.Meta = map[string]string{"a": "b", "none": ""}
	data := onnxtest.MarshalBeside(&b.Model, func(*onnx.Tensor) *onnxtest.Place { return &onnxtest.Place{File: "w.bin", Offset: 3, Length: 8} })
	m, err := onnx.Parse(data, fstest.MapFS{"w.bin": {Data: append([]byte("xyz"), w.Data...)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Graph.Initializers[0].Data; !bytes.Equal(got, w.Data) || !reflect.DeepEqual(m.Meta, b.Model.Meta) {
		t.Errorf("data %v, metadata %v; want %v, %v", got, m.Meta, w.Data, b.Model.Meta)
	}
}
