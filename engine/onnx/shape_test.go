package onnx_test

import (
	"errors"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// TestShapes runs the operators every exported model computes shapes with.
func TestShapes(t *testing.T) {
	x := floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	cube := floats([]int{2, 1, 3}, 1, 2, 3, 4, 5, 6)
	list := func(v ...int64) *run.Tensor { return ints64([]int{len(v)}, v...) }
	for _, tt := range []struct {
		name  string
		node  *onnx.Node
		in    []*run.Tensor
		shape []int
		want  []float64
		err   error
	}{
		{"shape", node("Shape", "a", "y", intAttr("start", -1)), []*run.Tensor{x}, []int{1}, []float64{3}, nil},
		{"size", node("Size", "a", "y"), []*run.Tensor{x}, []int{}, []float64{6}, nil},
		{"reshape", node("Reshape", "a b", "y"), []*run.Tensor{cube, list(0, -1)}, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}, nil},
		{"reshape that does not fit", node("Reshape", "a b", "y"), []*run.Tensor{x, list(4, -1)}, nil, nil, onnx.ErrFormat},
		{"reshape of a dimension that is not there", node("Reshape", "a b", "y"), []*run.Tensor{x, list(1, 1, 0)}, nil, nil, onnx.ErrFormat},
		{"flatten", node("Flatten", "a", "y", intAttr("axis", -1)), []*run.Tensor{cube}, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}, nil},
		{"squeeze", node("Squeeze", "a", "y"), []*run.Tensor{cube}, []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}, nil},
		{"squeeze of 2", node("Squeeze", "a b", "y"), []*run.Tensor{cube, list(0)}, nil, nil, onnx.ErrFormat},
		{"unsqueeze", node("Unsqueeze", "a b", "y"), []*run.Tensor{x, list(-1, 0)}, []int{1, 2, 3, 1}, []float64{1, 2, 3, 4, 5, 6}, nil},
		{"unsqueeze twice", node("Unsqueeze", "a b", "y"), []*run.Tensor{x, list(0, 0)}, nil, nil, onnx.ErrFormat},
		{"transpose", node("Transpose", "a", "y"), []*run.Tensor{x}, []int{3, 2}, []float64{1, 4, 2, 5, 3, 6}, nil},
		{"transpose of three", node("Transpose", "a", "y", listAttr("perm", 2, 0, 1)), []*run.Tensor{cube}, []int{3, 2, 1}, []float64{1, 4, 2, 5, 3, 6}, nil},
		{"no permutation", node("Transpose", "a", "y", listAttr("perm", 1, 1)), []*run.Tensor{x}, nil, nil, onnx.ErrFormat},
		{"concat", node("Concat", "a b", "y", intAttr("axis", 1)), []*run.Tensor{x, x}, []int{2, 6}, []float64{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}, nil},
		{"slice", node("Slice", "a b c d", "y"), []*run.Tensor{x, list(1), list(9), list(1)}, []int{2, 2}, []float64{2, 3, 5, 6}, nil},
		{"slice backwards", node("Slice", "a b c d e", "y"), []*run.Tensor{x, list(-1, -1), list(-99, -99), list(0, 1), list(-1, -2)}, []int{2, 2}, []float64{6, 4, 3, 1}, nil},
		{"slice by more than there is", node("Slice", "a b c d e", "y"), []*run.Tensor{x, list(0), list(9), list(1), list(1 << 62)}, []int{2, 1}, []float64{1, 4}, nil},
		{"slice of nothing", node("Slice", "a b c d", "y"), []*run.Tensor{x, list(2), list(1), list(1)}, []int{2, 0}, nil, nil},
		{"slice by 0", node("Slice", "a b c d e", "y"), []*run.Tensor{x, list(0), list(9), list(1), list(0)}, nil, nil, onnx.ErrFormat},
		{"split", node("Split", "a b", "_ y", intAttr("axis", 1)), []*run.Tensor{x, list(1, 2)}, []int{2, 2}, []float64{2, 3, 5, 6}, nil},
		{"split of too much", node("Split", "a b", "_ y", intAttr("axis", 1)), []*run.Tensor{x, list(2, 2)}, nil, nil, onnx.ErrFormat},
		{"gather", node("Gather", "a b", "y", intAttr("axis", 1)), []*run.Tensor{x, list(-1, 0)}, []int{2, 2}, []float64{3, 1, 6, 4}, nil},
		{"gather by a scalar", node("Gather", "a b", "y"), []*run.Tensor{x, ints64(nil, 1)}, []int{3}, []float64{4, 5, 6}, nil},
		{"gather beyond", node("Gather", "a b", "y"), []*run.Tensor{x, list(2)}, nil, nil, onnx.ErrFormat},
		{"expand", node("Expand", "a b", "y"), []*run.Tensor{cube, list(2, 1)}, []int{2, 2, 3}, []float64{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}, nil},
		{"expand that does not fit", node("Expand", "a b", "y"), []*run.Tensor{x, list(2, 2)}, nil, nil, onnx.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y, err := runNode(t, tt.node, run.Options{}, tt.in...)
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
