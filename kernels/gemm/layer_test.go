package gemm

import (
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

func TestRunThen(t *testing.T) {
	p := threads.NewPool(2)
	defer p.Close()
	r := rand.New(rand.NewPCG(7, 1))
	const n, k, stride = 150, 33, 160
	w := NewPanels(n, k)
	w.PackRows(kerneltest.Floats(r, n*k), k)
	g := NewGemm(w, kerneltest.Floats(r, n))
	for _, rows := range []int{0, 1, 50, 200} {
		x, want, got := kerneltest.Floats(r, rows*k), kerneltest.Guarded(rows, stride), kerneltest.Guarded(rows, stride)
		g.Run(p, want, stride, x, k, rows, false)
		g.RunThen(p, got, stride, x, k, rows, func(_ int, row []float32) { vec.Scale(row, row, 2) })
		for i, v := range want {
			if i%stride < n {
				v *= 2
			}
			if got[i] != v {
				t.Fatalf("%d rows: [%d][%d] = %g, want %g", rows, i/stride, i%stride, got[i], v)
			}
		}
	}
}
