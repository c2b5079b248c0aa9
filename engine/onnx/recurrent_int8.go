package onnx

import (
	"quern/formats/onnx"
	"quern/kernels/gemm"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// An int8Recurrent keeps the weights of recurrent layers that are integers.
type int8Recurrent struct {
	packs map[int8Part]*int8Weights // of constants
}

type int8Part struct {
	of, scale, zero *Tensor
	direction       int
}

// operands checks weights of 8 bits: (directions, in, 4 · hidden) and (directions,
// hidden, 4 · hidden), with scales and zero points for a direction or each of its
// columns.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.DynamicQuantizeLSTM.
func (q *int8Recurrent) operands(c *call) operands {
	w, r := c.must(1), c.must(2)
	if len(w.Shape) != 3 || len(r.Shape) != 3 || r.Shape[2] != 4*r.Shape[1] || w.Shape[2] != r.Shape[2] || w.Shape[0] != r.Shape[0] {
		fail("%w: %s of shapes %d and %d", onnx.ErrFormat, c.n.Op, w.Shape, r.Shape)
	}
	input := func(d int, bias []float32) multiplier {
		return &dynamicGemm{c: c, w: q.weights(w, c.x(8), c.bare(9), d), bias: bias}
	}
	state := func(d, _, _ int) multiplier {
		return &dynamicGemm{c: c, w: q.weights(r, c.x(10), c.bare(11), d)}
	}
	return operands{in: w.Shape[1], hidden: r.Shape[1], directions: w.Shape[0], input: input, state: state}
}

// weights lays out the matrix of a direction.
func (q *int8Recurrent) weights(w, scale, zero *Tensor, d int) *int8Weights {
	key := int8Part{w, scale, zero, d}
	if p := q.packs[key]; p != nil {
		return p
	}
	directions, k, n := w.Shape[0], w.Shape[1], w.Shape[2]
	of := func(t *Tensor) func(j int) int { // which of its elements belongs to a column
		switch t.len() {
		case directions:
			return func(int) int { return d }
		case directions * n:
			return func(j int) int { return d*n + j }
		}
		fail("%w: scales or zero points of shape %d for %d", onnx.ErrFormat, t.Shape, w.Shape)
		return nil
	}
	if scale.F == nil || zero != nil && zero.Type != w.Type || k > 1<<16 {
		fail("%w: weights of %v, shape %d, quantised by %v", onnx.ErrUnsupported, w.Type, w.Shape, scale.Type)
	}
	at, by := of(scale), make([]float32, n)
	for j := range by {
		by[j] = scale.F[at(j)]
	}
	p := newInt8Weights(w.Type, eights(w)[d*k*n:], k, n, func(j int) int32 {
		if zero == nil {
			return 0
		}
		return int32(zero.at(of(zero)(j)))
	})
	p.gemm, p.scale = gemm.NewInt8Gemm(p.w, by, nil), by
	if w.isConstant() && scale.isConstant() && (zero == nil || zero.isConstant()) {
		q.packs[key] = p
	}
	return p
}

// A dynamicGemm multiplies rows of float32, which it reads as uint8 each time,
// with a matrix of integers, and adds a bias, which may be nil.
type dynamicGemm struct {
	c     *call
	w     *int8Weights
	bias  []float32
	bytes []byte
	out   []float32
}

// Run implements multiplier.
func (g *dynamicGemm) Run(p *threads.Pool, dst []float32, dstStride int, x []float32, xStride, rows int, add bool) {
	k, n, stride := g.w.w.Columns(), g.w.w.Rows(), g.w.w.Stride()
	if len(g.bytes) < rows*stride {
		g.bytes, g.out = make([]byte, rows*stride), make([]float32, rows*n)
	}
	low, high := float32(0), float32(0)
	for r := range rows {
		l, h := gemm.Range(x[r*xStride:][:k])
		low, high = min(low, l), max(high, h)
	}
	by, zero := dynamicScale(low, high)
	for r := range rows {
		gemm.QuantizeBytes(g.bytes[r*stride:], x[r*xStride:][:k], by, zero)
	}
	g.w.gemm.RunFloats(p, g.out, n, g.bytes, stride, rows, zero, by, nil)
	if g.w.zero != nil {
		g.w.lessFloats(g.c, g.out, g.bytes, rows, zero, by, g.w.scale)
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
