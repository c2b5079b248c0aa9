package dot

import (
	"fmt"

	"quern/kernels/quant"
)

// A sumTile adds weighted rows to a fixed number of results; see
// kernels/_gen/tile_sum.go.
type sumTile func(dst *float32, dstStride, n int, w *byte, rows, stride int, p *float32, pStride int)

// sumTiles is the assembly of AddRowsTo for one type at one level, by falling
// number of results.
type sumTiles struct {
	tiles []sizedSum
	lanes int // columns it takes at a time
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
