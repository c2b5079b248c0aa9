package model_test

import (
	"slices"
	"strings"
	"testing"

	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// TestFusedExperts: gate and up in one tensor are read where they lie, with the bits of two.
func TestFusedExperts(t *testing.T) {
	apart := open(t, "testdata/qwen3moe.gguf")
	fused := &weights.Set{Source: apart.Source, Meta: apart.Meta}
	both := map[string]*weights.Tensor{}
	for w := range apart.All() {
		name, gate := strings.CutSuffix(w.Name, "ffn_gate_exps.weight")
		if strings.HasSuffix(w.Name, "ffn_up_exps.weight") {
			continue
		}
		if !gate {
			if err := fused.Add(w); err != nil {
				t.Fatal(err)
			}
			continue
		}
		up, ok := apart.Tensor(name + "ffn_up_exps.weight")
		if !ok || up.Type != w.Type {
			t.Fatalf("%s without its twin", w.Name)
		}
		x := &weights.Tensor{Name: name + "ffn_gate_up_exps.weight", Type: w.Type, Shape: []int{w.Shape[0], 2 * w.Shape[1], w.Shape[2]}}
		n := w.Size() / w.Shape[0]
		for e := range w.Shape[0] {
			x.Data = slices.Concat(x.Data, w.Data[e*n:(e+1)*n], up.Data[e*n:(e+1)*n])
		}
		both[x.Name] = x
		if err := fused.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	tokens := []int32{5, 9, 2, 40, 7, 7, 31}
	want := newRunner(t, apart, quant.F32).feed(tokens, 2, 6)
	for i, row := range newRunner(t, fused, quant.F32).feed(tokens, 2, 6) {
		if !slices.Equal(row, want[i]) {
			t.Errorf("row %d: other logits than of two tensors", i)
		}
	}
	// Nothing of it is copied.
	b := graph.NewBuilder(1, 1)
	m := openModel(t, fused)
	p, err := b.Compile(model.LM.Logits(m, b, m.Hidden(b)))
	if err != nil {
		t.Fatal(err)
	}
	layers := 0
	for _, s := range p.Steps {
		o, ok := s.Op.(graph.Experts)
		if !ok {
			continue
		}
		layers++
		x := both[strings.Replace(o.Gate.Name, "ffn_gate_exps", "ffn_gate_up_exps", 1)]
		if x == nil || &o.Gate.Data[0] != &x.Data[0] || &o.Up.Data[len(o.Up.Data)-1] != &x.Data[len(x.Data)-1] {
			t.Errorf("%s is not read where it lies", o.Gate.Name)
		}
	}
	if layers != len(both) || layers == 0 {
		t.Errorf("%d layers of experts of %d", layers, len(both))
	}
}
