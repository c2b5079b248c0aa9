package gemm

import "quern/kernels/threads"

// Where there are tiles for float32 but none for integers, products of int8 are computed
// in float32, in slabs of floatSlab products: such a sum of products of bytes is below
// 2²⁴ and so exact.
const floatSlab = 512

// asFloats returns w as panels of float32, made once.
func (p *Int8Panels) asFloats() *Panels {
	if p.floats == nil {
		p.floats = NewPanels(p.n, p.k)
		for i, v := range p.data {
			// (panels, quads, 16, 4) to (panels, k, 16)
			panel, in := i/(p.quads*64), i%(p.quads*64)
			if k := in/64*4 + in%4; k < p.k {
				p.floats.data[(panel*p.k+k)*PanelWidth+in%64/4] = float32(v)
			}
		}
	}
	return p.floats
}

// runByFloats is run with asFloats. Float results are rounded once a slab: the sum's
// relative error is below 2⁻²⁴ times the number of slabs.
func (g *Int8Gemm) runByFloats(p *threads.Pool, zero int32) {
	c, w := &g.call, g.w.asFloats()
	x := make([]float32, c.rows*w.k)
	for r := range c.rows {
		to := x[r*w.k : (r+1)*w.k]
		for i, v := range c.x[r*c.xStride:][:w.k] {
			to[i] = float32(int32(v) - zero)
		}
	}
	part, stride := c.floats, c.dstStride
	if c.ints != nil {
		part, stride = make([]float32, c.rows*w.n), w.n
		for r := range c.rows {
			clear(c.ints[r*c.dstStride:][:w.n])
		}
	}
	f := Product{Dst: part, DstStride: stride, X: x, XStride: w.k, Rows: c.rows, Taps: 1, W: w.data, WStride: PanelWidth * w.k, N: w.n}
	o := CutProduct(&f, max(2, p.Workers()))
	for i := 0; i < w.k; i += floatSlab {
		s := f
		s.K, s.X, s.W = min(floatSlab, w.k-i), x[i:], w.data[i*PanelWidth:]
		if c.ints == nil && i > 0 {
			s.Init, s.InitStride = part, stride
		}
		last := i+floatSlab >= w.k
		p.Run(o.Chunks(), &threads.Region{F: func(worker, chunk int) {
			o.Chunk(&s, chunk)
			if c.ints != nil || last {
				g.finish(&o, chunk, worker, part, stride)
			}
		}})
	}
}

// finish adds a chunk of sums to the integer results, or scales it to float results.
func (g *Int8Gemm) finish(o *Cut, chunk, worker int, part []float32, stride int) {
	c := &g.call
	from, row := chunk%o.Across*o.Columns, chunk/o.Across*o.Rows
	o.Each(chunk, part, stride, c.rows, c.n, worker, func(_ int, sums []float32) {
		if c.ints != nil {
			to := c.ints[row*c.dstStride+from:]
			for j, v := range sums {
				to[j] += int32(v)
			}
			row++
			return
		}
		for j, v := range sums {
			sums[j] = float32(v*c.scale[from+j]) + c.bias[from+j]
		}
	})
	if g.then != nil {
		o.Each(chunk, part, stride, c.rows, c.n, worker, g.then)
	}
}
