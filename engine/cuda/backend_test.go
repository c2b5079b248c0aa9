package cuda

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/engine/graph/graphtest"
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
			if len(tt.devices) == 1 && tt.layers == AllLayers && !fixtures.Whole {
				t.Skip("two devices do as much, on either")
			}
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

// What has a row is an op of package graph, and ops without one are of encoders of sound and of
// decoders beside them, and of rows of several streams.
func TestOps(t *testing.T) {
	known, missing := 0, []string(nil)
	for _, op := range graph.Ops() {
		if _, ok := ops[reflect.TypeOf(op)]; ok {
			known++
		} else {
			missing = append(missing, reflect.TypeOf(op).Name())
		}
	}
	if known != len(ops) || len(missing) != 9 {
		t.Errorf("%d rows, of which %d are of ops; no rows for %v", len(ops), known, missing)
	}
}

// Layers of unlike heads lie one after the other.
func TestUnlikeLayers(t *testing.T) {
	fixtures.Interpreter(t)
	r := rand.New(rand.NewPCG(11, 5))
	g := graph.NewBuilder(8, 2)
	x := g.Embed(g.Tokens(), tensor(r, "embed", quant.F32, vocab, 64))
	for i, dim := range []int{32, 64, 32} {
		of := func(name string) graph.Value { return g.Linear(x, tensor(r, name, quant.F32, 64, 64), nil) }
		x = g.Attention(of("q"), of("k"), of("v"), graph.Attention{Layer: i, Heads: 64 / dim, KVHeads: 64 / dim, HeadDim: dim, Scale: 0.3})
	}
	p, err := g.Compile(g.Linear(g.Take(x, g.Wanted()), tensor(r, "out", quant.F32, vocab, 64), nil))
	if err != nil {
		t.Fatal(err)
	}
	tables := [][]int32{{2, 0}, {1, 3}}
	var batches []*graph.Batch
	for i := range 3 {
		at := int32(2 * i)
		batches = append(batches, &graph.Batch{
			Tokens: []int32{5, int32(i), 7, 8}, Positions: []int32{at, at + 1, at, at + 1}, Seq: []int32{0, 0, 1, 1}, Tables: tables, Want: []int32{1, 3},
		})
	}
	spec := p.CacheSpec(4, 4, 1, quant.F16)
	compare(t, open(t, fake(75), AllLayers), p, spec, batches, 1e-3)
	whole, err := open(t, fake(75), AllLayers).NewCache(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if whole.Bytes() != spec.Bytes() {
		t.Errorf("%d bytes, want %d", whole.Bytes(), spec.Bytes())
	}
}

// The cache of a Program that runs on the processor moves there, states and all.
func TestStatesOnTheProcessor(t *testing.T) {
	for _, layers := range []int{AllLayers, 0} {
		b := open(t, driver.NewFake(1, gigabyte), layers, 0)
		kv, err := b.NewCache(graph.CacheSpec{Layers: graph.Alike(2, 1, 64), Blocks: 4, BlockSize: 4, Type: quant.F16, State: 2, States: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := (hostExec{}).Place(kv); err != nil {
			t.Fatal(err)
		}
		c, got := kv.(graph.Portable), make([]byte, 8)
		if err := c.WriteState(0, []byte{1, 2, 3, 4, 5, 6, 7, 8}); err != nil {
			t.Fatal(err)
		}
		c.CopyState(2, 0)
		if err := c.ReadState(got, 2); err != nil || got[7] != 8 {
			t.Errorf("%d layers on the device: a copy of states is %v, %v", layers, got, err)
		}
		if c.ReadState(got[:7], 2) == nil || c.WriteState(0, got[:7]) == nil {
			t.Error("seven bytes are taken for states of eight")
		}
		kv.Close()
	}
}
