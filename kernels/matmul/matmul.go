// Package matmul multiplies activations with weights in the layout of their
// number type: one matrix (MatMul), or the chosen ones of a stack (Experts).
package matmul

import (
	"fmt"
	"runtime"

	"quern/kernels/dot"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// A MatMul multiplies activations with one weight matrix. It is made once per
// matrix and is not safe for concurrent use.
type MatMul struct {
	w       []byte
	typ     quant.Type
	out, in int
	row     int       // bytes of a weight row
	bias    []float32 // (out) or nil

	interleaved []byte // the first sixteens rows as dot.Interleave wrote them, or nil
	sixteens    int

	dst   []float32 // of the call in progress
	rows  int       // weight rows a chunk of it takes
	alone Group     // of this one
}

// NewMatMul prepares x · Wᵀ + bias for w, a matrix (out, in) of type t. bias
// may be nil. w and bias are kept, not copied.
func NewMatMul(t quant.Type, w []byte, out, in int, bias []float32) *MatMul {
	row, ok := t.Size(in)
	if !ok || len(w) != out*row || bias != nil && len(bias) != out {
		panic(fmt.Sprintf("matmul: a %d×%d matrix of %v in %d bytes with %d biases", out, in, t, len(w), len(bias)))
	}
	m := &MatMul{w: w, typ: t, out: out, in: in, row: row, bias: bias}
	m.alone.Add(m)
	return m
}

// Interleaves is how many rows of a matrix (out, in) of type t are multiplied faster when
// they are interleaved: the first ones, 0 for none.
func Interleaves(t quant.Type, out, in int) int {
	if !dot.Interleaves(t, in) || dot.Splits(t) {
		return 0
	}
	return out / dot.Sixteen * dot.Sixteen
}

// UseInterleaved has the first rows multiplied as dot.Interleave wrote them to w, which is
// kept, instead of as they are. There are as many as Interleaves says. Results stay the same.
func (m *MatMul) UseInterleaved(w []byte) {
	m.sixteens = Interleaves(m.typ, m.out, m.in)
	if m.sixteens == 0 || len(w) != m.sixteens*m.row {
		panic(fmt.Sprintf("matmul: %d interleaved rows of a %d×%d matrix of %v in %d bytes", m.sixteens, m.out, m.in, m.typ, len(w)))
	}
	m.interleaved = w
}

// With returns the type activations must have.
func (m *MatMul) With() quant.Type { return m.typ.Layout().With }

// A chunk has bytes of weights enough to outweigh claiming it. With several
// activation rows it has whole groups of rowGroup weight rows (dot's panels have eight or sixteen
// rows, tiles of floats four), with many few of them, so that workers do not idle at the end.
//
// Many split activations exceed the second-level cache, so a chunk has many weight rows,
// which use the activations each time they are read. With few activations chunks are long
// too: the first weights of a chunk are unpacked while no others are multiplied.
const (
	streamChunk = 128 << 10
	streamRows  = 8 // activation rows up to which most bytes read are weights
	groupChunk  = 32 << 10
	rowGroup    = 16
	manyRows    = 32 // activation rows from which on two panels are multiplied at a time
	splitChunk  = 256 << 10
	splitGroup  = 32  // weight rows that are multiplied with split activations at a time
	splitMost   = 128 // weight rows of a chunk of many activations
)

// chunkRows returns the number of weight rows, each of so many bytes, in a chunk for batch
// activation rows, where a worker's share of the matrix is share rows.
//
// In WebAssembly dot.Rows deals rows to threads, where there are any.
func chunkRows(bytes, share, batch int) int {
	if runtime.GOARCH == "wasm" {
		return share
	}
	if batch <= 1 {
		return max(1, min(streamChunk/bytes, share))
	}
	chunk := groupChunk
	if batch <= streamRows {
		chunk = streamChunk
	}
	group := rowGroup
	if batch >= manyRows {
		group = 2 * rowGroup
	}
	groups := max(1, chunk/bytes/group)
	return group * min(groups, (share+group-1)/group)
}

// splitRows is chunkRows for activations that are split.
func splitRows(bytes, share, batch int) int {
	rows := splitMost
	if batch <= splitGroup {
		rows = min(rows, splitGroup*max(1, splitChunk/bytes/splitGroup))
	}
	return min(rows, (share+rowGroup-1)/rowGroup*rowGroup)
}

// Run writes batch rows of out floats to dst. Activation row b is at b·xStride
// of x, quantised as With says.
func (m *MatMul) Run(p *threads.Pool, dst []float32, x []byte, xStride, batch int) {
	m.alone.Run(p, [][]float32{dst}, x, xStride, batch)
}

// cut sets the number of weight rows in a chunk and returns that of chunks.
func (m *MatMul) cut(workers, batch int) int {
	share := (m.out + workers - 1) / workers
	switch {
	case dot.Splits(m.typ):
		m.rows = splitRows(m.row, share, batch)
	case m.interleaved != nil:
		m.rows = (chunkRows(m.row, share, batch) + dot.Sixteen - 1) / dot.Sixteen * dot.Sixteen
	default:
		m.rows = chunkRows(m.row, share, batch)
	}
	return (m.out + m.rows - 1) / m.rows
}

// chunk computes the columns of chunk c for the activations of g.
func (m *MatMul) chunk(g *Group, c int) {
	r0 := c * m.rows
	r1 := min(r0+m.rows, m.out)
	if dot.Splits(m.typ) {
		dot.SplitRows(m.typ, m.dst[r0:], m.out, m.w[r0*m.row:r1*m.row], r1-r0, m.in, *g.split, g.x, g.xStride)
	} else {
		at := r0
		if end := min(r1, m.sixteens); at < end {
			dot.InterleavedRows(m.typ, m.dst[at:], m.out, m.interleaved[at*m.row:], end-at, m.in, g.x, g.xStride, g.batch)
			at = end
		}
		if at < r1 {
			dot.Rows(m.typ, m.dst[at:], m.out, m.w[at*m.row:r1*m.row], r1-at, m.in, g.x, g.xStride, g.batch)
		}
	}
	if m.bias == nil {
		return
	}
	for b := range g.batch {
		row := m.dst[b*m.out+r0 : b*m.out+r1]
		vec.Add(row, row, m.bias[r0:r1])
	}
}
