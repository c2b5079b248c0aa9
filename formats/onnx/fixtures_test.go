package onnx_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"quern/bench/fixtures"
	"quern/formats/onnx"
)

// TestConformanceModels opens every model of ONNX's backend test suite.
func TestConformanceModels(t *testing.T) {
	read, unsupported := 0, 0
	ops := make(map[string]int)
	err := filepath.WalkDir(fixtures.Path(t, "onnx"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "model.onnx" {
			return err
		}
		m, err := onnx.Open(path)
		switch {
		case errors.Is(err, onnx.ErrUnsupported):
			unsupported++
			t.Logf("%s: %v", path, err)
			return nil
		case err != nil:
			t.Errorf("%s: %v", path, err)
			return nil
		}
		read++
		if len(m.Graph.Nodes) == 0 || len(m.Graph.Outputs) == 0 || len(m.Opsets) == 0 {
			t.Errorf("%s: %d nodes, %d outputs, %d operator sets", path, len(m.Graph.Nodes), len(m.Graph.Outputs), len(m.Opsets))
		}
		seen := make(map[string]bool)
		for _, n := range m.Graph.Nodes {
			seen[n.Op] = true
		}
		for op := range seen {
			ops[op]++
		}
		return m.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d models read, %d refused, %d operators", read, unsupported, len(ops))
	if read < 1400 || unsupported > 0 {
		t.Errorf("%d models read, %d refused; want 1400 or more, 0", read, unsupported)
	}
}

// TestConformanceTensors reads the inputs and outputs of the suite and holds
// each against the type its model declares. Sequences and optionals are other
// messages and are left out.
func TestConformanceTensors(t *testing.T) {
	models, err := filepath.Glob(filepath.Join(fixtures.Path(t, "onnx"), "*", "*", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	read, other := make(map[onnx.DType]int), 0
	for _, path := range models {
		m, err := onnx.Open(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for prefix, values := range map[string][]onnx.Value{"input": m.Graph.Inputs, "output": m.Graph.Outputs} {
			for i, v := range values {
				if v.Type.Kind != onnx.KindTensor {
					other++
					continue
				}
				name := filepath.Join(filepath.Dir(path), "test_data_set_0", fmt.Sprintf("%s_%d.pb", prefix, i))
				data, err := os.ReadFile(name)
				if errors.Is(err, fs.ErrNotExist) {
					continue // an initializer gives the value
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := onnx.ParseTensor(data)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if got.Type != v.Type.Elem || v.Type.Dims != nil && len(got.Shape) != len(v.Type.Dims) {
					t.Errorf("%s: %v of shape %d, want %v of %v", name, got.Type, got.Shape, v.Type.Elem, v.Type.Dims)
				}
				read[got.Type]++
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%v tensors by type, %d values that are none", read, other)
	for _, want := range []onnx.DType{onnx.Float, onnx.Float16, onnx.BFloat16, onnx.Float8E4M3FN, onnx.Float8E5M2, onnx.Int4, onnx.Uint4, onnx.Bool, onnx.String, onnx.Int64} {
		if read[want] == 0 {
			t.Errorf("no tensor of type %v was read", want)
		}
	}
}
