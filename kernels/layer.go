package kernels

// RunThen is Run without add, with then called for every stretch of a row of the
// result while that is in the cache, by the worker that made it. A nil then is
// nothing.
func (g *Gemm) RunThen(p *Pool, dst []float32, dstStride int, x []float32, xStride, rows int, then func(worker int, row []float32)) {
	if then == nil {
		g.Run(p, dst, dstStride, x, xStride, rows, false)
		return
	}
	c := newProduct(dst, dstStride, x, xStride, rows, g.w, g.bias, false)
	// One worker, too, leaves the cache with a large product.
	o := cutProduct(&c, max(2, p.Workers()))
	p.Run(o.chunks(), &Region{F: func(worker, chunk int) {
		o.part(&c, chunk)
		o.each(chunk, dst, dstStride, rows, c.n, worker, then)
	}})
}

// each calls then for the rows of a chunk of a rows×n result.
func (o *cut) each(chunk int, dst []float32, stride, rows, n, worker int, then func(worker int, row []float32)) {
	r, j := chunk/o.across*o.rows, chunk%o.across*o.columns
	for i := r; i < min(r+o.rows, rows); i++ {
		then(worker, dst[i*stride+j:i*stride+min(j+o.columns, n)])
	}
}
