package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// TestInputs checks what Run says to inputs that do not fit.
func TestInputs(t *testing.T) {
	s := newSession(t, &onnx.Graph{
		Nodes:   []*onnx.Node{node("Add", "a b", "c")},
		Inputs:  []onnx.Value{value("a", onnx.Float, "n", 2), value("b", onnx.Float, "n", 2)},
		Outputs: anything("c"),
	}, run.Options{})
	ab := func(a, b *run.Tensor) map[string]*run.Tensor { return map[string]*run.Tensor{"a": a, "b": b} }
	two := floats([]int{1, 2}, 1, 2)
	for _, tt := range []struct {
		name string
		in   map[string]*run.Tensor
		want string
	}{
		{"good", ab(two, two), ""},
		{"missing", map[string]*run.Tensor{"a": two}, `input "b" is missing`},
		{"unknown", map[string]*run.Tensor{"a": two, "b": two, "d": two}, `no input "d"`},
		{"type", ab(two, ints64([]int{1, 2}, 1, 2)), `input "b" is int64, want float`},
		{"rank", ab(two, floats([]int{2}, 1, 2)), `input "b" has shape [2], want rank 2`},
		{"size", ab(two, floats([]int{1, 1}, 1)), `input "b" has shape [1 1], want 2 in dimension 1`},
		{"name of a size", ab(two, floats([]int{2, 2}, 1, 2, 3, 4)), `input "b" has shape [2 2], where dimension 0 is "n", which is 1 in input "a"`},
		{"no elements", ab(two, &run.Tensor{Type: onnx.Float, Shape: []int{1, 2}}), `input "b" of float and shape [1 2] has 0 elements`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if _, err := s.Run(context.Background(), tt.in); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
	if in, out := s.Inputs(), s.Outputs(); len(in) != 2 || in[0].Name != "a" || len(out) != 1 || out[0].Name != "c" {
		t.Errorf("inputs %v, outputs %v", in, out)
	}
}

func TestMissingOperators(t *testing.T) {
	inner := &onnx.Graph{Nodes: []*onnx.Node{node("Zebra", "x", "y")}, Outputs: anything("y")}
	_, err := run.New(&onnx.Model{Opsets: map[string]int64{"": 21}, Graph: &onnx.Graph{Nodes: []*onnx.Node{
		node("Xylophone", "x", "y"), node("If", "x", "z", graphAttr("then_branch", inner)),
	}}}, run.Options{})
	if !errors.Is(err, onnx.ErrUnsupported) || !strings.HasSuffix(fmt.Sprint(err), "opset 21, missing operators Xylophone, Zebra") {
		t.Errorf("error %v", err)
	}
	if _, err := run.New(&onnx.Model{Opsets: map[string]int64{"": 5}, Graph: &onnx.Graph{}}, run.Options{}); !errors.Is(err, onnx.ErrUnsupported) {
		t.Errorf("opset 5: %v, want ErrUnsupported", err)
	}
}

// TestElements runs operators on a few numbers of every kind of type.
func TestElements(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	text := func(name, v string) *onnx.Attr { return &onnx.Attr{Name: name, Type: onnx.AttrString, S: v} }
	for _, tt := range []struct {
		name  string
		op    string
		of    onnx.DType
		a, b  []float64 // b has shape (1) where it is shorter
		want  []float64
		attrs []*onnx.Attr
	}{
		{"add", "Add", onnx.Float, []float64{1, 2, 3}, []float64{.5}, []float64{1.5, 2.5, 3.5}, nil},
		{"add of bytes wraps", "Add", onnx.Uint8, []float64{250, 1}, []float64{10}, []float64{4, 11}, nil},
		{"sub", "Sub", onnx.Int32, []float64{1}, []float64{2, 3}, []float64{-1, -2}, nil},
		{"mul of halves rounds", "Mul", onnx.Float16, []float64{1.0009765625, 300}, []float64{1.0009765625, 300}, []float64{1.001953125, inf}, nil},
		{"div cuts", "Div", onnx.Int64, []float64{-7, 7}, []float64{2}, []float64{-3, 3}, nil},
		{"div of big unsigned", "Div", onnx.Uint64, []float64{0x1p63}, []float64{2}, []float64{0x1p62}, nil},
		{"div by zero of floats", "Div", onnx.Double, []float64{1, 0}, []float64{0}, []float64{inf, nan}, nil},
		{"mod", "Mod", onnx.Int32, []float64{-7, 7}, []float64{3, -3}, []float64{2, -2}, nil},
		{"fmod", "Mod", onnx.Float, []float64{-7.5, 7.5}, []float64{2}, []float64{-1.5, 1.5}, []*onnx.Attr{intAttr("fmod", 1)}},
		{"pow", "Pow", onnx.Float, []float64{-2, 3}, []float64{2}, []float64{4, 9}, nil},
		{"pow of integers", "Pow", onnx.Int64, []float64{3, 2}, []float64{4, 62}, []float64{81, 0x1p62}, nil},
		{"max with NaN", "Max", onnx.Float, []float64{1, nan}, []float64{2}, []float64{2, nan}, nil},
		{"min", "Min", onnx.Int8, []float64{-128, 5}, []float64{0}, []float64{-128, 0}, nil},
		{"less", "Less", onnx.Float, []float64{1, 2, nan}, []float64{2}, []float64{1, 0, 0}, nil},
		{"greater of big unsigned", "GreaterOrEqual", onnx.Uint64, []float64{0x1p63, 1}, []float64{1}, []float64{1, 1}, nil},
		{"equal", "Equal", onnx.Bool, []float64{1, 0}, []float64{1}, []float64{1, 0}, nil},
		{"xor", "Xor", onnx.Bool, []float64{1, 0}, []float64{1}, []float64{0, 1}, nil},
		{"bits", "BitwiseXor", onnx.Uint8, []float64{12}, []float64{10, 255}, []float64{6, 243}, nil},
		{"shift", "BitShift", onnx.Uint8, []float64{129, 2}, []float64{1}, []float64{2, 4}, []*onnx.Attr{text("direction", "LEFT")}},
		{"prelu", "PRelu", onnx.Float, []float64{-2, 2}, []float64{.5}, []float64{-1, 2}, nil},
		{"abs", "Abs", onnx.Int8, []float64{-128, -5}, nil, []float64{-128, 5}, nil},
		{"not", "Not", onnx.Bool, []float64{1, 0}, nil, []float64{0, 1}, nil},
		{"bitwise not", "BitwiseNot", onnx.Uint8, []float64{1, 255}, nil, []float64{254, 0}, nil},
		{"sign", "Sign", onnx.Float, []float64{-3, 0, 3}, nil, []float64{-1, 0, 1}, nil},
		{"round to even", "Round", onnx.Float, []float64{.5, 1.5, -2.5}, nil, []float64{0, 2, -2}, nil},
		{"erf", "Erf", onnx.Float, []float64{-9, -1, -.1, 0, .3, 2, inf}, nil, []float64{-1, math.Erf(-1), math.Erf(-.1), 0, math.Erf(.3), math.Erf(2), 1}, nil},
		{"gelu", "Gelu", onnx.Float, []float64{-4, 0, 1}, nil, []float64{-2 * math.Erfc(math.Sqrt(8)), 0, .5 * math.Erfc(-math.Sqrt(.5))}, nil},
		{"tanh", "Tanh", onnx.Float, []float64{-20, 1e-5, .2, 1}, nil, []float64{-1, math.Tanh(1e-5), math.Tanh(.2), math.Tanh(1)}, nil},
		{"softplus", "Softplus", onnx.Float, []float64{-100, 0, 100}, nil, []float64{0, math.Ln2, 100}, nil},
		{"relu of NaN", "Relu", onnx.Float, []float64{nan, -1, 1}, nil, []float64{nan, 0, 1}, nil},
		{"infinite", "IsInf", onnx.Float, []float64{inf, -inf, 1}, nil, []float64{1, 0, 0}, []*onnx.Attr{intAttr("detect_negative", 0)}},
		{"cast to integers", "Cast", onnx.Float, []float64{-1.9, 1.9, 300}, nil, []float64{-1, 1, 44}, []*onnx.Attr{intAttr("to", int64(onnx.Int8))}},
		{"cast to halves", "Cast", onnx.Float, []float64{65519, 65520, 0x1p-25, 0x1.8p-24}, nil, []float64{65504, inf, 0, 0x1p-23}, []*onnx.Attr{intAttr("to", int64(onnx.Float16))}},
		{"cast to bfloat16", "Cast", onnx.Float, []float64{1.00390625, 1.01171875}, nil, []float64{1, 1.015625}, []*onnx.Attr{intAttr("to", int64(onnx.BFloat16))}},
		{"cast to 8 bits", "Cast", onnx.Float, []float64{1000, 1.07, -0.001}, nil, []float64{448, 1.125, -0.001953125}, []*onnx.Attr{intAttr("to", int64(onnx.Float8E4M3FN))}},
		{"cast past 8 bits", "Cast", onnx.Float, []float64{464, 465, -inf}, nil, []float64{448, nan, nan}, []*onnx.Attr{intAttr("to", int64(onnx.Float8E4M3FN)), intAttr("saturate", 0)}},
		{"cast past E5M2", "Cast", onnx.Float, []float64{6e4, 7e4, nan}, nil, []float64{57344, inf, nan}, []*onnx.Attr{intAttr("to", int64(onnx.Float8E5M2)), intAttr("saturate", 0)}},
		{"cast to FNUZ", "Cast", onnx.Float, []float64{-1e-9, 1000, 0.01}, nil, []float64{0, 240, 0.009765625}, []*onnx.Attr{intAttr("to", int64(onnx.Float8E4M3FNUZ))}},
		{"cast to E2M1", "Cast", onnx.Float, []float64{2.5, -9, 0.2, 0.3}, nil, []float64{2, -6, 0, 0.5}, []*onnx.Attr{intAttr("to", int64(onnx.Float4E2M1))}},
		{"quantise past 8 bits", "QuantizeLinear", onnx.Float, []float64{900, 896, -2}, []float64{2}, []float64{nan, 448, -1}, []*onnx.Attr{intAttr("output_dtype", int64(onnx.Float8E4M3FN)), intAttr("saturate", 0)}},
		{"quantise to 8 bits", "QuantizeLinear", onnx.Float, []float64{900, 896, -2}, []float64{2}, []float64{448, 448, -1}, []*onnx.Attr{intAttr("output_dtype", int64(onnx.Float8E4M3FN))}},
		{"cast to 4 bits", "Cast", onnx.Float, []float64{7.9, -9, 8}, nil, []float64{7, 7, -8}, []*onnx.Attr{intAttr("to", int64(onnx.Int4))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, names := []*run.Tensor{convert(t, run.NewDoubles([]int{len(tt.a)}, tt.a), tt.of)}, "a"
			if tt.b != nil {
				in, names = append(in, convert(t, run.NewDoubles([]int{len(tt.b)}, tt.b), tt.of)), "a b"
			}
			y, err := runNode(t, node(tt.op, names, "y", tt.attrs...), run.Options{}, in...)
			if err != nil {
				t.Fatal(err)
			}
			got := doubles(t, y)
			for i, want := range tt.want {
				if i >= len(got) || got[i] != want && !(math.IsNaN(got[i]) && math.IsNaN(want)) && !(math.Abs(got[i]-want) <= 1e-6*math.Abs(want)+1e-9) {
					t.Fatalf("%s = %v, want %v", tt.op, got, tt.want)
				}
			}
		})
	}
}

// TestBroadcast holds every way two shapes can broadcast against a plain loop.
func TestBroadcast(t *testing.T) {
	iota := func(shape ...int) *run.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i) + 1
		}
		return run.NewFloats(shape, v)
	}
	at := func(x *run.Tensor, pos []int) float64 {
		i := 0
		for d, n := range x.Shape {
			p := pos[len(pos)-len(x.Shape)+d]
			if n == 1 {
				p = 0
			}
			i = i*n + p
		}
		return float64(x.F[i])
	}
	for _, tt := range []struct{ a, b, want []int }{
		{[]int{2, 3, 4}, []int{2, 3, 4}, []int{2, 3, 4}},
		{[]int{2, 3, 4}, []int{}, []int{2, 3, 4}},
		{[]int{2, 3, 4}, []int{4}, []int{2, 3, 4}},
		{[]int{2, 3, 4}, []int{3, 1}, []int{2, 3, 4}},
		{[]int{3, 1}, []int{2, 1, 4}, []int{2, 3, 4}},
		{[]int{2, 1, 4, 1}, []int{1, 3, 1, 5}, []int{2, 3, 4, 5}},
		{[]int{1, 1}, []int{1}, []int{1, 1}},
		{[]int{0, 3}, []int{3}, []int{0, 3}},
		{[]int{300, 200}, []int{300, 1}, []int{300, 200}},
	} {
		t.Run(fmt.Sprint(tt.a, tt.b), func(t *testing.T) {
			s := newSession(t, &onnx.Graph{
				Nodes:   []*onnx.Node{node("Sub", "a b", "y"), node("Greater", "a b", "g"), node("Where", "g a b", "w")},
				Inputs:  []onnx.Value{{Name: "a", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}}, {Name: "b", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}}},
				Outputs: anything("y w"),
			}, run.Options{})
			a, b := iota(tt.a...), iota(tt.b...)
			out, err := s.Run(context.Background(), map[string]*run.Tensor{"a": a, "b": b})
			if err != nil {
				t.Fatal(err)
			}
			y, w := out["y"], out["w"]
			if !slices.Equal(y.Shape, tt.want) || !slices.Equal(w.Shape, tt.want) {
				t.Fatalf("shapes %d and %d, want %d", y.Shape, w.Shape, tt.want)
			}
			pos := make([]int, len(tt.want))
			for i := range y.F {
				rest := i
				for d := len(pos) - 1; d >= 0; d-- {
					pos[d] = rest % tt.want[d]
					rest /= tt.want[d]
				}
				va, vb := at(a, pos), at(b, pos)
				if float64(y.F[i]) != va-vb || float64(w.F[i]) != math.Max(va, vb) {
					t.Fatalf("at %d: %v and %v, want %v and %v", pos, y.F[i], w.F[i], va-vb, math.Max(va, vb))
				}
			}
		})
	}
}

// counting is a loop that doubles x as often as n says and keeps every x.
func counting() *onnx.Graph {
	body := &onnx.Graph{
		Nodes:   []*onnx.Node{node("Identity", "on", "go"), node("Add", "v v", "w"), node("Mul", "w outer", "row")},
		Inputs:  anything("i on v"),
		Outputs: append(anything("go w"), value("row", onnx.Float, 2)),
	}
	return &onnx.Graph{
		Nodes:   []*onnx.Node{node("Loop", "n _ x", "last rows", graphAttr("body", body))},
		Inputs:  []onnx.Value{value("n", onnx.Int64), value("x", onnx.Float, 2), value("outer", onnx.Float)},
		Outputs: anything("last rows"),
	}
}

func TestLoop(t *testing.T) {
	s := newSession(t, counting(), run.Options{})
	for _, n := range []int64{3, 0, 1} {
		out, err := s.Run(context.Background(), map[string]*run.Tensor{
			"n": ints64(nil, n), "x": floats([]int{2}, 1, 3), "outer": floats(nil, 10),
		})
		if err != nil {
			t.Fatal(err)
		}
		p := float64(int64(1) << n)
		if got, want := doubles(t, out["last"]), []float64{p, 3 * p}; !slices.Equal(got, want) {
			t.Errorf("%d times: last %v, want %v", n, got, want)
		}
		want := []float64{20, 60, 40, 120, 80, 240}[:2*n]
		if got := doubles(t, out["rows"]); !slices.Equal(got, want) || !slices.Equal(out["rows"].Shape, []int{int(n), 2}) {
			t.Errorf("%d times: rows %v of shape %d, want %v", n, got, out["rows"].Shape, want)
		}
	}
}

// leaving is cancelled when it has been looked at as often as said.
type leaving struct {
	context.Context
	cancel context.CancelFunc
	looks  int
}

func (c *leaving) Err() error {
	if c.looks--; c.looks == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// TestCancel stops a loop without an end, after which the Session still works.
func TestCancel(t *testing.T) {
	s := newSession(t, counting(), run.Options{})
	in := map[string]*run.Tensor{"n": ints64(nil, math.MaxInt64), "x": floats([]int{2}, 0, 0), "outer": floats(nil, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := s.Run(&leaving{ctx, cancel, 1000}, in); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	in["n"].I[0] = 1
	if _, err := s.Run(context.Background(), in); err != nil {
		t.Error(err)
	}
}

func TestIfAndFunction(t *testing.T) {
	// f(x; k) = x + k, g(x) = f(x; k=2) if x > 0, else x of the graph around it.
	f := &onnx.Function{
		Name: "f", Domain: "local", Inputs: []string{"x"}, Outputs: []string{"y"}, Attrs: []string{"k"},
		Nodes: []*onnx.Node{
			node("Constant", "", "c", &onnx.Attr{Name: "value_float", Type: onnx.AttrFloat, Ref: "k"}),
			node("Add", "x c", "y"),
		},
	}
	call := node("f", "x", "z", &onnx.Attr{Name: "k", Type: onnx.AttrFloat, F: 2})
	call.Domain = "local"
	s := newSession(t, &onnx.Graph{
		Nodes: []*onnx.Node{
			node("Greater", "x zero", "p"),
			node("If", "p", "y",
				graphAttr("then_branch", &onnx.Graph{Nodes: []*onnx.Node{call}, Outputs: anything("z")}),
				graphAttr("else_branch", &onnx.Graph{Nodes: []*onnx.Node{node("Identity", "x", "z")}, Outputs: anything("z")})),
		},
		Initializers: []*onnx.Tensor{{Name: "zero", Type: onnx.Float, Data: make([]byte, 4)}},
		Inputs:       []onnx.Value{value("x", onnx.Float)},
		Outputs:      anything("y"),
	}, run.Options{}, f)
	for x, want := range map[float32]float64{1: 3, -1: -1} {
		out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": floats(nil, x)})
		if err != nil {
			t.Fatal(err)
		}
		if got := doubles(t, out["y"])[0]; got != want {
			t.Errorf("of %v: %v, want %v", x, got, want)
		}
	}
}

func TestSequences(t *testing.T) {
	s := newSession(t, &onnx.Graph{
		Nodes: []*onnx.Node{
			node("SplitToSequence", "x two", "s", intAttr("axis", 1)),
			node("SequenceInsert", "s x zero", "more"),
			node("SequenceErase", "more", "less"),
			node("SequenceMap", "less", "neg", graphAttr("body", &onnx.Graph{
				Nodes: []*onnx.Node{node("Neg", "e", "n")}, Inputs: anything("e"), Outputs: anything("n"),
			})),
			node("ConcatFromSequence", "neg", "y", intAttr("axis", 1)),
			node("SequenceLength", "less", "n"),
		},
		Initializers: []*onnx.Tensor{
			{Name: "two", Type: onnx.Int64, Data: []byte{2, 0, 0, 0, 0, 0, 0, 0}},
			{Name: "zero", Type: onnx.Int64, Data: make([]byte, 8)},
		},
		Inputs:  []onnx.Value{value("x", onnx.Float, 2, 3)},
		Outputs: anything("y n"),
	}, run.Options{})
	out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := doubles(t, out["y"]), []float64{-1, -2, -3, -1, -2, -4, -5, -6, -4, -5}; !slices.Equal(got, want) {
		t.Errorf("joined %v, want %v", got, want)
	}
	if got := out["n"].I[0]; got != 2 {
		t.Errorf("length %d, want 2", got)
	}
}
