package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
)

func TestAdaIN(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 3))
		for _, n := range []int{1, 8, 22, 70} {
			for _, rows := range []int{0, 1, 2, 256, 257, 600} {
				x, gain, bias, alpha := kerneltest.Floats(r, rows*n), kerneltest.Floats(r, n), kerneltest.Floats(r, n), kerneltest.Floats(r, n)
				for i := range x {
					x[i] = x[i]*3 + float32(i%n)
				}
				alpha[0] = 0
				c := NewAdaIN(n)
				for _, act := range []AdaINActivation{{Slope: 1}, {Slope: 0.2}, {Alpha: alpha}} {
					var first []float32
					for _, workers := range []int{1, 2} {
						p := threads.NewPool(workers)
						dst := make([]float32, rows*n)
						c.Run(p, dst, x, rows, gain, bias, 1e-5, act)
						p.Close()
						if first == nil {
							first = dst
						}
						for i := range dst {
							if dst[i] != first[i] {
								t.Fatalf("%d×%d: [%d] = %g with two workers, %g with one", rows, n, i, dst[i], first[i])
							}
						}
					}
					for ch := range n {
						var mean, ss float64
						for i := ch; i < len(x); i += n {
							mean += float64(x[i]) / float64(rows)
						}
						for i := ch; i < len(x); i += n {
							ss += (float64(x[i]) - mean) * (float64(x[i]) - mean) / float64(rows)
						}
						for i := ch; i < len(x); i += n {
							v := float64(gain[ch])*(float64(x[i])-mean)/math.Sqrt(ss+1e-5) + float64(bias[ch])
							switch a := float64(alpha[ch]); {
							case act.Alpha == nil:
								v = max(v, 0) + float64(act.Slope)*min(v, 0)
							case a != 0:
								v += math.Sin(a*v) * math.Sin(a*v) / a
							}
							// The mean is taken off and what is left is spread
							// to one; snake's slope is at most two.
							bound := 1e-6*(math.Abs(mean)+10)*math.Abs(float64(gain[ch]))/math.Sqrt(ss+1e-5) + 2e-6
							if math.Abs(float64(first[i])-v) > 2*bound {
								t.Fatalf("%d×%d %+v channel %d = %g, want %g ± %g", rows, n, act, ch, first[i], v, 2*bound)
							}
						}
					}
				}
			}
		}
	})
}

func BenchmarkAdaIN(b *testing.B) {
	const rows, n = 24000, 128
	r := rand.New(rand.NewPCG(3, 5))
	x, gain, bias, alpha := kerneltest.Floats(r, rows*n), kerneltest.Floats(r, n), kerneltest.Floats(r, n), kerneltest.Floats(r, n)
	dst := make([]float32, len(x))
	for name, act := range map[string]AdaINActivation{"leaky": {Slope: 0.2}, "snake": {Alpha: alpha}} {
		b.Run(name, func(b *testing.B) {
			p := threads.NewPool(1)
			defer p.Close()
			c := NewAdaIN(n)
			c.Run(p, dst, x, rows, gain, bias, 1e-5, act)
			b.SetBytes(int64(16 * len(x))) // measured twice, read once, written once
			b.ReportAllocs()
			for b.Loop() {
				c.Run(p, dst, x, rows, gain, bias, 1e-5, act)
			}
		})
	}
}
