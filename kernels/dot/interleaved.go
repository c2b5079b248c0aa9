package dot

import (
	"fmt"
	"unsafe"

	"quern/kernels/quant"
)

// Sixteen is the number of rows that are interleaved together.
const Sixteen = 16

// An interleavedKernel is the assembly for rows that are interleaved.
type interleavedKernel struct {
	dot  dotKernel // of one activation row; rows counts sixteens
	pack func(panel, w *byte, rowBytes, blocks, ahead int)
}

// Interleaves reports whether rows of n weights of type t are multiplied faster when they are
// interleaved, at the level in force: types whose products are bound by instructions.
func Interleaves(t quant.Type, n int) bool {
	return interleavedOf(t) != nil && n > 0 && n%quant.GroupLen == 0
}

// Interleave writes rows of n weights of type t to dst so that in every block of the file's
// layout the dwords of sixteen rows lie side by side. dst takes as many bytes as w; rows are
// a multiple of sixteen, and Interleaves(t, n) holds.
func Interleave(t quant.Type, dst, w []byte, rows, n int) {
	rowBytes, _ := t.Size(n)
	if !Interleaves(t, n) || rows%Sixteen != 0 || len(w) < rows*rowBytes || len(dst) < rows*rowBytes {
		panic(fmt.Sprintf("dot: Interleave of %d×%d %v in %d bytes into %d", rows, n, t, len(w), len(dst)))
	}
	block := t.Layout().Bytes / 4
	in, out := dwords(w[:rows*rowBytes]), dwords(dst[:rows*rowBytes])
	stride := rowBytes / 4
	for ; len(in) > 0; in = in[Sixteen*stride:] {
		for b := 0; b < stride; b += block {
			for r := range Sixteen {
				row := in[r*stride+b:][:block]
				to := out[r:]
				for c, v := range row {
					to[Sixteen*c] = v
				}
			}
			out = out[Sixteen*block:]
		}
	}
}

// dwords is b as dwords; amd64 reads them wherever they lie.
func dwords(b []byte) []uint32 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// InterleavedRows is Rows for rows that Interleave wrote; they are a multiple of sixteen. The
// results have the bits that Rows gives.
func InterleavedRows(t quant.Type, dst []float32, dstStride int, w []byte, rows, n int, x []byte, xStride, batch int) {
	rowBytes, _ := t.Size(n)
	if !Interleaves(t, n) || rows%Sixteen != 0 || len(w) < rows*rowBytes || batch < 0 ||
		rows > 0 && batch > 0 && (len(dst) < (batch-1)*dstStride+rows || len(x) < (batch-1)*xStride+quant.ActBytes(t.Layout().With, n)) {
		panic(fmt.Sprintf("dot: InterleavedRows of %d×%d %v in %d bytes with %d activation rows in %d bytes, stride %d, into %d floats, stride %d",
			rows, n, t, len(w), batch, len(x), xStride, len(dst), dstStride))
	}
	if rows == 0 || batch == 0 {
		return
	}
	k := interleavedOf(t)
	if batch >= panelFrom {
		panelRows(t, k.pack, Sixteen, dst, dstStride, w, rows, rowBytes, n, x, xStride, batch)
		return
	}
	for b := range batch {
		k.dot(&w[0], n, rows/Sixteen, &x[b*xStride], xStride, &dst[b*dstStride], dstStride)
	}
}
