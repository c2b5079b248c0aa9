package dot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/quant"
)

// The tiles must give the bits of one weight row with one activation row.
func TestFloatRows(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, typ := range []quant.Type{quant.F32, quant.F16, quant.BF16} {
			r := rand.New(rand.NewPCG(7, uint64(typ)))
			for _, n := range []int{1, 8, 16, 24, 40, 64, 100, 576} {
				for _, batch := range []int{1, 2, 3, 4, 7, 12, 13} {
					for _, rows := range []int{1, 4, 11} {
						const guard = 12345
						w := randomWeights(t, r, typ, rows, n)
						x, xs := activations(r, quant.F32, n, batch, 64)
						stride := rows + 3
						dst := make([]float32, batch*stride)
						for i := range dst {
							dst[i] = guard
						}
						did := floatRows(typ, dst, stride, w, rows, n, x, xs, batch)
						size, _ := typ.Size(n)
						for i, got := range dst {
							b, row := i/stride, i%stride
							want := []float32{guard}
							if did && row < rows {
								Rows(typ, want, 1, w[row*size:], 1, n, x[b*xs:], xs, 1)
							}
							if math.Float32bits(got) != math.Float32bits(want[0]) {
								t.Fatalf("%v n=%d: row %d of activations %d of %d×%d = %g, want %g", typ, n, row, b, rows, batch, got, want[0])
							}
						}
					}
				}
			}
		}
	})
}

func BenchmarkFloatRows(b *testing.B) {
	for _, typ := range []quant.Type{quant.F32, quant.F16, quant.BF16} {
		for _, s := range []struct{ rows, n, batch int }{{4, 2048, 6}, {16, 512, 48}, {32, 2048, 48}, {32, 2048, 512}, {64, 5632, 512}} {
			b.Run(fmt.Sprintf("%v/%dx%dx%d", typ, s.rows, s.n, s.batch), func(b *testing.B) {
				r := rand.New(rand.NewPCG(7, 1))
				w := randomWeights(b, r, typ, s.rows, s.n)
				x, xs := activations(r, quant.F32, s.n, s.batch, 0)
				dst := make([]float32, s.rows*s.batch)
				for b.Loop() {
					if !floatRows(typ, dst, s.rows, w, s.rows, s.n, x, xs, s.batch) {
						b.Skip("no tiles")
					}
				}
				b.ReportMetric(2*float64(s.rows*s.n*s.batch)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// Several results at once must get the bits each gets alone.
func TestAddRowsTo(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, typ := range []quant.Type{quant.F32, quant.F16, quant.BF16, quant.Q8_0} {
			r := rand.New(rand.NewPCG(8, uint64(typ)))
			for _, n := range []int{32, 64, 96, 128, 24, 80} {
				if n%typ.Layout().Block != 0 {
					continue
				}
				size, _ := typ.Size(n)
				for _, rows := range []int{0, 1, 5, 32} {
					for _, batch := range []int{0, 1, 2, 3, 4, 8, 13} {
						const gap, guard = 3, 12345
						w := randomWeights(t, r, typ, rows, n)
						p, dst := make([]float32, batch*(rows+gap)), make([]float32, batch*(n+gap))
						for i := range p {
							p[i] = float32(r.NormFloat64())
						}
						for i := range dst {
							dst[i] = guard
						}
						for b := range batch {
							for i := range n {
								dst[b*(n+gap)+i] = float32(r.NormFloat64())
							}
						}
						want := append([]float32(nil), dst...)
						AddRowsTo(typ, dst, n+gap, n, w, rows, size, p, rows+gap, batch)
						for b := range batch {
							AddRows(typ, want[b*(n+gap):][:n], w, size, p[b*(rows+gap):][:rows])
						}
						for i := range dst {
							if math.Float32bits(dst[i]) != math.Float32bits(want[i]) {
								t.Fatalf("%v n=%d rows=%d batch=%d: [%d] = %g, want %g", typ, n, rows, batch, i, dst[i], want[i])
							}
						}
					}
				}
			}
		}
	})
}
