package onnx

import (
	"quern/formats/onnx"
	"quern/kernels/gemm"
	"quern/kernels/vec"
)

// productTable are products of matrices.
func productTable() table {
	return table{
		"MatMul":                    func(c *call) []*Tensor { return one(c.matMul(c.x(0), c.x(1), false, false, 1, nil)) },
		"Gemm":                      gemmOp,
		"com.microsoft.FusedMatMul": fusedMatMul,
	}
}

// flip returns t with its last two dimensions exchanged.
func flip(t *Tensor) *Tensor {
	r := len(t.Shape)
	if r < 2 {
		return t
	}
	shape, step := append([]int{}, t.Shape...), strides(t.Shape)
	shape[r-1], shape[r-2] = shape[r-2], shape[r-1]
	step[r-1], step[r-2] = step[r-2], step[r-1]
	return t.pick(walk(shape, step, 0), shape...)
}

// packs are the constants laid out for products.
type packs map[*Tensor]*gemm.Panels

// packed returns b (k, n), or with rows (n, k), laid out for products, once for
// a constant.
func (c *call) packed(b *Tensor, rows bool) *gemm.Panels {
	known := kept[packs](c)
	p := (*known)[b]
	n, k := b.Shape[1], b.Shape[0]
	if rows {
		n, k = k, n
	}
	if p != nil && p.Rows() == n && p.Columns() == k {
		return p
	}
	p = gemm.NewPanels(n, k)
	pack(p, b.F, rows)
	if b.isConstant() {
		if *known == nil {
			*known = make(packs)
		}
		(*known)[b] = p
	}
	return p
}

func pack(p *gemm.Panels, w []float32, rows bool) {
	if rows {
		p.PackRows(w, p.Columns())
	} else {
		p.PackColumns(w, p.Rows())
	}
}

// A stacked is the shapes of a product of two stacks of matrices.
type stacked struct {
	m, k, n    int
	batch      []int // of the result
	out        []int // its shape
	fromA      []int // the matrix of a for each of the result, nil if the same
	fromB      []int
	oneB       bool // all are multiplied with one matrix
	countBatch int
}

// stack checks the shapes of a product as numpy.matmul does.
func stack(a, b []int, transB bool) (s stacked) {
	if len(a) == 0 || len(b) == 0 {
		fail("%w: product of shapes %d and %d", onnx.ErrFormat, a, b)
	}
	vectorA, vectorB := len(a) == 1, len(b) == 1
	if vectorA {
		a = []int{1, a[0]}
	}
	if vectorB {
		b = []int{b[0], 1}
	}
	ra, rb := len(a)-2, len(b)-2
	s.m, s.k, s.n = a[ra], a[ra+1], b[rb+1]
	inner := b[rb]
	if transB && !vectorB {
		s.n, inner = inner, s.n
	}
	if inner != s.k {
		fail("%w: product of shapes %d and %d", onnx.ErrFormat, a, b)
	}
	s.batch = broadcast(a[:ra], b[:rb])
	s.countBatch = count(s.batch)
	s.fromA, s.fromB = spread(a[:ra], s.batch), spread(b[:rb], s.batch)
	s.oneB = count(b[:rb]) == 1
	s.out = append([]int{}, s.batch...)
	if !vectorA {
		s.out = append(s.out, s.m)
	}
	if !vectorB {
		s.out = append(s.out, s.n)
	}
	return s
}

func which(from []int, i int) int {
	if from == nil {
		return i
	}
	return from[i]
}

// matMul returns alpha · a·b + bias, with transA and transB of the matrices
// turned. bias (n) may be nil, and is only taken with an alpha of 1.
func (c *call) matMul(a, b *Tensor, transA, transB bool, alpha float32, bias []float32) *Tensor {
	if transA {
		a = flip(a)
	}
	s := stack(a.Shape, b.Shape, transB)
	if a.Type != b.Type {
		fail("%w: product of %v and %v", onnx.ErrFormat, a.Type, b.Type)
	}
	out := c.blank(a.Type, s.out...)
	switch {
	case out.len() == 0:
	case s.k == 0:
		out = c.zeros(a.Type, s.out...)
		addRows(out.F, bias)
	case a.F != nil:
		c.multiply(out.F, a, b, &s, transB, bias)
		if alpha != 1 {
			vec.Scale(out.F, out.F, alpha)
		}
	default:
		out = c.zeros(a.Type, s.out...)
		if transB {
			b = flip(b)
		}
		for i := range s.countBatch {
			wa, wb := which(s.fromA, i)*s.m*s.k, which(s.fromB, i)*s.k*s.n
			if a.D != nil {
				slowProduct(out.D[i*s.m*s.n:], a.D[wa:], b.D[wb:], s.m, s.k, s.n)
			} else {
				slowProduct(out.I[i*s.m*s.n:], a.I[wa:], b.I[wb:], s.m, s.k, s.n)
			}
		}
		for i := range out.I {
			out.I[i] = wrap(out.Type, out.I[i])
		}
		for i := range out.D {
			out.D[i] *= float64(alpha)
		}
	}
	return settle(out)
}

// addRows adds bias to every row of dst; nil is nothing.
func addRows(dst, bias []float32) {
	if len(bias) > 0 && len(dst) > 0 {
		vec.Bias(dst, dst, bias)
	}
}

// multiply is matMul of float32. A matrix that multiplies all is packed for the
// pool's tiles; of many each worker packs its own.
func (c *call) multiply(dst []float32, a, b *Tensor, s *stacked, transB bool, bias []float32) {
	m, k, n := s.m, s.k, s.n
	if s.oneB {
		w := b
		if len(b.Shape) != 2 || transB && len(b.Shape) == 1 {
			shape := []int{k, n}
			if transB && len(b.Shape) > 1 {
				shape = []int{n, k}
			}
			if len(b.Shape) == 1 {
				transB = false
			}
			w = b.as(shape...)
		}
		if s.fromA == nil {
			gemm.NewGemm(c.packed(w, transB), bias).Run(c.pool(), dst, n, a.F, k, s.countBatch*m, false)
			return
		}
		g := gemm.NewGemm(c.packed(w, transB), bias)
		for i := range s.countBatch {
			g.Run(c.pool(), dst[i*m*n:], n, a.F[which(s.fromA, i)*m*k:], k, m, false)
		}
		return
	}
	panels := make([]gemm.Panels, c.pool().Workers())
	c.spreadOut(s.countBatch, func(worker, i int) {
		p := &panels[worker]
		p.Resize(n, k)
		pack(p, b.F[which(s.fromB, i)*k*n:][:k*n], transB)
		gemm.Multiply(dst[i*m*n:], n, a.F[which(s.fromA, i)*m*k:], k, m, p, bias, false)
	})
}

// slowProduct adds x (m, k) · w (k, n) to dst.
func slowProduct[T float64 | int64](dst, x, w []T, m, k, n int) {
	for i := range m {
		row := dst[i*n:][:n]
		for l, v := range x[i*k:][:k] {
			for j, u := range w[l*n:][:n] {
				row[j] += v * u
			}
		}
	}
}

// gemmOp is alpha·A·B + beta·C.
func gemmOp(c *call) []*Tensor {
	a, b, add := c.x(0), c.x(1), c.opt(2)
	if len(a.Shape) != 2 || len(b.Shape) != 2 {
		fail("%w: product of shapes %d and %d", onnx.ErrFormat, a.Shape, b.Shape)
	}
	alpha, beta := float32(c.float("alpha", 1)), float32(c.float("beta", 1))
	var bias []float32
	n := b.Shape[1]
	if c.int("transB", 0) != 0 {
		n = b.Shape[0]
	}
	if add != nil && add.F != nil && alpha == 1 && beta == 1 && n > 0 && add.len() == n && add.Shape[len(add.Shape)-1] == n {
		bias, add = add.F, nil
	}
	out := c.matMul(a, b, c.int("transA", 0) != 0, c.int("transB", 0) != 0, alpha, bias)
	if add == nil || out.len() == 0 {
		return one(out)
	}
	if add.Type != out.Type {
		fail("%w: product of %v plus %v", onnx.ErrFormat, out.Type, add.Type)
	}
	from := spread(add.Shape, out.Shape)
	if len(broadcast(add.Shape, out.Shape)) != 2 || from != nil && len(from) != out.len() {
		fail("%w: shape %d added to %d", onnx.ErrFormat, add.Shape, out.Shape)
	}
	for i := range out.len() {
		j := which(from, i)
		switch {
		case out.F != nil:
			out.F[i] += beta * add.F[j]
		case out.D != nil:
			out.D[i] += float64(beta) * add.D[j]
		default:
			out.I[i] = wrap(out.Type, out.I[i]+int64(beta)*add.I[j])
		}
	}
	return one(settle(out))
}

// fusedMatMul is a product with a factor, of matrices that may be turned.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.FusedMatMul.
func fusedMatMul(c *call) []*Tensor {
	if c.int("transBatchA", 0) != 0 || c.int("transBatchB", 0) != 0 {
		fail("%w: transBatchA, transBatchB", onnx.ErrUnsupported)
	}
	return one(c.matMul(c.x(0), c.x(1), c.int("transA", 0) != 0, c.int("transB", 0) != 0, float32(c.float("alpha", 1)), nil))
}
