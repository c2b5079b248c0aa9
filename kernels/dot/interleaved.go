package dot

import (
	"encoding/binary"
	"fmt"

	"quern/kernels/quant"
)

// Sixteen is the number of rows that are interleaved together.
const Sixteen = 16

// An interleavedKernel is the assembly for rows that are interleaved.
type interleavedKernel struct {
	one, two, four, eight dotKernel // of so many activation rows; rows counts sixteens; eight may be nil
}

// most is the kernel of the most activation rows up to batch, and their number.
func (k *interleavedKernel) most(batch int) (dotKernel, int) {
	switch {
	case batch >= 8 && k.eight != nil:
		return k.eight, 8
	case batch >= 4:
		return k.four, 4
	case batch >= 2:
		return k.two, 2
	}
	return k.one, 1
}

// Interleaves reports whether rows of n weights of type t are multiplied faster when they are
// interleaved, at the level in force: types whose products are bound by instructions.
func Interleaves(t quant.Type, n int) bool {
	return interleavedOf(t) != nil && n > 0 && n%t.Layout().Block == 0
}

// Interleave writes rows of n weights of type t to dst so that in every block of the file's
// layout the dwords of sixteen rows lie side by side: the one at byte i of row r at
// 16·i + 4·r. Of Q6_K the bytes from 128 on come before the others. Where a block is no whole number of dwords, the half that is its scale comes
// first, of each row, as if all blocks began with it. dst takes as many bytes as w; rows are a multiple of sixteen, and Interleaves(t, n)
// holds.
func Interleave(t quant.Type, dst, w []byte, rows, n int) {
	rowBytes, _ := t.Size(n)
	if !Interleaves(t, n) || rows%Sixteen != 0 || len(w) < rows*rowBytes || len(dst) < rows*rowBytes {
		panic(fmt.Sprintf("dot: Interleave of %d×%d %v in %d bytes into %d", rows, n, t, len(w), len(dst)))
	}
	block := t.Layout().Bytes
	half := block % 4
	from, to := half, block // where the dwords are
	if half != 0 && scaleLast(t) {
		from, to = 0, block-half
	}
	first := 0
	if t == quant.Q6_K { // what all its weights need: blocks are read from end to end
		first = 128
	}
	for w = w[:rows*rowBytes]; len(w) > 0; w = w[Sixteen*rowBytes:] {
		for at := 0; at < rowBytes; at += block {
			out := dst[:Sixteen*block]
			dst = dst[Sixteen*block:]
			for r := range Sixteen {
				row := w[r*rowBytes+at:][:block]
				if half != 0 {
					copy(out[2*r:2*r+2], row[(from+block-half)%block:])
				}
				for i := 0; i < to-from; i += 4 {
					binary.LittleEndian.PutUint32(out[Sixteen*(i+half)+4*r:], binary.LittleEndian.Uint32(row[from+(i+first)%(to-from):]))
				}
			}
		}
	}
}

// scaleLast reports whether blocks of t end with their scale, as blocks of 256 do.
func scaleLast(t quant.Type) bool { return t.Layout().Block == 256 }

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
	at := rows // a time: sixteen where several kernels take turns, which find them in a cache
	if batch > 2 && batch != 4 {
		at = Sixteen
	}
	for r := 0; r < rows; r += at {
		for b := 0; b < batch; {
			dot, with := k.most(batch - b)
			dot(&w[r*rowBytes], n, at/Sixteen, &x[b*xStride], xStride, &dst[b*dstStride+r], dstStride)
			b += with
		}
	}
}
