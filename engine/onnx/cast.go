package onnx

import (
	"quern/formats/onnx"
)

func castOps() table {
	return table{
		"Cast":     func(c *call) []*Tensor { return []*Tensor{c.cast(onnx.DType(c.int("to", 0)))} },
		"CastLike": func(c *call) []*Tensor { return []*Tensor{c.cast(c.x(1).Type)} },
		"BitCast":  bitCast,
	}
}

func (c *call) cast(to onnx.DType) *Tensor {
	x := c.x(0)
	if x.Type == to {
		return x
	}
	if to != onnx.String && to.Bits() == 0 {
		fail("%w: cast to %v", onnx.ErrUnsupported, to)
	}
	return cast(x, to, castOptions{c.int("saturate", 1) != 0, c.text("round_mode", "up")})
}

// bitCast gives the same bits another type of as many.
func bitCast(c *call) []*Tensor {
	x, to := c.x(0), onnx.DType(c.int("to", 0))
	if x.Type.Bits() == 0 || x.Type.Bits() != to.Bits() {
		fail("%w: bits of %v as %v", onnx.ErrFormat, x.Type, to)
	}
	f := x.ToFile("")
	f.Type = to
	out := fromFile(f)
	if to == onnx.Bool {
		for i, b := range out.Raw {
			out.Raw[i] = min(b, 1)
		}
	}
	return []*Tensor{out}
}
