// Package gemm multiplies rows with packed matrices: float32 rows with Panels of
// float32, or with Windows of a source, and uint8 rows with Int8Panels.
package gemm

import (
	"fmt"
	"math"

	"quern/kernels/threads"
)

// Panels is a matrix W of n rows and k columns laid out for products x · Wᵀ:
// columns of the result in panels of 16, a panel's 16 weights for one k side by
// side. The last panel is filled up with zeros.
//
// Every element of a product is one running sum over ascending k, so its bits
// depend on the CPU level only, not on how many rows are computed together.
// Matrices in the layout of their file are multiplied by matmul.MatMul, which adds in
// another order.
type Panels struct {
	n, k int
	data []float32 // (panels, k, 16)
}

const PanelWidth = 16

// NewPanels returns a zero matrix of n rows and k columns, to be packed into.
func NewPanels(n, k int) *Panels {
	p := &Panels{}
	p.reset(n, k)
	return p
}

// reset makes p an n×k matrix of undefined values, in the memory it has where that is
// enough.
func (p *Panels) reset(n, k int) {
	if n <= 0 || k <= 0 {
		panic(fmt.Sprintf("gemm: panels of a %d×%d matrix", n, k))
	}
	p.n, p.k = n, k
	size := PanelFloats(n, k)
	if cap(p.data) < size {
		p.data = make([]float32, size)
		return
	}
	if p.data = p.data[:size]; n%PanelWidth != 0 {
		clear(p.data[size-PanelWidth*k:]) // zeros of the last panel
	}
}

// PanelFloats is how many floats a packed matrix of n rows and k columns takes.
func PanelFloats(n, k int) int { return (n + PanelWidth - 1) / PanelWidth * PanelWidth * k }

// Use makes p a matrix of n rows and k columns of undefined values, to be packed into, in
// memory of the caller's. No product with p may be in progress.
func (p *Panels) Use(memory []float32, n, k int) {
	if n <= 0 || k <= 0 || len(memory) < PanelFloats(n, k) {
		panic(fmt.Sprintf("gemm: panels of a %d×%d matrix in %d floats", n, k, len(memory)))
	}
	p.data = memory[:0:PanelFloats(n, k)]
	p.reset(n, k)
}

// Rows and Columns are the sizes of W: a product has Rows columns and sums
// over Columns.
func (p *Panels) Rows() int    { return p.n }
func (p *Panels) Columns() int { return p.k }

// Data is the packed weights (panels, k, 16), for a Product's W.
func (p *Panels) Data() []float32 { return p.data }

// PackRows takes W from w, whose row r starts at r·stride.
func (p *Panels) PackRows(w []float32, stride int) {
	if stride < p.k || len(w) < (p.n-1)*stride+p.k {
		panic(fmt.Sprintf("gemm: packing %d rows of %d, stride %d, from %d floats", p.n, p.k, stride, len(w)))
	}
	for r := range p.n {
		to := p.data[r/PanelWidth*PanelWidth*p.k+r%PanelWidth:]
		for i, v := range w[r*stride : r*stride+p.k] {
			to[i*PanelWidth] = v
		}
	}
}

// PackColumns takes Wᵀ, a matrix of k rows and n columns, from w, whose row i
// starts at i·stride: a product is x · w then.
func (p *Panels) PackColumns(w []float32, stride int) {
	if stride < p.n || len(w) < (p.k-1)*stride+p.n {
		panic(fmt.Sprintf("gemm: packing %d rows of %d, stride %d, from %d floats", p.k, p.n, stride, len(w)))
	}
	for i := range p.k {
		p.PackColumn(i, w[i*stride:i*stride+p.n])
	}
}

// PackColumn takes column i of W.
func (p *Panels) PackColumn(i int, column []float32) {
	if len(column) != p.n {
		panic(fmt.Sprintf("gemm: packing %d floats into a column of %d", len(column), p.n))
	}
	p.PackAffine(i, 0, column, 1, 0, float32(math.Inf(-1)))
}

// PackAffine takes max(part · by + add, floor) for a part of column i of W from a row on, a
// multiple of PanelWidth, as vec.Affine does: what a norm and a ReLU make of a matrix need not
// be written to memory before it is packed.
func (p *Panels) PackAffine(i, row int, part []float32, by, add, floor float32) {
	if i < 0 || i >= p.k || row < 0 || row%PanelWidth != 0 || len(part) > p.n-row {
		panic(fmt.Sprintf("gemm: packing %d floats from row %d into column %d of a %d×%d matrix", len(part), row, i, p.n, p.k))
	}
	column, step := part, p.k*PanelWidth
	at := row/PanelWidth*step + i*PanelWidth
	done := packFast(p.data[at:], column, step, by, add, floor)
	at += done / PanelWidth * step
	for column = column[done:]; len(column) > 0; at += step {
		n := min(PanelWidth, len(column))
		to, from := p.data[at:at+n], column[:n]
		column = column[n:]
		switch plain := by == 1 && add == 0 && floor < -math.MaxFloat32; {
		case plain && n == PanelWidth:
			for l := 0; l < PanelWidth; l += 4 { // 16 bytes a move; of more memmove would be called
				*(*[4]float32)(to[l:]) = [4]float32(from[l:])
			}
		case plain:
			copy(to, from)
		default:
			for l, v := range from {
				to[l] = max(float32(v*by)+add, floor)
			}
		}
	}
}

// A Gemm multiplies float32 rows with one packed matrix on a Pool. It is made
// once per matrix and is not safe for concurrent use.
type Gemm struct {
	w      *Panels
	bias   []float32
	call   Product
	cut    Cut
	region threads.Region
}

// NewGemm prepares x · Wᵀ + bias. bias (w.Rows()) may be nil. Both are kept,
// not copied.
func NewGemm(w *Panels, bias []float32) *Gemm {
	if bias != nil && len(bias) != w.n {
		panic(fmt.Sprintf("gemm: a %d×%d matrix with %d biases", w.n, w.k, len(bias)))
	}
	g := &Gemm{w: w, bias: bias}
	g.region.F = func(_, c int) { g.cut.Chunk(&g.call, c) }
	return g
}

// Run writes rows products to dst, row i at i·dstStride, of the rows of x at
// i·xStride. With add they are added to what dst holds, and the bias is
// omitted. dst may not overlap x.
func (g *Gemm) Run(p *threads.Pool, dst []float32, dstStride int, x []float32, xStride, rows int, add bool) {
	g.call = newProduct(dst, dstStride, x, xStride, rows, g.w, g.bias, add)
	g.cut = CutProduct(&g.call, p.Workers())
	p.Run(g.cut.Chunks(), &g.region)
	g.call = Product{}
}

// Multiply is Gemm.Run on the calling goroutine.
func Multiply(dst []float32, dstStride int, x []float32, xStride, rows int, w *Panels, bias []float32, add bool) {
	c := newProduct(dst, dstStride, x, xStride, rows, w, bias, add)
	c.Run()
}

// Move copies the packed weights to memory that the caller owns, n floats a call, and
// drops its own. Weights of hundreds of megabytes belong outside the Go heap, whose
// garbage grows in proportion to its live data. The memory must stay valid until the
// last product.
func (p *Panels) Move(memory func(n int) []float32) { p.data = moved(p.data, memory) }

// Move is Move of the packed weights.
func (g *Gemm) Move(memory func(n int) []float32) { g.w.Move(memory) }

func moved[T int8 | float32](w []T, memory func(n int) []T) []T {
	to := memory(len(w))[:len(w):len(w)]
	copy(to, w)
	return to
}

// Resize makes p a matrix of n rows and k columns to be packed into, in the
// memory it has where that is enough. No product with p may be in progress.
func (p *Panels) Resize(n, k int) { p.reset(n, k) }
