package dot

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/quant"
)

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
