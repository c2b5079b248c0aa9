//go:build !noasm

package kernels

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// TestAMXMatMul holds rows of products with 16-bit weights to the bits they have
// alone, in any batch and with any number of workers, and near the exact product.
func TestAMXMatMul(t *testing.T) {
	needAMX(t)
	defer isa.Set(isa.AMX)()
	const out, in, most = 150, 520, 33
	for _, typ := range []quant.Type{quant.F16, quant.BF16} {
		r := rand.New(rand.NewPCG(31, uint64(typ)))
		w, x, bias := floats(r, out*in), floats(r, most*in), floats(r, out)
		data := make([]byte, 2*len(w))
		typ.Layout().Encode(data, w)
		typ.Layout().Decode(w, data)
		run := func(workers, first, batch int) []float32 {
			p := NewPool(workers)
			defer p.Close()
			m := NewMatMul(typ, data, out, in, bias)
			dst := make([]float32, batch*out)
			m.Run(p, dst, quant.Floats(x[first*in:]), 4*in, batch)
			return dst
		}
		var alone []float32
		for b := range most {
			alone = append(alone, run(1, b, 1)...)
		}
		for i, got := range alone {
			want, mass := float64(bias[i%out]), 0.0
			for k := range in {
				v := float64(w[i%out*in+k]) * float64(x[i/out*in+k])
				want, mass = want+v, mass+math.Abs(v)
			}
			within(t, typ.String(), got, want, mass*0x1p-15+1e-6)
		}
		for _, workers := range []int{1, 2, 3} {
			for _, batch := range []int{1, 2, 15, 16, 17, 32, 33} {
				for i, got := range run(workers, 0, batch) {
					if math.Float32bits(got) != math.Float32bits(alone[i]) {
						t.Fatalf("%v: %d workers, batch %d: result %d = %g, alone %g", typ, workers, batch, i, got, alone[i])
					}
				}
			}
		}
	}
}
