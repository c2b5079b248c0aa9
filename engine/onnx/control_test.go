package onnx_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

func listAttr(name string, v ...int64) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrInts, Ints: v}
}

// TestScan sums rows of x from one end and columns from the other.
func TestScan(t *testing.T) {
	body := &onnx.Graph{
		Nodes:   []*onnx.Node{node("Add", "sum row", "next"), node("Mul", "col row", "p")},
		Inputs:  anything("sum row col"),
		Outputs: append(anything("next"), value("p", onnx.Float, 2)),
	}
	s := newSession(t, &onnx.Graph{
		Nodes: []*onnx.Node{node("Scan", "zero x y", "sum p", graphAttr("body", body), intAttr("num_scan_inputs", 2),
			listAttr("scan_input_axes", 0, -1), listAttr("scan_input_directions", 0, 1), listAttr("scan_output_axes", 1))},
		Inputs:  []onnx.Value{value("zero", onnx.Float, 2), value("x", onnx.Float, 3, 2), value("y", onnx.Float, 2, 3)},
		Outputs: anything("sum p"),
	}, run.Options{})
	out, err := s.Run(context.Background(), map[string]*run.Tensor{
		"zero": floats([]int{2}, 0, 0), "x": floats([]int{3, 2}, 1, 2, 3, 4, 5, 6), "y": floats([]int{2, 3}, 1, 10, 100, 2, 20, 200),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := doubles(t, out["sum"]), []float64{9, 12}; !slices.Equal(got, want) {
		t.Errorf("sum %v, want %v", got, want)
	}
	// Step k multiplies row k with column 2-k; products become columns.
	if got, want := doubles(t, out["p"]), []float64{100, 30, 5, 400, 80, 12}; !slices.Equal(got, want) || !slices.Equal(out["p"].Shape, []int{2, 3}) {
		t.Errorf("products %v of shape %d, want %v", got, out["p"].Shape, want)
	}
}

func TestMakers(t *testing.T) {
	float := func(name string, v ...float32) *onnx.Attr {
		a := &onnx.Attr{Name: name, Type: onnx.AttrFloats, Floats: v}
		if len(v) > 0 {
			a.F = v[0]
		}
		return a
	}
	for _, tt := range []struct {
		name  string
		node  *onnx.Node
		in    []*run.Tensor
		shape []int
		want  []float64
		err   error
	}{
		{"one float", node("Constant", "", "y", float("value_float", 3)), nil, []int{}, []float64{3}, nil},
		{"floats", node("Constant", "", "y", float("value_floats", 3, 4)), nil, []int{2}, []float64{3, 4}, nil},
		{"integers", node("Constant", "", "y", listAttr("value_ints", 7)), nil, []int{1}, []float64{7}, nil},
		{"no value", node("Constant", "", "y"), nil, nil, nil, onnx.ErrFormat},
		{"sparse", node("Constant", "", "y", &onnx.Attr{Name: "sparse_value", Type: onnx.AttrSparse, Sparse: &onnx.Sparse{
			Values:  &onnx.Tensor{Type: onnx.Int8, Shape: []int{2}, Data: []byte{5, 0xff}},
			Indices: &onnx.Tensor{Type: onnx.Int64, Shape: []int{2, 2}, Data: append(make([]byte, 8), 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
			Shape:   []int{2, 2},
		}}), nil, []int{2, 2}, []float64{0, 5, -1, 0}, nil},
		{"filled", node("ConstantOfShape", "a", "y", &onnx.Attr{Name: "value", Type: onnx.AttrTensor, T: &onnx.Tensor{
			Type: onnx.Int8, Shape: []int{1}, Data: []byte{9},
		}}), []*run.Tensor{ints64([]int{2}, 1, 2)}, []int{1, 2}, []float64{9, 9}, nil},
		{"filled too large", node("ConstantOfShape", "a", "y"), []*run.Tensor{ints64([]int{2}, 1<<40, 1<<40)}, nil, nil, onnx.ErrUnsupported},
		{"filled past the limit", node("ConstantOfShape", "a", "y"), []*run.Tensor{ints64([]int{1}, 1<<25)}, nil, nil, run.ErrMemory},
		{"range", node("Range", "a b c", "y"), []*run.Tensor{ints64(nil, 5), ints64(nil, 0), ints64(nil, -2)}, []int{3}, []float64{5, 3, 1}, nil},
		{"range of floats", node("Range", "a b c", "y"), []*run.Tensor{floats(nil, 0), floats(nil, 1), floats(nil, .5)}, []int{2}, []float64{0, .5}, nil},
		{"empty range", node("Range", "a b c", "y"), []*run.Tensor{ints64(nil, 5), ints64(nil, 9), ints64(nil, -2)}, []int{0}, nil, nil},
		{"range by zero", node("Range", "a b c", "y"), []*run.Tensor{ints64(nil, 5), ints64(nil, 9), ints64(nil, 0)}, nil, nil, onnx.ErrFormat},
		{"eye", node("EyeLike", "a", "y", intAttr("k", 1)), []*run.Tensor{floats([]int{2, 2}, 0, 0, 0, 0)}, []int{2, 2}, []float64{0, 1, 0, 0}, nil},
		{"optional", node("OptionalHasElement", "a", "y"), []*run.Tensor{floats(nil, 0)}, []int{}, []float64{1}, nil},
		{"dropout", node("Dropout", "a", "y"), []*run.Tensor{floats([]int{2}, 1, 2)}, []int{2}, []float64{1, 2}, nil},
		{"bits", node("BitCast", "a", "y", intAttr("to", int64(onnx.Int32))), []*run.Tensor{floats([]int{1}, 1)}, []int{1}, []float64{0x3f800000}, nil},
		{"one class", node("Multinomial", "a", "y", intAttr("sample_size", 3)), []*run.Tensor{floats([]int{1, 2}, -1000, 1)}, []int{1, 3}, []float64{1, 1, 1}, nil},
		{"sure", node("Bernoulli", "a", "y"), []*run.Tensor{floats([]int{2}, 0, 1)}, []int{2}, []float64{0, 1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y, err := runNode(t, tt.node, run.Options{Limit: 64 << 20}, tt.in...)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			if got := doubles(t, y); !slices.Equal(got, tt.want) || !slices.Equal(y.Shape, tt.shape) {
				t.Errorf("%v of shape %d, want %v of %d", got, y.Shape, tt.want, tt.shape)
			}
		})
	}
}

// TestRandom checks the moments of random numbers, and that a seed repeats them.
func TestRandom(t *testing.T) {
	graph := &onnx.Graph{
		Nodes: []*onnx.Node{
			node("RandomNormal", "", "n", listAttr("shape", 100, 100), &onnx.Attr{Name: "mean", F: 3}, &onnx.Attr{Name: "scale", F: 2}),
			node("RandomUniformLike", "n", "u", &onnx.Attr{Name: "low", F: -1}, &onnx.Attr{Name: "high", F: 1}, &onnx.Attr{Name: "seed", F: 7}),
		},
		Outputs: anything("n u"),
	}
	draw := func(s *run.Session) (n, u []float64) {
		out, err := s.Run(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return doubles(t, out["n"]), doubles(t, out["u"])
	}
	s := newSession(t, graph, run.Options{Seed: 1})
	n, u := draw(s)
	for _, tt := range []struct {
		name            string
		x               []float64
		mean, deviation float64
	}{{"normal", n, 3, 2}, {"uniform", u, 0, math.Sqrt(1. / 3)}} {
		sum, squares := 0., 0.
		for _, v := range tt.x {
			sum += v
			squares += (v - tt.mean) * (v - tt.mean)
		}
		count := float64(len(tt.x))
		// Four deviations of the mean of so many numbers.
		if got := sum / count; math.Abs(got-tt.mean) > 4*tt.deviation/math.Sqrt(count) {
			t.Errorf("%s: mean %v, want %v", tt.name, got, tt.mean)
		}
		if got := math.Sqrt(squares / count); math.Abs(got-tt.deviation) > .05*tt.deviation {
			t.Errorf("%s: deviation %v, want %v", tt.name, got, tt.deviation)
		}
	}
	n2, u2 := draw(s)
	if slices.Equal(n, n2) || !slices.Equal(u, u2) {
		t.Error("the second run repeats what has no seed, or not what has one")
	}
	if n3, _ := draw(newSession(t, graph, run.Options{Seed: 1})); !slices.Equal(n, n3) {
		t.Error("a Session of the same seed draws other numbers")
	}
}
