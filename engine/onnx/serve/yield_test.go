package serve

import (
	"context"
	"errors"
	"math"
	"testing"

	"quern/engine/cpu"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/threads"
)

// TestYield lets a graph that never ends hold a backend's pool: another user
// must get its turn, and the graph must go on afterwards.
func TestYield(t *testing.T) {
	const n = 64
	nodes := func(list ...*fonnx.Node) []*fonnx.Node { return list }
	body := &fonnx.Graph{
		Nodes:   nodes(onnxtest.NewNode([]string{"on"}, "Identity", []string{"go"}), onnxtest.NewNode([]string{"y"}, "MatMul", []string{"x", "w"})),
		Inputs:  []fonnx.Value{onnxtest.Tensor("i", fonnx.Int64), onnxtest.Tensor("go", fonnx.Bool), onnxtest.Tensor("x", fonnx.Float, n, n)},
		Outputs: []fonnx.Value{onnxtest.Tensor("on", fonnx.Bool), onnxtest.Tensor("y", fonnx.Float, n, n)},
	}
	g := &fonnx.Graph{
		Nodes:   nodes(onnxtest.NewNode([]string{"b"}, "Loop", []string{"n", "on", "a"}, onnxtest.Body("body", body))),
		Inputs:  []fonnx.Value{onnxtest.Tensor("n", fonnx.Int64), onnxtest.Tensor("on", fonnx.Bool), onnxtest.Tensor("a", fonnx.Float, n, n), onnxtest.Tensor("w", fonnx.Float, n, n)},
		Outputs: []fonnx.Value{onnxtest.Tensor("b", fonnx.Float, n, n)},
	}
	w := make([]float32, n*n)
	for i := range n {
		w[i*n+i] = 1
	}
	on, err := onnx.NewInts(nil, []int64{1}).Convert(fonnx.Bool)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]*onnx.Tensor{
		"n": onnx.NewInts(nil, []int64{math.MaxInt64}), "on": on, "a": onnx.NewFloats([]int{n, n}, w), "w": onnx.NewFloats([]int{n, n}, w),
	}
	backend := cpu.Open(2)
	defer backend.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns, began, ended := 0, make(chan bool), make(chan error)
	go func() {
		ended <- backend.Do(ctx, func(pool *threads.Pool, yield func()) {
			s, err := onnx.New(&fonnx.Model{Graph: g, Opsets: map[string]int64{"": 21}}, onnx.Options{Pool: pool, Yield: yield})
			if err != nil {
				t.Error(err)
			}
			close(began)
			if _, err := s.Run(ctx, in); !errors.Is(err, context.Canceled) {
				t.Errorf("the graph ended with %v", err)
			}
		})
	}()
	<-began
	for range 3 {
		sum := make([]int, 100)
		if err := backend.Do(ctx, func(pool *threads.Pool, _ func()) {
			pool.Run(len(sum), &threads.Region{F: func(_, i int) { sum[i]++ }})
		}); err != nil {
			t.Fatal("no turn:", err)
		}
		for i, v := range sum {
			if v != 1 {
				t.Fatalf("chunk %d ran %d times", i, v)
			}
		}
		turns++
	}
	cancel()
	if err := <-ended; err != nil || turns != 3 {
		t.Errorf("%d turns, error %v", turns, err)
	}
}
