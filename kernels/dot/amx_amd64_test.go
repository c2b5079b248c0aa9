//go:build !noasm

package dot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

func needAMX(t testing.TB) {
	t.Helper()
	if isa.Host() < isa.AMX {
		t.Skip("this CPU has no AMX; kernels/internal/amxrun runs this test without it")
	}
}

// sameRows holds Rows at AMX to the bits it has at AVX-512, which other tests
// hold to those of one row alone.
func sameRows(t *testing.T, typ quant.Type, w []byte, rows, n int, x []byte, xs, batch int) {
	t.Helper()
	const guard = 12345
	stride := rows + 3
	var dst [2][]float32
	for i, level := range []isa.Level{isa.AVX512, isa.AMX} {
		dst[i] = make([]float32, batch*stride)
		for j := range dst[i] {
			dst[i][j] = guard
		}
		undo := isa.Set(level)
		Rows(typ, dst[i], stride, w, rows, n, x, xs, batch)
		undo()
	}
	for i, want := range dst[0] {
		if got := dst[1][i]; math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%v n=%d rows=%d batch=%d: weight row %d with row %d = %g at amx, %g at avx512", typ, n, rows, batch, i%stride, i/stride, got, want)
		}
	}
}

// TestAMXRows takes every type by tiles: groups that are full and not, whole
// stretches and blocks left over, panels that overlap.
func TestAMXRows(t *testing.T) {
	needAMX(t)
	for typ := range quant.All() {
		if amxPanels[typ].tile == nil {
			if panels[isa.AVX512][typ].tile != nil {
				t.Errorf("%v has panels but no tiles", typ)
			}
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			l := typ.Layout()
			r := rand.New(rand.NewPCG(11, uint64(typ)))
			for _, s := range []struct{ n, rows, batch int }{
				{l.Block, 16, 24}, {256, 17, 15}, {256, 16, 16}, {256, 16, 23}, {256, 35, 31}, {512, 16, 32}, {288, 16, 33},
				{768, 16, 43}, {768, 16, 44}, {544, 16, 45}, {1280, 19, 63}, {2304, 16, 64}, {96, 16, 78}, {256, 16, 270}, {1056, 16, 60},
			} {
				if s.n%l.Block != 0 {
					continue
				}
				w := randomWeights(t, r, typ, s.rows, s.n)
				x, xs := activations(r, l.With, s.n, s.batch, 64)
				sameRows(t, typ, w, s.rows, s.n, x, xs, s.batch)
			}
			w := randomWeights(t, r, typ, 18, 512)
			x, xs := activations(r, l.With, 512, 45, 0)
			undo := isa.Set(isa.AMX)
			wantDot(t, typ, w, 18, 512, x, xs, 45)
			undo()
		})
	}
}

// TestAMXExtremes takes sums as large as they become, and activations that are not
// numbers.
func TestAMXExtremes(t *testing.T) {
	needAMX(t)
	const n, rows, batch = 512, 16, 46
	for typ := range quant.All() {
		l := typ.Layout()
		if amxPanels[typ].tile == nil {
			continue
		}
		xs := quant.ActBytes(l.With, n)
		x, broken, f := make([]byte, batch*xs), make([]byte, batch*xs), make([]float32, n)
		for b := range batch {
			for i := range f {
				f[i] = float32(1 - 2*(i*b/2%2)) // all 1, or signs that alternate
			}
			l.With.Layout().Encode(x[b*xs:(b+1)*xs], f)
			f[b] = []float32{float32(math.Inf(1)), float32(math.NaN()), 0x1p-140, math.MaxFloat32}[b%4]
			l.With.Layout().Encode(broken[b*xs:(b+1)*xs], f)
		}
		for _, fill := range []byte{0, 0x0f, 0x7f, 0x80, 0xf0, 0xff} {
			w := make([]byte, rows*n/l.Block*l.Bytes)
			for i := range w {
				w[i] = fill
			}
			sameRows(t, typ, w, rows, n, x, xs, batch) // scales may be infinite or NaN
			sane := randomWeights(t, rand.New(rand.NewPCG(12, uint64(typ))), typ, rows, n)
			for at := 0; at < len(w); at += l.Bytes {
				for _, o := range scaleOffsets[typ] {
					copy(w[at+o:at+o+2], sane[at+o:])
				}
				if typ == quant.MXFP4 {
					w[at] = sane[at]
				}
			}
			sameRows(t, typ, w, rows, n, x, xs, batch)
			sameRows(t, typ, w, rows, n, broken, xs, batch)
		}
	}
}

func TestAMXAllocs(t *testing.T) {
	needAMX(t)
	for _, typ := range []quant.Type{quant.Q4_K, quant.Q8_0} {
		noAllocs(t, typ, 16, 40, 10)
	}
}

// BenchmarkAMXRows has AVX-512 beside AMX, at the numbers of activation rows about
// which it starts to be used and at those of a prompt.
func BenchmarkAMXRows(b *testing.B) {
	needAMX(b)
	for _, typ := range []quant.Type{quant.Q4_K, quant.Q6_K, quant.Q8_0, quant.Q4_0, quant.Q5_1} {
		for _, batch := range []int{8, 16, 24, 32, 40, 64, 128, 512} {
			for _, level := range []isa.Level{isa.AVX512, isa.AMX} {
				b.Run(fmt.Sprintf("%v/batch=%d/%v", typ, batch, level), func(b *testing.B) { benchRows(b, typ, level, batch) })
			}
		}
	}
}
