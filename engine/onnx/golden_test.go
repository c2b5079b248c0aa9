package onnx_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
	"quern/kernels/threads"
)

// A golden is a random graph with what onnxruntime-node 1.30.0 makes of it.
// `go run ./bench/onnx -check DIR -golden engine/onnx/testdata` writes them.
type golden struct {
	Model           []byte
	Inputs, Outputs map[string]struct {
		Type string
		Dims []int
		Data []byte
	}
	Loose float64
	Off   int64
}

// jsTypes are the names JavaScript has for element types.
var jsTypes = map[string]onnx.DType{
	"float32": onnx.Float, "float64": onnx.Double, "float16": onnx.Float16, "int64": onnx.Int64, "int32": onnx.Int32,
	"uint8": onnx.Uint8, "int8": onnx.Int8, "bool": onnx.Bool,
}

func TestGoldens(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no goldens", err)
	}
	p := threads.NewPool(2)
	defer p.Close()
	for _, path := range paths {
		for _, plain := range []bool{false, true} {
			name := filepath.Base(path)
			if plain {
				name += " without fusion"
			}
			t.Run(name, func(t *testing.T) { checkGolden(t, p, path, plain) })
		}
	}
}

func checkGolden(t *testing.T, p *threads.Pool, path string, plain bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	tensor := func(name string, typ string, dims []int, data []byte) *run.Tensor {
		v, err := run.FromFile(&onnx.Tensor{Name: name, Type: jsTypes[typ], Shape: dims, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	m, err := onnx.Parse(g.Model, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := run.New(m, run.Options{Pool: p, NoFusion: plain})
	if err != nil {
		t.Fatal(err)
	}
	in := make(map[string]*run.Tensor)
	for name, v := range g.Inputs {
		in[name] = tensor(name, v.Type, v.Dims, v.Data)
	}
	// Twice: the second run works in the buffers of the first.
	for range 2 {
		out, err := s.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range g.Outputs {
			compareGolden(t, name, out[name], tensor(name, v.Type, v.Dims, v.Data), g.Loose, float64(g.Off))
		}
	}
}

func compareGolden(t *testing.T, name string, got, want *run.Tensor, loose, off float64) {
	t.Helper()
	if got == nil || got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		t.Fatalf("%s: got %v, want %v of shape %d", name, got, want.Type, want.Shape)
	}
	a, err := got.Convert(onnx.Double)
	if err != nil {
		t.Fatal(err)
	}
	b, err := want.Convert(onnx.Double)
	if err != nil {
		t.Fatal(err)
	}
	mean := 0.0
	for _, v := range b.D {
		mean += v * v / float64(len(b.D))
	}
	for i, v := range b.D {
		limit := off
		if want.F != nil {
			limit = loose * (math.Abs(v) + math.Sqrt(mean))
		}
		if d := math.Abs(a.D[i] - v); !(d <= limit) {
			t.Fatalf("%s: element %d of shape %d is %g, want %g", name, i, want.Shape, a.D[i], v)
		}
	}
}
