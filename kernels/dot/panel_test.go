package dot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/internal/isa/isatest"
	"quern/kernels/quant"
)

// exact reports whether Rows promises Dot's bits for t on this machine.
func exact(t quant.Type) bool {
	with := t.Layout().With
	return with == quant.ActQ8_256 || with == quant.ActQ8_32 && runtime.GOARCH != "arm64"
}

// sameFloat reports whether a and b have the same bits or are both not a number:
// which of several a sum ends up with depends on the order of operands.
func sameFloat(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// wantDot holds Rows of rows and activations to Dot's bits, and returns how
// many results differ.
func wantDot(t *testing.T, typ quant.Type, w []byte, rows, n int, x []byte, xs, batch int) (bad int) {
	t.Helper()
	l := typ.Layout()
	size, _ := typ.Size(n)
	stride := rows + 1
	dst := make([]float32, batch*stride)
	Rows(typ, dst, stride, w, rows, n, x, xs, batch)
	for b := range batch {
		if got := dst[b*stride+rows]; got != 0 {
			t.Fatalf("%v n=%d rows=%d batch=%d: wrote %g past row %d", typ, n, rows, batch, got, b)
		}
		for r := range rows {
			want := l.Dot(n, w[r*size:(r+1)*size], x[b*xs:b*xs+quant.ActBytes(l.With, n)])
			if got := dst[b*stride+r]; !sameFloat(got, want) {
				if bad++; bad < 3 {
					t.Errorf("%v n=%d rows=%d batch=%d: weight row %d with row %d = %g, Dot's is %g", typ, n, rows, batch, r, b, got, want)
				}
			}
		}
	}
	return bad
}

// TestRowsExact holds every level to Dot's bits: one activation row and
// several, whole panels and stretches and incomplete ones.
func TestRowsExact(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for typ := range quant.All() {
			if !exact(typ) {
				continue
			}
			l := typ.Layout()
			r := rand.New(rand.NewPCG(3, uint64(typ)))
			for _, n := range []int{0, 32, 96, 256, 288, 1024, 1056, 2304} {
				for _, batch := range []int{1, 2, 3, 7, 17} {
					for _, rows := range []int{1, 8, 16, 35} {
						if n%l.Block != 0 || testing.Short() && n > 1100 {
							continue
						}
						w := randomWeights(t, r, typ, rows, n)
						x, xs := activations(r, l.With, n, batch, 64)
						if wantDot(t, typ, w, rows, n, x, xs, batch) > 0 {
							return
						}
					}
				}
			}
		}
	})
}

// TestRowsExtremes takes weights and activations of the largest magnitudes,
// where sums of 16 bits would overflow first.
func TestRowsExtremes(t *testing.T) {
	const n, rows, batch = 512, 16, 3
	isatest.Each(t, func(t *testing.T) {
		for typ := range quant.All() {
			if !exact(typ) {
				continue
			}
			l := typ.Layout()
			for _, fill := range []byte{0, 0x0f, 0x7f, 0x80, 0xf0, 0xff} {
				r := rand.New(rand.NewPCG(4, uint64(typ)))
				w := randomWeights(t, r, typ, rows, n)
				for at := 0; at < len(w); at += l.Bytes {
					sane := append([]byte(nil), w[at:at+l.Bytes]...)
					for i := range l.Bytes {
						w[at+i] = fill
					}
					for _, o := range scaleOffsets[typ] {
						copy(w[at+o:at+o+2], sane[o:])
					}
					switch typ {
					case quant.MXFP4:
						w[at] = sane[0]
					case quant.Q8_K:
						copy(w[at:at+4], sane)
					}
				}
				xs := quant.ActBytes(l.With, n)
				x := make([]byte, batch*xs)
				f := make([]float32, n)
				for b := range batch {
					for i := range f {
						f[i] = float32(1 - 2*(i*b/2%2)) // all 1, or signs that alternate
					}
					l.With.Layout().Encode(x[b*xs:(b+1)*xs], f)
				}
				wantDot(t, typ, w, rows, n, x, xs, batch)
			}
		}
	})
}

// FuzzRows holds the assembly of every level to the reference, with any bytes
// as weights and activations that may not be numbers. Where bits are not
// promised, a row in a batch must have those it has alone.
func FuzzRows(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 5))
	for typ := range quant.All() {
		for _, batch := range []uint8{1, 2, 11} {
			f.Add(uint8(typ), randomWeights(f, r, typ, 1, 256), uint8(9), uint8(17), batch, uint64(typ), false)
		}
		f.Add(uint8(typ), []byte{0xff, 0x7f}, uint8(1), uint8(16), uint8(2), uint64(typ), true)
	}
	f.Fuzz(func(t *testing.T, number uint8, pattern []byte, blocks, rows, batch uint8, seed uint64, broken bool) {
		typ := quant.Type(number)
		if typ == quant.Invalid || typ >= quant.ActQ8_32 || len(pattern) == 0 {
			return
		}
		l := typ.Layout()
		rows, batch = rows%40, batch%20
		n := int(blocks%40) * l.Block
		if l.Block == 256 {
			n = int(blocks%7) * l.Block
		}
		size, _ := typ.Size(n)
		w := make([]byte, int(rows)*size)
		for at := 0; at < len(w); at += len(pattern) {
			copy(w[at:], pattern)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		xs := quant.ActBytes(l.With, n)
		x := make([]byte, int(batch)*xs)
		v := make([]float32, n)
		for b := range int(batch) {
			for i := range v {
				v[i] = float32(r.NormFloat64())
			}
			if broken && n > 0 {
				v[r.IntN(n)] = []float32{float32(math.Inf(1)), float32(math.NaN()), 0x1p-140, math.MaxFloat32}[r.IntN(4)]
			}
			if l.With == quant.F32 {
				copy(x[b*xs:], quant.Floats(v))
			} else {
				l.With.Layout().Encode(x[b*xs:(b+1)*xs], v)
			}
		}
		for level := isa.Generic; level <= isa.Host(); level++ {
			undo := isa.Set(level)
			if exact(typ) {
				wantDot(t, typ, w, int(rows), n, x, xs, int(batch))
			} else {
				sameAlone(t, typ, w, int(rows), n, x, xs, int(batch))
			}
			undo()
		}
	})
}

// sameAlone holds that a row's bits do not depend on its batch.
func sameAlone(t *testing.T, typ quant.Type, w []byte, rows, n int, x []byte, xs, batch int) {
	t.Helper()
	size, _ := typ.Size(n)
	dst, one := make([]float32, batch*rows), make([]float32, rows)
	Rows(typ, dst, rows, w, rows, n, x, xs, batch)
	for b := range batch {
		for r := range rows {
			Rows(typ, one[r:], rows, w[r*size:], 1, n, x[b*xs:], xs, 1)
			if !sameFloat(one[r], dst[b*rows+r]) {
				t.Fatalf("%v n=%d rows=%d batch=%d: weight row %d with row %d = %g in a batch, %g alone", typ, n, rows, batch, r, b, dst[b*rows+r], one[r])
			}
		}
	}
}

// TestRowsAllocs: panels come from a free list, so a step allocates nothing.
func TestRowsAllocs(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, typ := range []quant.Type{quant.Q4_K, quant.Q8_0, quant.F16} {
			noAllocs(t, typ, 32, 9, 100)
		}
	})
}

// noAllocs holds that so many runs of Rows allocate nothing.
func noAllocs(t *testing.T, typ quant.Type, rows, batch, runs int) {
	t.Helper()
	const n = 512
	w := randomWeights(t, rand.New(rand.NewPCG(6, 6)), typ, rows, n)
	x, xs := activations(rand.New(rand.NewPCG(6, 7)), typ.Layout().With, n, batch, 0)
	dst := make([]float32, batch*rows)
	if got := testing.AllocsPerRun(runs, func() { Rows(typ, dst, rows, w, rows, n, x, xs, batch) }); got > 0 {
		t.Errorf("%v: %v allocations a call", typ, got)
	}
}

// BenchmarkRows has the reference beside every level. Bytes are those of the
// weights, activations and results.
func BenchmarkRows(b *testing.B) {
	for typ := range quant.All() {
		for l := isa.Generic; l <= isa.Host(); l++ {
			for _, batch := range []int{1, 2, 4, 8, 64} {
				if l == isa.Generic && batch > 1 {
					continue // rows one by one
				}
				b.Run(fmt.Sprintf("%v/%v/batch=%d", typ, l, batch), func(b *testing.B) { benchRows(b, typ, l, batch) })
			}
		}
	}
}

// benchRows measures Rows at level l with weights that about fill a second-level
// cache.
func benchRows(b *testing.B, typ quant.Type, l isa.Level, batch int) {
	const n, rows = 2048, 1024
	defer isa.Set(l)()
	r := rand.New(rand.NewPCG(1, 2))
	w := randomWeights(b, r, typ, rows, n)
	x, xs := activations(r, typ.Layout().With, n, batch, 0)
	dst := make([]float32, batch*rows)
	b.SetBytes(int64(len(w) + len(x) + 4*len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		Rows(typ, dst, rows, w, rows, n, x, xs, batch)
	}
	b.ReportMetric(float64(rows*n*batch)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GMAC/s")
}

// TestPanelsFit checks that a stretch of every type fits the buffer its panel is
// written to.
func TestPanelsFit(t *testing.T) {
	for level := range panels {
		for typ, k := range panels[level] {
			if k.pack == nil {
				continue
			}
			if n := stretch / k.block * k.columns * 4 * k.lanes; n > panelBytes || stretch%k.block != 0 {
				t.Errorf("level %d, %v: %d bytes of %d", level, quant.Type(typ), n, panelBytes)
			}
		}
	}
}
