package matmul

import (
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// TestRoom: mixtures of different sizes and types that work in one room by turns give the bits that
// each gives in one of its own.
func TestRoom(t *testing.T) {
	p := threads.NewPool(2)
	defer p.Close()
	r := rand.New(rand.NewPCG(8, 1))
	var room Room
	type pair struct {
		own, shared *Experts
		in, out, n  int
	}
	var pairs []pair
	for _, s := range []struct {
		n, in, ff, out, used int
		up, gate             quant.Type
	}{{3, 64, 32, 64, 1, quant.F32, quant.F32}, {9, 256, 256, 64, 4, quant.Q4_K, quant.F16}, {5, 64, 96, 128, 5, quant.Q8_0, quant.Q8_0}} {
		o := ExpertsOptions{Routing: Routing{Used: s.used}, Act: vec.SiLUGate}
		o.Gate, _ = stack(r, s.gate, s.n, s.ff, s.in, false)
		o.Up, _ = stack(r, s.up, s.n, s.ff, s.in, true)
		o.Down, _ = stack(r, quant.F32, s.n, s.out, s.ff, false)
		own := NewExperts(o, s.n, 7)
		o.Room = &room
		pairs = append(pairs, pair{own, NewExperts(o, s.n, 7), s.in, s.out, s.n})
	}
	for _, rows := range []int{7, 1, 4} {
		for i, e := range pairs {
			x, router := kerneltest.Floats(r, rows*e.in), kerneltest.Floats(r, rows*e.n)
			want, got := make([]float32, rows*e.out), make([]float32, rows*e.out)
			e.own.Run(p, want, x, router, rows, nil)
			e.shared.Run(p, got, x, router, rows, nil)
			for k := range want {
				if got[k] != want[k] {
					t.Fatalf("mixture %d, %d rows: [%d] = %g, %g in a room of its own", i, rows, k, got[k], want[k])
				}
			}
		}
	}
}
