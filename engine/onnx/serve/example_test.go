package serve_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"quern/engine/onnx/serve"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// A graph tells what it takes, gives and is made of.
func Example() {
	b := onnxtest.New(17)
	b.Output("y", b.Node("Sin", []string{b.Input("x", fonnx.Float, "batch", 4)}), fonnx.Float, "batch", 4)
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "sin.onnx")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		log.Fatal(err)
	}
	info, err := serve.Describe(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Inputs, info.Outputs, info.Operators, info.Problem)
	fmt.Println(info.Serve)
	// Output:
	// [{x float (batch, 4)}] [{y float (batch, 4)}] [{Identity 1} {Sin 1}] <nil>
	// unsupported model: no config.json beside the ONNX graph; "quern run-onnx" runs graphs by themselves
}
