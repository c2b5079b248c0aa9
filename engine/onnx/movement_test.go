package onnx_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

func textAttr(name, s string) *onnx.Attr {
	return &onnx.Attr{Name: name, Type: onnx.AttrString, S: s}
}

// A nodeCase is a node, and the shape and numbers of its first output or the
// error it ends with.
type nodeCase struct {
	name  string
	node  *onnx.Node
	in    []*run.Tensor
	shape []int
	want  []float64
	err   error
}

func (n *nodeCase) check(t *testing.T) {
	t.Helper()
	got, err := runNode(t, n.node, run.Options{}, n.in...)
	if !errors.Is(err, n.err) || (err != nil) != (n.err != nil) {
		t.Fatalf("error %v, want %v", err, n.err)
	}
	if err != nil {
		return
	}
	if !slices.Equal(got.Shape, n.shape) {
		t.Errorf("shape %d, want %d", got.Shape, n.shape)
	}
	v := doubles(t, got)
	if len(v) != len(n.want) {
		t.Fatalf("%v, want %v", v, n.want)
	}
	for i, want := range n.want {
		if d := math.Abs(v[i] - want); !(d <= 1e-6*max(10, math.Abs(want))) && v[i] != want && !(math.IsNaN(v[i]) && math.IsNaN(want)) {
			t.Errorf("element %d is %v, want %v (of %v)", i, v[i], want, n.want)
		}
	}
}

func checkNodes(t *testing.T, cases []nodeCase) {
	for _, n := range cases {
		t.Run(n.name, func(t *testing.T) { n.check(t) })
	}
}

// counted returns 0, 1, 2, … of a shape.
func counted(shape ...int) *run.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i)
	}
	return floats(shape, v...)
}

func list64(v ...int64) *run.Tensor { return ints64([]int{len(v)}, v...) }

func TestMovement(t *testing.T) {
	x, row := counted(2, 3), floats([]int{4}, 1, 2, 3, 4)
	one := func(in ...*run.Tensor) []*run.Tensor { return in }
	flags := func(v ...int64) *run.Tensor { return convert(t, list64(v...), onnx.Bool) }
	checkNodes(t, []nodeCase{
		{"tile", node("Tile", "a b", "y"), one(x, list64(2, 1)), []int{4, 3}, []float64{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}, nil},
		{"tile without end", node("Tile", "a b", "y"), one(x, list64(1<<40, 1<<40)), nil, nil, onnx.ErrUnsupported},
		{"pad", node("Pad", "a b c", "y"), one(row, list64(1, 2), floats(nil, 9)), []int{7}, []float64{9, 1, 2, 3, 4, 9, 9}, nil},
		{"crop", node("Pad", "a b", "y"), one(row, list64(-1, 1)), []int{4}, []float64{2, 3, 4, 0}, nil},
		{"crop more than there is", node("Pad", "a b", "y"), one(row, list64(-3, -3)), []int{0}, nil, nil},
		{"reflect", node("Pad", "a b", "y", textAttr("mode", "reflect")), one(row, list64(2, 4)), []int{10}, []float64{3, 2, 1, 2, 3, 4, 3, 2, 1, 2}, nil},
		{"edge", node("Pad", "a b _ c", "y", textAttr("mode", "edge")), one(x, list64(1, 0), list64(-1)), []int{2, 4}, []float64{0, 0, 1, 2, 3, 3, 4, 5}, nil},
		{"wrap", node("Pad", "a b", "y", textAttr("mode", "wrap")), one(row, list64(2, 1)), []int{7}, []float64{3, 4, 1, 2, 3, 4, 1}, nil},
		{"pad without end", node("Pad", "a b", "y"), one(row, list64(1<<50, 0)), nil, nil, onnx.ErrUnsupported},
		{"lower triangle", node("Trilu", "a b", "y", intAttr("upper", 0)), one(x, ints64(nil, 1)), []int{2, 3}, []float64{0, 1, 0, 3, 4, 5}, nil},
		{"upper triangle", node("Trilu", "a b", "y"), one(x, ints64(nil, 1)), []int{2, 3}, []float64{0, 1, 2, 0, 0, 5}, nil},
		{"depth to space", node("DepthToSpace", "a", "y", intAttr("blocksize", 2)), one(counted(1, 4, 1, 2)), []int{1, 1, 2, 4}, []float64{0, 2, 1, 3, 4, 6, 5, 7}, nil},
		{"space to depth", node("SpaceToDepth", "a", "y", intAttr("blocksize", 2)), one(counted(1, 1, 2, 4)), []int{1, 4, 1, 2}, []float64{0, 2, 1, 3, 4, 6, 5, 7}, nil},
		{"reverse", node("ReverseSequence", "a b", "y", intAttr("time_axis", 1), intAttr("batch_axis", 0)), one(x, list64(2, 3)), []int{2, 3}, []float64{1, 0, 2, 5, 4, 3}, nil},
		{"center", node("CenterCropPad", "a b", "y", listAttr("axes", 1)), one(x, list64(1)), []int{2, 1}, []float64{1, 4}, nil},
		{"elements", node("GatherElements", "a b", "y", intAttr("axis", 1)), one(x, ints64([]int{2, 2}, 2, 0, -1, 1)), []int{2, 2}, []float64{2, 0, 5, 4}, nil},
		{"an element that is not there", node("GatherElements", "a b", "y"), one(x, ints64([]int{1, 1}, 2)), nil, nil, onnx.ErrFormat},
		{"slices", node("GatherND", "a b", "y"), one(x, ints64([]int{2, 1}, 1, 0)), []int{2, 3}, []float64{3, 4, 5, 0, 1, 2}, nil},
		{"slices of batches", node("GatherND", "a b", "y", intAttr("batch_dims", 1)), one(x, ints64([]int{2, 1}, 1, 0)), []int{2}, []float64{1, 3}, nil},
		{"scatter", node("ScatterElements", "a b c", "y", intAttr("axis", 1)), one(x, ints64([]int{1, 2}, 2, 0), floats([]int{1, 2}, 8, 9)), []int{2, 3}, []float64{9, 1, 8, 3, 4, 5}, nil},
		{"add", node("ScatterND", "a b c", "y", textAttr("reduction", "add")), one(x, ints64([]int{2, 2}, 1, 1, 1, 1), floats([]int{2}, 10, 20)), []int{2, 3}, []float64{0, 1, 2, 3, 34, 5}, nil},
		{"max", node("ScatterND", "a b c", "y", textAttr("reduction", "max")), one(x, ints64([]int{1, 1}, 0), floats([]int{1, 3}, 1, 1, 1)), []int{2, 3}, []float64{1, 1, 2, 3, 4, 5}, nil},
		{"a ring", node("TensorScatter", "a b c", "y", textAttr("mode", "circular"), intAttr("axis", 1)), one(x, floats([]int{2, 2}, 8, 9, 8, 9), list64(2, 0)), []int{2, 3}, []float64{9, 1, 8, 8, 9, 5}, nil},
		{"past the end", node("TensorScatter", "a b c", "y", intAttr("axis", 1)), one(x, floats([]int{2, 2}, 8, 9, 8, 9), list64(2, 0)), nil, nil, onnx.ErrFormat},
		{"compress", node("Compress", "a b", "y", intAttr("axis", 1)), one(x, flags(0, 1, 1)), []int{2, 2}, []float64{1, 2, 4, 5}, nil},
		{"not zero", node("NonZero", "a", "y"), one(floats([]int{2, 2}, 0, 1, 2, 0)), []int{2, 2}, []float64{0, 1, 1, 0}, nil},
		{"one hot", node("OneHot", "a b c", "y"), one(list64(1, -1, 7), ints64(nil, 3), floats([]int{2}, 0, 5)), []int{3, 3}, []float64{0, 5, 0, 0, 0, 5, 0, 0, 0}, nil},
		{"top", node("TopK", "a b", "y"), one(floats([]int{5}, 3, 9, 9, 1, 4), list64(3)), []int{3}, []float64{9, 9, 4}, nil},
		{"where the top is", node("TopK", "a b", "_ y"), one(floats([]int{5}, 3, 9, 9, 1, 4), list64(3)), []int{3}, []float64{1, 2, 4}, nil},
		{"bottom of rows", node("TopK", "a b", "y", intAttr("largest", 0), intAttr("axis", 0)), one(floats([]int{3, 2}, 3, 1, 2, 5, 1, 4), list64(2)), []int{2, 2}, []float64{1, 1, 2, 4}, nil},
		{"more than there are", node("TopK", "a b", "y"), one(row, list64(5)), nil, nil, onnx.ErrFormat},
		{"unique", node("Unique", "a", "y"), one(floats([]int{5}, 3, 1, 3, 2, 1)), []int{3}, []float64{1, 2, 3}, nil},
		{"unique as they come", node("Unique", "a", "_ _ y", intAttr("sorted", 0)), one(floats([]int{5}, 3, 1, 3, 2, 1)), []int{5}, []float64{0, 1, 0, 2, 1}, nil},
	})
}

// TestTopKLong goes through every way to find the largest.
func TestTopKLong(t *testing.T) {
	const n = 5000
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i * 7919 % n)
	}
	for _, k := range []int{1, 40, 256, 257, n} {
		got, err := runNode(t, node("TopK", "a b", "y"), run.Options{}, floats([]int{n}, v...), list64(int64(k)))
		if err != nil {
			t.Fatal(err)
		}
		for i, have := range got.F {
			if want := float32(n - 1 - i); have != want {
				t.Fatalf("k %d: element %d is %v, want %v", k, i, have, want)
			}
		}
	}
}

// A transposed tensor is what its elements say, however many rows are turned at a time.
func TestTransposeLarge(t *testing.T) {
	for _, shape := range [][]int{{17, 9}, {8, 16}, {3, 25, 7}, {2, 3, 19, 12}} {
		x := counted(shape...)
		strides := make([]int, len(shape))
		for d, n := len(shape)-1, 1; d >= 0; d-- {
			strides[d] = n
			n *= shape[d]
		}
		for _, perm := range permutations(len(shape)) {
			at := []int{0} // where elements come from
			var to []int64
			for _, p := range perm {
				to = append(to, int64(p))
				var next []int
				for _, a := range at {
					for i := range shape[p] {
						next = append(next, a+i*strides[p])
					}
				}
				at = next
			}
			got, err := runNode(t, node("Transpose", "a", "y", listAttr("perm", to...)), run.Options{}, x)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range doubles(t, got) {
				if int(v) != at[i] {
					t.Fatalf("%d by %d: element %d is %v, want %d", shape, perm, i, v, at[i])
				}
			}
		}
	}
}

// permutations lists those of 0 to n-1.
func permutations(n int) (list [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, p := range permutations(n - 1) {
		for i := range n {
			list = append(list, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return list
}
