package onnx_test

import (
	"context"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// TestWiden: floats of 16 bits are float32 between nodes. They are rounded by Cast, and as outputs,
// whose types are those declared, also in sequences and in graphs below.
func TestWiden(t *testing.T) {
	const small = 1 + 1.0/4096 // no float of 16 bits
	f16 := func(v ...float32) *run.Tensor { return convert(t, floats([]int{len(v)}, v...), onnx.Float16) }
	half := value("y", onnx.Float16, "n")
	constant := &onnx.Tensor{Name: "w", Type: onnx.Float16, Shape: []int{1}, Data: []byte{0, 0x0c}} // 2⁻¹²
	below := func(name string) *onnx.Attr {
		return graphAttr(name, &onnx.Graph{Nodes: []*onnx.Node{node("Add", "x w", "z")}, Outputs: []onnx.Value{value("z", onnx.Float16, "n")}})
	}
	for _, tt := range []struct {
		name  string
		nodes []*onnx.Node
		out   onnx.Value
		want  float64
	}{
		{"one node", []*onnx.Node{node("Add", "x w", "y")}, half, 1},
		{"sums of two", []*onnx.Node{node("Add", "x w", "a"), node("Add", "a w", "b"), node("Add", "b w", "c"), node("Add", "c w", "y")}, half, 1 + 4.0/4096},
		{"a difference of what no float of 16 bits is", []*onnx.Node{node("Add", "x w", "a"), node("Sub", "a x", "y")}, half, 1.0 / 4096},
		{"a cast rounds", []*onnx.Node{node("Add", "x w", "a"), node("Cast", "a", "b", intAttr("to", int64(onnx.Float16))), node("Sub", "b x", "y")}, half, 0},
		{"a cast to float32 does not", []*onnx.Node{node("Add", "x w", "a"), node("Cast", "a", "y", intAttr("to", int64(onnx.Float)))}, value("y", onnx.Float, "n"), small},
		{"numbers that are made", []*onnx.Node{node("Add", "x w", "a"), node("Shape", "x", "s"), node("ConstantOfShape", "s", "b", &onnx.Attr{Name: "value", Type: onnx.AttrTensor, T: constant}), node("Sub", "a b", "y")}, half, 1},
		{"a graph below", []*onnx.Node{node("Greater", "x w", "g"), node("Squeeze", "g", "c"), node("If", "c", "a", below("then_branch"), below("else_branch")), node("Sub", "a x", "y")}, half, 1.0 / 4096},
		{"a sequence", []*onnx.Node{node("Add", "x w", "a"), node("SequenceConstruct", "a", "y")},
			onnx.Value{Name: "y", Type: onnx.Type{Kind: onnx.KindSequence, Of: &onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float16}}}, 1},
		{"bits that are read: as written", []*onnx.Node{node("Add", "x w", "a"), node("Sub", "a x", "b"), node("BitCast", "b", "y", intAttr("to", int64(onnx.Uint16)))}, value("y", onnx.Uint16, "n"), 0},
	} {
		for _, plain := range []bool{false, true} {
			s := newSession(t, &onnx.Graph{
				Nodes: tt.nodes, Initializers: []*onnx.Tensor{constant}, Inputs: []onnx.Value{value("x", onnx.Float16, "n")}, Outputs: []onnx.Value{tt.out},
			}, run.Options{NoFusion: plain})
			x := f16(1)
			out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": x})
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			y, elem := out["y"], tt.out.Type.Elem
			if tt.out.Type.Kind == onnx.KindSequence {
				y, elem = y.Seq[0], onnx.Float16
			}
			if got := doubles(t, y); y.Type != elem || !slices.Equal(got, []float64{tt.want}) {
				t.Errorf("%s: %v %v, want %v %v", tt.name, y.Type, got, elem, tt.want)
			}
			if x.Type != onnx.Float16 {
				t.Errorf("%s: the caller's input is %v afterwards", tt.name, x.Type)
			}
		}
	}
	s := newSession(t, &onnx.Graph{Nodes: []*onnx.Node{node("Add", "x w", "y")}, Initializers: []*onnx.Tensor{constant}, Inputs: []onnx.Value{value("x", onnx.Float16, "n")}, Outputs: []onnx.Value{half}}, run.Options{})
	if _, err := s.Run(context.Background(), map[string]*run.Tensor{"x": floats([]int{1}, 1)}); err == nil {
		t.Error("an input of float32 is taken for one of float16")
	}
}
