package dot

import (
	"encoding/binary"
	"fmt"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// Sixteen is the number of rows that are interleaved together.
const Sixteen = 16

// An interleavedKernel is the assembly for rows that are interleaved.
type interleavedKernel struct {
	one, two, four, eight interleavedDot // of so many activation rows; eight may be nil
	pack                  packFunc       // makes panels of them, which is faster from panelsFrom activation rows on
	panelsFrom            int
}

// An interleavedDot is a dotKernel whose rows count sixteens, and that prefetches ahead bytes
// beyond the weights it reads, unless ahead is 0.
type interleavedDot func(w *byte, n, rows, ahead int, x *byte, xStride int, out *float32, outStride int)

// interleavedCached is the bytes of rows that several kernels multiply one after another: they stay
// in the first-level cache.
const interleavedCached = 20 << 10

// most is the kernel of the most activation rows up to batch, and their number.
func (k *interleavedKernel) most(batch int) (interleavedDot, int) {
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
// 16·i + 4·r. Of Q6_K the bytes from 128 on come before the others. Where a block is no
// whole number of dwords, the half that is its scale comes first, of each row, as if all blocks
// began with it. dst takes as many bytes as w; rows are a multiple of sixteen, and
// Interleaves(t, n) holds.
func Interleave(t quant.Type, dst, w []byte, rows, n int) {
	rowBytes, _ := t.Size(n)
	if !Interleaves(t, n) || rows%Sixteen != 0 || len(w) < rows*rowBytes || len(dst) < rows*rowBytes {
		panic(fmt.Sprintf("dot: Interleave of %d×%d %v in %d bytes into %d", rows, n, t, len(w), len(dst)))
	}
	o := orderOf(t)
	for w = w[:rows*rowBytes]; len(w) > 0; w = w[Sixteen*rowBytes:] {
		if o.half == 0 { // a row is dwords from end to end
			interleaveDwords(dst, w, rowBytes, rowBytes)
			dst = dst[Sixteen*rowBytes:]
			continue
		}
		for at := 0; at < rowBytes; at += o.block {
			for r := range Sixteen {
				copy(dst[2*r:2*r+o.half], w[r*rowBytes+at+o.scale:])
			}
			dst = dst[Sixteen*o.half:]
			for _, p := range o.parts {
				interleaveDwords(dst, w[at+p[0]:], rowBytes, p[1]-p[0])
				dst = dst[Sixteen*(p[1]-p[0]):]
			}
		}
	}
}

// InterleavedRow writes row r, of n weights, of those that Interleave wrote to w, to dst as it was.
func InterleavedRow(t quant.Type, dst, w []byte, r, n int) {
	rowBytes, _ := t.Size(n)
	o := orderOf(t)
	w = w[r/Sixteen*Sixteen*rowBytes:][:Sixteen*rowBytes]
	r %= Sixteen
	for at := 0; at < rowBytes; at += o.block {
		copy(dst[at+o.scale:][:o.half], w[2*r:])
		w = w[Sixteen*o.half:]
		for _, p := range o.parts {
			for i := p[0]; i < p[1]; i += 4 {
				binary.LittleEndian.PutUint32(dst[at+i:], binary.LittleEndian.Uint32(w[4*r:]))
				w = w[4*Sixteen:]
			}
		}
	}
}

// An order is where a block's bytes are, in the order in which they are interleaved.
type order struct {
	block int
	half  int       // bytes of the scale, where it comes first of all, else 0
	scale int       // where it is
	parts [2][2]int // begin and end of the dwords, which come next
}

func orderOf(t quant.Type) order {
	o := order{block: t.Layout().Bytes}
	o.half = o.block % 4
	from, to := o.half, o.block
	if o.half != 0 && t.Layout().Block == 256 { // blocks of 256 end with their scale
		from, to = 0, o.block-o.half
		o.scale = to
	}
	first := from
	if t == quant.Q6_K { // bytes that all its weights need: blocks are read from end to end
		first = 128
	}
	o.parts = [2][2]int{{first, to}, {from, first}}
	return o
}

// interleaveDwords writes the dwords in the first n bytes of sixteen rows, which begin rowBytes
// apart, to dst side by side.
func interleaveDwords(dst, w []byte, rowBytes, n int) {
	pieces := n / 16
	if pieces > 0 {
		interleavePieces(&dst[0], &w[0], rowBytes, pieces)
	}
	for i := 16 * pieces; i < n; i += 4 {
		for r := range Sixteen {
			binary.LittleEndian.PutUint32(dst[Sixteen*i+4*r:], binary.LittleEndian.Uint32(w[r*rowBytes+i:]))
		}
	}
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
	if batch >= k.panelsFrom {
		k.panels(t, dst, dstStride, w, rows, rowBytes, n, x, xStride, batch)
		return
	}
	most := rows // at a time: few where several kernels read them, so that they stay in a cache
	if batch > 2 && batch != 4 {
		most = Sixteen * max(1, interleavedCached/(Sixteen*rowBytes))
	}
	fetched := false
	for r := 0; r < rows; r += most {
		at, ahead := min(most, rows-r), streamAhead
		if fetched {
			ahead = 0
		}
		fetched = false
		for b := 0; b < batch; {
			dot, with := k.most(batch - b)
			dot(&w[r*rowBytes], n, at/Sixteen, ahead, &x[b*xStride], xStride, &dst[b*dstStride+r], dstStride)
			b += with
			ahead = 0
			if _, next := k.most(batch - b); next >= 4 && !fetched {
				// The second kernel reads its weights from a cache, so memory is idle: it prefetches the next
				// ones, also those of the next chunk. Fewer than four rows take less
				// time than memory.
				ahead, fetched = at*rowBytes, true
			}
		}
	}
}

// panels is InterleavedRows by panels.
func (k *interleavedKernel) panels(t quant.Type, dst []float32, dstStride int, w []byte, rows, rowBytes, n int, x []byte, xStride, batch int) {
	p := &panels[isa.Current()][t]
	fileBlock := Sixteen * rowBytes / (n / p.block)
	p.multiply(t, dst, dstStride, rows, n, x, xStride, batch, func(panel *byte, r, from, blocks int) {
		k.pack(panel, &w[r*rowBytes+from/p.block*fileBlock], 0, blocks, blocks*fileBlock)
	})
}
