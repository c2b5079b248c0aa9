package quantised

import (
	"encoding/binary"

	"quern/engine/onnx/internal/ops/attention"
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

type weightKey struct{ w, zero, scale, bias *tensor.Tensor }

// Weights is the right side of a product: as int8, with what zero points of
// its columns are then, nil where all are zero.
type Weights struct {
	Gemm  *gemm.Int8Gemm
	W     *gemm.Int8Panels
	Zero  []int32
	Scale []float32 // of recurrent layers
}

// pack lays out the matrix number at of w. With scale (one or a column's) and
// bias, either of which may be nil, products can be made floats.
func pack(c *run.Call, s *product.Stacked, w *tensor.Tensor, at int, zero *tensor.Tensor, scale, bias *tensor.Tensor) *Weights {
	fixed := s.OneB && tensor.Constant(w, zero, scale, bias)
	return run.Prepared(c, weightKey{w, zero, scale, bias}, fixed, func() *Weights {
		p := packNew(s, w, at, zero, scale, bias)
		if fixed {
			p.last(c, w)
		}
		return p
	})
}

// last moves what was laid out of the constant of to where it lives as long as the Session.
func (w *Weights) last(c *run.Call, of *tensor.Tensor) {
	w.W.Move(func(n int) []int8 { return run.Lasting[int8](c, n) })
	c.Forget(of)
}

func packNew(s *product.Stacked, w *tensor.Tensor, at int, zero, scale, bias *tensor.Tensor) *Weights {
	if w.Type != onnx.Int8 && w.Type != onnx.Uint8 || zero != nil && zero.Type != w.Type {
		tensor.Unsupported("product of %v", w.Type)
	}
	if s.K > 1<<16 {
		tensor.Unsupported("a sum of %d products of integers", s.K)
	}
	n := s.N
	p := NewWeights(w.Type, tensor.Bytes(w)[at*s.K*n:], s.K, n, func(j int) int32 {
		if zero == nil {
			return 0
		}
		return int32(zero.At(column(zero, s, at, j)))
	})
	var by, add []float32
	if scale != nil {
		if by = scale.F; len(by) != 1 && len(by) != n {
			tensor.Malformed("scales of shape %d for %d columns", scale.Shape, n)
		}
	}
	if bias != nil {
		if add = bias.F; len(add) != n {
			tensor.Malformed("bias of shape %d for %d columns", bias.Shape, n)
		}
	}
	p.Gemm = gemm.NewInt8Gemm(p.W, by, add)
	return p
}

// NewWeights lays out k rows of n bytes of a type, which columns of the right
// side have zero points for.
func NewWeights(typ onnx.DType, data []byte, k, n int, zero func(j int) int32) *Weights {
	p := &Weights{W: gemm.NewInt8Panels(n, k), Zero: make([]int32, n)}
	p.W.PackColumns(data, n, typ == onnx.Uint8)
	shift, any := int32(0), false
	if typ == onnx.Uint8 {
		shift = 128
	}
	for j := range p.Zero {
		p.Zero[j] = zero(j) - shift
		any = any || p.Zero[j] != 0
	}
	if !any {
		p.Zero = nil
	}
	return p
}

// column returns which zero point or scale belongs to column j of matrix at: one
// for all, one for a column, or a row of them for each matrix.
func column(t *tensor.Tensor, s *product.Stacked, at, j int) int {
	switch t.Len() {
	case 1:
		return 0
	case s.N:
		return j
	case s.N * s.CountBatch:
		return at*s.N + j
	}
	tensor.Malformed("zero points or scales of shape %d for %d columns", t.Shape, s.N)
	return 0
}

// bytesOf returns rows of a matrix as uint8, each filled up to stride, with what
// is added to make them so.
func bytesOf(c *run.Call, typ onnx.DType, a []byte, m, k, stride int) (x []byte, shift int32) {
	flip := byte(0)
	if typ == onnx.Int8 {
		shift, flip = 128, 128
	}
	if flip == 0 && stride == k {
		return a[:m*k], 0
	}
	x = c.BlankRaw(onnx.Uint8, m, stride).Raw
	c.ByRows(m, k, func(from, to int) {
		for r := from; r < to; r++ {
			flipped(x[r*stride:][:k], a[r*k:][:k], flip)
			clear(x[r*stride+k : (r+1)*stride])
		}
	})
	return x, shift
}

// flipped writes a to dst with the same bits of every byte changed.
func flipped(dst, a []byte, bits byte) {
	for eight := 0x0101010101010101 * uint64(bits); len(a) >= 8; dst, a = dst[8:], a[8:] {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(a)^eight)
	}
	for i, v := range a {
		dst[i] = v ^ bits
	}
}

// multiply calls f with the sums of each matrix of the result: of a less its
// zero points (one, or one a row) times b less its own.
func multiply(c *run.Call, a, aZero, b, bZero *tensor.Tensor, f func(s *product.Stacked, at int, sums []int32)) *product.Stacked {
	s := product.Stack(a.Shape, b.Shape, false)
	if s.M == 0 || s.N == 0 || s.CountBatch == 0 {
		return &s
	}
	if s.K == 0 {
		tensor.Unsupported("product of shapes %d and %d", a.Shape, b.Shape)
	}
	if aZero != nil && aZero.Type != a.Type {
		tensor.Malformed("zero points of %v for %v", aZero.Type, a.Type)
	}
	sums, rows := make([]int32, s.M*s.N), tensor.Bytes(a)
	for i := range s.CountBatch {
		w := pack(c, &s, b, product.Which(s.FromB, i), bZero, nil, nil)
		x, shift := bytesOf(c, a.Type, rows[product.Which(s.FromA, i)*s.M*s.K:], s.M, s.K, w.W.Stride())
		zeroOf := func(r int) int32 {
			if aZero == nil {
				return shift
			}
			switch aZero.Len() {
			case 1:
				r = 0
			case s.M:
			case s.M * s.CountBatch:
				r += i * s.M
			default:
				tensor.Malformed("zero points of shape %d for %d rows", aZero.Shape, s.M)
			}
			return int32(aZero.At(r)) + shift
		}
		perRow := aZero != nil && aZero.Len() > 1
		first := zeroOf(0)
		if perRow {
			first = 0
		}
		w.Gemm.RunInts(c.Pool(), sums, s.N, x, w.W.Stride(), s.M, first)
		for r := range s.M {
			row, z := sums[r*s.N:][:s.N], zeroOf(r)
			if perRow {
				for j := range row {
					row[j] -= z * w.W.Sums()[j]
				}
			}
			if w.Zero != nil {
				w.less(row, x[r*w.W.Stride():], z)
			}
		}
		f(&s, i, sums)
	}
	return &s
}

// less takes from the sums of a row what the zero points of the columns make:
// zero[j] · Σ (x - z).
func (w *Weights) less(sums []int32, x []byte, z int32) {
	total := -z * int32(w.W.Columns())
	for _, v := range x[:w.W.Columns()] {
		total += int32(v)
	}
	for j, u := range w.Zero {
		sums[j] -= u * total
	}
}

func matMulInteger(c *run.Call) []*tensor.Tensor {
	a, b := c.Packed(0), c.Packed(1)
	out := c.Zeros(onnx.Int32, product.Stack(a.Shape, b.Shape, false).Out...)
	multiply(c, a, c.OptPacked(2), b, c.OptPacked(3), func(s *product.Stacked, at int, sums []int32) {
		to := out.I[at*s.M*s.N:]
		for i, v := range sums {
			to[i] = int64(v)
		}
	})
	return run.One(out)
}

// scaleAt returns the scale of a row or a column: one for all or its own.
func scaleAt(t *tensor.Tensor, i, n, at int) float32 {
	switch t.Len() {
	case 1:
		return t.F[0]
	case n:
		return t.F[i]
	}
	if j := at*n + i; j < len(t.F) && t.Len()%n == 0 {
		return t.F[j]
	}
	tensor.Malformed("scales of shape %d for %d", t.Shape, n)
	return 0
}

// linearMatMul is a product of quantised matrices, quantised again.
func linearMatMul(c *run.Call) []*tensor.Tensor {
	a, aScale, b, bScale, yScale := c.Packed(0), c.X(1), c.Packed(3), c.X(4), c.X(6)
	y := Linear(c, c.Packed(7).Type, 6, 7)
	if aScale.F == nil || bScale.F == nil {
		tensor.Unsupported("product quantised by %v and %v", aScale.Type, bScale.Type)
	}
	out := c.BlankRaw(y.typ, product.Stack(a.Shape, b.Shape, false).Out...)
	whole := linear{typ: y.typ, scale: 1, zero: y.zero}
	multiply(c, a, c.OptPacked(2), b, c.OptPacked(5), func(s *product.Stacked, at int, sums []int32) {
		c.ByRows(s.M, 4*s.N, func(from, to int) {
			row := make([]float32, s.N)
			for r := from; r < to; r++ {
				by := scaleAt(aScale, r, s.M, at)
				for j, v := range sums[r*s.N : (r+1)*s.N] {
					row[j] = float32(v) * (by * scaleAt(bScale, j, s.N, at) / yScale.F[0])
				}
				whole.quantize(out.Raw[(at*s.M+r)*s.N:], row)
			}
		})
	})
	return run.One(out)
}

// ofColumns reports whether w is one matrix, which is not empty, whose scales, zero points and
// bias are one for all or one a column, as Floats takes them.
func ofColumns(w, scale, zero, bias *tensor.Tensor) bool {
	if len(w.Shape) != 2 || w.Len() == 0 || scale.Type != onnx.Float {
		return false
	}
	n := w.Shape[1]
	return (scale.Len() == 1 || scale.Len() == n) && (zero == nil || zero.Len() == 1 || zero.Len() == n) && (bias == nil || bias.Type == onnx.Float && bias.Len() == n)
}

// integerToFloat is a product of integers times their scales plus a bias.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.MatMulIntegerToFloat.
func integerToFloat(c *run.Call) []*tensor.Tensor {
	a, b, aScale, bScale, bias := c.Packed(0), c.Packed(1), c.X(2), c.X(3), c.Opt(6)
	if aScale.F == nil || bScale.F == nil {
		tensor.Unsupported("product quantised by %v and %v", aScale.Type, bScale.Type)
	}
	if aZero := c.OptPacked(4); len(a.Shape) >= 2 && aScale.Len() == 1 && (aZero == nil || aZero.Len() == 1) && ofColumns(b, bScale, c.OptPacked(5), bias) {
		return run.One(Floats(c, a, b, aScale.F[0], bScale, ZeroOf(aZero, 0), c.OptPacked(5), bias, nil))
	}
	out := c.Zeros(aScale.Type, product.Stack(a.Shape, b.Shape, false).Out...)
	multiply(c, a, c.OptPacked(4), b, c.OptPacked(5), func(s *product.Stacked, at int, sums []int32) {
		if bias != nil && len(bias.F) != s.N {
			tensor.Malformed("bias of shape %d for %d columns", bias.Shape, s.N)
		}
		for i, v := range sums {
			y := float32(v) * (scaleAt(aScale, i/s.N, s.M, at) * scaleAt(bScale, i%s.N, s.N, at))
			if bias != nil {
				y += bias.F[i%s.N]
			}
			out.F[at*s.M*s.N+i] = y
		}
	})
	return run.One(tensor.Rounded(out))
}

// dynamicMatMul reads x as uint8 by DynamicQuantizeLinear and multiplies it with
// a matrix of integers, times the scales, plus bias.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.DynamicQuantizeMatMul.
func dynamicMatMul(c *run.Call, x, w, scale, zero, bias *tensor.Tensor) *tensor.Tensor {
	if x.Type != onnx.Float || scale.F == nil || len(w.Shape) != 2 {
		tensor.Unsupported("product of %v and %v, shape %d", x.Type, w.Type, w.Shape)
	}
	s := product.Stack(x.Shape, w.Shape, false)
	out := c.Blank(onnx.Float, s.Out...)
	if out.Len() == 0 {
		return out
	}
	p := pack(c, &s, w, 0, zero, scale, bias)
	by, z := DynamicScale(reachOf(c, x.F).ends())
	rows, stride := x.Len()/s.K, p.W.Stride()
	b := c.BlankRaw(onnx.Uint8, rows, stride).Raw
	c.ByRows(rows, s.K, func(from, to int) {
		for r := from; r < to; r++ {
			gemm.QuantizeBytes(b[r*stride:], x.F[r*s.K:(r+1)*s.K], by, z)
		}
	})
	p.Gemm.RunFloats(c.Pool(), out.F, s.N, b, stride, rows, z, by, nil)
	if p.Zero != nil {
		p.LessFloats(c, out.F, b, rows, z, by, scale.F)
	}
	return out
}

// LessFloats is less for results that are floats already.
func (w *Weights) LessFloats(c *run.Call, dst []float32, x []byte, rows int, z int32, by float32, scale []float32) {
	n, stride := w.W.Rows(), w.W.Stride()
	column := make([]float32, n)
	for j, u := range w.Zero {
		column[j] = float32(u) * by * scale[min(j, len(scale)-1)]
	}
	c.ByRows(rows, stride+n, func(from, to int) {
		for r := from; r < to; r++ {
			total := -z * int32(w.W.Columns())
			for _, v := range x[r*stride:][:w.W.Columns()] {
				total += int32(v)
			}
			row, t := dst[r*n:(r+1)*n], float32(total)
			for j, u := range column {
				row[j] -= t * u
			}
		}
	})
}

// quantisedAttention is Attention of an input and weights that are quantised.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.QAttention.
func quantisedAttention(c *run.Call) []*tensor.Tensor {
	x, w, bias, xScale, wScale := c.Packed(0), c.Packed(1), c.X(2), c.X(3), c.X(4)
	if len(x.Shape) != 3 || len(w.Shape) != 2 || xScale.F == nil || wScale.F == nil || len(bias.F) != w.Shape[1] {
		tensor.Malformed("attention of shape %d by %d with bias %d", x.Shape, w.Shape, bias.Shape)
	}
	xZero, wZero := c.OptPacked(6), c.OptPacked(7)
	if xZero != nil && (xZero.Len() != 1 || xZero.Type != x.Type) || !ofColumns(w, wScale, wZero, bias) {
		tensor.Malformed("scales of shapes %d and %d for %d", xScale.Shape, wScale.Shape, w.Shape)
	}
	out := Floats(c, x, w, xScale.Scalar().F[0], wScale, ZeroOf(xZero, 0), wZero, bias, nil)
	return attention.Projected(c, out, c.Opt(5), c.Opt(8), nil)
}

// Floats is a product of a, uint8 or int8 with one scale and zero point, and w
// times their scales plus bias. Then is called as by Gemm.RunThen.
func Floats(c *run.Call, a, w *tensor.Tensor, by float32, scale *tensor.Tensor, zero int32, wZero, bias *tensor.Tensor, then func(worker int, row []float32)) *tensor.Tensor {
	s := product.Stack(a.Shape, w.Shape, false)
	p := pack(c, &s, w, 0, wZero, scale, bias)
	out := c.Blank(onnx.Float, s.Out...)
	rows, stride := a.Len()/s.K, p.W.Stride()
	x, shift := bytesOf(c, a.Type, tensor.Bytes(a), rows, s.K, stride)
	if p.Zero == nil {
		p.Gemm.RunFloats(c.Pool(), out.F, s.N, x, stride, rows, zero+shift, by, then)
		return out
	}
	p.Gemm.RunFloats(c.Pool(), out.F, s.N, x, stride, rows, zero+shift, by, nil)
	p.LessFloats(c, out.F, x, rows, zero+shift, by, scale.F)
	if then != nil {
		c.SpreadOut(rows, func(worker, i int) { then(worker, out.F[i*s.N:(i+1)*s.N]) })
	}
	return out
}
