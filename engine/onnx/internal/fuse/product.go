package fuse

import (
	"slices"

	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// linear finds x · W + bias.
func (g *group) linear(n *onnx.Node) bool {
	for _, in := range pair(n) {
		if !g.start(n, "Add") {
			return false
		}
		m := g.take(in[0], "MatMul")
		if m == nil || len(m.Inputs) != 2 {
			continue
		}
		w, b := g.constant(m.Inputs[1]), g.constant(in[1])
		if w == nil || b == nil || len(w.Shape) != 2 || len(b.Shape) != 1 || b.Shape[0] != w.Shape[1] || w.Type != onnx.Float || b.Type != onnx.Float || w.Len() == 0 {
			continue
		}
		return g.layer([]string{m.Inputs[0], m.Inputs[1], in[1]}, &layer{})
	}
	return false
}

// A layer is a step that computes x · W + bias, of floats or of integers. What
// comes after it may be done in one.
type layer struct {
	int8s bool
	act   func(dst, x, up []float32)
}

// layer replaces the group by a layer.
func (g *group) layer(inputs []string, l *layer) bool {
	last := g.nodes[0]
	ok := g.replace("layer", inputs, last.Outputs, func(c *run.Call) []*tensor.Tensor {
		out := l.run(c, nil)
		if out == nil {
			return nil
		}
		return run.One(out)
	})
	if ok {
		g.layers[g.put[last]] = l
		g.s.TakesHalves(g.put[last], 1)
	}
	return ok
}

// plain reports whether a node is x · W, of floats.
func (g *group) plain(n *onnx.Node) bool {
	if n == nil || n.Domain != "" || n.Op != "MatMul" || len(n.Inputs) != 2 || g.put[n] != nil || g.gone[n] {
		return false
	}
	w := g.constant(n.Inputs[1])
	return w != nil && w.Type == onnx.Float && len(w.Shape) == 2 && w.Len() > 0
}

// run computes a layer; it returns nil where its inputs are not what it is
// written for. Then is called for all of the result, as by Gemm.RunThen.
func (l *layer) run(c *run.Call, then func(worker int, row []float32)) *tensor.Tensor {
	each := then
	if l.act != nil {
		each = func(worker int, row []float32) {
			l.act(row, row, nil)
			if then != nil {
				then(worker, row)
			}
		}
	}
	x, w := c.In[0], c.In[1]
	if len(x.Shape) < 2 || x.Len() == 0 || x.Shape[len(x.Shape)-1] != w.Shape[0] {
		return nil
	}
	if l.int8s {
		scale, zero := c.In[2], c.In[4]
		if x.Type != onnx.Uint8 && x.Type != onnx.Int8 || scale.Type != onnx.Float || scale.Len() != 1 || len(scale.Shape) > 1 || zero != nil && zero.Len() != 1 {
			return nil
		}
		return quantised.Floats(c, x, w, scale.F[0], c.In[3], quantised.ZeroOf(zero, 0), c.In[5], c.In[6], each)
	}
	if x.Type != onnx.Float {
		return nil
	}
	k, n := w.Shape[0], w.Shape[1]
	out := c.Blank(onnx.Float, append(slices.Clone(x.Shape[:len(x.Shape)-1]), n)...)
	var bias []float32
	if c.In[2] != nil {
		bias = c.In[2].F
	}
	gemm.NewGemm(product.Packed(c, w, false), bias).RunThen(c.Pool(), out.F, n, x.F, k, x.Len()/k, each)
	return out
}

// activated finds an activation of a layer that nothing else reads.
func (g *group) activated(n *onnx.Node) bool {
	act := g.acts[n]
	if act == nil {
		return false
	}
	before := g.made[n.Inputs[0]]
	g.nodes = []*onnx.Node{n, before}
	if g.plain(before) {
		return g.layer([]string{before.Inputs[0], before.Inputs[1], ""}, &layer{false, act})
	}
	l := g.layers[before]
	return l != nil && l.act == nil && g.layer(before.Inputs, &layer{l.int8s, act})
}

// quantized finds a DynamicQuantizeLinear of a layer that nothing else reads, or
// of a norm.
func (g *group) quantized(n *onnx.Node) bool {
	if n.Domain != "" || n.Op != "DynamicQuantizeLinear" || len(n.Outputs) != 3 {
		return false
	}
	before := g.made[n.Inputs[0]]
	g.nodes = []*onnx.Node{n, before}
	if l := g.layers[before]; l != nil {
		return g.replace("quantized layer", before.Inputs, n.Outputs, func(c *run.Call) []*tensor.Tensor {
			e := quantised.NewReach(c)
			out := l.run(c, e.Add)
			if out == nil {
				return nil
			}
			return quantised.AsBytes(c, out, e)
		})
	}
	l := g.norms[before]
	if l == nil || before.Outputs[0] != n.Inputs[0] {
		return false
	}
	return g.replace("quantized norm", before.Inputs, slices.Concat(before.Outputs, n.Outputs), func(c *run.Call) []*tensor.Tensor {
		e := quantised.NewReach(c)
		out := l.run(c, e.Add)
		if out == nil {
			return nil
		}
		return append(out, quantised.AsBytes(c, out[0], e)...)
	})
}

// int8Linear finds what quantize_dynamic makes of x · W + bias: a product of
// integers, made floats, times the scales of both sides, plus the bias. How x is
// quantised stays a node of its own, for several products share it.
func (g *group) int8Linear(n *onnx.Node) bool {
	if len(n.Inputs) != 2 {
		return false
	}
	for _, in := range pair(n) {
		if !g.start(n, "Add") {
			break
		}
		b := g.constant(in[1])
		if b == nil || b.Type != onnx.Float || len(b.Shape) != 1 {
			continue
		}
		if mul := g.take(in[0], "Mul"); mul != nil && g.int8Product(mul, in[1], len(b.F)) {
			return true
		}
	}
	return g.start(n, "Mul") && g.int8Product(n, "", 0)
}

func (g *group) int8Product(mul *onnx.Node, bias string, n int) bool {
	base := slices.Clone(g.nodes)
	for _, in := range pair(mul) {
		g.nodes = append(g.nodes[:0], base...)
		cast, scales := g.take(in[0], "Cast"), g.take(in[1], "Mul")
		if cast == nil || scales == nil || cast.Attrs["to"] == nil || cast.Attrs["to"].I != int64(onnx.Float) {
			continue
		}
		m := g.take(cast.Inputs[0], "MatMulInteger")
		if m == nil || len(m.Inputs) < 3 || m.Inputs[2] == "" {
			continue
		}
		w := g.constant(m.Inputs[1])
		if w == nil || len(w.Shape) != 2 || bias != "" && w.Shape[1] != n {
			continue
		}
		for _, s := range pair(scales) {
			columns := g.constant(s[1])
			if columns == nil || columns.Type != onnx.Float || len(columns.F) != 1 && (len(columns.Shape) != 1 || len(columns.F) != w.Shape[1]) {
				continue
			}
			zero := ""
			if len(m.Inputs) > 3 {
				zero = m.Inputs[3]
			}
			if z := g.constant(zero); zero != "" && (z == nil || z.Len() != 1 && z.Len() != w.Shape[1]) {
				continue
			}
			inputs := []string{m.Inputs[0], m.Inputs[1], s[0], s[1], m.Inputs[2], zero, bias}
			return g.layer(inputs, &layer{int8s: true})
		}
	}
	return false
}
