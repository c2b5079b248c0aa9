package kernels

import (
	"math/rand/v2"
	"testing"
)

func TestRunThen(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	r := rand.New(rand.NewPCG(7, 1))
	const n, k, stride = 150, 33, 160
	w := NewPanels(n, k)
	w.PackRows(floats(r, n*k), k)
	g := NewGemm(w, floats(r, n))
	for _, rows := range []int{0, 1, 50, 200} {
		x, want, got := floats(r, rows*k), guarded(rows, stride), guarded(rows, stride)
		g.Run(p, want, stride, x, k, rows, false)
		g.RunThen(p, got, stride, x, k, rows, func(_ int, row []float32) { Scale(row, row, 2) })
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
