package attention

import (
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
)

func TestDenseAttention(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		p := threads.NewPool(2)
		defer p.Close()
		r := rand.New(rand.NewPCG(5, 1))
		for _, tt := range []struct{ heads, dim, rows, keys int }{{2, 64, 1, 1}, {3, 16, 49, 50}, {1, 24, 7, 513}, {2, 32, 60, 1100}, {1, 5, 0, 3}} {
			width := tt.heads * tt.dim
			a := NewDenseAttention(tt.heads, tt.dim)
			for _, keys := range []int{tt.keys + 30, tt.keys} { // memory is used again
				q, k, v := kerneltest.Floats(r, tt.rows*(width+2)), kerneltest.Floats(r, keys*(width+1)), kerneltest.Floats(r, keys*(width+1))
				a.Pack(p, k, v, width+1, keys)
				dst := kerneltest.Guarded(tt.rows, width+3)
				a.Run(p, dst, width+3, q, width+2, tt.rows, 0.3)
				for row := range tt.rows {
					for h := range tt.heads {
						var ks, vs [][]float32
						for i := range keys {
							ks, vs = append(ks, k[i*(width+1)+h*tt.dim:]), append(vs, v[i*(width+1)+h*tt.dim:])
						}
						want := slowAttend(q[row*(width+2)+h*tt.dim:][:tt.dim], ks, vs, 0.3)
						for d, f := range want {
							kerneltest.Within(t, dst[row*(width+3)+h*tt.dim+d], f, 1e-5, "%+v row %d head %d [%d]", tt, row, h, d)
						}
					}
					for _, f := range dst[row*(width+3)+width:][:3] {
						if f != kerneltest.Guard {
							t.Fatalf("%+v: wrote %g past row %d", tt, f, row)
						}
					}
				}
			}
		}
	})
}

func BenchmarkDenseAttention(b *testing.B) {
	const heads, dim, n = 8, 64, 1500 // Whisper base
	r := rand.New(rand.NewPCG(5, 2))
	q, k, v := kerneltest.Floats(r, n*heads*dim), kerneltest.Floats(r, n*heads*dim), kerneltest.Floats(r, n*heads*dim)
	dst := make([]float32, len(q))
	p := threads.NewPool(1)
	defer p.Close()
	a := NewDenseAttention(heads, dim)
	a.Pack(p, k, v, heads*dim, n)
	a.Run(p, dst, heads*dim, q, heads*dim, n, 0.125)
	b.ReportAllocs()
	for b.Loop() {
		a.Pack(p, k, v, heads*dim, n)
		a.Run(p, dst, heads*dim, q, heads*dim, n, 0.125)
	}
	kerneltest.Report(b, 4*heads*dim*n*n)
}
