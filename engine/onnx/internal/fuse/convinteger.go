package fuse

import (
	"slices"

	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// int8Conv finds what quantize_dynamic makes of a convolution: one of integers, made floats,
// times the scales of both sides, plus the bias.
func (g *group) int8Conv(n *onnx.Node) bool {
	for _, in := range pair(n) {
		if !g.start(n, "Add") {
			break
		}
		b := g.constant(in[1])
		if b == nil || b.Type != onnx.Float {
			continue
		}
		if mul := g.take(in[0], "Mul"); mul != nil && g.int8Filters(mul, in[1], b) {
			return true
		}
	}
	return g.start(n, "Mul") && g.int8Filters(n, "", nil)
}

func (g *group) int8Filters(mul *onnx.Node, name string, bias *tensor.Tensor) bool {
	base := slices.Clone(g.nodes)
	for _, in := range pair(mul) {
		g.nodes = append(g.nodes[:0], base...)
		cast := g.take(in[0], "Cast")
		if cast == nil || cast.Attrs["to"] == nil || cast.Attrs["to"].I != int64(onnx.Float) {
			continue
		}
		conv := g.take(cast.Inputs[0], "ConvInteger")
		if conv == nil || len(conv.Inputs) < 2 {
			continue
		}
		w := g.constant(conv.Inputs[1])
		if w == nil || len(w.Shape) < 3 || bias != nil && !ofChannels(bias.Shape, w.Shape) {
			continue
		}
		inputs := append(slices.Clone(conv.Inputs), "", "")[:4]
		return g.replace("convolution of bytes", append(inputs, in[1], name), g.nodes[0].Outputs, func(c *run.Call) []*tensor.Tensor {
			scale := c.In[4]
			if scale == nil || scale.Type != onnx.Float || scale.Len() != 1 || len(scale.Shape) > 1 {
				return nil
			}
			var add []float32
			if name != "" {
				add = c.In[5].F
			}
			return run.One(quantised.ConvFloats(c, conv, scale.F, add))
		})
	}
	return false
}

// ofChannels reports whether a tensor has a number for each filter of w, and is broadcast
// over the rest of their results.
func ofChannels(shape, w []int) bool {
	for len(shape) > len(w)-1 && shape[0] == 1 {
		shape = shape[1:]
	}
	if len(shape) != len(w)-1 || shape[0] != w[0] {
		return false
	}
	return !slices.ContainsFunc(shape[1:], func(d int) bool { return d != 1 })
}
