package element

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

func cast(c *run.Call, to onnx.DType) *tensor.Tensor {
	x := c.X(0)
	if x.Type == to {
		return x
	}
	if to != onnx.String && to.Bits() == 0 {
		tensor.Unsupported("cast to %v", to)
	}
	out := tensor.Cast(x, to, tensor.CastOptions{Saturate: c.Int("saturate", 1) != 0, Mode: c.Text("round_mode", "up")})
	out.Type = c.Between(to)
	return out
}

// bitCast gives the same bits another type of as many.
func bitCast(c *run.Call) []*tensor.Tensor {
	x, to := c.X(0), onnx.DType(c.Int("to", 0))
	if x.Type.Bits() == 0 || x.Type.Bits() != to.Bits() {
		tensor.Malformed("bits of %v as %v", x.Type, to)
	}
	f := x.ToFile("")
	f.Type = to
	out := tensor.Of(f)
	if to == onnx.Bool {
		for i, b := range out.Raw {
			out.Raw[i] = min(b, 1)
		}
	}
	return run.One(out)
}
