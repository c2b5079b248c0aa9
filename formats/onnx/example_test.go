package onnx_test

import (
	"fmt"
	"log"

	"quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

func ExampleParse() {
	b := onnxtest.New(21)
	b.Output("y", b.Node("Relu", []string{b.Input("x", onnx.Float, "batch", 3)}), onnx.Float, "batch", 3)
	m, err := onnx.Parse(b.Bytes(), nil) // onnx.Open reads a file, and its data beside it
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, n := range m.Graph.Nodes {
		fmt.Println(n.Op, len(n.Inputs), len(n.Outputs))
	}
	fmt.Println(m.Graph.Inputs[0].Name, m.Graph.Inputs[0].Type.Elem, m.Opsets[""])
	// Output:
	// Relu 1 1
	// Identity 1 1
	// x float 21
}
