package onnx

import (
	"quern/formats/onnx"
)

// gemmOp is alpha · (a·b + bias) of quantised matrices, the bias being integers of
// their scales, as floats or, with a scale for them, quantised again.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.QGemm.
func (q *quantizer) gemm(c *call) []*Tensor {
	a, b, aScale, bScale, bias, yScale := c.must(0), c.must(3), c.x(1), c.x(4), c.opt(6), c.opt(7)
	if c.int("transA", 0) != 0 {
		a = q.turned(a)
	}
	if c.int("transB", 0) != 0 {
		b = q.turned(b)
	}
	if len(a.Shape) != 2 || len(b.Shape) != 2 || aScale.F == nil || aScale.len() != 1 || bScale.F == nil || bias != nil && bias.I == nil {
		fail("%w: product of shapes %d and %d quantised by %v and %v", onnx.ErrFormat, a.Shape, b.Shape, aScale.Type, bScale.Type)
	}
	out := c.zeros(onnx.Float, stack(a.Shape, b.Shape, false).out...)
	alpha := float32(c.float("alpha", 1)) * aScale.F[0]
	q.multiply(c, a, c.bare(2), b, c.bare(5), func(s *stacked, _ int, sums []int32) {
		step := []int{0, 0}
		if bias != nil {
			step = spreadSteps(bias.Shape, []int{s.m, s.n})
		}
		if bScale.len() != 1 && bScale.len() != s.n {
			fail("%w: scales of shape %d for %d columns", onnx.ErrFormat, bScale.Shape, s.n)
		}
		for i, v := range sums {
			r, j := i/s.n, i%s.n
			if bias != nil {
				v += int32(bias.I[r*step[0]+j*step[1]])
			}
			out.F[i] = float32(v) * (alpha * bScale.F[j%bScale.len()])
		}
	})
	if yScale == nil {
		return one(out)
	}
	return one(c.asLinear(out, c.linear(c.must(8).Type, 7, 8)))
}

// turned returns a matrix of bytes with rows and columns exchanged, once for a
// constant.
func (q *quantizer) turned(t *Tensor) *Tensor {
	if known := q.flipped[t]; known != nil {
		return known
	}
	if len(t.Shape) != 2 {
		fail("%w: a matrix of shape %d", onnx.ErrFormat, t.Shape)
	}
	rows, columns, b := t.Shape[0], t.Shape[1], eights(t)
	out := &Tensor{Type: t.Type, Shape: []int{columns, rows}, Raw: make([]byte, len(b))}
	for i, v := range b {
		out.Raw[i%columns*rows+i/columns] = v
	}
	if t.isConstant() {
		out.detach()
		q.flipped[t] = out
	}
	return out
}
