package onnx_test

import (
	"errors"
	"runtime"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// TestLimits asks small models for large results: the limit must stop them
// before the memory is taken.
func TestLimits(t *testing.T) {
	column, row := make([]float32, 1<<13), make([]float32, 1<<13)
	x, y := run.NewFloats([]int{1 << 13, 1}, column), run.NewFloats([]int{1, 1 << 13}, row)
	picture := floats([]int{1, 1, 1, 1}, 1)
	for _, tt := range []struct {
		node *onnx.Node
		in   []*run.Tensor
	}{
		{node("ConstantOfShape", "a", "y"), []*run.Tensor{ints64([]int{1}, 1<<27)}},
		{node("Range", "a b c", "y"), []*run.Tensor{ints64(nil, 0), ints64(nil, 1<<27), ints64(nil, 1)}},
		{node("Expand", "a b", "y"), []*run.Tensor{floats([]int{1}, 1), ints64([]int{1}, 1<<27)}},
		{node("Tile", "a b", "y"), []*run.Tensor{floats([]int{1}, 1), ints64([]int{1}, 1<<27)}},
		{node("Pad", "a b", "y"), []*run.Tensor{floats([]int{1}, 1), ints64([]int{2}, 0, 1<<27)}},
		{node("CenterCropPad", "a b", "y"), []*run.Tensor{floats([]int{1}, 1), ints64([]int{1}, 1<<27)}},
		{node("OneHot", "a b c", "y"), []*run.Tensor{ints64([]int{1}, 0), ints64(nil, 1<<27), floats([]int{2}, 0, 1)}},
		{node("RandomUniform", "", "y", listAttr("shape", 1<<27)), nil},
		{node("Multinomial", "a", "y", intAttr("sample_size", 1<<27)), []*run.Tensor{floats([]int{1, 2}, 1, 1)}},
		{node("Add", "a b", "y"), []*run.Tensor{x, y}},
		{node("MatMul", "a b", "y"), []*run.Tensor{x, y}},
		{node("Gather", "a b", "y"), []*run.Tensor{y, run.NewInts([]int{1 << 15}, make([]int64, 1<<15))}},
		{node("Resize", "a _ _ b", "y"), []*run.Tensor{picture, ints64([]int{4}, 1, 1, 1<<13, 1<<13)}},
		{node("Resize", "a _ _ b", "y"), []*run.Tensor{picture, ints64([]int{4}, 1, 1, 1<<27, 1)}},
		{node("HannWindow", "a", "y"), []*run.Tensor{ints64(nil, 1<<27)}},
		{node("DFT", "a b", "y"), []*run.Tensor{floats([]int{1, 1, 1}, 1), ints64(nil, 1<<15)}},
		{node("Einsum", "a b", "y", &onnx.Attr{Name: "equation", S: "ij,kl->il"}), []*run.Tensor{x, y}},
	} {
		t.Run(tt.node.Op, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := runNode(t, tt.node, run.Options{Limit: 1 << 20}, tt.in...)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, run.ErrMemory) && !errors.Is(err, onnx.ErrUnsupported) {
				t.Errorf("error %v, want ErrMemory", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
				t.Errorf("%d MB allocated past a limit of 1", took>>20)
			}
		})
	}
}
