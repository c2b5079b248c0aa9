package recurrent

import (
	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/kernels/gemm"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

type int8Part struct {
	of, scale, zero *tensor.Tensor
	direction       int
}

// int8Operands checks weights of 8 bits: (directions, in, 4 · hidden) and (directions,
// hidden, 4 · hidden), with scales and zero points for a direction or each of its
// columns.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.DynamicQuantizeLSTM.
func int8Operands(c *run.Call) operands {
	w, r := c.Packed(1), c.Packed(2)
	if len(w.Shape) != 3 || len(r.Shape) != 3 || r.Shape[2] != 4*r.Shape[1] || w.Shape[2] != r.Shape[2] || w.Shape[0] != r.Shape[0] {
		tensor.Malformed("%s of shapes %d and %d", c.Node.Op, w.Shape, r.Shape)
	}
	input := func(d int, bias []float32) multiplier {
		return &dynamicGemm{c: c, w: int8Weights(c, w, c.X(8), c.OptPacked(9), d), bias: bias}
	}
	state := func(d, _, _ int) multiplier {
		return &dynamicGemm{c: c, w: int8Weights(c, r, c.X(10), c.OptPacked(11), d)}
	}
	return operands{in: w.Shape[1], hidden: r.Shape[1], directions: w.Shape[0], input: input, state: state}
}

// int8Weights lays out the matrix of a direction.
func int8Weights(c *run.Call, w, scale, zero *tensor.Tensor, d int) *quantised.Weights {
	return run.Prepared(c, int8Part{w, scale, zero, d}, tensor.Constant(w, scale, zero), func() *quantised.Weights {
		directions, k, n := w.Shape[0], w.Shape[1], w.Shape[2]
		of := func(t *tensor.Tensor) func(j int) int { // which of its elements belongs to a column
			switch t.Len() {
			case directions:
				return func(int) int { return d }
			case directions * n:
				return func(j int) int { return d*n + j }
			}
			tensor.Malformed("scales or zero points of shape %d for %d", t.Shape, w.Shape)
			return nil
		}
		if scale.F == nil || zero != nil && zero.Type != w.Type || k > 1<<16 {
			tensor.Unsupported("weights of %v, shape %d, quantised by %v", w.Type, w.Shape, scale.Type)
		}
		at, by := of(scale), make([]float32, n)
		for j := range by {
			by[j] = scale.F[at(j)]
		}
		p := quantised.NewWeights(w.Type, tensor.Bytes(w)[d*k*n:], k, n, func(j int) int32 {
			if zero == nil {
				return 0
			}
			return int32(zero.At(of(zero)(j)))
		})
		p.Gemm, p.Scale = gemm.NewInt8Gemm(p.W, by, nil), by
		return p
	})
}

// A dynamicGemm multiplies rows of float32, which it reads as uint8 each time,
// with a matrix of integers, and adds a bias, which may be nil.
type dynamicGemm struct {
	c     *run.Call
	w     *quantised.Weights
	bias  []float32
	bytes []byte
	out   []float32
}

// Run implements multiplier.
func (g *dynamicGemm) Run(p *threads.Pool, dst []float32, dstStride int, x []float32, xStride, rows int, add bool) {
	k, n, stride := g.w.W.Columns(), g.w.W.Rows(), g.w.W.Stride()
	if len(g.bytes) < rows*stride {
		g.bytes, g.out = make([]byte, rows*stride), make([]float32, rows*n)
	}
	low, high := float32(0), float32(0)
	for r := range rows {
		l, h := gemm.Range(x[r*xStride:][:k])
		low, high = min(low, l), max(high, h)
	}
	by, zero := quantised.DynamicScale(low, high)
	for r := range rows {
		gemm.QuantizeBytes(g.bytes[r*stride:], x[r*xStride:][:k], by, zero)
	}
	g.w.Gemm.RunFloats(p, g.out, n, g.bytes, stride, rows, zero, by, nil)
	if g.w.Zero != nil {
		g.w.LessFloats(g.c, g.out, g.bytes, rows, zero, by, g.w.Scale)
	}
	for r := range rows {
		to, from := dst[r*dstStride:][:n], g.out[r*n:][:n]
		if g.bias != nil {
			vec.Add(from, from, g.bias)
		}
		if add {
			vec.Add(to, to, from)
		} else {
			copy(to, from)
		}
	}
}
