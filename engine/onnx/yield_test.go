package onnx_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"quern/engine/cpu"
	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// TestYield lets a graph that never ends hold a backend's pool: another user
// must get its turn, and the graph must go on afterwards.
func TestYield(t *testing.T) {
	body := &onnx.Graph{
		Nodes:   []*onnx.Node{node("Identity", "go", "on"), node("MatMul", "x w", "y")},
		Inputs:  anything("i go x"),
		Outputs: anything("on y"),
	}
	g := &onnx.Graph{
		Nodes:   []*onnx.Node{node("Loop", "n on a", "b", graphAttr("body", body))},
		Inputs:  []onnx.Value{value("n", onnx.Int64), value("on", onnx.Bool), value("a", onnx.Float, 64, 64), value("w", onnx.Float, 64, 64)},
		Outputs: anything("b"),
	}
	w := make([]float32, 64*64)
	for i := range 64 {
		w[i*64+i] = 1
	}
	in := map[string]*run.Tensor{
		"n": ints64(nil, math.MaxInt64), "on": convert(t, ints64(nil, 1), onnx.Bool), "a": run.NewFloats([]int{64, 64}, w), "w": run.NewFloats([]int{64, 64}, w),
	}
	backend := cpu.Open(2)
	defer backend.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns, began, ended := 0, make(chan bool), make(chan error)
	go func() {
		ended <- backend.Do(ctx, func(pool *threads.Pool, yield func()) {
			s, err := run.New(&onnx.Model{Graph: g, Opsets: map[string]int64{"": 21}}, run.Options{Pool: pool, Yield: yield})
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
