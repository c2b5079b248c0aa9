package matmul

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"quern/kernels/dot"
	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

// TestGroup: matrices of several sizes and types give the bits in a group that each gives alone, and
// a run allocates nothing.
func TestGroup(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := threads.NewPool(3)
		defer p.Close()
		r := rand.New(rand.NewPCG(3, 9))
		const in = 512
		for _, types := range [][]quant.Type{{quant.F16, quant.F32, quant.BF16}, {quant.Q8_0, quant.Q5_0, quant.Q8_0}, {quant.Q4_K, quant.Q6_K}} {
			var g Group
			var alone []*MatMul
			for i, typ := range types {
				out := []int{300, 1, 77}[i]
				size, _ := typ.Size(out * in)
				w := make([]byte, size)
				typ.Layout().Encode(w, kerneltest.Floats(r, out*in))
				m := func() *MatMul { return NewMatMul(typ, w, out, in, kerneltest.Floats(rand.New(rand.NewPCG(1, 1)), out)) }
				g.Add(m())
				alone = append(alone, m())
			}
			for _, batch := range []int{0, 1, 3, 40} {
				with := alone[0].With()
				stride := quant.ActBytes(with, in)
				x := make([]byte, batch*stride)
				quant.Quantize(x, with, kerneltest.Floats(r, batch*in), in)
				dst := make([][]float32, len(alone))
				for i, m := range alone {
					dst[i] = make([]float32, batch*m.out)
				}
				g.Run(p, dst, x, stride, batch)
				for i, m := range alone {
					want := make([]float32, batch*m.out)
					m.Run(p, want, x, stride, batch)
					for k := range want {
						if dst[i][k] != want[k] {
							t.Fatalf("%v, batch of %d, matrix %d: [%d] = %g, %g alone", types, batch, i, k, dst[i][k], want[k])
						}
					}
				}
				// In WebAssembly the runtime allocates where goroutines wait.
				if n := testing.AllocsPerRun(10, func() { g.Run(p, dst, x, stride, batch) }); n != 0 && runtime.GOARCH != "wasm" {
					t.Errorf("%v, batch of %d: %g allocations a run", types, batch, n)
				}
			}
			if g.Takes(NewMatMul(quant.F32, make([]byte, 8), 1, 2, nil)) {
				t.Error("a group takes a matrix of other activations")
			}
		}
	})
}

// TestSlices: rows whose activations pass the weights in several slices have the bits of each alone.
func TestSlices(t *testing.T) {
	p := threads.NewPool(2)
	defer p.Close()
	r := rand.New(rand.NewPCG(4, 2))
	const in, out, batch = 8192, 33, leastSlice + 3
	for _, typ := range []quant.Type{quant.Q8_0, quant.F32} {
		size, _ := typ.Size(out * in)
		w := make([]byte, size)
		typ.Layout().Encode(w, kerneltest.Floats(r, out*in))
		m := NewMatMul(typ, w, out, in, nil)
		if rows := Interleaves(typ, out, in); rows > 0 { // only they are sliced
			interleaved := make([]byte, rows*m.row)
			dot.Interleave(typ, interleaved, w, rows, in)
			m.UseInterleaved(interleaved)
		}
		stride := quant.ActBytes(m.With(), in)
		if batch*stride <= cachedActivations {
			t.Fatalf("%v: %d rows of %d bytes are one slice", typ, batch, stride)
		}
		x := make([]byte, batch*stride)
		quant.Quantize(x, m.With(), kerneltest.Floats(r, batch*in), in)
		got, want := make([]float32, batch*out), make([]float32, out)
		m.Run(p, got, x, stride, batch)
		for b := range batch {
			m.Run(p, want, x[b*stride:], stride, 1)
			for i, v := range want {
				if got[b*out+i] != v {
					t.Fatalf("%v: row %d [%d] = %g, %g alone", typ, b, i, got[b*out+i], v)
				}
			}
		}
	}
}
