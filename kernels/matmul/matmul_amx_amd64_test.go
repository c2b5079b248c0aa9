//go:build !noasm

package matmul

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"quern/kernels/internal/isa"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// TestAMXMatMul holds rows of products with 16-bit weights to the bits they have
// alone, in any batch and with any number of workers, and near the exact product.
func TestAMXMatMul(t *testing.T) {
	kerneltest.NeedAMX(t)
	defer isa.Set(isa.AMX)()
	const out, in, most = 150, 520, 33
	for _, typ := range []quant.Type{quant.F16, quant.BF16} {
		r := rand.New(rand.NewPCG(31, uint64(typ)))
		w, x, bias := kerneltest.Floats(r, out*in), kerneltest.Floats(r, most*in), kerneltest.Floats(r, out)
		data := make([]byte, 2*len(w))
		typ.Layout().Encode(data, w)
		typ.Layout().Decode(w, data)
		run := func(workers, first, batch int) []float32 {
			p := threads.NewPool(workers)
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
			kerneltest.Within(t, got, want, mass*0x1p-15+1e-6, "%v", typ)
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

// TestAMXThreads has several threads use tiles at once, while the collector runs
// and stops them.
func TestAMXThreads(t *testing.T) {
	kerneltest.NeedAMX(t)
	const out, in, batch, callers = 64, 512, 35, 3
	r := rand.New(rand.NewPCG(22, 1))
	l := quant.Q4_K.Layout()
	w := make([]byte, out*in/l.Block*l.Bytes)
	l.Encode(w, kerneltest.Floats(r, out*in))
	x := make([]byte, batch*quant.ActBytes(l.With, in))
	quant.Quantize(x, l.With, kerneltest.Floats(r, batch*in), in)
	run := func() []float32 {
		p := threads.NewPool(2)
		defer p.Close()
		dst := make([]float32, batch*out)
		NewMatMul(quant.Q4_K, w, out, in, nil).Run(p, dst, x, quant.ActBytes(l.With, in), batch)
		return dst
	}
	undo := isa.Set(isa.AVX512)
	want := run()
	undo()
	defer isa.Set(isa.AMX)()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range 5 {
				for i, got := range run() {
					if math.Float32bits(got) != math.Float32bits(want[i]) {
						t.Errorf("result %d = %g, want %g", i, got, want[i])
						return
					}
				}
				runtime.GC()
			}
		})
	}
	wg.Wait()
}
