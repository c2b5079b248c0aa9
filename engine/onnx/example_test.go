package onnx_test

import (
	"context"
	"fmt"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

func Example() {
	// onnx.Open(path) reads a model; this one is y = x + x.
	m := &onnx.Model{
		Opsets: map[string]int64{"": 21},
		Graph: &onnx.Graph{
			Nodes:   []*onnx.Node{{Op: "Add", Inputs: []string{"x", "x"}, Outputs: []string{"y"}}},
			Inputs:  []onnx.Value{{Name: "x", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}}},
			Outputs: []onnx.Value{{Name: "y", Type: onnx.Type{Kind: onnx.KindTensor, Elem: onnx.Float}}},
		},
	}
	pool := threads.NewPool(2)
	defer pool.Close()
	s, err := run.New(m, run.Options{Pool: pool})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range s.Inputs() {
		fmt.Println(in.Name, in.Type.Elem)
	}
	out, err := s.Run(context.Background(), map[string]*run.Tensor{"x": run.NewFloats([]int{1, 2}, []float32{1, 2})})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out["y"].Shape, out["y"].F)
	// Output:
	// x float
	// [1 2] [2 4]
}
