package onnx

import (
	"quern/formats/onnx"
)

// Operators with an activation, which ONNX Runtime's optimizer writes; see
// ContribOperators.md.

// fusedActs are those FusedConv and FusedGemm name, with the attributes their
// parameters are.
var fusedActs = map[string][]string{
	"Relu": nil, "Sigmoid": nil, "Tanh": nil, "LeakyRelu": {"alpha"}, "HardSigmoid": {"alpha", "beta"}, "Clip": {"min", "max"},
}

// fusedAct applies the activation of a node to x.
func (c *call) fusedAct(x *Tensor, params []float32) *Tensor {
	name := c.text("activation", "")
	if name == "" {
		return x
	}
	want, ok := fusedActs[name]
	if !ok {
		fail("%w: activation %.20q", onnx.ErrUnsupported, name)
	}
	if len(params) != len(want) {
		fail("%w: %d parameters of %s, want %d", onnx.ErrFormat, len(params), name, len(want))
	}
	if name == "Clip" {
		out := c.blank(x.Type, x.Shape...)
		for i, v := range x.F {
			out.F[i] = max(params[0], min(v, params[1]))
		}
		return out
	}
	attrs := make(map[string]*onnx.Attr)
	for i, p := range params {
		attrs[want[i]] = &onnx.Attr{Name: want[i], Type: onnx.AttrFloat, F: p}
	}
	return c.again(name, attrs, x)
}

// fusedConv is a convolution, plus a tensor, and an activation.
func fusedConv(c *call) []*Tensor {
	in := []*Tensor{c.x(0), c.x(1)}
	if b := c.opt(2); b != nil {
		in = append(in, b)
	}
	y := c.again("Conv", c.resolved(), in...)
	if z := c.opt(3); z != nil {
		y = c.again("Add", nil, y, z)
	}
	var params []float32
	if a := c.attr("activation_params"); a != nil {
		params = a.Floats
	}
	return one(c.fusedAct(y, params))
}

// fusedGemm is Gemm and an activation.
func fusedGemm(c *call) []*Tensor {
	var params []float32
	if want := fusedActs[c.text("activation", "")]; len(want) > 0 {
		params = append(params, float32(c.float("activation_alpha", 0)))
		if len(want) > 1 {
			params = append(params, float32(c.float("activation_beta", 0)))
		}
	}
	return one(c.fusedAct(gemmOp(c)[0], params))
}
