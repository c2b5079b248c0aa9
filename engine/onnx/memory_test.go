package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// chain negates x times over; every third value is read again at the end.
func chain(length int) *onnx.Graph {
	g := &onnx.Graph{Inputs: []onnx.Value{value("x0", onnx.Float, "n")}, Outputs: anything("y")}
	for i := range length {
		g.Nodes = append(g.Nodes, node("Neg", fmt.Sprint("x", i), fmt.Sprint("x", i+1)))
	}
	g.Nodes = append(g.Nodes, node("Sub", fmt.Sprintf("x%d x1", length), "y"))
	return g
}

// TestMemory runs a hundred nodes in the memory of three values.
func TestMemory(t *testing.T) {
	const n = 1 << 18
	x := make([]float32, n)
	x[7] = 3
	in := map[string]*run.Tensor{"x0": run.NewFloats([]int{n}, x)}
	s := newSession(t, chain(100), run.Options{Limit: 4 * 4 * n})
	var before, after runtime.MemStats
	for i := range 3 {
		runtime.ReadMemStats(&before)
		out, err := s.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got := out["y"].F[7]; got != 6 {
			t.Errorf("result %v, want 6", got)
		}
		// The output leaves; all else is there from the run before.
		if got := after.TotalAlloc - before.TotalAlloc; i > 0 && got > 4*n+200<<10 {
			t.Errorf("run %d allocates %d bytes, want little more than %d", i, got, 4*n)
		}
	}
	small := newSession(t, chain(100), run.Options{Limit: 4 * n})
	if _, err := small.Run(context.Background(), in); !errors.Is(err, run.ErrMemory) {
		t.Errorf("with a limit of one value: %v, want ErrMemory", err)
	}
}

// TestOutputsStay checks that a later run does not write to what an earlier one
// gave away, nor to what it was given.
func TestOutputsStay(t *testing.T) {
	s := newSession(t, chain(3), run.Options{})
	var kept []*run.Tensor
	for i := range 4 {
		x := make([]float32, 1000)
		for k := range x {
			x[k] = float32(i)
		}
		out, err := s.Run(context.Background(), map[string]*run.Tensor{"x0": run.NewFloats([]int{1000}, x)})
		if err != nil {
			t.Fatal(err)
		}
		if x[999] != float32(i) {
			t.Errorf("run %d wrote %v to its input", i, x[999])
		}
		kept = append(kept, out["y"])
	}
	for i, y := range kept {
		if y.F[0] != 0 || y.F[999] != 0 {
			t.Errorf("output %d became %v", i, y.F[0])
		}
	}
}

// TestInPlace reads values again after operators that could have written to
// them: outputs, views under another shape, members of sequences, and what a
// branch captures.
func TestInPlace(t *testing.T) {
	const n = 1000 // enough to come out of the pool
	branch := &onnx.Graph{Nodes: []*onnx.Node{node("Neg", "b", "nb")}, Outputs: anything("nb")}
	s := newSession(t, &onnx.Graph{
		Nodes: []*onnx.Node{
			node("Abs", "x", "a"),
			node("Neg", "a", "out"),
			node("Unsqueeze", "a zero", "view"),
			node("SequenceConstruct", "a", "seq"),
			node("Exp", "a", "e"), // the last to read a, but not what lies there
			node("Sub", "e e", "z"),
			node("SequenceAt", "seq zero0", "member"),
			node("Abs", "x", "b"),
			node("If", "yes", "nb", graphAttr("then_branch", branch), graphAttr("else_branch", branch)),
			node("Add", "b nb", "none"),
		},
		Initializers: []*onnx.Tensor{
			{Name: "zero", Type: onnx.Int64, Shape: []int{1}, Data: make([]byte, 8)},
			{Name: "zero0", Type: onnx.Int64, Data: make([]byte, 8)},
			{Name: "yes", Type: onnx.Bool, Data: []byte{1}},
		},
		Inputs:  []onnx.Value{value("x", onnx.Float, n)},
		Outputs: anything("out view z member none"),
	}, run.Options{})
	x := make([]float32, n)
	for i := range x {
		x[i] = -2
	}
	for range 2 {
		out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": run.NewFloats([]int{n}, x)})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]float32{"out": -2, "view": 2, "z": 0, "member": 2, "none": 0} {
			if got := out[name].F; len(got) != n || got[0] != want || got[n-1] != want {
				t.Errorf("%s is %v, want %v", name, got[0], want)
			}
		}
	}
}

// TestConstants checks that constants are the file's own bytes where they can
// be, and that those of 8 bits and halves come out right.
func TestConstants(t *testing.T) {
	g := &onnx.Graph{
		Nodes: []*onnx.Node{
			node("Cast", "i", "fi", intAttr("to", int64(onnx.Float))), node("Cast", "h", "fh", intAttr("to", int64(onnx.Float))),
			node("Add", "fi fh", "s"), node("Add", "s x", "y"),
		},
		Initializers: []*onnx.Tensor{
			{Name: "i", Type: onnx.Int8, Shape: []int{3}, Data: []byte{0x80, 0xff, 0x7f}},
			{Name: "h", Type: onnx.Float16, Shape: []int{3}, Data: []byte{0x01, 0, 0, 0xc0, 0xff, 0x7b}},
		},
		Inputs:  []onnx.Value{value("x", onnx.Float)},
		Outputs: anything("y"),
	}
	s := newSession(t, g, run.Options{})
	out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": floats(nil, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := doubles(t, out["y"]), []float64{-128 + 0x1p-24, -3, 65631}; math.Abs(got[0]-want[0]) > 1e-5 || !slices.Equal(got[1:], want[1:]) {
		t.Errorf("sums %v, want %v", got, want)
	}
	file := &onnx.Tensor{Type: onnx.Float, Shape: []int{1 << 16}, Data: make([]byte, 4<<16)}
	if n := testing.AllocsPerRun(10, func() {
		if _, err := run.FromFile(file); err != nil {
			t.Fatal(err)
		}
	}); n > 3 {
		t.Errorf("%v allocations for a constant, want 3 at most", n)
	}
	for _, typ := range []onnx.DType{onnx.Float, onnx.Double, onnx.Int64, onnx.Int8, onnx.Uint4, onnx.Int2, onnx.Float16, onnx.BFloat16, onnx.Float8E5M2, onnx.Float8E4M3FNUZ, onnx.Bool} {
		data := make([]byte, 8*typ.Bits()/8)
		for i := range data {
			data[i] = byte(i & 1)
		}
		x, err := run.FromFile(&onnx.Tensor{Type: typ, Shape: []int{8}, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.ToFile("").Data; !slices.Equal(got, data) {
			t.Errorf("%v: bytes %x come back as %x", typ, data, got)
		}
	}
}

// BenchmarkNode measures what a node costs beside its work.
func BenchmarkNode(b *testing.B) {
	const nodes = 1000
	s := newSession(b, chain(nodes), run.Options{})
	in := map[string]*run.Tensor{"x0": floats([]int{8}, 1, 2, 3, 4, 5, 6, 7, 8)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Run(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*nodes), "ns/node")
}

// TestWeightsOutside: weights that are laid out for products lie outside the Go heap.
func TestWeightsOutside(t *testing.T) {
	const n = 1024
	w := make([]byte, 4*n*n)
	w[4*n*5+4*7+3] = 0x40 // 2 at (5, 7)
	g := &onnx.Graph{
		Nodes:        []*onnx.Node{node("MatMul", "x w", "y")},
		Initializers: []*onnx.Tensor{{Name: "w", Type: onnx.Float, Shape: []int{n, n}, Data: w}},
		Inputs:       []onnx.Value{value("x", onnx.Float, 1, n)}, Outputs: anything("y"),
	}
	x := make([]float32, n)
	x[5] = 3
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := newSession(t, g, run.Options{})
	for range 2 {
		out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": run.NewFloats([]int{1, n}, x)})
		if err != nil {
			t.Fatal(err)
		}
		if y := out["y"].F; y[7] != 6 || y[8] != 0 {
			t.Errorf("product %v, %v", y[7], y[8])
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > n*n && runtime.GOOS == "linux" {
		t.Errorf("the heap is %d bytes larger, the weights have %d", grown, 4*n*n)
	}
	runtime.KeepAlive(s)
}

// TestGrowing joins values to one that is read again and again, as DenseNets do: in the memory
// it has where that is allowed, so what others have of it stays.
func TestGrowing(t *testing.T) {
	const channels, columns, times = 16, 40, 12
	g := &onnx.Graph{Inputs: []onnx.Value{value("a", onnx.Float, 1, channels, columns)}, Outputs: anything("y m")}
	g.Nodes = append(g.Nodes, node("Neg", "a", "x0"))
	for i := range times {
		x, next := fmt.Sprint("x", i), fmt.Sprint("x", i+1)
		g.Nodes = append(g.Nodes, node("Slice", x+" from to one", "s"+x), node("Exp", "s"+x, "e"+x))
		if i == 5 { // two values begin with the same one
			g.Nodes = append(g.Nodes, node("Concat", x+" s"+x, "m", intAttr("axis", 1)))
		}
		g.Nodes = append(g.Nodes, node("Concat", x+" e"+x, next, intAttr("axis", 1)))
	}
	g.Nodes = append(g.Nodes, node("Identity", fmt.Sprint("x", times), "y"))
	g.Initializers = append(g.Initializers, list64(0).ToFile("from"), list64(8).ToFile("to"), list64(1).ToFile("one"))
	s := newSession(t, g, run.Options{})
	for round := range 2 {
		x := wave(1, channels, columns)
		if round == 1 {
			x.F[0] = 5
		}
		want := make([]float64, 0, (channels+8*times)*columns)
		for _, v := range x.F {
			want = append(want, -float64(v))
		}
		var middle []float64
		for i := range times {
			if i == 5 {
				middle = append(slices.Clone(want), want[:8*columns]...)
			}
			for _, v := range want[:8*columns] {
				want = append(want, math.Exp(v))
			}
		}
		out, err := s.Run(context.Background(), map[string]*run.Tensor{"a": x})
		if err != nil {
			t.Fatal(err)
		}
		near(t, doubles(t, out["y"]), want, 1e-5)
		near(t, doubles(t, out["m"]), middle, 1e-5)
	}
}
