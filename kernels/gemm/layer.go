package gemm

import "quern/kernels/threads"

// RunThen is Run without add. The worker that computed a chunk calls then, if not nil,
// for the chunk's stretch of every row while it is in the cache.
func (g *Gemm) RunThen(p *threads.Pool, dst []float32, dstStride int, x []float32, xStride, rows int, then func(worker int, row []float32)) {
	if then == nil {
		g.Run(p, dst, dstStride, x, xStride, rows, false)
		return
	}
	c := newProduct(dst, dstStride, x, xStride, rows, g.w, g.bias, false)
	// One worker needs chunks too: a large product exceeds the cache.
	o := CutProduct(&c, max(2, p.Workers()))
	p.Run(o.Chunks(), &threads.Region{F: func(worker, chunk int) {
		o.Chunk(&c, chunk)
		o.Each(chunk, dst, dstStride, rows, c.N, worker, then)
	}})
}

// Each calls then for the rows of a chunk of a rows×n result.
func (o *Cut) Each(chunk int, dst []float32, stride, rows, n, worker int, then func(worker int, row []float32)) {
	r, j := chunk/o.Across*o.Rows, chunk%o.Across*o.Columns
	for i := r; i < min(r+o.Rows, rows); i++ {
		then(worker, dst[i*stride+j:i*stride+min(j+o.Columns, n)])
	}
}
