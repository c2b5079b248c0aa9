package cuda

import (
	"reflect"
	"strings"
	"testing"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/graph/graphtest"
	"quern/formats/weights"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
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
	if known != len(ops) || len(missing) != 18 {
		t.Errorf("%d rows, of which %d are of ops; no rows for %v", len(ops), known, missing)
	}
}

// Layers of unlike heads are not for the devices: their Program and their cache are the
// host's.
func TestUnlikeLayers(t *testing.T) {
	f := driver.NewFake(1, gigabyte)
	f.Parse = parse
	b, err := Open(Options{Driver: f, Devices: []int{0}, Layers: -1, Host: cpu.Open(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	g := graph.NewBuilder(1, 1)
	x := g.Embed(g.Tokens(), &weights.Tensor{Name: "embed", Type: quant.F32, Shape: []int{2, 64}, Data: make([]byte, 2*64*4)})
	spec := graph.CacheSpec{Layers: 2, Blocks: 1, BlockSize: 1, Type: quant.F16}
	for i, h := range []graph.CacheHeads{{KVHeads: 2, HeadDim: 32}, {KVHeads: 1, HeadDim: 64}} {
		spec.Heads = append(spec.Heads, h)
		x = g.Attention(x, x, x, graph.Attention{Layer: i, Heads: h.KVHeads, KVHeads: h.KVHeads, HeadDim: h.HeadDim, Scale: 1})
	}
	p, err := g.Compile(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := supported(p); err == nil || !strings.Contains(err.Error(), "1 key heads of 64 beside 2 of 32") {
		t.Errorf("error %v", err)
	}
	e, err := b.Compile(t.Context(), p, graph.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, err := b.NewCache(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := e.Run(t.Context(), &graph.Batch{Tokens: []int32{1}, Positions: []int32{0}, Seq: []int32{0}, Tables: [][]int32{{0}}}, c); err != nil {
		t.Error(err)
	}
}
