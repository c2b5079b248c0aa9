package gemm

import (
	"fmt"
	"math"

	"quern/kernels/threads"
)

// Int8Panels is a matrix W of n rows and k columns of int8, laid out for
// products x · Wᵀ with rows of uint8: columns of the result in panels of 16, and
// of each the weights of four k side by side, as VPDPBUSD takes them. What fills
// up panels and fours is zero.
type Int8Panels struct {
	n, k, quads int
	data        []int8  // (panels, quads, 16, 4)
	sums        []int32 // of the rows of W
	floats      *Panels // see asFloats
}

// NewInt8Panels returns a zero matrix of n rows and k columns, to be packed into.
func NewInt8Panels(n, k int) *Int8Panels {
	if n <= 0 || k <= 0 || k > maxInt8 {
		panic(fmt.Sprintf("gemm: int8 panels of a %d×%d matrix", n, k))
	}
	quads := (k + 3) / 4
	panels := (n + PanelWidth - 1) / PanelWidth
	return &Int8Panels{n: n, k: k, quads: quads, data: make([]int8, panels*PanelWidth*quads*4), sums: make([]int32, n)}
}

// maxInt8 is the number of products of uint8 and int8 whose sum cannot overflow an int32.
const maxInt8 = math.MaxInt32 / (255 * 128)

// Rows and Columns are the sizes of W, Stride is the bytes a row of x takes:
// Columns rounded up to four. Sums are the sums of the rows of W.
func (p *Int8Panels) Rows() int     { return p.n }
func (p *Int8Panels) Columns() int  { return p.k }
func (p *Int8Panels) Stride() int   { return p.quads * 4 }
func (p *Int8Panels) Sums() []int32 { return p.sums }

// Move copies the packed weights to memory that the caller owns, as that of Panels does.
func (p *Int8Panels) Move(memory func(n int) []int8) { p.data = moved(p.data, memory) }

// PackColumns takes Wᵀ, a matrix of k rows and n columns, from w, whose row i
// starts at i·stride. Its bytes are int8, or with flip uint8, from which 128 is
// subtracted.
func (p *Int8Panels) PackColumns(w []byte, stride int, flip bool) {
	if stride < p.n || len(w) < (p.k-1)*stride+p.n {
		panic(fmt.Sprintf("gemm: packing %d rows of %d, stride %d, from %d bytes", p.k, p.n, stride, len(w)))
	}
	by := byte(0)
	if flip {
		by = 128
	}
	clear(p.sums)
	p.floats = nil
	for i := range p.k {
		to := p.data[i/4*64+i%4:]
		for j, b := range w[i*stride:][:p.n] {
			v := int8(b ^ by)
			to[j/PanelWidth*p.quads*64+j%PanelWidth*4] = v
			p.sums[j] += int32(v)
		}
	}
}

// An Int8Gemm multiplies rows of uint8 with one packed matrix on a Pool. It is
// made once per matrix and is not safe for concurrent use.
type Int8Gemm struct {
	w           *Int8Panels
	columnScale []float32 // one value, or one for each column
	init        []int32   // of the call, as are the next two, for whole panels
	scale, bias []float32
	call        int8Product
	cut         Cut
	region      threads.Region
	then        func(worker int, row []float32)
}

// NewInt8Gemm prepares products with w. scale is what the weights of a row of w
// are multiplied with, one value or w.Rows(); bias (w.Rows()) may be nil. Both
// may be nil for products of integers only.
func NewInt8Gemm(w *Int8Panels, scale, bias []float32) *Int8Gemm {
	if len(scale) > 1 && len(scale) != w.n || bias != nil && len(bias) != w.n {
		panic(fmt.Sprintf("gemm: a %d×%d matrix with %d scales and %d biases", w.n, w.k, len(scale), len(bias)))
	}
	whole := (w.n + PanelWidth - 1) / PanelWidth * PanelWidth
	g := &Int8Gemm{w: w, columnScale: scale, init: make([]int32, whole), scale: make([]float32, whole), bias: make([]float32, whole)}
	copy(g.bias, bias)
	g.region.F = func(worker, c int) {
		g.call.chunk(&g.cut, c)
		if g.then != nil {
			g.cut.Each(c, g.call.floats, g.call.dstStride, g.call.rows, g.call.n, worker, g.then)
		}
	}
	return g
}

// RunInts writes rows products to dst, row i at i·dstStride, of the rows of x at
// i·xStride, from whose elements zero is subtracted. xStride is at least w.Stride();
// bytes of a row after w.Columns() are ignored.
func (g *Int8Gemm) RunInts(p *threads.Pool, dst []int32, dstStride int, x []byte, xStride, rows int, zero int32) {
	if rows > 0 && len(dst) < (rows-1)*dstStride+g.w.n {
		panic(fmt.Sprintf("gemm: %d rows of %d into %d ints, stride %d", rows, g.w.n, len(dst), dstStride))
	}
	g.call = int8Product{ints: dst}
	g.run(p, dstStride, x, xStride, rows, zero)
}

// RunFloats is RunInts with results times scale and the scale of their column,
// plus the bias. Then, if not nil, is called as by Gemm.RunThen.
func (g *Int8Gemm) RunFloats(p *threads.Pool, dst []float32, dstStride int, x []byte, xStride, rows int, zero int32, scale float32, then func(worker int, row []float32)) {
	if len(g.columnScale) == 0 || rows > 0 && len(dst) < (rows-1)*dstStride+g.w.n {
		panic(fmt.Sprintf("gemm: %d rows of %d with %d scales into %d floats, stride %d", rows, g.w.n, len(g.columnScale), len(dst), dstStride))
	}
	for j := range g.w.n {
		g.scale[j] = scale * g.columnScale[min(j, len(g.columnScale)-1)]
	}
	g.call, g.then = int8Product{floats: dst, scale: g.scale, bias: g.bias}, then
	g.run(p, dstStride, x, xStride, rows, zero)
	g.then = nil
}

func (g *Int8Gemm) run(p *threads.Pool, dstStride int, x []byte, xStride, rows int, zero int32) {
	w := g.w
	if rows < 0 || rows > 0 && (dstStride < w.n || xStride < w.Stride() || len(x) < (rows-1)*xStride+w.Stride()) {
		panic(fmt.Sprintf("gemm: %d rows in %d bytes, stride %d, by int8 %d×%d, stride %d", rows, len(x), xStride, w.n, w.k, dstStride))
	}
	if rows == 0 {
		return
	}
	for j, s := range w.sums {
		g.init[j] = -zero * s
	}
	c := &g.call
	c.dstStride, c.init, c.x, c.xStride, c.rows = dstStride, g.init, x, xStride, rows
	c.quads, c.w, c.n = w.quads, w.data, w.n
	if int8ByFloats() {
		g.runByFloats(p, zero)
		g.call = int8Product{}
		return
	}
	if shape := (&Product{Rows: rows, N: w.n}); g.then == nil {
		g.cut = CutProduct(shape, p.Workers())
	} else { // a call of then costs as much as a few dozen values
		g.cut = cutRows(shape, max(2, p.Workers())) // see RunThen
	}
	p.Run(g.cut.Chunks(), &g.region)
	g.call = int8Product{}
}

// An int8Product is rows of x against panels of w:
//
//	sum[r][j] = init[j] + Σ_i x[r·xStride + i] · w[j/16][i/4][j%16][i%4]
//
// for r < rows, j < n, i < 4·quads, written to ints, or as sum·scale[j] + bias[j]
// to floats. init, scale and bias have values for whole panels.
type int8Product struct {
	ints        []int32
	floats      []float32
	dstStride   int
	init        []int32
	scale, bias []float32
	x           []byte
	xStride     int
	rows        int
	quads       int
	w           []int8
	n           int
}

// chunk computes one chunk of c.
func (c *int8Product) chunk(o *Cut, chunk int) {
	p := *c
	r, j := chunk/o.Across*o.Rows, chunk%o.Across*o.Columns
	p.rows, p.n = min(o.Rows, c.rows-r), min(o.Columns, c.n-j)
	if c.floats != nil {
		p.floats, p.scale, p.bias = c.floats[r*c.dstStride+j:], c.scale[j:], c.bias[j:]
	} else {
		p.ints = c.ints[r*c.dstStride+j:]
	}
	p.init, p.x, p.w = c.init[j:], c.x[r*c.xStride:], c.w[j*c.quads*4:]
	// Columns by fours of panels, which stay in the second-level cache.
	for n := p.n; n > 0; n -= wide {
		p.n = min(n, wide)
		p.tiles()
		if n <= wide {
			break
		}
		if p.floats != nil {
			p.floats, p.scale, p.bias = p.floats[wide:], p.scale[wide:], p.bias[wide:]
		} else {
			p.ints = p.ints[wide:]
		}
		p.init, p.w = p.init[wide:], p.w[wide*p.quads*4:]
	}
}

// tilesGo is tiles in Go.
func (c *int8Product) tilesGo() {
	for r := range c.rows {
		x := c.x[r*c.xStride:][:4*c.quads]
		for j := 0; j < c.n; j += PanelWidth {
			sum := [PanelWidth]int32(c.init[j:])
			w := c.w[j*c.quads*4:]
			for i := 0; i < len(x); i += 4 {
				x0, x1, x2, x3 := int32(x[i]), int32(x[i+1]), int32(x[i+2]), int32(x[i+3])
				u := (*[4 * PanelWidth]int8)(w[i*PanelWidth:])
				for l := range sum {
					sum[l] += x0*int32(u[4*l]) + x1*int32(u[4*l+1]) + x2*int32(u[4*l+2]) + x3*int32(u[4*l+3])
				}
			}
			for l := range min(PanelWidth, c.n-j) {
				if c.floats != nil {
					c.floats[r*c.dstStride+j+l] = float32(float32(sum[l])*c.scale[j+l]) + c.bias[j+l]
				} else {
					c.ints[r*c.dstStride+j+l] = sum[l]
				}
			}
		}
	}
}

// Range returns the smallest and the largest of x and zero. NaNs are ignored.
func Range(x []float32) (low, high float32) {
	done := rangeFast(x, &low, &high)
	for _, v := range x[done:] {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return low, high
}

// RangeLanes is Range over several calls: it updates 16 running minima, the first half
// of lanes, and 16 running maxima. Lanes begin as zeros; the least of the first half and
// the largest of the second are the range.
func RangeLanes(lanes *[32]float32, x []float32) {
	for _, v := range x[rangeLanesFast(lanes, x):] {
		if v < lanes[0] {
			lanes[0] = v
		}
		if v > lanes[16] {
			lanes[16] = v
		}
	}
}

// QuantizeBytes writes x / scale, rounded to nearest even, plus zero, to dst, clamped to
// uint8; NaN gives 0. The quotient is limited to ±1000 first.
func QuantizeBytes(dst []byte, x []float32, scale float32, zero int32) {
	if len(dst) < len(x) || zero < 0 || zero > 255 {
		panic(fmt.Sprintf("gemm: %d floats as %d bytes about %d", len(x), len(dst), zero))
	}
	for i := quantizeFast(dst, x, scale, zero); i < len(x); i++ {
		q := x[i] / scale
		if q != q {
			dst[i] = 0
			continue
		}
		v := int32(math.RoundToEven(float64(max(-1000, min(q, 1000))))) + zero
		dst[i] = byte(max(0, min(v, 255)))
	}
}
