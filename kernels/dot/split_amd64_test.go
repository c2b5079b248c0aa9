//go:build !noasm

package dot

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/amx"
	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// splitTypes are the types SplitRows takes.
var splitTypes = []quant.Type{quant.F16, quant.BF16}

// atAMX runs a test at AMX, or skips it.
func atAMX(t testing.TB) {
	t.Helper()
	needAMX(t)
	t.Cleanup(isa.Set(isa.AMX))
}

// guardedSplit is SplitRows of all rows at once, with guard values around.
func guardedSplit(t testing.TB, typ quant.Type, w []byte, rows, n int, x []byte, xs, batch int) []float32 {
	t.Helper()
	const guard = 12345
	stride := rows + 3
	dst := make([]float32, batch*stride)
	for i := range dst {
		dst[i] = guard
	}
	s := NewSplit(n, batch)
	size := len(s.data)
	s.data = append(s.data, make([]byte, 128)...)
	for i := range s.data { // a reused Split has old contents
		s.data[i] = 0xff
	}
	past := s.data[size:]
	s.data = s.data[:size]
	for i := range s.Fills() {
		s.Fill(s.Fills()-1-i, x, xs) // in any order
	}
	for _, v := range past {
		if v != 0xff {
			t.Fatalf("%v n=%d batch=%d: a Split wrote past its end", typ, n, batch)
		}
	}
	SplitRows(typ, dst, stride, w, rows, n, *s, x, xs)
	s.Free()
	out := make([]float32, 0, batch*rows)
	for b := range batch {
		out = append(out, dst[b*stride:b*stride+rows]...)
		for _, v := range dst[b*stride+rows : (b+1)*stride] {
			if v != guard {
				t.Fatalf("%v n=%d rows=%d batch=%d: wrote %g past row %d", typ, n, rows, batch, v, b)
			}
		}
	}
	return out
}

// splitDot makes one result from definitions: pieces, steps, their order, and the
// arithmetic of TDPBF16PS.
func splitDot(typ quant.Type, w, x []float32) float32 {
	two := func(v []float32, split func(v float32) (hi, lo float32)) (hi, lo []float32) {
		hi, lo = make([]float32, splitStep), make([]float32, splitStep)
		for i, v := range v {
			at := i%16*2 + i/16
			hi[at], lo[at] = split(v)
		}
		return hi, lo
	}
	var sum float32
	for k := 0; k < len(w); k += splitStep {
		end := min(k+splitStep, len(w))
		xh, xl := two(x[k:end], func(v float32) (float32, float32) {
			hi := quant.BF16ToF32(quant.F32ToBF16(v))
			return hi, quant.BF16ToF32(quant.F32ToBF16(v - hi))
		})
		wh, wl := two(w[k:end], func(v float32) (float32, float32) {
			hi := v
			if typ == quant.F16 {
				hi = math.Float32frombits((math.Float32bits(v) + 0x8000) &^ 0xffff)
			}
			return hi, v - hi
		})
		if typ == quant.F16 {
			sum = amx.DotBF16(sum, wl, xh)
		}
		sum = amx.DotBF16(amx.DotBF16(sum, wh, xh), wh, xl)
	}
	return sum
}

// splitBound is the error bound of SplitRows's comment.
func splitBound(typ quant.Type, w, x []float32) (want, bound float64) {
	var mass, sumW, sumX float64
	for i := range w {
		p := float64(w[i]) * float64(x[i])
		want += p
		mass += math.Abs(p)
		sumW += math.Abs(float64(w[i]))
		sumX += math.Abs(float64(x[i]))
	}
	n, s := float64(len(w)), float64((len(w)+splitStep-1)/splitStep)
	if typ == quant.F16 {
		return want, (0x1p-16+0x1p-17+(3*s+18)*0x1p-24*1.02)*mass + 0x1p-125*(sumW+3*n)
	}
	return want, (0x1p-17+(2*s+18)*0x1p-24*1.01)*mass + 0x1p-125*(sumW+sumX+2*n)
}

// checkSplit holds every result to its definition, bit by bit, and to the bound.
func checkSplit(t testing.TB, typ quant.Type, w []byte, rows, n int, x []byte, xs, batch int) {
	t.Helper()
	got := guardedSplit(t, typ, w, rows, n, x, xs, batch)
	wf, xf := make([]float32, rows*n), make([]float32, n)
	typ.Layout().Decode(wf, w)
	for b := range batch {
		quant.F32.Layout().Decode(xf, x[b*xs:b*xs+4*n])
		for r := range rows {
			got, wr := got[b*rows+r], wf[r*n:(r+1)*n]
			if want := splitDot(typ, wr, xf); math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("%v n=%d rows=%d batch=%d: weight row %d with row %d = %g, by definition %g", typ, n, rows, batch, r, b, got, want)
			}
			if want, bound := splitBound(typ, wr, xf); !(math.Abs(float64(got)-want) <= bound) {
				t.Fatalf("%v n=%d rows=%d batch=%d: weight row %d with row %d = %g, want %g ± %g", typ, n, rows, batch, r, b, got, want, bound)
			}
		}
	}
}

// TestSplit takes sizes at which tiles, pairs, panels and stretches are full and not.
func TestSplit(t *testing.T) {
	atAMX(t)
	for _, typ := range splitTypes {
		t.Run(typ.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(21, uint64(typ)))
			for _, s := range []struct{ n, rows, batch int }{
				{0, 3, 2}, {1, 1, 1}, {15, 2, 2}, {16, 16, 3}, {17, 17, 1}, {31, 5, 16}, {32, 16, 16}, {33, 33, 17}, {64, 32, 32},
				{96, 15, 33}, {255, 31, 2}, {256, 33, 1}, {257, 47, 18}, {300, 16, 48}, {511, 3, 5}, {544, 35, 1}, {1000, 18, 4},
				{40, 130, 34}, {288, 64, 31},
				{552, 70, 1}, {768, 81, 2}, {512, 49, 16}, {520, 96, 3}, {1088, 33, 160}, {257, 130, 515}, {2080, 37, 3}, {4128, 33, 1}, {2090, 70, 2}, {640, 66, 20}, // panels made while others are used; activations from afar
			} {
				w := randomWeights(t, r, typ, s.rows, s.n)
				x, xs := activations(r, quant.F32, s.n, s.batch, 64)
				checkSplit(t, typ, w, s.rows, s.n, x, xs, s.batch)
			}
		})
	}
}

// TestSplitBatches holds a row to the bits it has alone, in every batch up to 40 and
// however weight rows are cut.
func TestSplitBatches(t *testing.T) {
	atAMX(t)
	checkSplitBatches(t)
}

func checkSplitBatches(t *testing.T) {
	t.Helper()
	const n, rows, most = 520, 70, 40
	for _, typ := range splitTypes {
		r := rand.New(rand.NewPCG(22, uint64(typ)))
		w := randomWeights(t, r, typ, rows, n)
		x, xs := activations(r, quant.F32, n, most, 0)
		var alone []float32
		for b := range most {
			alone = append(alone, guardedSplit(t, typ, w, rows, n, x[b*xs:], xs, 1)...)
		}
		same := func(what string, got, want []float32) {
			t.Helper()
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%v: %s: result %d = %g, alone %g", typ, what, i, got[i], want[i])
				}
			}
		}
		for batch := 1; batch <= most; batch++ {
			same(fmt.Sprintf("batch %d", batch), guardedSplit(t, typ, w, rows, n, x, xs, batch), alone[:batch*rows])
		}
		for _, cut := range []int{1, 15, 16, 17, 31, 32, 33, 64} {
			for r := 0; r < rows; r += cut {
				to := min(r+cut, rows)
				for _, batch := range []int{1, 3} {
					got := guardedSplit(t, typ, w[2*n*r:2*n*to], to-r, n, x, xs, batch)
					for b := range batch {
						same(fmt.Sprintf("weight rows %d to %d", r, to), got[b*(to-r):][:to-r], alone[b*rows+r:b*rows+to])
					}
				}
			}
		}
	}
}

// TestSplitSmall takes numbers whose pieces or products are below what a tile keeps,
// and every weight a piece of which is subnormal as F16.
func TestSplitSmall(t *testing.T) {
	atAMX(t)
	const n, rows, batch = 40, 18, 17
	for _, typ := range splitTypes {
		r := rand.New(rand.NewPCG(23, uint64(typ)))
		for _, scale := range []float64{0x1p-10, 0x1p-24, 0x1p-60, 0x1p-100, 0x1p-118, 0x1p-126, 0x1p-133, 0x1p-148} {
			x, w := make([]float32, batch*n), make([]float32, rows*n)
			for i := range x {
				x[i] = float32(r.NormFloat64() * scale)
			}
			for i := range w {
				w[i] = float32(r.NormFloat64() * min(1, math.Sqrt(scale)*0x1p5))
			}
			b := make([]byte, 2*len(w))
			typ.Layout().Encode(b, w)
			checkSplit(t, typ, b, rows, n, quant.Floats(x), 4*n, batch)
			// The other way round, and both small.
			for i := range x {
				x[i] = float32(r.NormFloat64() * min(1, math.Sqrt(scale)))
			}
			for i := range w {
				w[i] = float32(r.NormFloat64() * scale)
			}
			typ.Layout().Encode(b, w)
			checkSplit(t, typ, b, rows, n, quant.Floats(x), 4*n, batch)
		}
	}
	w := make([]byte, 2*0x7c00)
	for i := range 0x7c00 {
		w[2*i], w[2*i+1] = byte(i), byte(i>>8)
	}
	x, xs := activations(rand.New(rand.NewPCG(23, 99)), quant.F32, 31, 2, 0)
	checkSplit(t, quant.F16, w, 0x7c00/31, 31, x, xs, 2)
}

// TestSplitWild has infinities, NaNs and numbers that overflow a piece among weights
// and activations: what comes out is what Rows gives, or near it where that is
// finite, and other rows and columns are not affected.
func TestSplitWild(t *testing.T) {
	atAMX(t)
	const n, rows, batch = 300, 20, 19
	wild := []uint32{0x7f800000, 0xff800000, 0x7fc00000, 0x7fffffff, 0xffffffff, 0x7f800001, 0x7fbfffff, 0x7f7fffff, 0xff7fff80, 0x7f000000}
	halves := map[quant.Type][]uint16{
		quant.F16:  {0x7c00, 0xfc00, 0x7e00, 0x7fff, 0xffff, 0x7c01, 0x7bff, 0x3c00, 0, 0x8000},
		quant.BF16: {0x7f80, 0xff80, 0x7fc0, 0x7fff, 0xffff, 0x7f81, 0x7f7f, 0x3f80, 0, 0x8000},
	}
	for _, typ := range splitTypes {
		r := rand.New(rand.NewPCG(24, uint64(typ)))
		for range 12 {
			w := randomWeights(t, r, typ, rows, n)
			x, xs := activations(r, quant.F32, n, batch, 0)
			for range 3 {
				b, at, v := r.IntN(batch), r.IntN(n), wild[r.IntN(len(wild))]
				binary.LittleEndian.PutUint32(x[b*xs+4*at:], v)
				// The weights it meets have no lower piece, or are zero.
				for row := range rows {
					h := halves[typ][7+r.IntN(3)]
					w[2*(row*n+at)], w[2*(row*n+at)+1] = byte(h), byte(h>>8)
				}
				row, at, h := r.IntN(rows), r.IntN(n), halves[typ][r.IntN(len(halves[typ]))]
				w[2*(row*n+at)], w[2*(row*n+at)+1] = byte(h), byte(h>>8)
				binary.LittleEndian.PutUint32(x[r.IntN(batch)*xs+4*at:], math.Float32bits(1)) // an activation without a lower piece
			}
			got := guardedSplit(t, typ, w, rows, n, x, xs, batch)
			wf, xf := make([]float32, n), make([]float32, n)
			one := make([]float32, 1)
			for b := range batch {
				quant.F32.Layout().Decode(xf, x[b*xs:b*xs+4*n])
				for row := range rows {
					Rows(typ, one, 1, w[2*n*row:], 1, n, x[b*xs:], xs, 1)
					typ.Layout().Decode(wf, w[2*n*row:2*n*(row+1)])
					got, by := got[b*rows+row], one[0]
					if finite := !math.IsInf(float64(by), 0) && by == by; !finite {
						if !sameFloat(got, by) {
							t.Fatalf("%v: weight row %d with row %d = %g, Rows gives %g", typ, row, b, got, by)
						}
					} else if want, bound := splitBound(typ, wf, xf); !(math.Abs(float64(got)-want) <= bound+float64(n)*0x1p-24*math.Abs(want)) && got != by {
						t.Fatalf("%v: weight row %d with row %d = %g, want %g ± %g", typ, row, b, got, want, bound)
					}
				}
			}
		}
	}
}

// TestSplitOverflow has sums that overflow in the order of tiles and not in that of
// Rows.
func TestSplitOverflow(t *testing.T) {
	atAMX(t)
	const n = 32
	w, x, want := make([]float32, n), make([]float32, n), make([]float32, 1)
	for i := range w {
		w[i] = 1
	}
	big := float32(0x1.fep127)
	copy(x, []float32{big, big, -big, -big})
	for _, typ := range splitTypes {
		b := make([]byte, 2*n)
		typ.Layout().Encode(b, w)
		Rows(typ, want, 1, b, 1, n, quant.Floats(x), 4*n, 1)
		if got := guardedSplit(t, typ, b, 1, n, quant.Floats(x), 4*n, 1); got[0] != 0 || want[0] != 0 {
			t.Errorf("%v: got %g, and %g by Rows; want 0", typ, got[0], want[0])
		}
	}
}

func TestSplitAllocs(t *testing.T) {
	atAMX(t)
	checkSplitAllocs(t)
}

func checkSplitAllocs(t *testing.T) {
	t.Helper()
	const n, rows, batch = 512, 64, 20
	r := rand.New(rand.NewPCG(25, 1))
	for _, typ := range splitTypes {
		w := randomWeights(t, r, typ, rows, n)
		x, xs := activations(r, quant.F32, n, batch, 0)
		dst := make([]float32, batch*rows)
		if got := testing.AllocsPerRun(10, func() { multiplySplit(typ, dst, w, rows, n, x, xs, batch) }); got > 0 {
			t.Errorf("%v: %v allocations a call", typ, got)
		}
	}
}

// multiplySplit is all SplitRows takes.
func multiplySplit(typ quant.Type, dst []float32, w []byte, rows, n int, x []byte, xs, batch int) {
	s := NewSplit(n, batch)
	for i := range s.Fills() {
		s.Fill(i, x, xs)
	}
	SplitRows(typ, dst, rows, w, rows, n, *s, x, xs)
	s.Free()
}

// TestSplits: only at AMX, and only what has two bytes.
func TestSplits(t *testing.T) {
	for level := isa.Generic; level <= isa.Host(); level++ {
		undo := isa.Set(level)
		for typ := range quant.All() {
			if got, want := Splits(typ), level == isa.AMX && (typ == quant.F16 || typ == quant.BF16); got != want {
				t.Errorf("%v at %v: %v", typ, level, got)
			}
		}
		undo()
	}
}

// FuzzSplitRows takes any weights and activations of ordinary size.
func FuzzSplitRows(f *testing.F) {
	f.Add(false, []byte{1, 0x3c}, uint16(33), uint8(17), uint8(3), uint64(1), int8(0))
	f.Add(true, []byte{0x80, 0x3f, 3, 0}, uint16(520), uint8(65), uint8(1), uint64(2), int8(-40))
	f.Add(false, []byte{0xff, 0x03, 0, 0x7c}, uint16(1), uint8(1), uint8(16), uint64(3), int8(100))
	f.Fuzz(func(t *testing.T, brain bool, pattern []byte, n uint16, rows, batch uint8, seed uint64, exponent int8) {
		if isa.Host() < isa.AMX || len(pattern) < 2 {
			return
		}
		defer isa.Set(isa.AMX)()
		typ := quant.F16
		if brain {
			typ = quant.BF16
		}
		cols, m, c := int(n%800), int(rows%80), int(batch%40)
		w := make([]byte, 2*m*cols)
		for at := 0; at < len(w); at += len(pattern) {
			copy(w[at:], pattern)
		}
		v := make([]float32, cols*m)
		typ.Layout().Decode(v, w)
		for i, f := range v { // infinities, NaNs and huge values: TestSplitWild
			if !(math.Abs(float64(f)) < 0x1p90) {
				w[2*i], w[2*i+1] = 0, 0
			}
		}
		r := rand.New(rand.NewPCG(seed, 2))
		x := make([]float32, c*cols)
		for i := range x {
			x[i] = float32(math.Ldexp(r.NormFloat64(), min(int(exponent), 20)))
		}
		checkSplit(t, typ, w, m, cols, quant.Floats(x), 4*cols, c)
	})
}

// BenchmarkAMXRowsFloat, which -bench AMXRows takes too, has products by vectors beside those by tiles, weights from a
// second-level cache and, as decoding has them, from memory. Bytes are those of the
// weights.
func BenchmarkAMXRowsFloat(b *testing.B) {
	needAMX(b)
	for _, typ := range splitTypes {
		for _, batch := range []int{1, 2, 4, 8, 16, 32, 64, 128, 512} {
			for _, from := range []struct {
				name string
				rows int
			}{{"cache", 256}, {"memory", 64 << 10}} {
				if from.name == "memory" && batch > 16 {
					continue
				}
				for _, level := range []isa.Level{isa.AVX512, isa.AMX} {
					b.Run(fmt.Sprintf("%v/%s/batch=%d/%v", typ, from.name, batch, level), func(b *testing.B) {
						benchRowsFloat(b, typ, level, from.rows, batch)
					})
				}
			}
		}
	}
}

func benchRowsFloat(b *testing.B, typ quant.Type, level isa.Level, rows, batch int) {
	const n, chunk = 2048, 64
	defer isa.Set(level)()
	r := rand.New(rand.NewPCG(26, 2))
	w := make([]byte, 0, 2*n*rows) // random numbers for all would take minutes
	for some := randomWeights(b, r, typ, chunk, n); len(w) < cap(w); {
		w = append(w, some...)
	}
	x, xs := activations(r, quant.F32, n, batch, 0)
	dst := make([]float32, batch*rows)
	b.SetBytes(int64(len(w)))
	b.ReportAllocs()
	for b.Loop() {
		if !Splits(typ) {
			for r := 0; r < rows; r += chunk {
				Rows(typ, dst[r:], rows, w[2*n*r:], chunk, n, x, xs, batch)
			}
			continue
		}
		s := NewSplit(n, batch)
		for i := range s.Fills() {
			s.Fill(i, x, xs)
		}
		for r := 0; r < rows; r += 2 * chunk {
			SplitRows(typ, dst[r:], rows, w[2*n*r:], 2*chunk, n, *s, x, xs)
		}
		s.Free()
	}
	b.ReportMetric(2*float64(rows*n*batch)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}
