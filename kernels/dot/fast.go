// Package dot multiplies rows of weights, in any number type of quant, with rows of
// activations, and sums weighted rows: the products of decoders and of attention.
package dot

import (
	"encoding/binary"
	"fmt"
	"math"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// A dotKernel multiplies rows of n weights at w with a fixed number of
// activation rows; see kernels/_gen/dot.go.
type dotKernel func(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// A fastDot is the assembly for one type at one level, for one and for four
// activation rows. The latter may be nil.
type fastDot struct {
	one, four dotKernel
	lanes     int // n must be a multiple; the rest is done in Go

	// all is Rows in threads of its own, if there are any: WebAssembly's. It may be nil.
	all func(w *byte, n, rows, rowBytes int, x *byte, xStride, batch int, out *float32, outStride int)
}

// Rows multiplies weight rows with activation rows:
//
//	dst[b·dstStride + r] = Σ_i w[r][i] · x[b][i]   for r < rows, b < batch
//
// w holds rows·t.Size(n) bytes; activation row b is the ActBytes(With, n) bytes
// at b·xStride, of the type t's Layout pairs with. dst may not overlap x.
//
// A row's bits do not depend on rows and batch. On amd64 they are Dot's for all
// quantised types, at every level: sums within a block are exact integers, and a
// block's float32 term is computed and added as Dot does, in the order of blocks.
// On arm64 that holds for types paired with ActQ8_256. Types paired with ActQ8_32 there,
// and floating-point types everywhere, are added in another order: results differ from
// Dot's by rounding, at most 2⁻²³·Σ|w·x| times the number of blocks (of elements, for
// floating-point types).
//
// Matrices for which Splits holds are multiplied by SplitRows instead.
func Rows(t quant.Type, dst []float32, dstStride int, w []byte, rows, n int, x []byte, xStride, batch int) {
	l := t.Layout()
	rowBytes, ok := t.Size(n)
	actBytes := quant.ActBytes(l.With, n)
	if !ok || len(w) < rows*rowBytes || rows < 0 || batch < 0 ||
		rows > 0 && batch > 0 && (len(dst) < (batch-1)*dstStride+rows || len(x) < (batch-1)*xStride+actBytes) {
		panic(fmt.Sprintf("dot: Rows of %d×%d %v in %d bytes with %d activation rows in %d bytes, stride %d, into %d floats, stride %d",
			rows, n, t, len(w), batch, len(x), xStride, len(dst), dstStride))
	}
	if rows == 0 || batch == 0 {
		return
	}
	if l.With == quant.F32 && batch > 1 && floatRows(t, dst, dstStride, w, rows, n, x, xStride, batch) {
		return
	}
	f := fastest(t)
	if f.one == nil || n < f.lanes {
		for b := range batch {
			xb := x[b*xStride : b*xStride+actBytes]
			for r := range rows {
				dst[b*dstStride+r] = l.Dot(n, w[r*rowBytes:(r+1)*rowBytes], xb)
			}
		}
		return
	}
	if rest := n % f.lanes; rest != 0 {
		dotRest(t, f, dst, dstStride, w, rows, n, rest, x, xStride, batch)
		return
	}
	if dotPanels(t, dst, dstStride, w, rows, rowBytes, n, x, xStride, batch) {
		return
	}
	if f.all != nil {
		f.all(&w[0], n, rows, rowBytes, &x[0], xStride, batch, &dst[0], dstStride)
		return
	}
	b := 0
	if f.four != nil {
		for ; b+4 <= batch; b += 4 {
			f.four(&w[0], n, rows, &x[b*xStride], xStride, &dst[b*dstStride], dstStride)
		}
	}
	for ; b < batch; b++ {
		f.one(&w[0], n, rows, &x[b*xStride], xStride, &dst[b*dstStride], dstStride)
	}
}

// fastest returns the kernel of the highest level in force that has one.
func fastest(t quant.Type) fastDot {
	for level := isa.Current(); level > isa.Generic; level-- {
		if f := fast[level][t]; f.one != nil {
			return f
		}
	}
	return fastDot{}
}

// dotRest is Rows where the last rest weights of each row do not fill a vector: rows are
// computed one by one, the rest by Dot.
func dotRest(t quant.Type, f fastDot, dst []float32, dstStride int, w []byte, rows, n, rest int, x []byte, xStride, batch int) {
	l := t.Layout()
	rowBytes, _ := t.Size(n)
	head, _ := t.Size(n - rest)
	xHead := quant.ActBytes(l.With, n-rest)
	for b := range batch {
		xb := x[b*xStride:]
		for r := range rows {
			wr := w[r*rowBytes : (r+1)*rowBytes]
			var sum float32
			f.one(&wr[0], n-rest, 1, &xb[0], xStride, &sum, dstStride)
			dst[b*dstStride+r] = sum + l.Dot(rest, wr[head:], xb[xHead:xHead+quant.ActBytes(l.With, rest)])
		}
	}
}

// AddRows adds weighted rows to dst:
//
//	dst[i] += Σ_r p[r] · w[r][i]
//
// Row r is the t.Size(len(dst)) bytes at r·stride of w. Rows are added in
// ascending order. Attention sums values with it.
func AddRows(t quant.Type, dst []float32, w []byte, stride int, p []float32) {
	rowBytes, ok := t.Size(len(dst))
	if !ok || len(p) > 0 && len(w) < (len(p)-1)*stride+rowBytes {
		panic(fmt.Sprintf("dot: AddRows of %d rows of %v in %d bytes, stride %d, into %d floats", len(p), t, len(w), stride, len(dst)))
	}
	if len(p) == 0 || len(dst) == 0 {
		return
	}
	n := len(dst)
	if s := sums[isa.Current()][t]; s.f != nil {
		if n = n / s.lanes * s.lanes; n > 0 {
			s.f(&dst[0], n, &w[0], len(p), stride, &p[0])
		}
		if n == len(dst) {
			return
		}
		done, _ := t.Size(n)
		dst, w, rowBytes = dst[n:], w[done:], rowBytes-done
	}
	addRowsGo(t, dst, w, stride, rowBytes, p)
}

// addRowsGo is AddRows in Go. The types of KV caches have cases of their own, which
// allocate nothing. Products are not fused with sums, so all machines get the same bits.
func addRowsGo(t quant.Type, dst []float32, w []byte, stride, rowBytes int, p []float32) {
	for r, f := range p {
		row := w[r*stride : r*stride+rowBytes]
		switch t {
		case quant.F32:
			for i := range dst {
				dst[i] += float32(f * math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:])))
			}
		case quant.F16:
			for i := range dst {
				dst[i] += float32(f * half(row[2*i:]))
			}
		case quant.Q8_0:
			for b := 0; b < len(dst); b += 32 {
				blk := row[b/32*34 : b/32*34+34]
				d := half(blk)
				for i, q := range blk[2:] {
					dst[b+i] += float32(f * float32(d*float32(int8(q))))
				}
			}
		case quant.Q4_0:
			for b := 0; b < len(dst); b += 32 {
				blk := row[b/32*18 : b/32*18+18]
				d := half(blk)
				for i, q := range blk[2:] {
					dst[b+i] += float32(f * float32(d*float32(int32(q&15)-8)))
					dst[b+i+16] += float32(f * float32(d*float32(int32(q>>4)-8)))
				}
			}
		default:
			v := make([]float32, len(dst))
			t.Layout().Decode(v, row)
			for i, x := range v {
				dst[i] += float32(f * x)
			}
		}
	}
}

// A fastSum is the assembly of AddRows for one type at one level.
type fastSum struct {
	f     func(dst *float32, n int, w *byte, rows, stride int, p *float32)
	lanes int // columns it takes at a time
}

// half returns the F16 at the start of p.
func half(p []byte) float32 { return quant.F16ToF32(binary.LittleEndian.Uint16(p)) }
