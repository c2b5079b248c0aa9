package cuda

import (
	"reflect"
	"testing"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/graph/graphtest"
	"quern/kernels/cuda/driver"
)

// The contract holds for one device and for two, with all layers there or none.
func TestBackend(t *testing.T) {
	for _, tt := range []struct {
		name    string
		layers  int
		devices []int
	}{
		{"one device", AllLayers, []int{0}},
		{"two devices", AllLayers, []int{0, 1}},
		{"no layers", 0, []int{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := driver.NewFake(2, gigabyte)
			f.Parse = parse
			graphtest.Backend(t, func(t *testing.T) graph.Backend {
				b, err := Open(Options{Driver: f, Devices: tt.devices, Layers: tt.layers, Host: cpu.Open(1)})
				if err != nil {
					t.Fatal(err)
				}
				return b
			})
			if live := f.Live(); len(live) > 0 {
				t.Errorf("not released: %v", live)
			}
		})
	}
}

// What has a row is an op of package graph, and ops without one are of encoders and of
// decoders beside them, of adapters, and those of families that run on the CPU only so far.
func TestOps(t *testing.T) {
	known, missing := 0, []string(nil)
	for _, op := range graph.Ops() {
		if _, ok := ops[reflect.TypeOf(op)]; ok {
			known++
		} else {
			missing = append(missing, reflect.TypeOf(op).Name())
		}
	}
	if known != len(ops) || len(missing) != 16 {
		t.Errorf("%d rows, of which %d are of ops; no rows for %v", len(ops), known, missing)
	}
}
