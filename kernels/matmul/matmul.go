// Package matmul multiplies activations with weights in the layout of their
// number type: one matrix (MatMul), or the chosen ones of a stack (Experts).
package matmul

import (
	"fmt"

	"quern/kernels/dot"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// A MatMul multiplies activations with one weight matrix. It is made once per
// matrix and is not safe for concurrent use.
type MatMul struct {
	w       []byte
	typ     quant.Type
	out, in int
	row     int       // bytes of a weight row
	bias    []float32 // (out) or nil

	// The call in progress.
	dst       []float32
	x         []byte
	xStride   int
	batch     int
	split     *dot.Split // x, where the level in force wants it so, or nil
	rows      int        // weight rows a chunk takes
	partition threads.Partition
	region    threads.Region
	fill      threads.Region // makes split
}

// NewMatMul prepares x · Wᵀ + bias for w, a matrix (out, in) of type t. bias
// may be nil. w and bias are kept, not copied.
func NewMatMul(t quant.Type, w []byte, out, in int, bias []float32) *MatMul {
	row, ok := t.Size(in)
	if !ok || len(w) != out*row || bias != nil && len(bias) != out {
		panic(fmt.Sprintf("matmul: a %d×%d matrix of %v in %d bytes with %d biases", out, in, t, len(w), len(bias)))
	}
	m := &MatMul{w: w, typ: t, out: out, in: in, row: row, bias: bias}
	m.region.F = m.chunk
	m.fill.F = func(_, i int) { m.split.Fill(i, m.x, m.xStride) }
	return m
}

// With returns the type activations must have.
func (m *MatMul) With() quant.Type { return m.typ.Layout().With }

// How many bytes of weights a chunk takes: enough to be worth claiming. Several
// activation rows meet weight rows in groups of rowGroup (quant's panels have
// eight or sixteen, tiles of floats four), so a chunk holds whole groups then; a
// group is much work already, and more than a few would leave workers idle at
// the end.
//
// Activations that are split do not fit the second-level cache when they are many:
// the more weight rows they meet, the less often they come from further away. Few
// want long chunks too, for the first weights of one are unpacked while no other is
// multiplied.
const (
	streamChunk = 64 << 10
	groupChunk  = 32 << 10
	rowGroup    = 16
	splitChunk  = 256 << 10
	splitGroup  = 32  // weight rows that meet split activations at a time
	splitMost   = 128 // weight rows of a chunk of many activations
)

// chunkRows returns how many weight rows of that many bytes a chunk takes, when
// a worker's share is share rows and they meet batch activation rows.
func chunkRows(bytes, share, batch int) int {
	if batch <= 1 {
		return max(1, min(streamChunk/bytes, share))
	}
	groups := max(1, groupChunk/bytes/rowGroup)
	return rowGroup * min(groups, (share+rowGroup-1)/rowGroup)
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
	if len(dst) != batch*m.out {
		panic(fmt.Sprintf("matmul: %d×%d result in %d floats", batch, m.out, len(dst)))
	}
	if batch == 0 {
		return
	}
	share := (m.out + p.Workers() - 1) / p.Workers()
	m.rows = chunkRows(m.row, share, batch)
	m.dst, m.x, m.xStride, m.batch = dst, x, xStride, batch
	if dot.Splits(m.typ) {
		m.rows = splitRows(m.row, share, batch)
		m.split = dot.NewSplit(m.in, batch)
		p.Run(m.split.Fills(), &m.fill)
	}
	if len(m.partition) != p.Workers() {
		m.partition = threads.NewPartition(p.Workers())
	}
	chunks := (m.out + m.rows - 1) / m.rows
	m.partition.Divide(chunks)
	p.Run(chunks, &m.region)
	m.dst, m.x = nil, nil
	if m.split != nil {
		m.split.Free()
		m.split = nil
	}
}

func (m *MatMul) chunk(worker, _ int) {
	r0 := m.partition.Take(worker) * m.rows
	r1 := min(r0+m.rows, m.out)
	w := m.w[r0*m.row : r1*m.row]
	if m.split != nil {
		dot.SplitRows(m.typ, m.dst[r0:], m.out, w, r1-r0, m.in, *m.split, m.x, m.xStride)
	} else {
		dot.Rows(m.typ, m.dst[r0:], m.out, w, r1-r0, m.in, m.x, m.xStride, m.batch)
	}
	if m.bias == nil {
		return
	}
	for b := range m.batch {
		row := m.dst[b*m.out+r0 : b*m.out+r1]
		for i, v := range m.bias[r0:r1] {
			row[i] += v
		}
	}
}
