package attention

import (
	"fmt"
	"unsafe"

	"quern/kernels/dot"
	"quern/kernels/vec"
)

// A sumTile sums weighted rows of a cache to a fixed number of results; see
// kernels/_gen/attend_values.go.
type sumTile func(dst *float32, dstStride, n int, w *byte, rows, stride int, p *float32, pStride, ahead int)

// attendTiles is the assembly of one level for one type of cache: tiles of one
// result, of two and so on.
type attendTiles struct {
	lanes  int       // columns are a multiple
	values []sumTile // add to what is there; none without assembly
	scores []sumTile // put in its place
}

// share cuts left rows into tiles of at most most, which differ by one row at
// most, and returns the rows of the first.
func share(left, most int) int {
	tiles := (left + most - 1) / most
	return (left + tiles - 1) / tiles
}

// sumTiles runs tiles over batch results of n columns, dstStride floats apart. w has
// rows, stride bytes apart, p a factor of each for every result, pStride floats
// apart. What lies as w does, ahead bytes on, is fetched. A result gets the same
// bits whatever others are with it.
func sumTiles(tiles []sumTile, dst []float32, dstStride, n int, w []byte, rows, stride int, p []float32, pStride, batch, ahead int) {
	for b := 0; b < batch; {
		size := share(batch-b, len(tiles))
		tiles[size-1](&dst[b*dstStride], 4*dstStride, n, &w[0], rows, stride, &p[b*pStride], 4*pStride, ahead)
		b, ahead = b+size, 0
	}
}

// sumValues adds tokens values, at values, to rows of dst, headDim floats each,
// times their factors in p, pStride floats for each row. next is fetched, if any;
// it is as long as values, and in the same memory.
func (kv *KV) sumValues(dst []float32, values []byte, tokens int, p []float32, pStride, rows int, next []byte) {
	dim := kv.HeadDim
	t := attendTilesOf(kv.Type)
	if len(t.values) == 0 || dim%t.lanes != 0 {
		vec.Prefetch(next[:len(next)/2])
		dot.AddRowsTo(kv.Type, dst, dim, dim, values, tokens, kv.token, p, pStride, rows)
		vec.Prefetch(next[len(next)/2:])
		return
	}
	if len(dst) < rows*dim || len(p) < (rows-1)*pStride+tokens || len(values) < tokens*kv.token {
		panic(fmt.Sprintf("attention: %d values of %d in %d bytes times %d×%d factors in %d into %d floats", tokens, dim, len(values), rows, pStride, len(p), len(dst)))
	}
	if tokens > 0 {
		sumTiles(t.values, dst, dim, dim, values, tokens, kv.token, p, pStride, rows, distance(values, next))
	}
}

// distance is how far b begins behind a in the same memory; 0 without b.
func distance(a, b []byte) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return int(uintptr(unsafe.Pointer(&b[0])) - uintptr(unsafe.Pointer(&a[0])))
}
