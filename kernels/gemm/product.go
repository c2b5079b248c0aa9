package gemm

import "fmt"

// A Product is Rows of X against panels of W, as Panels.Data has them:
//
//	Dst[r][j] = Init[r][j] + Σ_t Σ_i X[r·XStride + t·TapStride + i] · W[j/16][t·K + i][j%16]
//
// for r < Rows, j < N, t < Taps, i < K. Strides count floats. A nil Init is
// zeros; it may be Dst, and its stride may be 0, as may all other strides.
type Product struct {
	Dst        []float32
	DstStride  int
	Init       []float32
	InitStride int
	X          []float32
	XStride    int
	Rows       int
	Taps       int
	TapStride  int
	K          int
	W          []float32
	WStride    int // between panels
	N          int
}

func newProduct(dst []float32, dstStride int, x []float32, xStride, rows int, w *Panels, bias []float32, add bool) Product {
	if rows < 0 || rows > 0 && (dstStride < 0 || xStride < 0 || len(dst) < (rows-1)*dstStride+w.n || len(x) < (rows-1)*xStride+w.k) ||
		bias != nil && len(bias) != w.n {
		panic(fmt.Sprintf("gemm: %d rows in %d floats, stride %d, by %d×%d and %d biases into %d floats, stride %d",
			rows, len(x), xStride, w.n, w.k, len(bias), len(dst), dstStride))
	}
	c := Product{
		Dst: dst, DstStride: dstStride, X: x, XStride: xStride, Rows: rows,
		Taps: 1, K: w.k, W: w.data, WStride: PanelWidth * w.k, N: w.n,
	}
	switch {
	case add:
		c.Init, c.InitStride = dst, dstStride
	case bias != nil:
		c.Init = bias
	}
	return c
}

// slab is the number of k that a pass over the rows takes of four panels: 256 KB of
// weights, which stay in the second-level cache until the last row.
const slab = 1024

// Run computes the product. Between slabs the sums are kept in Dst.
func (c *Product) Run() {
	if c.Rows == 0 {
		return
	}
	const group = 4 * PanelWidth
	for j := 0; j < c.N; j += group {
		n := min(group, c.N-j)
		s := *c
		s.Dst, s.W, s.N = c.Dst[j:], c.W[j/PanelWidth*c.WStride:], n
		if s.Init != nil {
			s.Init = c.Init[j:]
		}
		if c.K > slab { // slabs of one tap
			for t := range c.Taps {
				for i := 0; i < c.K; i += slab {
					p := s
					p.Taps, p.K = 1, min(slab, c.K-i)
					p.X, p.W = s.X[t*c.TapStride+i:], s.W[(t*c.K+i)*PanelWidth:]
					p.tiles()
					s.Init, s.InitStride = s.Dst, s.DstStride
				}
			}
			if c.Taps > 0 {
				continue
			}
		}
		per := max(1, slab/c.K)
		for t := 0; t == 0 || t < c.Taps; t += per {
			p := s
			p.Taps = min(per, c.Taps-t)
			if p.Taps > 0 {
				p.X, p.W = s.X[t*c.TapStride:], s.W[t*c.K*PanelWidth:]
			}
			p.tiles()
			s.Init, s.InitStride = s.Dst, s.DstStride
		}
	}
}

// tilesGo is tiles in Go.
func (c *Product) tilesGo() {
	var init []float32
	for r := range c.Rows {
		for j := 0; j < c.N; j += PanelWidth {
			var sum [PanelWidth]float32
			n := min(PanelWidth, c.N-j)
			if c.Init != nil {
				init = c.Init[r*c.InitStride+j:]
				copy(sum[:n], init)
			}
			// Four columns at a time, which stay in registers.
			for l := 0; l < n; l += 4 {
				s0, s1, s2, s3 := sum[l], sum[l+1], sum[l+2], sum[l+3]
				for t := range c.Taps {
					w := c.W[j/PanelWidth*c.WStride+t*c.K*PanelWidth+l:]
					for _, v := range c.X[r*c.XStride+t*c.TapStride:][:c.K] {
						u := (*[4]float32)(w)
						s0 += v * u[0]
						s1 += v * u[1]
						s2 += v * u[2]
						s3 += v * u[3]
						w = w[min(PanelWidth, len(w)):]
					}
				}
				sum[l], sum[l+1], sum[l+2], sum[l+3] = s0, s1, s2, s3
			}
			copy(c.Dst[r*c.DstStride+j:][:n], sum[:])
		}
	}
}

// A Cut divides a Product into Across·Down chunks of Rows and Columns.
type Cut struct{ Rows, Columns, Across, Down int }

func (o *Cut) Chunks() int { return o.Across * o.Down }

// CutProduct cuts c for a number of workers. A chunk is large enough that its
// rows use weights fetched to the cache many times, and there are a few chunks
// for each worker, so that they end at about the same time.
func CutProduct(c *Product, workers int) Cut {
	groups := (c.N + wide - 1) / wide
	// Few rows stay in one chunk where there are columns enough for all workers, so
	// that weights are read from memory once.
	if workers > 1 && c.Rows > 0 && c.Rows <= mostRows && (groups >= 4*workers || groups >= 2*workers && groups%workers == 0) {
		o := Cut{Rows: c.Rows, Down: 1}
		o.over(c.N, min(groups, 4*workers))
		return o
	}
	return cutRows(c, workers)
}

// The columns of a chunk are a multiple of wide, the columns of a pass over the rows. Its
// rows are leastRows at least and a multiple of wholeRows, which is a multiple of every
// level's tile rows, so that tiles are whole.
const (
	wide      = 4 * PanelWidth
	wholeRows = 12
	leastRows = 48
	mostRows  = 192
)

// cutRows is CutProduct with long stretches of rows: the weights of a pass come from memory
// for the first of its rows, and from the second-level cache for the others. Only where
// there are too few columns for all workers are stretches shorter than mostRows.
func cutRows(c *Product, workers int) Cut {
	if workers == 1 || c.Rows == 0 {
		return Cut{Rows: max(1, c.Rows), Columns: c.N, Across: 1, Down: 1}
	}
	groups := (c.N + wide - 1) / wide
	down := max((c.Rows+mostRows-1)/mostRows, (4*workers+groups-1)/groups)
	per := (c.Rows + down - 1) / down
	o := Cut{Rows: max(leastRows, (per+wholeRows-1)/wholeRows*wholeRows)}
	o.Down = (c.Rows + o.Rows - 1) / o.Rows
	o.over(c.N, min(groups, (4*workers+o.Down-1)/o.Down))
	return o
}

// over divides n columns into about across chunks.
func (o *Cut) over(n, across int) {
	groups := (n + wide - 1) / wide
	o.Columns = (groups + across - 1) / across * wide
	o.Across = (n + o.Columns - 1) / o.Columns
}

// Chunk computes one chunk of c.
func (o *Cut) Chunk(c *Product, chunk int) {
	p := *c
	r, j := chunk/o.Across*o.Rows, chunk%o.Across*o.Columns
	p.Rows, p.N = min(o.Rows, c.Rows-r), min(o.Columns, c.N-j)
	p.Dst, p.X = c.Dst[r*c.DstStride+j:], c.X[r*c.XStride:]
	p.W = c.W[j/PanelWidth*c.WStride:]
	if c.Init != nil {
		p.Init = c.Init[r*c.InitStride+j:]
	}
	p.Run()
}
