package onnx_test

import (
	"context"
	"math/rand/v2"
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
	for _, wide := range []bool{false, true} {
		s := newSession(t, &onnx.Graph{
			Nodes: []*onnx.Node{node("Add", "x w", "y")}, Initializers: []*onnx.Tensor{constant}, Inputs: []onnx.Value{value("x", onnx.Float16, "n")}, Outputs: []onnx.Value{half},
		}, run.Options{Wide: wide})
		out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": floats([]int{1}, 1)})
		if !wide {
			if err == nil {
				t.Error("an input of float32 is taken for one of float16")
			}
			continue
		}
		if err != nil || out["y"].Type != onnx.Float || out["y"].F[0] != small {
			t.Errorf("wide: %v, %v", out["y"], err)
			continue
		}
		if again, err := s.Run(context.Background(), map[string]*run.Tensor{"x": out["y"]}); err != nil || again["y"].F[0] != 1+2.0/4096 {
			t.Errorf("wide, from what came out: %v, %v", again["y"], err)
		}
	}
}

// TestLargeHalves: large weights of 16 bits stay so until products lay them out, and give what the same
// numbers as float32 do, whatever reads them.
func TestLargeHalves(t *testing.T) {
	const k, n = 264, 260
	r := rand.New(rand.NewPCG(1, 2))
	random := func(shape ...int) *run.Tensor {
		x := run.NewFloats(shape, make([]float32, shape[0]*shape[1]))
		for i := range x.F {
			x.F[i] = float32(r.NormFloat64())
		}
		return x
	}
	w := convert(t, random(k, n), onnx.Float16)
	b := convert(t, random(1, n), onnx.Float16)
	x := convert(t, random(7, k), onnx.Float16)
	perm := &onnx.Attr{Name: "perm", Type: onnx.AttrInts, Ints: []int64{1, 0}}
	for name, nodes := range map[string][]*onnx.Node{
		"a product":                {node("MatMul", "x w", "y")},
		"a product with bias":      {node("MatMul", "x w", "a"), node("Reshape", "b s", "c"), node("Add", "a c", "y")},
		"Gemm":                     {node("Gemm", "x w b", "y")},
		"Gemm of a turned one":     {node("Transpose", "w", "v", perm), node("Gemm", "x v", "y", intAttr("transB", 1))},
		"an activation behind":     {node("MatMul", "x w", "a"), node("Sigmoid", "a", "c"), node("Mul", "a c", "y")},
		"two products":             {node("MatMul", "x w", "a"), node("MatMul", "x w", "c"), node("Add", "a c", "y")},
		"a product and a sum":      {node("MatMul", "x w", "a"), node("ReduceSum", "w", "c"), node("Add", "a c", "y")},
		"rows":                     {node("Gather", "w i", "y")},
		"a product of rows":        {node("Gather", "w i", "a"), node("Transpose", "a", "c", perm), node("MatMul", "w c", "y")},
		"a sum":                    {node("Slice", "w i j", "a"), node("Add", "a w", "y")},
		"itself":                   {node("Identity", "w", "y")},
		"a graph below":            {node("Size", "x", "c"), node("Cast", "c", "d", intAttr("to", int64(onnx.Bool))), node("If", "d", "y", graphAttr("then_branch", &onnx.Graph{Nodes: []*onnx.Node{node("MatMul", "x w", "z")}, Outputs: anything("z")}), graphAttr("else_branch", &onnx.Graph{Nodes: []*onnx.Node{node("Add", "w w", "z")}, Outputs: anything("z")}))},
		"as its scale and product": {node("Mul", "w b", "a"), node("MatMul", "x a", "y")},
	} {
		for _, plain := range []bool{false, true} {
			results := map[onnx.DType][]float64{}
			for _, typ := range []onnx.DType{onnx.Float, onnx.Float16} {
				s := newSession(t, &onnx.Graph{
					Nodes: nodes,
					Initializers: []*onnx.Tensor{convert(t, w, typ).ToFile("w"), convert(t, b, typ).ToFile("b"),
						run.NewInts([]int{1}, []int64{-1}).ToFile("s"), run.NewInts([]int{1}, []int64{0}).ToFile("i"), run.NewInts([]int{1}, []int64{1 << 40}).ToFile("j")},
					Inputs: []onnx.Value{value("x", typ, "m", k)}, Outputs: anything("y"),
				}, run.Options{NoFusion: plain})
				for range 2 {
					out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": convert(t, x, typ)})
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					got := doubles(t, out["y"])
					if was, ok := results[typ]; ok && !slices.Equal(was, got) {
						t.Errorf("%s, %v: another result the second time", name, typ)
					}
					results[typ] = got
				}
			}
			if a, b := results[onnx.Float], results[onnx.Float16]; len(a) == 0 || !slices.Equal(a, b) {
				t.Errorf("%s (as written: %v): other numbers than of float32", name, plain)
			}
		}
	}
}
