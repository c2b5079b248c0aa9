package kokoro

import (
	"context"
	"math"
	"runtime"
	"testing"
)

// TestTransform holds both directions against the sums that define them, at
// sizes of every kind; 22 has a prime factor that the plan has no pass for.
func TestTransform(t *testing.T) {
	m := tiny(t, 2)
	c := &call{ctx: context.Background(), pool: m.pool.(sharedPool).pool, yield: func() {}, arena: m.arena}
	for _, size := range []int{4, 20, 22, 64} {
		hop, half, bins := size/2, size/2, size/2+1
		tr := newTransform(size, hop)
		x := make([]float32, 40*hop)
		for i := range x {
			x[i] = float32(math.Sin(float64(i*i%97)) + 0.1)
		}
		window := func(i int) float64 { return 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(size)) }
		y := tr.forward(c, x)
		if y.rows != 41 || y.cols != 2*bins {
			t.Fatalf("size %d: %d rows of %d", size, y.rows, y.cols)
		}
		for f := 1; f < y.rows-1; f++ {
			for k := range bins {
				var re, im float64
				for i := range size {
					a := 2 * math.Pi * float64(i*k%size) / float64(size)
					v := window(i) * float64(x[f*hop+i-half])
					re, im = re+v*math.Cos(a), im-v*math.Sin(a)
				}
				magnitude, phase := float64(y.data[f*y.cols+k]), float64(y.data[f*y.cols+bins+k])
				if d := math.Hypot(magnitude*math.Cos(phase)-re, magnitude*math.Sin(phase)-im); !(d < 1e-5) {
					t.Fatalf("size %d: bin %d of frame %d is off by %g", size, k, f, d)
				}
			}
		}

		for i := range y.data {
			y.data[i] = float32(math.Sin(float64(i * i % 89)))
		}
		got := make([]float32, (y.rows-1)*hop)
		tr.inverse(c, got, y)
		want, weight := make([]float64, (y.rows+1)*hop), make([]float64, (y.rows+1)*hop)
		for f := range y.rows {
			row := y.data[f*y.cols : (f+1)*y.cols]
			for i := range size {
				var sum float64
				for k := range size { // the upper half is the lower one's conjugate
					at, sign := k, 1.0
					if k > half {
						at, sign = size-k, -1
					}
					r, p := math.Exp(float64(row[at])), sign*math.Sin(float64(row[bins+at]))
					if k == 0 || k == half {
						r, p = r*math.Cos(p), 0
					}
					sum += r * math.Cos(p+2*math.Pi*float64(i*k%size)/float64(size))
				}
				want[f*hop+i] += sum / float64(size) * window(i)
				weight[f*hop+i] += window(i) * window(i)
			}
		}
		for i, v := range got {
			if w := want[half+i] / weight[half+i]; !(math.Abs(float64(v)-w) < 1e-5) {
				t.Fatalf("size %d: sample %d is %g, want %g", size, i, v, w)
			}
		}
	}
	runtime.KeepAlive(m) // its arena is freed with it
}
