package contrib

import (
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
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
func fusedAct(c *run.Call, x *tensor.Tensor, params []float32) *tensor.Tensor {
	name := c.Text("activation", "")
	if name == "" {
		return x
	}
	want, ok := fusedActs[name]
	if !ok {
		tensor.Unsupported("activation %.20q", name)
	}
	if len(params) != len(want) {
		tensor.Malformed("%d parameters of %s, want %d", len(params), name, len(want))
	}
	if name == "Clip" {
		out := c.Blank(x.Type, x.Shape...)
		for i, v := range x.F {
			out.F[i] = max(params[0], min(v, params[1]))
		}
		return out
	}
	attrs := make(map[string]*onnx.Attr)
	for i, p := range params {
		attrs[want[i]] = &onnx.Attr{Name: want[i], Type: onnx.AttrFloat, F: p}
	}
	return c.Again(name, attrs, x)
}

// fusedConv is a convolution, plus a tensor, and an activation.
func fusedConv(c *run.Call) []*tensor.Tensor {
	in := []*tensor.Tensor{c.X(0), c.X(1)}
	if b := c.Opt(2); b != nil {
		in = append(in, b)
	}
	y := c.Again("Conv", c.Attrs(), in...)
	if z := c.Opt(3); z != nil {
		y = c.Again("Add", nil, y, z)
	}
	var params []float32
	if a := c.Attr("activation_params"); a != nil {
		params = a.Floats
	}
	return run.One(fusedAct(c, y, params))
}

// fusedGemm is Gemm and an activation.
func fusedGemm(c *run.Call) []*tensor.Tensor {
	var params []float32
	if want := fusedActs[c.Text("activation", "")]; len(want) > 0 {
		params = append(params, float32(c.Float("activation_alpha", 0)))
		if len(want) > 1 {
			params = append(params, float32(c.Float("activation_beta", 0)))
		}
	}
	return run.One(fusedAct(c, product.GemmOp(c)[0], params))
}
