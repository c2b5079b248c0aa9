package kernels

import "fmt"

// Panels is a matrix W of n rows and k columns laid out for products x · Wᵀ:
// columns of the result in panels of 16, a panel's 16 weights for one k side by
// side. The last panel is filled up with zeros.
//
// Every element of a product is one running sum over ascending k, so its bits
// depend on the CPU level only, not on how many rows are computed together.
// Matrices read in the file's own layout go through MatMul, which adds in
// another order.
type Panels struct {
	n, k int
	data []float32 // (panels, k, 16)
}

const panelWidth = 16

// NewPanels returns a zero matrix of n rows and k columns, to be packed into.
func NewPanels(n, k int) *Panels {
	p := &Panels{}
	p.reset(n, k)
	return p
}

// reset makes p n×k; what it held is lost, and memory is kept where it is
// enough.
func (p *Panels) reset(n, k int) {
	if n <= 0 || k <= 0 {
		panic(fmt.Sprintf("kernels: panels of a %d×%d matrix", n, k))
	}
	p.n, p.k = n, k
	size := (n + panelWidth - 1) / panelWidth * panelWidth * k
	if cap(p.data) < size {
		p.data = make([]float32, size)
		return
	}
	p.data = p.data[:size]
	clear(p.data[max(0, size-panelWidth*k):]) // what fills up the last panel
}

// Rows and Columns are the sizes of W: a product has Rows columns and sums
// over Columns.
func (p *Panels) Rows() int    { return p.n }
func (p *Panels) Columns() int { return p.k }

// PackRows takes W from w, whose row r starts at r·stride.
func (p *Panels) PackRows(w []float32, stride int) {
	if stride < p.k || len(w) < (p.n-1)*stride+p.k {
		panic(fmt.Sprintf("kernels: packing %d rows of %d, stride %d, from %d floats", p.n, p.k, stride, len(w)))
	}
	for r := range p.n {
		to := p.data[r/panelWidth*panelWidth*p.k+r%panelWidth:]
		for i, v := range w[r*stride : r*stride+p.k] {
			to[i*panelWidth] = v
		}
	}
}

// PackColumns takes Wᵀ, a matrix of k rows and n columns, from w, whose row i
// starts at i·stride: a product is x · w then.
func (p *Panels) PackColumns(w []float32, stride int) {
	if stride < p.n || len(w) < (p.k-1)*stride+p.n {
		panic(fmt.Sprintf("kernels: packing %d rows of %d, stride %d, from %d floats", p.k, p.n, stride, len(w)))
	}
	for i := range p.k {
		row := w[i*stride : i*stride+p.n]
		for at := i * panelWidth; len(row) > 0; at += p.k * panelWidth {
			row = row[copy(p.data[at:at+panelWidth], row):]
		}
	}
}

// A Gemm multiplies float32 rows with one packed matrix on a Pool. It is made
// once per matrix and is not safe for concurrent use.
type Gemm struct {
	w      *Panels
	bias   []float32
	call   product
	cut    cut
	region Region
}

// NewGemm prepares x · Wᵀ + bias. bias (w.Rows()) may be nil. Both are kept,
// not copied.
func NewGemm(w *Panels, bias []float32) *Gemm {
	if bias != nil && len(bias) != w.n {
		panic(fmt.Sprintf("kernels: a %d×%d matrix with %d biases", w.n, w.k, len(bias)))
	}
	g := &Gemm{w: w, bias: bias}
	g.region.F = func(_, c int) { g.cut.part(&g.call, c) }
	return g
}

// Run writes rows products to dst, row i at i·dstStride, of the rows of x at
// i·xStride. With add they are added to what dst holds, and the bias is left
// out. dst may not overlap x.
func (g *Gemm) Run(p *Pool, dst []float32, dstStride int, x []float32, xStride, rows int, add bool) {
	g.call = newProduct(dst, dstStride, x, xStride, rows, g.w, g.bias, add)
	g.cut = cutProduct(&g.call, p.Workers())
	p.Run(g.cut.chunks(), &g.region)
	g.call = product{}
}

// Multiply is Gemm.Run on the calling goroutine.
func Multiply(dst []float32, dstStride int, x []float32, xStride, rows int, w *Panels, bias []float32, add bool) {
	c := newProduct(dst, dstStride, x, xStride, rows, w, bias, add)
	c.run()
}

func newProduct(dst []float32, dstStride int, x []float32, xStride, rows int, w *Panels, bias []float32, add bool) product {
	if rows < 0 || rows > 0 && (dstStride < 0 || xStride < 0 || len(dst) < (rows-1)*dstStride+w.n || len(x) < (rows-1)*xStride+w.k) ||
		bias != nil && len(bias) != w.n {
		panic(fmt.Sprintf("kernels: %d rows in %d floats, stride %d, by %d×%d and %d biases into %d floats, stride %d",
			rows, len(x), xStride, w.n, w.k, len(bias), len(dst), dstStride))
	}
	c := product{
		dst: dst, dstStride: dstStride, x: x, xStride: xStride, rows: rows,
		taps: 1, k: w.k, w: w.data, wStride: panelWidth * w.k, n: w.n,
	}
	switch {
	case add:
		c.init, c.initStride = dst, dstStride
	case bias != nil:
		c.init = bias
	}
	return c
}

// A product is rows of x against panels of w:
//
//	dst[r][j] = init[r][j] + Σ_t Σ_i x[r·xStride + t·tapStride + i] · w[j/16][t·k + i][j%16]
//
// for r < rows, j < n, t < taps, i < k. Strides count floats. A nil init is
// zeros; it may be dst, and its stride may be 0, as may all other strides.
type product struct {
	dst        []float32
	dstStride  int
	init       []float32
	initStride int
	x          []float32
	xStride    int
	rows       int
	taps       int
	tapStride  int
	k          int
	w          []float32
	wStride    int // between panels
	n          int
}

// slab is how many weights of each of the four panels a pass over the rows
// takes: 256 KB together, which stay in the second-level cache until the last
// row is done.
const slab = 1024

// run computes the product. A sum that is cut into slabs waits in dst.
func (c *product) run() {
	if c.rows == 0 {
		return
	}
	const group = 4 * panelWidth
	for j := 0; j < c.n; j += group {
		n := min(group, c.n-j)
		s := *c
		s.dst, s.w, s.n = c.dst[j:], c.w[j/panelWidth*c.wStride:], n
		if s.init != nil {
			s.init = c.init[j:]
		}
		if c.k > slab { // slabs of one tap
			for t := range c.taps {
				for i := 0; i < c.k; i += slab {
					p := s
					p.taps, p.k = 1, min(slab, c.k-i)
					p.x, p.w = s.x[t*c.tapStride+i:], s.w[(t*c.k+i)*panelWidth:]
					p.tiles()
					s.init, s.initStride = s.dst, s.dstStride
				}
			}
			if c.taps > 0 {
				continue
			}
		}
		per := max(1, slab/c.k)
		for t := 0; t == 0 || t < c.taps; t += per {
			p := s
			p.taps = min(per, c.taps-t)
			if p.taps > 0 {
				p.x, p.w = s.x[t*c.tapStride:], s.w[t*c.k*panelWidth:]
			}
			p.tiles()
			s.init, s.initStride = s.dst, s.dstStride
		}
	}
}

// tilesGo is tiles in Go.
func (c *product) tilesGo() {
	var init []float32
	for r := range c.rows {
		for j := 0; j < c.n; j += panelWidth {
			var sum [panelWidth]float32
			n := min(panelWidth, c.n-j)
			if c.init != nil {
				init = c.init[r*c.initStride+j:]
				copy(sum[:n], init)
			}
			// Four columns at a time, which stay in registers.
			for l := 0; l < n; l += 4 {
				s0, s1, s2, s3 := sum[l], sum[l+1], sum[l+2], sum[l+3]
				for t := range c.taps {
					w := c.w[j/panelWidth*c.wStride+t*c.k*panelWidth+l:]
					for _, v := range c.x[r*c.xStride+t*c.tapStride:][:c.k] {
						u := (*[4]float32)(w)
						s0 += v * u[0]
						s1 += v * u[1]
						s2 += v * u[2]
						s3 += v * u[3]
						w = w[min(panelWidth, len(w)):]
					}
				}
				sum[l], sum[l+1], sum[l+2], sum[l+3] = s0, s1, s2, s3
			}
			copy(c.dst[r*c.dstStride+j:][:n], sum[:])
		}
	}
}

// A cut divides a product into chunks of rows and columns.
type cut struct{ rows, columns, across, down int }

func (o *cut) chunks() int { return o.across * o.down }

// cutProduct cuts c for a number of workers. A chunk is large enough that its
// rows use weights fetched to the cache many times, and there are a few chunks
// for each worker, so that they end at about the same time.
func cutProduct(c *product, workers int) cut {
	groups := (c.n + wide - 1) / wide
	// Few rows stay together where columns are enough to go round: then weights
	// come from memory once.
	if workers > 1 && c.rows > 0 && c.rows <= mostRows && (groups >= 4*workers || groups >= 2*workers && groups%workers == 0) {
		o := cut{rows: c.rows, down: 1}
		o.over(c.n, min(groups, 4*workers))
		return o
	}
	return cutRows(c, workers)
}

// The columns of a chunk are a multiple of wide, which a pass over the rows takes
// at a time. Its rows are one of leastRows, which is a multiple of every level's
// rows of a tile, for whole tiles.
const (
	wide      = 4 * panelWidth
	leastRows = 48
	mostRows  = 192
)

// cutRows is cutProduct by rows first, so that a chunk has long stretches of them.
func cutRows(c *product, workers int) cut {
	if workers == 1 || c.rows == 0 {
		return cut{rows: max(1, c.rows), columns: c.n, across: 1, down: 1}
	}
	o := cut{rows: min(mostRows, max(leastRows, c.rows/(4*workers)/leastRows*leastRows))}
	o.down = (c.rows + o.rows - 1) / o.rows
	o.over(c.n, min((c.n+wide-1)/wide, max(1, 4*workers/o.down)))
	return o
}

// over cuts n columns into about across chunks.
func (o *cut) over(n, across int) {
	groups := (n + wide - 1) / wide
	o.columns = (groups + across - 1) / across * wide
	o.across = (n + o.columns - 1) / o.columns
}

// part computes one chunk of c.
func (o *cut) part(c *product, chunk int) {
	p := *c
	r, j := chunk/o.across*o.rows, chunk%o.across*o.columns
	p.rows, p.n = min(o.rows, c.rows-r), min(o.columns, c.n-j)
	p.dst, p.x = c.dst[r*c.dstStride+j:], c.x[r*c.xStride:]
	p.w = c.w[j/panelWidth*c.wStride:]
	if c.init != nil {
		p.init = c.init[r*c.initStride+j:]
	}
	p.run()
}
