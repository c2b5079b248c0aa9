//go:build amd64 && !noasm

package dot

import (
	"math"
	"unsafe"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// splitPieces is the number of pieces of an activation, 0 where none is split.
func splitPieces() int {
	switch {
	case isa.Tiles():
		return 2
	case isa.Rounds():
		return 1
	}
	return 0
}

func fillSplit(dst, x []byte, xStride, rows, n int) { splitActs(&dst[0], &x[0], xStride, rows, n) }

// A splitKernel multiplies one type in tiles of bf16: pack makes a panel of weights,
// tile multiplies it with pairs of groups of activations, and stream multiplies it with
// one group while it makes the next panel. Both add to a sum in the same order.
type splitKernel struct {
	pieces int // tiles a tile of weights becomes
	pack   func(panel, w *byte, rowBytes, rows, n int, fetch uintptr)
	tile   func(panel *byte, steps int, x *byte, xGroup, pairs int, sums *byte, more int, config *byte)
	stream func(panel *byte, steps int, x, sums *byte, more int, config, next, w *byte, rowBytes, rows, nextSteps, quota, count int, fetch uintptr)
}

var splitKernels = [quant.Count]splitKernel{
	quant.F16:  {2, packSplitF16, tileSplitF16, streamSplitF16},
	quant.BF16: {1, packSplitBF16, tileSplitBF16, streamSplitBF16},
}

// A panel is splitStretch weights of 32 rows, which as F16 are 32 KB: it stays in the
// first-level cache while activations come from the second. Their own stretch,
// splitColumns rows of it, is 512 KB, and used for splitRows weight rows before the
// next, the sums of which take 256 KB. A prompt of 512 rows is done at once.
//
// Where all activations, up to splitNear bytes, stay in the second-level cache, 32
// weight rows are read to their end before the next. One group of activation rows is
// bound by memory, and panels are splitShort weights long then: two of them fit the
// first-level cache together with the weights they are made of.
//
// Reading a few hundred bytes of each row in turn is slow from memory. So memory is read
// in the order of the file: while panels are made of a block of rows, which is in the
// second-level cache, the next block is prefetched there row by row. On a Zen 4, without
// the tile instructions, F16 is then read at 24 to 26 GB/s (one thread; dot products of
// one row 16 to 28) and BF16 at 19 to 20. Prefetching the next panel instead of the next
// block gave 10, and panels of whole rows 13.
const (
	splitPair    = 2 * splitGroup
	splitStretch = 256
	splitShort   = 64
	splitRows    = 128
	splitColumns = 512
	splitNear    = 512 << 10

	splitTileBytes = 1024
	splitPairBytes = 4 * splitTileBytes // of sums
	splitPanel     = splitPair / splitGroup * splitStretch / splitStep * 2 * splitTileBytes
)

// A splitBuffer is the work area of one goroutine.
type splitBuffer struct {
	config isa.TileConfig
	panels [2][splitPanel]byte
	sums   [splitRows / splitPair * splitColumns / splitPair * splitPairBytes]byte
}

var splitBuffers = make(freelist[splitBuffer], 64)

func dotSplit(t quant.Type, dst []float32, dstStride int, w []byte, rows, rowBytes int, s Split, x []byte, xStride int) {
	if s.pieces == 1 {
		dotRounded(t, dst, dstStride, w, rows, rowBytes, s, x, xStride)
		return
	}
	m := splitProduct{
		t: t, kernel: &splitKernels[t], w: w, rowBytes: rowBytes, split: s,
		stretch: splitStretch, dst: dst, dstStride: dstStride, x: x, xStride: xStride,
	}
	if s.batch <= splitGroup {
		m.stretch = splitShort
	}
	m.near = s.batch <= splitGroup || len(s.data) <= splitNear
	m.buf = splitBuffers.take()
	for m.column = 0; m.column < s.batch; m.column += splitColumns {
		m.columns = min(splitColumns, s.batch-m.column)
		for m.from = 0; m.from < rows; m.from = m.to {
			m.to = min(m.from+splitRows, rows)
			m.sum()
			m.finish()
		}
	}
	splitBuffers.put(m.buf)
}

// A splitProduct is a product in progress: of weight rows from up to to with columns
// activation rows from column on.
type splitProduct struct {
	t         quant.Type
	kernel    *splitKernel
	buf       *splitBuffer
	w         []byte
	rowBytes  int
	split     Split
	stretch   int  // weights of a panel
	near      bool // see splitNear
	dst       []float32
	dstStride int
	x         []byte
	xStride   int

	from, to        int
	column, columns int
}

// A splitPlace is where a panel begins.
type splitPlace struct{ row, k int }

// after returns the place of the panel that follows.
func (m *splitProduct) after(p splitPlace) splitPlace {
	below, right := p.row+splitPair, p.k+m.stretch
	switch {
	case m.near && right < m.split.n:
		return splitPlace{p.row, right}
	case m.near && below < m.to:
		return splitPlace{below, 0}
	case !m.near && below < m.to:
		return splitPlace{below, p.k}
	case !m.near && right < m.split.n:
		return splitPlace{m.from, right}
	}
	return splitPlace{m.to, 0}
}

// sum computes the sums of all panels. The first panel is packed alone; where activations
// are one group, each further one is packed while its predecessor is multiplied.
func (m *splitProduct) sum() {
	p := splitPlace{m.from, 0}
	m.pack(p, 0)
	for i := 0; p.row < m.to; i ^= 1 {
		next := m.after(p)
		switch {
		case next.row == m.to:
			m.multiply(p, i)
		case m.columns <= splitGroup && m.to-p.row > splitGroup && m.weights(next)%splitStep == 0:
			count := 1
			if next.row == p.row {
				count = max(1, (m.split.n-next.k)/m.stretch) // whole panels
			}
			m.stream(p, next, i, count)
			next.k += (count - 1) * m.stretch
			i ^= (count - 1) & 1
		default:
			m.multiply(p, i)
			m.pack(next, i^1)
		}
		p = next
	}
}

// groups cuts up to 32 rows, or columns, in two groups.
func groups(n int) (first, second int) {
	first = min(n, splitGroup)
	return first, min(n-first, splitGroup)
}

func (m *splitProduct) at(p splitPlace) int { return p.row*m.rowBytes + 2*p.k }

// fetch returns the address to prefetch from while panel p is made: as far into the next
// block of rows as p is into its own. For the last block it is beyond m.w, often in the
// next rows of the matrix, so it is not a pointer.
func (m *splitProduct) fetch(p splitPlace) uintptr {
	from, to := m.from, m.to
	if m.near {
		from, to = p.row, p.row+m.rowsOf(p)
	}
	done := 2 * (p.k*(to-from) + (p.row-from)*m.weights(p))
	return uintptr(unsafe.Pointer(&m.w[0])) + uintptr(to*m.rowBytes+done)
}

// rowsOf, weights and steps are the numbers of those in panel p.
func (m *splitProduct) rowsOf(p splitPlace) int  { return min(splitPair, m.to-p.row) }
func (m *splitProduct) weights(p splitPlace) int { return min(m.stretch, m.split.n-p.k) }
func (m *splitProduct) steps(p splitPlace) int   { return (m.weights(p) + splitStep - 1) / splitStep }

// pack makes panel p.
func (m *splitProduct) pack(p splitPlace, panel int) {
	m.kernel.pack(&m.buf.panels[panel][0], &m.w[m.at(p)], m.rowBytes, m.rowsOf(p), m.weights(p), m.fetch(p))
}

// sums returns where the sums of panel p are, of the pair of column groups at column c.
func (m *splitProduct) sums(p splitPlace, c int) *byte {
	return &m.buf.sums[((p.row-m.from)/splitPair*(splitColumns/splitPair)+c/splitPair)*splitPairBytes]
}

// multiply adds the products of panel p to its sums.
func (m *splitProduct) multiply(p splitPlace, panel int) {
	row0, row1 := groups(m.rowsOf(p))
	do := func(c, pairs int) {
		columns, data := m.split.group((m.column + c) / splitGroup)
		_, second := groups(m.columns - c)
		x := p.k * 4 * columns
		setSplit(&m.buf.config, row0, row1, columns, second)
		m.kernel.tile(&m.buf.panels[panel][0], m.steps(p), &data[x], len(data)-x+p.k*4*second, pairs, m.sums(p, c), p.k, &m.buf.config[0])
	}
	pairs := m.columns / splitPair
	if pairs > 0 {
		do(0, pairs)
	}
	if c := pairs * splitPair; c < m.columns {
		do(c, 1)
	}
}

// stream does multiply for one column group and pack of the next panel at the same time,
// for count panels.
func (m *splitProduct) stream(p, next splitPlace, panel, count int) {
	row0, row1 := groups(m.rowsOf(p))
	columns, data := m.split.group(m.column / splitGroup)
	setSplit(&m.buf.config, row0, row1, columns, 0)
	steps, rows, nextSteps := m.steps(p), m.rowsOf(next), m.steps(next)
	m.kernel.stream(&m.buf.panels[panel][0], steps, &data[p.k*4*columns], m.sums(p, 0), p.k, &m.buf.config[0],
		&m.buf.panels[panel^1][0], &m.w[m.at(next)], m.rowBytes, rows, nextSteps, (rows*nextSteps+steps-1)/steps, count, m.fetch(next))
}

// setSplit configures tiles for two groups of weight rows and two of columns, of which
// the second may be empty: tiles 2·r + c are sums, 4 and 5 weights, 6 and 7 activations.
func setSplit(config *isa.TileConfig, row0, row1, column0, column1 int) {
	*config = isa.TileConfig{0: 1}
	set := func(tile, rows, bytes int) {
		if rows > 0 && bytes > 0 {
			config[48+tile], config[16+2*tile] = byte(rows), byte(bytes)
		}
	}
	for r, rows := range [...]int{row0, row1} {
		for c, columns := range [...]int{column0, column1} {
			set(2*r+c, rows, 4*columns)
			set(6+c, splitStep/2, 4*columns)
		}
		set(4+r, rows, 2*splitStep)
	}
}

// finish writes the sums to dst. Results that are not finite are computed again by Rows.
func (m *splitProduct) finish() {
	for r := m.from; r < m.to; r += splitGroup {
		rows := min(splitGroup, m.to-r)
		for c := 0; c < m.columns; c += splitGroup {
			columns := min(splitGroup, m.columns-c)
			pair := unsafe.Slice(m.sums(splitPlace{row: (r-m.from)/splitPair*splitPair + m.from}, c), splitPairBytes)
			tile := (r-m.from)/splitGroup%2*2 + c/splitGroup%2
			out := m.dst[(m.column+c)*m.dstStride+r:]
			if turnSplit(&out[0], m.dstStride, &pair[tile*splitTileBytes], rows, columns) != 0 {
				m.again(out, r, rows, m.column+c, columns)
			}
		}
	}
}

func (m *splitProduct) again(out []float32, row, rows, column, columns int) {
	for c := range columns {
		for r := range rows {
			p := out[c*m.dstStride+r:]
			if v := float64(p[0]); math.IsInf(v, 0) || v != v {
				Rows(m.t, p, 1, m.w[(row+r)*m.rowBytes:], 1, m.split.n, m.x[(column+c)*m.xStride:], m.xStride, 1)
			}
		}
	}
}
