package fuse

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/ops/image"
	"quern/engine/onnx/internal/ops/norm"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// ended finds a convolution with a batch normalization, a ReLU or both behind it, which are
// done to its results while they lie in caches, and a batch normalization with a ReLU.
func (g *group) ended(n *onnx.Node) bool {
	if !g.start(n, "Relu", "BatchNormalization") {
		return false
	}
	of, in, floor := n, n.Inputs[0], float32(math.Inf(-1))
	if n.Op == "Relu" {
		of, floor = g.take(in, "BatchNormalization"), 0
	}
	var by, add []float64
	if of != nil {
		if by, add = g.batchNorm(of); by != nil {
			in = of.Inputs[0]
		} else if of == n {
			return false
		} else {
			g.nodes = g.nodes[:1]
		}
	}
	so := slices.Clone(g.nodes)
	if conv := g.take(in, "Conv"); conv != nil && len(conv.Inputs) >= 2 {
		w := g.constant(conv.Inputs[1])
		if w != nil && w.Type == onnx.Float && len(w.Shape) > 2 && (by == nil || w.Shape[0] == len(by)) &&
			g.replace("convolution", append(slices.Clone(conv.Inputs), "")[:3], n.Outputs, func(c *run.Call) []*tensor.Tensor {
				if c.In[0] == nil || c.In[0].Type != onnx.Float {
					return nil
				}
				return run.One(image.Convolve(c, conv, image.Ending{By: floats(by), Add: floats(add), Floor: floor}))
			}) {
			return true
		}
	}
	if g.nodes = so; by == nil || n.Op != "Relu" {
		return false
	}
	return g.replace("norm of planes", []string{in}, n.Outputs, func(c *run.Call) []*tensor.Tensor {
		x := c.In[0]
		if x == nil || x.Type != onnx.Float || len(x.Shape) < 2 || x.Shape[1] != len(by) {
			return nil
		}
		return run.One(norm.Affine(c, x, tensor.Count(x.Shape[2:]), by, add, floor))
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
