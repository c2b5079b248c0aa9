package onnx

import (
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// A quantizer keeps matrices of integers laid out for products.
type quantizer struct {
	weights map[weightKey]*int8Weights
	flipped map[*Tensor]*Tensor // constants with rows and columns exchanged
}

func newQuantizer() *quantizer {
	return &quantizer{weights: make(map[weightKey]*int8Weights), flipped: make(map[*Tensor]*Tensor)}
}

type weightKey struct{ w, zero, scale, bias *Tensor }

// int8Weights is the right side of a product: as int8, with what zero points of
// its columns are then, nil where all are zero.
type int8Weights struct {
	gemm  *gemm.Int8Gemm
	w     *gemm.Int8Panels
	zero  []int32
	scale []float32 // of recurrent layers
}

// pack lays out the matrix number at of w. With scale (one or a column's) and
// bias, either of which may be nil, products can be made floats.
func (q *quantizer) pack(s *stacked, w *Tensor, at int, zero *Tensor, scale, bias *Tensor) *int8Weights {
	key := weightKey{w, zero, scale, bias}
	fixed := w.isConstant() && s.oneB && (zero == nil || zero.isConstant()) && (scale == nil || scale.isConstant()) && (bias == nil || bias.isConstant())
	if fixed {
		if p := q.weights[key]; p != nil {
			return p
		}
	}
	if w.Type != onnx.Int8 && w.Type != onnx.Uint8 || zero != nil && zero.Type != w.Type {
		fail("%w: product of %v", onnx.ErrUnsupported, w.Type)
	}
	if s.k > 1<<16 {
		fail("%w: a sum of %d products of integers", onnx.ErrUnsupported, s.k)
	}
	n := s.n
	p := newInt8Weights(w.Type, eights(w)[at*s.k*n:], s.k, n, func(j int) int32 {
		if zero == nil {
			return 0
		}
		return int32(zero.at(column(zero, s, at, j)))
	})
	var by, add []float32
	if scale != nil {
		if by = scale.F; len(by) != 1 && len(by) != n {
			fail("%w: scales of shape %d for %d columns", onnx.ErrFormat, scale.Shape, n)
		}
	}
	if bias != nil {
		if add = bias.F; len(add) != n {
			fail("%w: bias of shape %d for %d columns", onnx.ErrFormat, bias.Shape, n)
		}
	}
	p.gemm = gemm.NewInt8Gemm(p.w, by, add)
	if fixed {
		q.weights[key] = p
	}
	return p
}

// newInt8Weights lays out k rows of n bytes of a type, which columns of the right
// side have zero points for.
func newInt8Weights(typ onnx.DType, data []byte, k, n int, zero func(j int) int32) *int8Weights {
	p := &int8Weights{w: gemm.NewInt8Panels(n, k), zero: make([]int32, n)}
	p.w.PackColumns(data, n, typ == onnx.Uint8)
	shift, any := int32(0), false
	if typ == onnx.Uint8 {
		shift = 128
	}
	for j := range p.zero {
		p.zero[j] = zero(j) - shift
		any = any || p.zero[j] != 0
	}
	if !any {
		p.zero = nil
	}
	return p
}

// column returns which zero point or scale belongs to column j of matrix at: one
// for all, one for a column, or a row of them for each matrix.
func column(t *Tensor, s *stacked, at, j int) int {
	switch t.len() {
	case 1:
		return 0
	case s.n:
		return j
	case s.n * s.countBatch:
		return at*s.n + j
	}
	fail("%w: zero points or scales of shape %d for %d columns", onnx.ErrFormat, t.Shape, s.n)
	return 0
}

// bytesOf returns rows of a matrix as uint8, each filled up to stride, with what
// is added to make them so.
func bytesOf(typ onnx.DType, a []byte, m, k, stride int) (x []byte, shift int32) {
	flip := byte(0)
	if typ == onnx.Int8 {
		shift, flip = 128, 128
	}
	if flip == 0 && stride == k {
		return a[:m*k], 0
	}
	x = make([]byte, m*stride)
	for r := range m {
		row := x[r*stride:][:k]
		for i, v := range a[r*k:][:k] {
			row[i] = v ^ flip
		}
	}
	return x, shift
}

// multiply calls f with the sums of each matrix of the result: of a less its
// zero points (one, or one a row) times b less its own.
func (q *quantizer) multiply(c *call, a, aZero, b, bZero *Tensor, f func(s *stacked, at int, sums []int32)) *stacked {
	s := stack(a.Shape, b.Shape, false)
	if s.m == 0 || s.n == 0 || s.countBatch == 0 {
		return &s
	}
	if s.k == 0 {
		fail("%w: product of shapes %d and %d", onnx.ErrUnsupported, a.Shape, b.Shape)
	}
	if aZero != nil && aZero.Type != a.Type {
		fail("%w: zero points of %v for %v", onnx.ErrFormat, aZero.Type, a.Type)
	}
	sums, rows := make([]int32, s.m*s.n), eights(a)
	for i := range s.countBatch {
		w := q.pack(&s, b, which(s.fromB, i), bZero, nil, nil)
		x, shift := bytesOf(a.Type, rows[which(s.fromA, i)*s.m*s.k:], s.m, s.k, w.w.Stride())
		zeroOf := func(r int) int32 {
			if aZero == nil {
				return shift
			}
			switch aZero.len() {
			case 1:
				r = 0
			case s.m:
			case s.m * s.countBatch:
				r += i * s.m
			default:
				fail("%w: zero points of shape %d for %d rows", onnx.ErrFormat, aZero.Shape, s.m)
			}
			return int32(aZero.at(r)) + shift
		}
		perRow := aZero != nil && aZero.len() > 1
		first := zeroOf(0)
		if perRow {
			first = 0
		}
		w.gemm.RunInts(c.pool(), sums, s.n, x, w.w.Stride(), s.m, first)
		for r := range s.m {
			row, z := sums[r*s.n:][:s.n], zeroOf(r)
			if perRow {
				for j := range row {
					row[j] -= z * w.w.Sums()[j]
				}
			}
			if w.zero != nil {
				w.less(row, x[r*w.w.Stride():], z)
			}
		}
		f(&s, i, sums)
	}
	return &s
}

// less takes from the sums of a row what the zero points of the columns make:
// zero[j] · Σ (x - z).
func (w *int8Weights) less(sums []int32, x []byte, z int32) {
	total := -z * int32(w.w.Columns())
	for _, v := range x[:w.w.Columns()] {
		total += int32(v)
	}
	for j, u := range w.zero {
		sums[j] -= u * total
	}
}

func (q *quantizer) matMulInteger(c *call) []*Tensor {
	a, b := c.must(0), c.must(1)
	out := c.zeros(onnx.Int32, stack(a.Shape, b.Shape, false).out...)
	q.multiply(c, a, c.bare(2), b, c.bare(3), func(s *stacked, at int, sums []int32) {
		to := out.I[at*s.m*s.n:]
		for i, v := range sums {
			to[i] = int64(v)
		}
	})
	return one(out)
}

// scaleAt returns the scale of a row or a column: one for all or its own.
func scaleAt(t *Tensor, i, n, at int) float32 {
	switch t.len() {
	case 1:
		return t.F[0]
	case n:
		return t.F[i]
	}
	if j := at*n + i; j < len(t.F) && t.len()%n == 0 {
		return t.F[j]
	}
	fail("%w: scales of shape %d for %d", onnx.ErrFormat, t.Shape, n)
	return 0
}

// linearMatMul is a product of quantised matrices, quantised again.
func (q *quantizer) linearMatMul(c *call) []*Tensor {
	a, aScale, b, bScale, yScale := c.must(0), c.x(1), c.must(3), c.x(4), c.x(6)
	y := c.linear(c.must(7).Type, 6, 7)
	if aScale.F == nil || bScale.F == nil {
		fail("%w: product quantised by %v and %v", onnx.ErrUnsupported, aScale.Type, bScale.Type)
	}
	out := c.blankRaw(y.typ, stack(a.Shape, b.Shape, false).out...)
	whole := linear{typ: y.typ, scale: 1, zero: y.zero}
	q.multiply(c, a, c.bare(2), b, c.bare(5), func(s *stacked, at int, sums []int32) {
		c.byRows(s.m, 4*s.n, func(from, to int) {
			row := make([]float32, s.n)
			for r := from; r < to; r++ {
				by := scaleAt(aScale, r, s.m, at)
				for j, v := range sums[r*s.n : (r+1)*s.n] {
					row[j] = float32(v) * (by * scaleAt(bScale, j, s.n, at) / yScale.F[0])
				}
				whole.quantize(out.Raw[(at*s.m+r)*s.n:], row)
			}
		})
	})
	return one(out)
}

// integerToFloat is a product of integers times their scales plus a bias.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.MatMulIntegerToFloat.
func (q *quantizer) integerToFloat(c *call) []*Tensor {
	a, b, aScale, bScale, bias := c.must(0), c.must(1), c.x(2), c.x(3), c.opt(6)
	if aScale.F == nil || bScale.F == nil {
		fail("%w: product quantised by %v and %v", onnx.ErrUnsupported, aScale.Type, bScale.Type)
	}
	out := c.zeros(aScale.Type, stack(a.Shape, b.Shape, false).out...)
	q.multiply(c, a, c.bare(4), b, c.bare(5), func(s *stacked, at int, sums []int32) {
		if bias != nil && len(bias.F) != s.n {
			fail("%w: bias of shape %d for %d columns", onnx.ErrFormat, bias.Shape, s.n)
		}
		for i, v := range sums {
			y := float32(v) * (scaleAt(aScale, i/s.n, s.m, at) * scaleAt(bScale, i%s.n, s.n, at))
			if bias != nil {
				y += bias.F[i%s.n]
			}
			out.F[at*s.m*s.n+i] = y
		}
	})
	return one(settle(out))
}

// dynamicMatMul reads x as uint8 by DynamicQuantizeLinear and multiplies it with
// a matrix of integers, times the scales, plus bias.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.DynamicQuantizeMatMul.
func (q *quantizer) dynamicMatMul(c *call, x, w, scale, zero, bias *Tensor) *Tensor {
	if x.Type != onnx.Float || scale.F == nil || len(w.Shape) != 2 {
		fail("%w: product of %v and %v, shape %d", onnx.ErrUnsupported, x.Type, w.Type, w.Shape)
	}
	s := stack(x.Shape, w.Shape, false)
	out := c.blank(onnx.Float, s.out...)
	if out.len() == 0 {
		return out
	}
	p := q.pack(&s, w, 0, zero, scale, bias)
	by, z := dynamicScale(c.reachOf(x.F).ends())
	rows, stride := x.len()/s.k, p.w.Stride()
	b := c.blankRaw(onnx.Uint8, rows, stride).Raw
	c.byRows(rows, s.k, func(from, to int) {
		for r := from; r < to; r++ {
			gemm.QuantizeBytes(b[r*stride:], x.F[r*s.k:(r+1)*s.k], by, z)
		}
	})
	p.gemm.RunFloats(c.pool(), out.F, s.n, b, stride, rows, z, by, nil)
	if p.zero != nil {
		p.lessFloats(c, out.F, b, rows, z, by, scale.F)
	}
	return out
}

// lessFloats is less for results that are floats already.
func (w *int8Weights) lessFloats(c *call, dst []float32, x []byte, rows int, z int32, by float32, scale []float32) {
	n, stride := w.w.Rows(), w.w.Stride()
	column := make([]float32, n)
	for j, u := range w.zero {
		column[j] = float32(u) * by * scale[min(j, len(scale)-1)]
	}
	c.byRows(rows, stride+n, func(from, to int) {
		for r := from; r < to; r++ {
			total := -z * int32(w.w.Columns())
			for _, v := range x[r*stride:][:w.w.Columns()] {
				total += int32(v)
			}
			row, t := dst[r*n:(r+1)*n], float32(total)
			for j, u := range column {
				row[j] -= t * u
			}
		}
	})
}

// attention is Attention of an input and weights that are quantised.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.QAttention.
func (q *quantizer) attention(c *call) []*Tensor {
	x, w, bias, xScale, wScale := c.must(0), c.must(1), c.x(2), c.x(3), c.x(4)
	if len(x.Shape) != 3 || len(w.Shape) != 2 || xScale.F == nil || wScale.F == nil || len(bias.F) != w.Shape[1] {
		fail("%w: attention of shape %d by %d with bias %d", onnx.ErrFormat, x.Shape, w.Shape, bias.Shape)
	}
	out := c.zeros(bias.Type, stack(x.Shape, w.Shape, false).out...)
	q.multiply(c, x, c.bare(6), w, c.bare(7), func(s *stacked, at int, sums []int32) {
		for i, v := range sums {
			out.F[at*s.m*s.n+i] = float32(v)*(xScale.scalar().F[0]*scaleAt(wScale, i%s.n, s.n, 0)) + bias.F[i%s.n]
		}
	})
	return c.projected(out, c.opt(5), c.opt(8), nil)
}

// floats is a product of a, uint8 or int8 with one scale and zero point, and w
// times their scales plus bias. Then is called as by Gemm.RunThen.
func (q *quantizer) floats(c *call, a, w *Tensor, by float32, scale *Tensor, zero int32, wZero, bias *Tensor, then func(worker int, row []float32)) *Tensor {
	s := stack(a.Shape, w.Shape, false)
	p := q.pack(&s, w, 0, wZero, scale, bias)
	out := c.blank(onnx.Float, s.out...)
	rows, stride := a.len()/s.k, p.w.Stride()
	x, shift := bytesOf(a.Type, eights(a), rows, s.k, stride)
	if p.zero == nil {
		p.gemm.RunFloats(c.pool(), out.F, s.n, x, stride, rows, zero+shift, by, then)
		return out
	}
	p.gemm.RunFloats(c.pool(), out.F, s.n, x, stride, rows, zero+shift, by, nil)
	p.lessFloats(c, out.F, x, rows, zero+shift, by, scale.F)
	if then != nil {
		c.spreadOut(rows, func(worker, i int) { then(worker, out.F[i*s.n:(i+1)*s.n]) })
	}
	return out
}
