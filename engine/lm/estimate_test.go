package lm

import (
	"testing"

	"quern/engine/graph"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// TestMixtureBuffers: layers of experts work in one room, which is counted once, as large as the
// largest of them takes.
func TestMixtureBuffers(t *testing.T) {
	stack := func(t quant.Type, shape ...int) *weights.Tensor { return &weights.Tensor{Type: t, Shape: shape} }
	layer := func(ff int) graph.Experts {
		return graph.Experts{Gate: stack(quant.F32, 8, ff, 64), Up: stack(quant.F32, 8, ff, 64), Down: stack(quant.F16, 8, 64, ff), Routing: graph.Routing{Used: 2}}
	}
	ungated := layer(512)
	ungated.Gate = nil
	p := &graph.Program{Rows: 10, Buffers: []int{3, 5}, Steps: []graph.Step{
		{Op: layer(128)}, {Op: graph.AdaptedExperts{Experts: layer(256)}}, {Op: layer(256)},
	}}
	// Of a slot: 64 in, 256 each of gate, up and what Down takes, 64 out.
	if got, want := buffers(p), int64(4*(3+5)+10*2*4*(64+3*256+64)); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	p.Steps = append(p.Steps, graph.Step{Op: ungated})
	if got, want := buffers(p), int64(4*(3+5)+10*2*4*(64+2*512+64)); got != want {
		t.Errorf("%d bytes with a layer without gate, want %d", got, want)
	}
}
