//go:build !noasm

package dot

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// TestLevelsAgree holds all levels to the same bits for quantised types, one
// activation row and four, and to the reference's bits where activations are
// ActQ8_256. Quants take every value up to the extremes of both sides, which is
// where 16-bit sums would overflow.
func TestLevelsAgree(t *testing.T) {
	if isa.Host() == isa.Generic {
		t.Skip("no assembly")
	}
	const rows, n, batch = 3, 7 * 256, 5
	for typ := range quant.All() {
		l := typ.Layout()
		if l.With == quant.F32 || fast[isa.NEON][typ].one == nil {
			continue
		}
		for _, fill := range []int{-1, 0, 0x7f, 0x80, 0xff} { // -1: random
			r := rand.New(rand.NewPCG(9, uint64(typ)))
			w := randomWeights(t, r, typ, rows, n)
			x, xs := activations(r, l.With, n, batch, 0)
			if fill >= 0 {
				f := make([]float32, n)
				for i := range f {
					f[i] = float32(1 - 2*(i/3%2))
				}
				for at := 0; at < len(w); at += l.Bytes {
					sane := append([]byte(nil), w[at:at+l.Bytes]...)
					for i := range l.Bytes {
						w[at+i] = byte(fill)
					}
					for _, o := range scaleOffsets[typ] {
						copy(w[at+o:at+o+2], sane[o:])
					}
					if typ == quant.MXFP4 {
						w[at] = sane[0]
					}
				}
				for b := range batch {
					l.With.Layout().Encode(x[b*xs:b*xs+quant.ActBytes(l.With, n)], f)
				}
			}
			var first []float32
			for level := isa.NEON; level <= isa.Host(); level++ {
				undo := isa.Set(level)
				got := make([]float32, rows*batch)
				Rows(typ, got, rows, w, rows, n, x, xs, batch)
				undo()
				if first == nil {
					first = got
				}
				for i := range got {
					if math.Float32bits(got[i]) != math.Float32bits(first[i]) {
						t.Fatalf("%v fill %d [%d]: %g at %v, %g at %v", typ, fill, i, got[i], level, first[i], isa.NEON)
					}
				}
			}
			rowBytes, _ := typ.Size(n)
			for i, got := range first {
				ref := l.Dot(n, w[i%rows*rowBytes:(i%rows+1)*rowBytes], x[i/rows*xs:i/rows*xs+quant.ActBytes(l.With, n)])
				if l.With == quant.ActQ8_256 && math.Float32bits(got) != math.Float32bits(ref) {
					t.Fatalf("%v fill %d [%d] = %g, the reference's is %g", typ, fill, i, got, ref)
				}
				// Of 56 terms of like size, all but rounding must agree.
				if math.Abs(float64(got-ref)) > 1e-4*(1+math.Abs(float64(ref))) {
					t.Fatalf("%v fill %d [%d] = %g, the reference's is %g", typ, fill, i, got, ref)
				}
			}
		}
	}
}

// TestMXFP4Scales takes all exponents, in blocks of four and in the rest.
func TestMXFP4Scales(t *testing.T) {
	if isa.Host() == isa.Generic {
		t.Skip("no assembly")
	}
	l := quant.MXFP4.Layout()
	for e := range 256 {
		for _, blocks := range []int{1, 4} {
			n := 32 * blocks
			w := make([]byte, blocks*l.Bytes)
			for b := range blocks {
				w[b*l.Bytes] = byte(e)
				w[b*l.Bytes+1] = 1 // one half of the first weight
			}
			f := make([]float32, n)
			for b := range blocks {
				f[32*b] = 127
			}
			x := make([]byte, quant.ActBytes(quant.ActQ8_32, n))
			quant.QuantizeActQ8_32(x, f)
			dst := make([]float32, 1)
			Rows(quant.MXFP4, dst, 1, w, 1, n, x, len(x), 1)
			if want := l.Dot(n, w, x); math.Float32bits(dst[0]) != math.Float32bits(want) {
				t.Errorf("exponent %d, %d blocks: %g, want %g", e, blocks, dst[0], want)
			}
		}
	}
}
