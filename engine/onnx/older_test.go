package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// runOld is runNode with the operators of opset 6.
func runOld(t *testing.T, n *onnx.Node, in ...*run.Tensor) ([]*run.Tensor, error) {
	t.Helper()
	pool := threads.NewPool(1)
	defer pool.Close()
	g, given := &onnx.Graph{Nodes: []*onnx.Node{n}}, make(map[string]*run.Tensor)
	for i, x := range in {
		name := string(rune('a' + i))
		given[name] = x
		g.Inputs = append(g.Inputs, onnx.Value{Name: name, Type: onnx.Type{Kind: onnx.KindTensor, Elem: x.Type}})
	}
	for _, name := range n.Outputs {
		g.Outputs = append(g.Outputs, anything(name)...)
	}
	s, err := run.New(&onnx.Model{Graph: g, Opsets: map[string]int64{"": 6}}, run.Options{Pool: pool})
	if err != nil {
		return nil, err
	}
	got, err := s.Run(context.Background(), given)
	var out []*run.Tensor
	for _, name := range n.Outputs {
		out = append(out, got[name])
	}
	return out, err
}

// TestOpset6 runs what changed after opset 6 in its older form.
func TestOpset6(t *testing.T) {
	a := floats([]int{2, 3, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	bools := func(shape []int, v ...int64) *run.Tensor { return convert(t, ints64(shape, v...), onnx.Bool) }
	at := func(axis int64) []*onnx.Attr { return []*onnx.Attr{intAttr("broadcast", 1), intAttr("axis", axis)} }
	number := func(name string, v float32) *onnx.Attr { return &onnx.Attr{Name: name, Type: onnx.AttrFloat, F: v} }
	m := floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	signs := floats([]int{1, 2, 1, 2}, -1, 2, -3, -4)
	for _, tt := range []struct {
		name  string
		node  *onnx.Node
		in    []*run.Tensor
		shape []int
		want  []float64
		err   error
	}{
		{"equal shapes", node("Add", "a b", "y"), []*run.Tensor{m, m}, []int{2, 3}, []float64{2, 4, 6, 8, 10, 12}, nil},
		{"Add in the middle", node("Add", "a b", "y", at(1)...), []*run.Tensor{a, floats([]int{3}, 100, 200, 300)}, []int{2, 3, 2},
			[]float64{101, 102, 203, 204, 305, 306, 107, 108, 209, 210, 311, 312}, nil},
		{"Add in front", node("Add", "a b", "y", at(0)...), []*run.Tensor{m, floats([]int{2}, 10, 20)}, []int{2, 3}, []float64{11, 12, 13, 24, 25, 26}, nil},
		{"Add two of three", node("Add", "a b", "y", at(0)...), []*run.Tensor{a, floats([]int{2, 3}, 10, 20, 30, 40, 50, 60)}, []int{2, 3, 2},
			[]float64{11, 12, 23, 24, 35, 36, 47, 48, 59, 60, 71, 72}, nil},
		{"Add at the end", node("Add", "a b", "y", intAttr("broadcast", 1)), []*run.Tensor{m, floats([]int{3}, 10, 20, 30)}, []int{2, 3}, []float64{11, 22, 33, 14, 25, 36}, nil},
		{"Add from behind", node("Add", "a b", "y", at(-2)...), []*run.Tensor{m, floats([]int{2}, 10, 20)}, []int{2, 3}, []float64{11, 12, 13, 24, 25, 26}, nil},
		{"Add of one", node("Add", "a b", "y", at(0)...), []*run.Tensor{m, floats([]int{1}, 10)}, []int{2, 3}, []float64{11, 12, 13, 14, 15, 16}, nil},
		{"Add beyond", node("Add", "a b", "y", at(2)...), []*run.Tensor{m, floats([]int{2}, 10, 20)}, nil, nil, onnx.ErrFormat},
		{"Add far in front", node("Add", "a b", "y", at(-9)...), []*run.Tensor{m, floats([]int{2}, 10, 20)}, nil, nil, onnx.ErrFormat},
		{"Sub", node("Sub", "a b", "y", at(0)...), []*run.Tensor{m, floats([]int{2}, 10, 20)}, []int{2, 3}, []float64{-9, -8, -7, -16, -15, -14}, nil},
		{"Mul", node("Mul", "a b", "y", at(0)...), []*run.Tensor{m, floats([]int{2}, 10, 20)}, []int{2, 3}, []float64{10, 20, 30, 80, 100, 120}, nil},
		{"Div", node("Div", "a b", "y", at(0)...), []*run.Tensor{m, floats([]int{2}, 2, 4)}, []int{2, 3}, []float64{0.5, 1, 1.5, 1, 1.25, 1.5}, nil},
		{"Pow", node("Pow", "a b", "y", at(0)...), []*run.Tensor{m, floats([]int{2}, 1, 2)}, []int{2, 3}, []float64{1, 2, 3, 16, 25, 36}, nil},
		{"Less", node("Less", "a b", "y", at(0)...), []*run.Tensor{m, floats([]int{2}, 2, 5)}, []int{2, 3}, []float64{1, 0, 0, 1, 0, 0}, nil},
		{"Greater", node("Greater", "a b", "y", at(0)...), []*run.Tensor{m, floats([]int{2}, 2, 5)}, []int{2, 3}, []float64{0, 0, 1, 0, 0, 1}, nil},
		{"Equal", node("Equal", "a b", "y", at(0)...), []*run.Tensor{ints64([]int{2, 2}, 1, 2, 3, 4), ints64([]int{2}, 1, 4)}, []int{2, 2}, []float64{1, 0, 0, 1}, nil},
		{"And", node("And", "a b", "y", at(0)...), []*run.Tensor{bools([]int{2, 2}, 0, 1, 0, 1), bools([]int{2}, 0, 1)}, []int{2, 2}, []float64{0, 0, 0, 1}, nil},
		{"Or", node("Or", "a b", "y", at(0)...), []*run.Tensor{bools([]int{2, 2}, 0, 1, 0, 1), bools([]int{2}, 0, 1)}, []int{2, 2}, []float64{0, 1, 1, 1}, nil},
		{"Xor", node("Xor", "a b", "y", at(0)...), []*run.Tensor{bools([]int{2, 2}, 0, 1, 0, 1), bools([]int{2}, 0, 1)}, []int{2, 2}, []float64{0, 1, 1, 0}, nil},
		{"PRelu a channel", node("PRelu", "a b", "y"), []*run.Tensor{signs, floats([]int{2}, 10, 100)}, []int{1, 2, 1, 2}, []float64{-10, 2, -300, -400}, nil},
		{"PRelu of a matrix", node("PRelu", "a b", "y"), []*run.Tensor{floats([]int{2, 2}, -1, 2, -3, -4), floats([]int{2}, 10, 100)}, []int{2, 2}, []float64{-10, 2, -30, -400}, nil},
		{"PRelu shared", node("PRelu", "a b", "y"), []*run.Tensor{signs, floats([]int{1}, 10)}, []int{1, 2, 1, 2}, []float64{-10, 2, -30, -40}, nil},
		{"BatchNormalization", node("BatchNormalization", "a b c d e", "y", intAttr("is_test", 1), intAttr("spatial", 1), number("epsilon", 0)),
			[]*run.Tensor{signs, floats([]int{2}, 1, 2), floats([]int{2}, 0, 1), floats([]int{2}, 1, 1), floats([]int{2}, 4, 1)}, []int{1, 2, 1, 2}, []float64{-1, 0.5, -7, -9}, nil},
		{"BatchNormalization of elements", node("BatchNormalization", "a b c d e", "y", intAttr("is_test", 1), intAttr("spatial", 0), number("epsilon", 0)),
			[]*run.Tensor{signs, floats([]int{2, 1, 2}, 1, 2, 3, 4), floats([]int{2, 1, 2}, 0, 0, 0, 1), floats([]int{2, 1, 2}, 0, 0, 0, 0), floats([]int{2, 1, 2}, 1, 4, 9, 1)},
			[]int{1, 2, 1, 2}, []float64{-1, 2, -3, -15}, nil},
		{"Dropout", node("Dropout", "a", "y", intAttr("is_test", 1), number("ratio", 0.9)), []*run.Tensor{m}, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}, nil},
		{"Upsample", node("Upsample", "a", "y", number("height_scale", 2), number("width_scale", 1), textAttr("mode", "nearest")), []*run.Tensor{signs}, []int{1, 2, 2, 2},
			[]float64{-1, 2, -1, 2, -3, -4, -3, -4}, nil},
		{"Upsample without scales", node("Upsample", "a", "y"), []*run.Tensor{signs}, nil, nil, onnx.ErrUnsupported},
		{"Gemm", node("Gemm", "a b c", "y", intAttr("broadcast", 1)), []*run.Tensor{m, floats([]int{3, 1}, 1, 1, 1), floats([]int{1}, 10)}, []int{2, 1}, []float64{16, 25}, nil},
		{"Clip", node("Clip", "a", "y", number("min", 2), number("max", 5)), []*run.Tensor{m}, []int{2, 3}, []float64{2, 2, 3, 4, 5, 5}, nil},
		{"Clip above", node("Clip", "a", "y", number("max", 5)), []*run.Tensor{m}, []int{2, 3}, []float64{1, 2, 3, 4, 5, 5}, nil},
		{"Squeeze", node("Squeeze", "a", "y", listAttr("axes", 0, 2)), []*run.Tensor{signs}, []int{2, 2}, []float64{-1, 2, -3, -4}, nil},
		{"Unsqueeze", node("Unsqueeze", "a", "y", listAttr("axes", 1)), []*run.Tensor{m}, []int{2, 1, 3}, []float64{1, 2, 3, 4, 5, 6}, nil},
		{"Pad", node("Pad", "a", "y", listAttr("pads", 0, 1, 0, 0), number("value", 9)), []*run.Tensor{m}, []int{2, 4}, []float64{9, 1, 2, 3, 9, 4, 5, 6}, nil},
		{"Slice", node("Slice", "a", "y", listAttr("starts", 1), listAttr("ends", 3), listAttr("axes", 1)), []*run.Tensor{m}, []int{2, 2}, []float64{2, 3, 5, 6}, nil},
		{"TopK", node("TopK", "a", "y _", intAttr("k", 1), intAttr("axis", 1)), []*run.Tensor{m}, []int{2, 1}, []float64{3, 6}, nil},
		{"Sum", node("Sum", "a b c", "y"), []*run.Tensor{m, m, m}, []int{2, 3}, []float64{3, 6, 9, 12, 15, 18}, nil},
		{"Max", node("Max", "a b", "y"), []*run.Tensor{m, floats([]int{2, 3}, 3, 3, 3, 3, 3, 3)}, []int{2, 3}, []float64{3, 3, 3, 4, 5, 6}, nil},
		{"Reshape", node("Reshape", "a b", "y"), []*run.Tensor{m, ints64([]int{2}, 0, -1)}, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}, nil},
		{"ReduceMean", node("ReduceMean", "a", "y", listAttr("axes", 1), intAttr("keepdims", 0)), []*run.Tensor{m}, []int{2}, []float64{2, 5}, nil},
		{"Softmax", node("Softmax", "a", "y"), []*run.Tensor{floats([]int{1, 2, 1}, 0, 0)}, []int{1, 2, 1}, []float64{0.5, 0.5}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := runOld(t, tt.node, tt.in...)
			if !errors.Is(err, tt.err) || err != nil && tt.err == nil {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if tt.err != nil {
				return
			}
			if got := doubles(t, out[0]); !slices.Equal(out[0].Shape, tt.shape) || fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("%v of shape %d, want %v of %d", got, out[0].Shape, tt.want, tt.shape)
			}
		})
	}
	// The mask of Dropout had the type of its input.
	out, err := runOld(t, node("Dropout", "a", "y z", intAttr("is_test", 1)), m)
	if err != nil || out[1] == nil || out[1].Type != onnx.Float {
		t.Errorf("mask %v, %v; want floats", out, err)
	}
}

// Attributes of opset 6 mean nothing later, and what is fused later is not fused
// where they mean something.
func TestOpset6IsNotFused(t *testing.T) {
	g := &onnx.Graph{
		Nodes: []*onnx.Node{
			node("MatMul", "a b", "p"), node("Add", "p c", "y", intAttr("broadcast", 1), intAttr("axis", 0)),
		},
		Inputs: []onnx.Value{value("a", onnx.Float, 2, 2), value("b", onnx.Float, 2, 2), value("c", onnx.Float, 2)}, Outputs: anything("y"),
	}
	one := floats([]int{2, 2}, 1, 0, 0, 1)
	given := map[string]*run.Tensor{"a": one, "b": one, "c": floats([]int{2}, 10, 20)}
	for version, want := range map[int64][]float64{6: {11, 10, 20, 21}, 7: {11, 20, 10, 21}} {
		pool := threads.NewPool(1)
		s, err := run.New(&onnx.Model{Graph: g, Opsets: map[string]int64{"": version}}, run.Options{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Run(context.Background(), given)
		if err != nil {
			t.Fatal(err)
		}
		if got := doubles(t, out["y"]); !slices.Equal(got, want) {
			t.Errorf("opset %d: %v, want %v", version, got, want)
		}
		pool.Close()
	}
}

// A function may be of an older opset than its model, but not of one that is not run.
func TestOldFunction(t *testing.T) {
	f := &onnx.Function{Domain: "d", Name: "F", Inputs: []string{"x"}, Outputs: []string{"z"}, Opsets: map[string]int64{"": 5},
		Nodes: []*onnx.Node{node("Relu", "x", "z")}}
	call := node("F", "a", "y")
	call.Domain = "d"
	g := &onnx.Graph{Nodes: []*onnx.Node{call}, Inputs: []onnx.Value{value("a", onnx.Float, 2)}, Outputs: anything("y")}
	pool := threads.NewPool(1)
	defer pool.Close()
	m := &onnx.Model{Graph: g, Functions: []*onnx.Function{f}, Opsets: map[string]int64{"": 17}}
	if _, err := run.New(m, run.Options{Pool: pool}); !errors.Is(err, onnx.ErrUnsupported) {
		t.Errorf("opset 5: %v, want ErrUnsupported", err)
	}
	f.Opsets[""] = 6
	if _, err := run.New(m, run.Options{Pool: pool}); err != nil {
		t.Errorf("opset 6: %v", err)
	}
}

// tf_half_pixel_for_nn is a mode of opset 11 only.
func TestResizeHalfPixelForNearest(t *testing.T) {
	y, err := runNode(t, node("Resize", "a _ b", "y", textAttr("coordinate_transformation_mode", "tf_half_pixel_for_nn"), textAttr("nearest_mode", "floor")), run.Options{},
		floats([]int{4}, 1, 2, 3, 4), floats([]int{1}, 0.6))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := doubles(t, y), []float64{1, 3}; !slices.Equal(got, want) { // positions 0.83 and 2.5
		t.Errorf("%v, want %v", got, want)
	}
}
