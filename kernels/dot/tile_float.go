package dot

import (
	"fmt"

	"quern/kernels/quant"
)

// A floatTile multiplies four weight rows with a fixed number of activation
// rows; see kernels/_gen/tile_float.go.
type floatTile func(w *byte, wStride, steps int, x *byte, xStride int, out *float32, outStride int)

// floatTiles is the assembly of one level for one floating-point type: tiles by
// falling number of activation rows.
type floatTiles struct {
	tiles []sizedTile
	lanes int // weights of a step
}

type sizedTile struct {
	rows int
	f    floatTile
}

// floatRows is Rows by tiles of four weight rows with several activation rows, which
// use each loaded vector several times; false says that no tile fits. Bits are those of
// one row with one row.
//
// All weight rows are multiplied with the activation rows of one tile before those of
// the next, so weights should fit the second-level cache.
func floatRows(t quant.Type, dst []float32, dstStride int, w []byte, rows, n int, x []byte, xStride, batch int) bool {
	l := floatTilesOf(t)
	if l.lanes == 0 || n < l.lanes || rows < 4 || batch == 0 {
		return false
	}
	rowBytes, _ := t.Size(n)
	steps, rest := n/l.lanes, n%l.lanes
	r1, b := rows&^3, 0
	for _, tile := range l.tiles {
		for ; b+tile.rows <= batch; b += tile.rows {
			for r := 0; r < r1; r += 4 {
				tile.f(&w[r*rowBytes], rowBytes, steps, &x[b*xStride], xStride, &dst[b*dstStride+r], 4*dstStride)
			}
		}
	}
	if rest > 0 {
		dot := t.Layout().Dot
		head, _ := t.Size(n - rest)
		for b := range batch {
			xb := x[b*xStride+4*(n-rest):][:4*rest]
			for r := range r1 {
				dst[b*dstStride+r] += dot(rest, w[r*rowBytes+head:(r+1)*rowBytes], xb)
			}
		}
	}
	if r1 < rows { // up to three weight rows do not fill a tile
		Rows(t, dst[r1:], dstStride, w[r1*rowBytes:], rows-r1, n, x, xStride, batch)
	}
	return true
}

// RowsCached is Rows, with the same bits, for weights that are in a cache or have been
// prefetched: it reads w alone, where Rows prefetches bytes beyond w.
func RowsCached(t quant.Type, dst []float32, dstStride int, w []byte, rows, n int, x []byte, xStride, batch int) {
	rowBytes, ok := t.Size(n)
	if t.Layout().With != quant.F32 || !ok || rows < 0 || batch < 0 || len(w) < rows*rowBytes ||
		rows > 0 && batch > 0 && (len(dst) < (batch-1)*dstStride+rows || len(x) < (batch-1)*xStride+4*n) ||
		!floatRows(t, dst, dstStride, w, rows, n, x, xStride, batch) {
		Rows(t, dst, dstStride, w, rows, n, x, xStride, batch)
	}
}

// A sumTile adds weighted rows to a fixed number of results; see
// kernels/_gen/tile_sum.go.
type sumTile func(dst *float32, dstStride, n int, w *byte, rows, stride int, p *float32, pStride int)

// sumTiles is the assembly of AddRowsTo for one type at one level, by falling
// number of results.
type sumTiles struct {
	tiles []sizedSum
	lanes int // n must be a multiple
}

type sizedSum struct {
	rows int
	f    sumTile
}

// AddRowsTo is AddRows for batch results at once: result b is the n floats at
// b·dstStride of dst, its factors the rows floats at b·pStride of p. A result
// gets the bits AddRows gives it.
func AddRowsTo(t quant.Type, dst []float32, dstStride, n int, w []byte, rows, stride int, p []float32, pStride, batch int) {
	rowBytes, ok := t.Size(n)
	if !ok || n < 0 || rows < 0 || batch < 0 || rows > 0 && len(w) < (rows-1)*stride+rowBytes ||
		batch > 0 && (len(dst) < (batch-1)*dstStride+n || len(p) < (batch-1)*pStride+rows) {
		panic(fmt.Sprintf("dot: AddRowsTo of %d rows of %d %v in %d bytes, stride %d, with %d×%d factors in %d into %d floats",
			rows, n, t, len(w), stride, batch, pStride, len(p), len(dst)))
	}
	b := 0
	if l := sumTilesOf(t); l.lanes > 0 && n > 0 && n%l.lanes == 0 && rows > 0 {
		for _, tile := range l.tiles {
			for ; b+tile.rows <= batch; b += tile.rows {
				tile.f(&dst[b*dstStride], 4*dstStride, n, &w[0], rows, stride, &p[b*pStride], 4*pStride)
			}
		}
	}
	for ; b < batch; b++ {
		AddRows(t, dst[b*dstStride:][:n], w, stride, p[b*pStride:][:rows])
	}
}
