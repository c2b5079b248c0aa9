package onnx_test

import (
	"math"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

func TestReduce(t *testing.T) {
	x, cube := counted(2, 3), counted(2, 2, 3)
	one := func(in ...*run.Tensor) []*run.Tensor { return in }
	flat := intAttr("keepdims", 0)
	big := ints64([]int{2}, 1<<53, 1)
	checkNodes(t, []nodeCase{
		{"rows", node("ReduceSum", "a b", "y"), one(x, list64(1)), []int{2, 1}, []float64{3, 12}, nil},
		{"columns", node("ReduceMean", "a b", "y", flat), one(x, list64(0)), []int{3}, []float64{1.5, 2.5, 3.5}, nil},
		{"axes apart", node("ReduceSum", "a b", "y", flat), one(cube, list64(0, -1)), []int{2}, []float64{24, 42}, nil},
		{"all", node("ReduceMax", "a", "y", flat), one(cube), []int{}, []float64{11}, nil},
		{"no axes", node("ReduceSumSquare", "a b", "y", intAttr("noop_with_empty_axes", 1)), one(x, list64()), []int{2, 3}, []float64{0, 1, 4, 9, 16, 25}, nil},
		{"whole numbers", node("ReduceSum", "a", "y", flat), one(big), []int{}, []float64{1<<53 + 1}, nil},
		{"doubles", node("ReduceL2", "a", "y", flat), one(convert(t, x, onnx.Double)), []int{}, []float64{math.Sqrt(55)}, nil},
		{"nothing", node("ReduceMin", "a b", "y", flat), one(floats([]int{2, 0}), list64(1)), []int{2}, []float64{math.Inf(1), math.Inf(1)}, nil},
		{"logarithm", node("ReduceLogSumExp", "a b", "y", flat), one(floats([]int{1, 2}, 1000, 1000), list64(1)), []int{1}, []float64{1000 + math.Ln2}, nil},
		{"product", node("ReduceProd", "a b", "y", flat), one(x, list64(0)), []int{3}, []float64{0, 4, 10}, nil},
		{"sum of absolutes", node("ReduceL1", "a", "y", flat), one(floats([]int{3}, -1, 2, -3)), []int{}, []float64{6}, nil},
		{"no such axis", node("ReduceSum", "a b", "y"), one(x, list64(2)), nil, nil, onnx.ErrFormat},
		{"largest", node("ArgMax", "a", "y", intAttr("axis", 1), flat), one(floats([]int{2, 3}, 1, 5, 5, 9, 2, 3)), []int{2}, []float64{1, 0}, nil},
		{"last of the largest", node("ArgMax", "a", "y", intAttr("axis", 1), intAttr("select_last_index", 1)), one(floats([]int{2, 3}, 1, 5, 5, 9, 2, 3)), []int{2, 1}, []float64{2, 0}, nil},
		{"smallest", node("ArgMin", "a", "y"), one(floats([]int{2, 2}, 1, 5, 0, 9)), []int{1, 2}, []float64{1, 0}, nil},
		{"running", node("CumSum", "a b", "y"), one(x, ints64(nil, 1)), []int{2, 3}, []float64{0, 1, 3, 3, 7, 12}, nil},
		{"running back", node("CumSum", "a b", "y", intAttr("reverse", 1), intAttr("exclusive", 1)), one(x, ints64(nil, 1)), []int{2, 3}, []float64{3, 2, 0, 9, 5, 0}, nil},
		{"running product", node("CumProd", "a b", "y", intAttr("exclusive", 1)), one(list64(2, 3, 4), ints64(nil, 0)), []int{3}, []float64{1, 2, 6}, nil},
		{"hard", node("Hardmax", "a", "y"), one(floats([]int{2, 3}, 1, 5, 5, 9, 2, 3)), []int{2, 3}, []float64{0, 1, 0, 1, 0, 0}, nil},
	})
}

// TestReduceLong compares sums that are spread over the pool with double ones.
func TestReduceLong(t *testing.T) {
	x := counted(3, 70, 500)
	for i := range x.F {
		x.F[i] = float32(math.Sin(float64(i)))
	}
	for _, name := range []string{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"} {
		for _, axes := range [][]int64{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}} {
			got, err := runNode(t, node(name, "a b", "y"), run.Options{}, x, list64(axes...))
			if err != nil {
				t.Fatal(err)
			}
			want, err := runNode(t, node(name, "a b", "y"), run.Options{}, convert(t, x, onnx.Double), list64(axes...))
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range want.D {
				if d := math.Abs(float64(got.F[i]) - w); !(d <= 1e-3*math.Max(1, math.Abs(w))) {
					t.Fatalf("%s of axes %d: element %d is %v, want %v", name, axes, i, got.F[i], w)
				}
			}
		}
	}
}
