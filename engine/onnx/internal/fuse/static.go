package fuse

import (
	"slices"

	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// Static quantisation leaves products as they are, and writes a DequantizeLinear before each of
// their operands. With bytes on both sides they are products of integers, times the scales.

// apart gives products whose operands are dequantised a DequantizeLinear of their own, so that it
// can become a part of a step, and drops those that nothing reads any more.
func apart(b *run.Body) {
	made, read := run.Makers(b.Nodes), make(map[string]int)
	for _, n := range b.Nodes {
		run.Reads(n, func(name string) { read[name]++ })
	}
	var all []*onnx.Node
	for _, n := range b.Nodes {
		if run.OfBytes(n, made) {
			c := *n
			c.Inputs = slices.Clone(n.Inputs)
			for i, name := range c.Inputs[:2] {
				if read[name] > 1 {
					own := *made[name]
					c.Inputs[i] = name + " for " + n.Outputs[0]
					own.Outputs = []string{c.Inputs[i]}
					read[name]--
					all = append(all, &own)
				}
			}
			n = &c
		}
		all = append(all, n)
	}
	for _, name := range b.Outputs {
		read[name]++
	}
	b.Nodes = slices.DeleteFunc(all, func(n *onnx.Node) bool {
		return n.Domain == "" && n.Op == "DequantizeLinear" && made[n.Outputs[0]] == n && read[n.Outputs[0]] == 0
	})
}

// bytes takes the DequantizeLinear that makes name, whose scale and zero point are constants. A
// scale for each index of an axis is one of axis.
func (g *group) bytes(name string, axis int) *onnx.Node {
	n := g.take(name, "DequantizeLinear")
	if n == nil || len(n.Inputs) < 2 || n.Attrs["block_size"] != nil && n.Attrs["block_size"].I != 0 || n.Attrs["output_dtype"] != nil {
		return nil
	}
	scale := g.constant(n.Inputs[1])
	if scale == nil || scale.Type != onnx.Float {
		return nil
	}
	if scale.Len() != 1 {
		at := int64(1)
		if n.Attrs["axis"] != nil {
			at = n.Attrs["axis"].I
		}
		if axis < 0 || at != int64(axis) || len(scale.Shape) != 1 {
			return nil
		}
	}
	zero := third(n)
	if z := g.constant(zero); zero != "" && (z == nil || z.Type != onnx.Int8 && z.Type != onnx.Uint8 || z.Len() != scale.Len()) {
		return nil
	}
	return n
}

// third is the third input of a node that has two at least, "" where it is left out: the zero point of
// a DequantizeLinear, the bias of a convolution.
func third(n *onnx.Node) string { return append(slices.Clone(n.Inputs), "")[2] }

// weights are those of a product or a convolution: a constant of bytes of rank, or more than 2
// where rank is 0, with scales along axis.
func (g *group) weights(name string, rank, axis int) (*onnx.Node, *tensor.Tensor) {
	n := g.bytes(name, axis)
	if n == nil {
		return nil, nil
	}
	w := g.constant(n.Inputs[0])
	if w == nil || w.Type != onnx.Int8 && w.Type != onnx.Uint8 || w.Len() == 0 || rank > 0 && len(w.Shape) != rank || rank == 0 && len(w.Shape) < 3 {
		return nil, nil
	}
	if scale := g.constant(n.Inputs[1]); scale.Len() != 1 && scale.Len() != w.Shape[axis] {
		return nil, nil
	}
	return n, w
}

// staticLinear finds x · W of bytes, perhaps with a bias of floats.
func (g *group) staticLinear(n *onnx.Node) bool {
	for _, in := range pair(n) {
		if !g.start(n, "Add") {
			break
		}
		b := g.constant(in[1])
		if b == nil || b.Type != onnx.Float || len(b.Shape) != 1 {
			continue
		}
		if m := g.take(in[0], "MatMul"); m != nil && g.staticProduct(m, in[1], b.Len()) {
			return true
		}
	}
	return g.start(n, "MatMul") && g.staticProduct(n, "", 0)
}

func (g *group) staticProduct(m *onnx.Node, bias string, n int) bool {
	if len(m.Inputs) != 2 {
		return false
	}
	x := g.bytes(m.Inputs[0], -1)
	if x == nil {
		return false
	}
	by, w := g.weights(m.Inputs[1], 2, 1)
	if w == nil || bias != "" && w.Shape[1] != n {
		return false
	}
	return g.layer([]string{x.Inputs[0], by.Inputs[0], x.Inputs[1], by.Inputs[1], third(x), third(by), bias}, &layer{int8s: true})
}

// staticConv finds a convolution of bytes, whose bias is of floats by now.
func (g *group) staticConv(n *onnx.Node) bool {
	if !g.start(n, "Conv") || len(n.Inputs) < 2 {
		return false
	}
	x := g.bytes(n.Inputs[0], -1)
	if x == nil {
		return false
	}
	by, w := g.weights(n.Inputs[1], 0, 0)
	bias := third(n)
	if b := g.constant(bias); w == nil || bias != "" && (b == nil || b.Type != onnx.Float) {
		return false
	}
	inputs := []string{x.Inputs[0], by.Inputs[0], third(x), third(by), x.Inputs[1], by.Inputs[1], bias}
	return g.replace("convolution of bytes", inputs, n.Outputs, func(c *run.Call) []*tensor.Tensor {
		if t := c.In[0].Type; t != onnx.Int8 && t != onnx.Uint8 {
			return nil
		}
		scales := slices.Clone(c.In[5].F)
		for i := range scales {
			scales[i] *= c.In[4].F[0]
		}
		var add []float32
		if c.In[6] != nil {
			add = c.In[6].F
		}
		return run.One(quantised.ConvFloats(c, n, scales, add))
	})
}
