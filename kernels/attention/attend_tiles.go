package attention

import (
	"fmt"
	"unsafe"

	"quern/kernels/dot"
	"quern/kernels/quant"
	"quern/kernels/vec"
)

// A sumTile sums weighted rows of a cache to a fixed number of results; see
// kernels/_gen/attend_values.go.
type sumTile func(dst *float32, dstStride, n int, w *byte, rows, stride int, p *float32, pStride, ahead int)

// attendTiles is the assembly of one level for one type of cache: tiles of one
// result, of two and so on, and maybe a wide one behind those of up to narrowTile.
type attendTiles struct {
	lanes  int       // the number of columns is a multiple of it
	values []sumTile // dst += sum; nil without assembly
	scores []sumTile // dst = sum
}

// narrowTile is the most results of other tiles where there is one of wideTile.
const (
	narrowTile = 8
	wideTile   = 12
)

// tileSize returns the results of the first tile of left, of at most most: those that are
// not wide differ in size by one at most.
func tileSize(left, most int) int {
	if most == wideTile {
		if left >= wideTile {
			return wideTile
		}
		most = narrowTile
	}
	tiles := (left + most - 1) / most
	return (left + tiles - 1) / tiles
}

// sumTiles computes batch results of n columns, dstStride floats apart: the sum of rows
// of w, stride bytes apart, times their factors in p, pStride floats apart for each
// result. It prefetches as many bytes as it reads, from w+ahead on. A result's bits do
// not depend on the batch.
func sumTiles(tiles []sumTile, dst []float32, dstStride, n int, w []byte, rows, stride int, p []float32, pStride, batch, ahead int) {
	for b := 0; b < batch; {
		size := tileSize(batch-b, len(tiles))
		tiles[size-1](&dst[b*dstStride], 4*dstStride, n, &w[0], rows, stride, &p[b*pStride], 4*pStride, ahead)
		b, ahead = b+size, 0
	}
}

// sumValues adds the values of tokens from up to to of a block to rows of the partition, from
// row first on, times their weights: that of the block's token 0 is at place at of a span. It
// prefetches next, if not nil, which is as long as values and lies in the same allocation.
func (kv *KV) sumValues(s *Scratch, first, rows int, values []byte, at, from, to int, next []byte) {
	switch {
	case kv.takesPairs():
		kv.sumPairs(s, first, rows, values, at, from, to, next)
		return
	case kv.InPairs():
		values, next = kv.valueRows(values, from, to), nil
	default:
		values = values[from*kv.token:]
		if next != nil {
			next = next[from*kv.token:]
		}
	}
	kv.sumRows(s.partition.out[first*kv.ValueDim:], values, to-from, s.scores[first*s.span+at+from:], s.span, rows, next)
}

// sumRows adds tokens values, at values, to rows of dst, valueDim floats each,
// times their factors in p, pStride floats for each row, and prefetches next.
func (kv *KV) sumRows(dst []float32, values []byte, tokens int, p []float32, pStride, rows int, next []byte) {
	dim := kv.ValueDim
	t := attendTilesOf(kv.Type)
	if len(t.values) == 0 || dim%t.lanes != 0 || kv.Type == quant.BF16 { // tiles of BF16 take pairs
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
