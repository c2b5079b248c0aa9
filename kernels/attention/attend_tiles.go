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
	lanes  int       // the number of columns is a multiple of it
	values []sumTile // dst += sum; nil without assembly
	scores []sumTile // dst = sum
}

// share divides left rows into tiles of at most most rows, whose sizes differ by one at
// most, and returns the size of the first.
func share(left, most int) int {
	tiles := (left + most - 1) / most
	return (left + tiles - 1) / tiles
}

// sumTiles computes batch results of n columns, dstStride floats apart: the sum of rows
// of w, stride bytes apart, times their factors in p, pStride floats apart for each
// result. It prefetches as many bytes as it reads, from w+ahead on. A result's bits do
// not depend on the batch.
func sumTiles(tiles []sumTile, dst []float32, dstStride, n int, w []byte, rows, stride int, p []float32, pStride, batch, ahead int) {
	for b := 0; b < batch; {
		size := share(batch-b, len(tiles))
		tiles[size-1](&dst[b*dstStride], 4*dstStride, n, &w[0], rows, stride, &p[b*pStride], 4*pStride, ahead)
		b, ahead = b+size, 0
	}
}

// sumValues adds tokens values, at values, to rows of dst, valueDim floats each,
// times their factors in p, pStride floats for each row. It prefetches next, if not
// nil, which is as long as values and lies in the same allocation.
func (kv *KV) sumValues(dst []float32, values []byte, tokens int, p []float32, pStride, rows int, next []byte) {
	dim := kv.ValueDim
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

// distance returns the bytes from the start of a to that of b, 0 if b is empty. Both lie
// in one allocation.
func distance(a, b []byte) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return int(uintptr(unsafe.Pointer(&b[0])) - uintptr(unsafe.Pointer(&a[0])))
}
