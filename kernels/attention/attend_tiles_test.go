package attention

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
)

// Weighted values against float64, each row with the bits it has alone, and
// nothing written past them.
func TestSumValues(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 1))
		for _, typ := range []quant.Type{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0} {
			for _, dim := range []int{8, 32, 40, 64, 96, 128} {
				kv, err := NewKV(typ, 1, 1, 16, 1, dim)
				if err != nil {
					continue // no whole number of blocks
				}
				kv.Data = make([]byte, kv.Size())
				values := make([][]float32, kv.BlockSize)
				for i := range values {
					values[i] = kerneltest.Floats(r, dim)
					kv.Put(0, 0, i, values[i], values[i])
					kv.Type.Layout().Decode(values[i], kv.values(0, 0, 0)[i*kv.token:(i+1)*kv.token])
				}
				for _, rows := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 25} {
					for _, tokens := range []int{0, 1, 15, 16} {
						const stride = 19
						p := kerneltest.Floats(r, rows*stride)
						dst := kerneltest.Guarded(rows+1, dim)
						before := kerneltest.Floats(r, rows*dim)
						copy(dst, before)
						kv.sumRows(dst, kv.values(0, 0, 0), tokens, p, stride, rows, nil)
						for b := range rows {
							alone := append([]float32(nil), before[b*dim:(b+1)*dim]...)
							kv.sumRows(alone, kv.values(0, 0, 0), tokens, p[b*stride:], stride, 1, nil)
							for d, f := range alone {
								if got := dst[b*dim+d]; math.Float32bits(got) != math.Float32bits(f) {
									t.Fatalf("%v dim %d, %d tokens, row %d of %d [%d] = %g, alone %g", typ, dim, tokens, b, rows, d, got, f)
								}
								want, mass := float64(before[b*dim+d]), math.Abs(float64(before[b*dim+d]))
								for i := range tokens {
									v := float64(p[b*stride+i]) * float64(values[i][d])
									want, mass = want+v, mass+math.Abs(v)
								}
								kerneltest.Within(t, f, want, mass*float64(tokens+1)*0x1p-24+1e-12, "%v dim %d, %d tokens, row %d [%d]", typ, dim, tokens, b, d)
							}
						}
						for _, f := range dst[rows*dim:] {
							if f != kerneltest.Guard {
								t.Fatalf("%v dim %d: wrote %g past row %d", typ, dim, f, rows)
							}
						}
					}
				}
			}
		}
	})
}
