package matmul

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

func TestMatMul(t *testing.T) {
	isatest.Each(t, func(t *testing.T) { checkMatMul(t, 0) })
	isatest.Rounding(t, func(t *testing.T) { checkMatMul(t, 0x1p-8) })
}

// checkMatMul allows an error of rounding, relative to the sum of the products' magnitudes,
// besides that of float32.
func checkMatMul(t *testing.T, rounding float64) {
	p := threads.NewPool(2)
	defer p.Close()
	r := rand.New(rand.NewPCG(1, 4))
	for _, typ := range []quant.Type{quant.F32, quant.F16, quant.Q8_0, quant.Q4_K} {
		const out, in = 77, 512
		w := kerneltest.Floats(r, out*in)
		size, _ := typ.Size(len(w))
		data := make([]byte, size)
		typ.Layout().Encode(data, w)
		typ.Layout().Decode(w, data)
		bias := kerneltest.Floats(r, out)
		m := NewMatMul(typ, data, out, in, bias)
		for _, batch := range []int{0, 1, 4, 5, 19} {
			x := kerneltest.Floats(r, batch*in)
			stride := quant.ActBytes(m.With(), in)
			act := make([]byte, batch*stride)
			quant.Quantize(act, m.With(), x, in)
			if m.With() != quant.F32 {
				m.With().Layout().Decode(x, act)
			}
			dst := make([]float32, batch*out)
			m.Run(p, dst, act, stride, batch)
			for i, got := range dst {
				want, mass := float64(bias[i%out]), 0.0
				for k := range in {
					v := float64(x[i/out*in+k]) * float64(w[i%out*in+k])
					want, mass = want+v, mass+math.Abs(v)
				}
				kerneltest.Within(t, got, want, mass*(rounding+in*0x1p-24)+1e-6, "%v batch=%d [%d]", typ, batch, i)
			}
		}
	}
}
