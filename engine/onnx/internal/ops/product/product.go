package product

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
	"quern/kernels/vec"
)

// flip returns t with its last two dimensions exchanged.
func flip(t *tensor.Tensor) *tensor.Tensor {
	r := len(t.Shape)
	if r < 2 {
		return t
	}
	shape, step := append([]int{}, t.Shape...), tensor.Strides(t.Shape)
	shape[r-1], shape[r-2] = shape[r-2], shape[r-1]
	step[r-1], step[r-2] = step[r-2], step[r-1]
	return t.Pick(tensor.Walk(shape, step, 0), shape...)
}

type packing struct {
	b    *tensor.Tensor
	rows bool
}

// Packed returns b (k, n), or with rows (n, k), laid out for products, once for
// a constant.
func Packed(c *run.Call, b *tensor.Tensor, rows bool) *gemm.Panels {
	return run.Prepared(c, packing{b, rows}, tensor.Constant(b), func() *gemm.Panels {
		n, k := b.Shape[1], b.Shape[0]
		if rows {
			n, k = k, n
		}
		p := gemm.NewPanels(n, k)
		pack(p, b.Floats(), rows)
		if tensor.Constant(b) {
			p.Move(func(n int) []float32 { return run.Lasting[float32](c, n) })
			c.Forget(b)
		}
		return p
	})
}

func pack(p *gemm.Panels, w []float32, rows bool) {
	if rows {
		p.PackRows(w, p.Columns())
	} else {
		p.PackColumns(w, p.Rows())
	}
}

// A Stacked is the shapes of a product of two stacks of matrices.
type Stacked struct {
	M, K, N    int
	batch      []int // of the result
	Out        []int // its shape
	FromA      []int // the matrix of a for each of the result, nil if the same
	FromB      []int
	OneB       bool // all are multiplied with one matrix
	CountBatch int
}

// Stack checks the shapes of a product as numpy.matmul does.
func Stack(a, b []int, transB bool) (s Stacked) {
	if len(a) == 0 || len(b) == 0 {
		tensor.Malformed("product of shapes %d and %d", a, b)
	}
	vectorA, vectorB := len(a) == 1, len(b) == 1
	if vectorA {
		a = []int{1, a[0]}
	}
	if vectorB {
		b = []int{b[0], 1}
	}
	ra, rb := len(a)-2, len(b)-2
	s.M, s.K, s.N = a[ra], a[ra+1], b[rb+1]
	inner := b[rb]
	if transB && !vectorB {
		s.N, inner = inner, s.N
	}
	if inner != s.K {
		tensor.Malformed("product of shapes %d and %d", a, b)
	}
	s.batch = tensor.Broadcast(a[:ra], b[:rb])
	s.CountBatch = tensor.Count(s.batch)
	s.FromA, s.FromB = tensor.Spread(a[:ra], s.batch), tensor.Spread(b[:rb], s.batch)
	s.OneB = tensor.Count(b[:rb]) == 1
	s.Out = append([]int{}, s.batch...)
	if !vectorA {
		s.Out = append(s.Out, s.M)
	}
	if !vectorB {
		s.Out = append(s.Out, s.N)
	}
	return s
}

// Which returns the matrix for i of the result: from[i], or i where from is nil.
func Which(from []int, i int) int {
	if from == nil {
		return i
	}
	return from[i]
}

// MatMul returns alpha · a·b + bias, with transA and transB of the matrices
// turned. bias (n) may be nil, and is only taken with an alpha of 1.
func MatMul(c *run.Call, a, b *tensor.Tensor, transA, transB bool, alpha float32, bias []float32) *tensor.Tensor {
	if transA {
		a = flip(a)
	}
	s := Stack(a.Shape, b.Shape, transB)
	if a.Type != b.Type {
		tensor.Malformed("product of %v and %v", a.Type, b.Type)
	}
	out := c.Blank(a.Type, s.Out...)
	switch {
	case out.Len() == 0:
	case s.K == 0:
		out = c.Zeros(a.Type, s.Out...)
		if bias != nil && out.F != nil {
			vec.Bias(out.F, out.F, bias)
		}
	case a.F != nil:
		multiply(c, out.F, a, b, &s, transB, bias)
		if alpha != 1 {
			vec.Scale(out.F, out.F, alpha)
		}
	default:
		out = c.Zeros(a.Type, s.Out...)
		if transB {
			b = flip(b)
		}
		for i := range s.CountBatch {
			wa, wb := Which(s.FromA, i)*s.M*s.K, Which(s.FromB, i)*s.K*s.N
			if a.D != nil {
				SlowProduct(out.D[i*s.M*s.N:], a.D[wa:], b.D[wb:], s.M, s.K, s.N)
			} else {
				SlowProduct(out.I[i*s.M*s.N:], a.I[wa:], b.I[wb:], s.M, s.K, s.N)
			}
		}
		for i := range out.I {
			out.I[i] = tensor.Wrap(out.Type, out.I[i])
		}
		for i := range out.D {
			out.D[i] *= float64(alpha)
		}
	}
	return tensor.Rounded(out)
}

// multiply is matMul of float32. A matrix that multiplies all is packed for the
// pool's tiles; of many each worker packs its own.
func multiply(c *run.Call, dst []float32, a, b *tensor.Tensor, s *Stacked, transB bool, bias []float32) {
	m, k, n := s.M, s.K, s.N
	if s.OneB {
		w := b
		if len(b.Shape) != 2 || transB && len(b.Shape) == 1 {
			shape := []int{k, n}
			if transB && len(b.Shape) > 1 {
				shape = []int{n, k}
			}
			if len(b.Shape) == 1 {
				transB = false
			}
			w = b.As(shape...)
		}
		if s.FromA == nil {
			gemm.NewGemm(Packed(c, w, transB), bias).Run(c.Pool(), dst, n, a.F, k, s.CountBatch*m, false)
			return
		}
		g := gemm.NewGemm(Packed(c, w, transB), bias)
		for i := range s.CountBatch {
			g.Run(c.Pool(), dst[i*m*n:], n, a.F[Which(s.FromA, i)*m*k:], k, m, false)
		}
		return
	}
	b = b.Whole()
	each := gemm.PanelFloats(n, k)
	scratch := c.Blank(onnx.Float, c.Pool().Workers(), each).F
	c.SpreadOut(s.CountBatch, func(worker, i int) {
		var p gemm.Panels
		p.Use(scratch[worker*each:][:each], n, k)
		pack(&p, b.F[Which(s.FromB, i)*k*n:][:k*n], transB)
		gemm.Multiply(dst[i*m*n:], n, a.F[Which(s.FromA, i)*m*k:], k, m, &p, bias, false)
	})
}

// SlowProduct adds x (m, k) · w (k, n) to dst.
func SlowProduct[T float64 | int64](dst, x, w []T, m, k, n int) {
	for i := range m {
		row := dst[i*n:][:n]
		for l, v := range x[i*k:][:k] {
			for j, u := range w[l*n:][:n] {
				row[j] += v * u
			}
		}
	}
}

// GemmOp is alpha·A·B + beta·C.
func GemmOp(c *run.Call) []*tensor.Tensor {
	a, b, add := c.X(0), c.Halves(1), c.Opt(2)
	if len(a.Shape) != 2 || len(b.Shape) != 2 {
		tensor.Malformed("product of shapes %d and %d", a.Shape, b.Shape)
	}
	alpha, beta := float32(c.Float("alpha", 1)), float32(c.Float("beta", 1))
	var bias []float32
	n := b.Shape[1]
	if c.Int("transB", 0) != 0 {
		n = b.Shape[0]
	}
	if add != nil && add.F != nil && alpha == 1 && beta == 1 && n > 0 && add.Len() == n && add.Shape[len(add.Shape)-1] == n {
		bias, add = add.F, nil
	}
	out := MatMul(c, a, b, c.Int("transA", 0) != 0, c.Int("transB", 0) != 0, alpha, bias)
	if add == nil || out.Len() == 0 {
		return run.One(out)
	}
	if add.Type != out.Type {
		tensor.Malformed("product of %v plus %v", out.Type, add.Type)
	}
	from := tensor.Spread(add.Shape, out.Shape)
	if len(tensor.Broadcast(add.Shape, out.Shape)) != 2 || from != nil && len(from) != out.Len() {
		tensor.Malformed("shape %d added to %d", add.Shape, out.Shape)
	}
	for i := range out.Len() {
		j := Which(from, i)
		switch {
		case out.F != nil:
			out.F[i] += beta * add.F[j]
		case out.D != nil:
			out.D[i] += float64(beta) * add.D[j]
		default:
			out.I[i] = tensor.Wrap(out.Type, out.I[i]+int64(beta)*add.I[j])
		}
	}
	return run.One(tensor.Rounded(out))
}

// FusedMatMul is a product with a factor, of matrices that may be turned.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.FusedMatMul.
func FusedMatMul(c *run.Call) []*tensor.Tensor {
	if c.Int("transBatchA", 0) != 0 || c.Int("transBatchB", 0) != 0 {
		tensor.Unsupported("transBatchA, transBatchB")
	}
	return run.One(MatMul(c, c.X(0), c.X(1), c.Int("transA", 0) != 0, c.Int("transB", 0) != 0, float32(c.Float("alpha", 1)), nil))
}
