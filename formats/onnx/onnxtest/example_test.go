package onnxtest_test

import (
	"fmt"
	"log"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// A model of y = x + 1.
func Example() {
	b := onnxtest.New(21)
	x := b.Input("x", onnx.Float, 2)
	b.Output("y", b.Node("Add", []string{x, b.Floats([]int{1}, 1)}), onnx.Float, 2)
	m, err := onnx.Parse(b.Bytes(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Graph.Nodes[0].Op, m.Graph.Outputs[0].Name)
	// Output:
	// Add y
}
