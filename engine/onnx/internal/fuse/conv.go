package fuse

import (
	"slices"

	"quern/engine/onnx/internal/ops/image"
	"quern/engine/onnx/internal/ops/norm"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// ended finds a convolution with what can be done to its results while they lie in caches: a
// batch normalization, an addition, a ReLU or an Abs behind it; before a filter of single
// points also a batch normalization with a ReLU. And a batch normalization with a ReLU alone.
func (g *group) ended(n *onnx.Node) bool {
	if !g.start(n, "Relu", "Abs", "BatchNormalization", "Conv") {
		return false
	}
	e, in := ending{floor: image.NoFloor}, n.Outputs[0]
	switch n.Op {
	case "Relu":
		e.floor, in = 0, n.Inputs[0]
	case "Abs":
		e.abs, in = true, n.Inputs[0]
	}
	if add := g.take(in, "Add"); add != nil && n.Op == "Relu" {
		base := slices.Clone(g.nodes)
		for _, terms := range pair(add) {
			g.nodes = append(g.nodes[:0], base...)
			with := e
			with.side = terms[1]
			if terms[0] != terms[1] && g.convolution(terms[0], with) {
				return true
			}
		}
		return false
	}
	return g.convolution(in, e) || n.Op == "Relu" && g.normRelu(n)
}

// An ending is what is done behind a convolution, as image.Ending has it.
type ending struct {
	by, add []float64
	side    string
	floor   float32
	abs     bool
}

// convolution replaces the group by the convolution that makes name, perhaps with a batch
// normalization behind it.
func (g *group) convolution(name string, e ending) bool {
	last := g.nodes[0]
	if norm := g.take(name, "BatchNormalization"); norm != nil {
		if e.by, e.add = g.batchNorm(norm); e.by == nil {
			return false
		}
		name = norm.Inputs[0]
	}
	conv := g.take(name, "Conv")
	if conv == nil || len(conv.Inputs) < 2 {
		return false
	}
	w := g.constant(conv.Inputs[1])
	if w == nil || w.Type != onnx.Float || len(w.Shape) < 3 || e.by != nil && w.Shape[0] != len(e.by) {
		return false
	}
	inputs := append(slices.Clone(conv.Inputs), "")[:3]
	base := slices.Clone(g.nodes)
	if b := g.beginning(conv, w.Shape); b.By != nil {
		inputs := slices.Clone(inputs)
		inputs[0] = g.nodes[len(g.nodes)-1].Inputs[0]
		if g.convolve(last, conv, inputs, b, e) {
			return true
		}
	}
	g.nodes = base
	return len(base) > 1 && g.convolve(last, conv, inputs, image.Beginning{}, e)
}

// beginning takes a batch normalization with a ReLU before a convolution of single points.
func (g *group) beginning(conv *onnx.Node, shape []int) (b image.Beginning) {
	for _, d := range shape[2:] {
		if d != 1 {
			return b
		}
	}
	if relu := g.take(conv.Inputs[0], "Relu"); relu != nil {
		if norm := g.take(relu.Inputs[0], "BatchNormalization"); norm != nil {
			by, add := g.batchNorm(norm)
			b.By, b.Add = floats(by), floats(add)
		}
	}
	return b
}

// convolve replaces the group by a step.
func (g *group) convolve(last, conv *onnx.Node, inputs []string, b image.Beginning, e ending) bool {
	if e.side != "" {
		inputs = append(slices.Clone(inputs), e.side)
	}
	end := image.Ending{By: floats(e.by), Add: floats(e.add), Floor: e.floor, Abs: e.abs}
	return g.replace("convolution", inputs, last.Outputs, func(c *run.Call) []*tensor.Tensor {
		if c.In[0] == nil || c.In[0].Type != onnx.Float {
			return nil
		}
		end := end
		if e.side != "" {
			end.Side = c.In[3]
		}
		if out := image.Convolve(c, conv, b, end); out != nil {
			return run.One(out)
		}
		return nil
	})
}

// normRelu finds a batch normalization with a ReLU.
func (g *group) normRelu(n *onnx.Node) bool {
	g.nodes = append(g.nodes[:0], n)
	of := g.take(n.Inputs[0], "BatchNormalization")
	if of == nil {
		return false
	}
	by, add := g.batchNorm(of)
	return by != nil && g.affine([]string{of.Inputs[0]}, n.Outputs, func(c *run.Call, x *tensor.Tensor) *tensor.Tensor {
		if x.Shape[1] != len(by) {
			return nil
		}
		return norm.Affine(c, x, tensor.Count(x.Shape[2:]), by, add, norm.Bend{Slope: 1})
	})
}

// bentNorm finds an instance normalization with a leaky ReLU.
func (g *group) bentNorm(n *onnx.Node) bool {
	if !g.start(n, "LeakyRelu") {
		return false
	}
	of := g.take(n.Inputs[0], "InstanceNormalization")
	if of == nil || len(of.Inputs) != 3 {
		return false
	}
	eps, bend := float64(float32(1e-5)), norm.Straight
	if a := of.Attrs["epsilon"]; a != nil {
		eps = float64(a.F)
	}
	if bend.Slope = 0.01; n.Attrs["alpha"] != nil {
		bend.Slope = n.Attrs["alpha"].F
	}
	return g.affine(of.Inputs, n.Outputs, func(c *run.Call, _ *tensor.Tensor) *tensor.Tensor { return norm.Instance(c, eps, bend) })
}

// affine replaces the group by a norm of the planes of its first input.
func (g *group) affine(inputs, outputs []string, do func(c *run.Call, x *tensor.Tensor) *tensor.Tensor) bool {
	return g.replace("norm of planes", inputs, outputs, func(c *run.Call) []*tensor.Tensor {
		x := c.In[0]
		if x == nil || x.Type != onnx.Float || len(x.Shape) < 2 {
			return nil
		}
		if out := do(c, x); out != nil {
			return run.One(out)
		}
		return nil
	})
}

// batchNorm returns what a batch normalization by constants multiplies each channel with and
// adds to it, or nil.
func (g *group) batchNorm(n *onnx.Node) (by, add []float64) {
	if g.s.Opset < 9 || len(n.Inputs) != 5 || len(n.Outputs) != 1 || n.Attrs["training_mode"] != nil && n.Attrs["training_mode"].I != 0 {
		return nil, nil
	}
	var all [4]*tensor.Tensor
	for i, name := range n.Inputs[1:] {
		if all[i] = g.constant(name); all[i] == nil || all[i].Type != onnx.Float || all[i].Len() != all[0].Len() {
			return nil, nil
		}
	}
	eps := float64(float32(1e-5))
	if a := n.Attrs["epsilon"]; a != nil {
		eps = float64(a.F)
	}
	return norm.Scales(all[0], all[1], all[2], all[3], eps)
}

// floats are numbers of single precision; nil stays nil.
func floats(x []float64) (out []float32) {
	for _, v := range x {
		out = append(out, float32(v))
	}
	return out
}
