package dot

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/quant"
)

// scaleOffsets names where a block keeps its float16 scales, so that tests can
// make random bytes into sane weights.
var scaleOffsets = map[quant.Type][]int{
	quant.Q4_0: {0}, quant.Q4_1: {0, 2}, quant.Q5_0: {0}, quant.Q5_1: {0, 2}, quant.Q8_0: {0}, quant.Q2_K: {80, 82}, quant.Q3_K: {108},
	quant.Q4_K: {0, 2}, quant.Q5_K: {0, 2}, quant.Q6_K: {208}, quant.IQ4_NL: {0}, quant.IQ4_XS: {0},
}

// randomWeights returns rows·n weights of t with magnitudes around one.
func randomWeights(t testing.TB, r *rand.Rand, typ quant.Type, rows, n int) []byte {
	t.Helper()
	size, ok := typ.Size(rows * n)
	if !ok {
		t.Fatalf("no size for %d %v", rows*n, typ)
	}
	w := make([]byte, size)
	if l := typ.Layout(); l.Block == 1 {
		f := make([]float32, rows*n)
		for i := range f {
			f[i] = float32(r.NormFloat64())
		}
		l.Encode(w, f)
		return w
	}
	for i := range w {
		w[i] = byte(r.Uint32())
	}
	for at := 0; at < len(w); at += typ.Layout().Bytes {
		for _, o := range scaleOffsets[typ] {
			h := quant.F32ToF16(float32(r.NormFloat64() / 100))
			w[at+o], w[at+o+1] = byte(h), byte(h>>8)
		}
		switch typ {
		case quant.Q8_K:
			binary.LittleEndian.PutUint32(w[at:], math.Float32bits(float32(r.NormFloat64()/100)))
		case quant.MXFP4:
			w[at] = byte(120 + r.IntN(10)) // exponent, biased by 127
		}
	}
	return w
}

// activations returns batch rows of n values quantised as t wants them, each
// row followed by gap bytes.
func activations(r *rand.Rand, t quant.Type, n, batch, gap int) (x []byte, stride int) {
	stride = quant.ActBytes(t, n) + gap
	x = make([]byte, batch*stride)
	f := make([]float32, n)
	for b := range batch {
		for i := range f {
			f[i] = float32(r.NormFloat64())
		}
		row := x[b*stride : b*stride+quant.ActBytes(t, n)]
		switch t {
		case quant.ActQ8_32:
			quant.QuantizeActQ8_32(row, f)
		case quant.ActQ8_256:
			quant.QuantizeActQ8_256(row, f)
		default:
			copy(row, quant.Floats(f))
		}
	}
	return x, stride
}

func TestRows(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for typ := quant.Invalid + 1; typ < quant.ActQ8_32; typ++ {
			l := typ.Layout()
			r := rand.New(rand.NewPCG(1, uint64(typ)))
			for _, n := range []int{0, 1, 7, 8, 16, 31, 32, 33, 64, 96, 160, 256, 288, 512, 576, 2048} {
				if n%l.Block != 0 {
					continue
				}
				for _, batch := range []int{0, 1, 2, 4, 5, 9} {
					for _, rows := range []int{0, 1, 3, 6} {
						checkRows(t, r, typ, n, batch, rows)
					}
				}
			}
		}
	})
}

func checkRows(t *testing.T, r *rand.Rand, typ quant.Type, n, batch, rows int) {
	t.Helper()
	const guard = 12345
	l := typ.Layout()
	w := randomWeights(t, r, typ, rows, n)
	x, xs := activations(r, l.With, n, batch, 64)
	dst := make([]float32, batch*(rows+2)+1)
	for i := range dst {
		dst[i] = guard
	}
	Rows(typ, dst, rows+2, w, rows, n, x, xs, batch)
	// Bits must not depend on the batch, nor on which rows are done together.
	for b := range batch {
		one := make([]float32, 1)
		for i := range rows {
			size, _ := typ.Size(n)
			Rows(typ, one, 1, w[i*size:], 1, n, x[b*xs:], xs, 1)
			if got := dst[b*(rows+2)+i]; math.Float32bits(one[0]) != math.Float32bits(got) {
				t.Fatalf("%v n=%d rows=%d batch=%d: row %d of %d = %g in a batch, %g alone", typ, n, rows, batch, i, b, got, one[0])
			}
		}
	}
	rowBytes, _ := typ.Size(n)
	wf, xf := make([]float32, n), make([]float32, (n+255)/256*256)
	for b := range batch {
		xb := x[b*xs : b*xs+quant.ActBytes(l.With, n)]
		if l.With == quant.F32 {
			l.With.Layout().Decode(xf[:n], xb)
		} else {
			l.With.Layout().Decode(xf, xb)
		}
		for i := range rows + 2 {
			got := dst[b*(rows+2)+i]
			if i >= rows {
				if got != guard {
					t.Fatalf("%v n=%d rows=%d batch=%d: wrote %g past row %d", typ, n, rows, batch, got, b)
				}
				continue
			}
			l.Decode(wf, w[i*rowBytes:(i+1)*rowBytes])
			var want, mass float64
			for k := range n {
				p := float64(wf[k]) * float64(xf[k])
				want += p
				mass += math.Abs(p)
			}
			// Sums of at most n terms in float32, each step off by half an ulp;
			// offsets such as Q8_0's 128 enlarge what is summed by a few times.
			if bound := mass*float64(n+16)*0x1p-24 + 40*mass*0x1p-24 + 1e-6; math.Abs(float64(got)-want) > bound {
				t.Fatalf("%v n=%d rows=%d batch=%d: row %d of %d = %g, want %g ± %g", typ, n, rows, batch, i, b, got, want, bound)
			}
		}
	}
}

func TestAddRows(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, typ := range []quant.Type{quant.F32, quant.F16, quant.Q8_0} {
			r := rand.New(rand.NewPCG(2, uint64(typ)))
			for _, n := range []int{0, 1, 8, 17, 32, 64, 80, 96, 128, 160, 576} {
				if n%typ.Layout().Block != 0 {
					continue
				}
				for _, rows := range []int{0, 1, 5, 33} {
					checkAddRows(t, r, typ, n, rows)
				}
			}
		}
	})
}

func checkAddRows(t *testing.T, r *rand.Rand, typ quant.Type, n, rows int) {
	t.Helper()
	const guard, gap = 12345, 48
	rowBytes, _ := typ.Size(n)
	stride := rowBytes + gap
	w := make([]byte, rows*stride)
	p := make([]float32, rows)
	want := make([]float64, n)
	mass := make([]float64, n)
	dst := make([]float32, n+4)
	for i := range dst {
		dst[i] = guard
		if i < n {
			dst[i] = float32(r.NormFloat64())
			want[i], mass[i] = float64(dst[i]), math.Abs(float64(dst[i]))
		}
	}
	f := make([]float32, n)
	for i := range rows {
		row := w[i*stride : i*stride+rowBytes]
		copy(row, randomWeights(t, r, typ, 1, n))
		typ.Layout().Decode(f, row)
		p[i] = float32(r.NormFloat64())
		for k, v := range f {
			want[k] += float64(p[i]) * float64(v)
			mass[k] += math.Abs(float64(p[i]) * float64(v))
		}
	}
	AddRows(typ, dst[:n:n], w, stride, p)
	for i, got := range dst {
		if i >= n {
			if got != guard {
				t.Fatalf("%v n=%d rows=%d: wrote past the end", typ, n, rows)
			}
		} else if bound := mass[i] * float64(rows+2) * 0x1p-23; math.Abs(float64(got)-want[i]) > bound {
			t.Fatalf("%v n=%d rows=%d: [%d] = %g, want %g ± %g", typ, n, rows, i, got, want[i], bound)
		}
	}
}
