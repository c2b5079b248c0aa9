package quantised

import (
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// quantisedGemm is alpha · (a·b + bias) of quantised matrices, the bias being integers of
// their scales, as floats or, with a scale for them, quantised again.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.QGemm.
func quantisedGemm(c *run.Call) []*tensor.Tensor {
	a, b, aScale, bScale, bias, yScale := c.Packed(0), c.Packed(3), c.X(1), c.X(4), c.Opt(6), c.Opt(7)
	if c.Int("transA", 0) != 0 {
		a = turned(c, a)
	}
	if c.Int("transB", 0) != 0 {
		b = turned(c, b)
	}
	if len(a.Shape) != 2 || len(b.Shape) != 2 || aScale.F == nil || aScale.Len() != 1 || bScale.F == nil || bias != nil && bias.I == nil {
		tensor.Malformed("product of shapes %d and %d quantised by %v and %v", a.Shape, b.Shape, aScale.Type, bScale.Type)
	}
	out := c.Zeros(onnx.Float, product.Stack(a.Shape, b.Shape, false).Out...)
	alpha := float32(c.Float("alpha", 1)) * aScale.F[0]
	multiply(c, a, c.OptPacked(2), b, c.OptPacked(5), func(s *product.Stacked, _ int, sums []int32) {
		step := []int{0, 0}
		if bias != nil {
			step = tensor.SpreadSteps(bias.Shape, []int{s.M, s.N})
		}
		if bScale.Len() != 1 && bScale.Len() != s.N {
			tensor.Malformed("scales of shape %d for %d columns", bScale.Shape, s.N)
		}
		for i, v := range sums {
			r, j := i/s.N, i%s.N
			if bias != nil {
				v += int32(bias.I[r*step[0]+j*step[1]])
			}
			out.F[i] = float32(v) * (alpha * bScale.F[j%bScale.Len()])
		}
	})
	if yScale == nil {
		return run.One(out)
	}
	return run.One(asLinear(c, out, Linear(c, c.Packed(8).Type, 7, 8)))
}

type turning struct{ t *tensor.Tensor }

// turned returns a matrix of bytes with rows and columns exchanged, once for a
// constant.
func turned(c *run.Call, t *tensor.Tensor) *tensor.Tensor {
	if len(t.Shape) != 2 {
		tensor.Malformed("a matrix of shape %d", t.Shape)
	}
	return run.Prepared(c, turning{t}, tensor.Constant(t), func() *tensor.Tensor {
		rows, columns, b := t.Shape[0], t.Shape[1], tensor.Bytes(t)
		out := &tensor.Tensor{Type: t.Type, Shape: []int{columns, rows}, Raw: make([]byte, len(b))}
		for i, v := range b {
			out.Raw[i%columns*rows+i/columns] = v
		}
		if tensor.Constant(t) {
			out.Detach()
		}
		return out
	})
}
