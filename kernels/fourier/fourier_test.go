package fourier_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"sync"
	"testing"

	"quern/kernels/fourier"
)

// lengths has every kind of number of points: products of radices in every
// mixture, primes, and products with a prime beyond 5.
func lengths() []int {
	var out []int
	for n := 1; n <= 66; n++ {
		out = append(out, n)
	}
	return append(out, 90, 100, 120, 127, 128, 200, 240, 254, 256, 343, 360, 400, 480, 500, 512, 625, 729, 1000, 1009, 1024, 2000)
}

func noise[F fourier.Float](n int) []fourier.Complex[F] {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	x := make([]fourier.Complex[F], n)
	for i := range x {
		x[i] = fourier.Complex[F]{Re: F(r.NormFloat64()), Im: F(r.NormFloat64())}
	}
	return x
}

// direct is the sum that defines a transform, with sign -1, or its inverse
// without the factor, with sign 1.
func direct[F fourier.Float](x []fourier.Complex[F], sign float64) []complex128 {
	n := len(x)
	turns := make([]complex128, n)
	for i := range turns {
		turns[i] = cmplx.Rect(1, sign*2*math.Pi*float64(i)/float64(n))
	}
	out := make([]complex128, n)
	for k := range out {
		for j, v := range x {
			out[k] += complex(float64(v.Re), float64(v.Im)) * turns[j*k%n]
		}
	}
	return out
}

// far is the largest distance of got from want·f, in units of the root of the
// mean square of want·f.
func far[F fourier.Float](got []fourier.Complex[F], want []complex128, f float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var worst, square float64
	for i, w := range want {
		w *= complex(f, 0)
		d := cmplx.Abs(complex(float64(got[i].Re), float64(got[i].Im)) - w)
		if !(d <= worst) {
			worst = d
		}
		square += real(w)*real(w) + imag(w)*imag(w)
	}
	return worst / math.Sqrt(square/float64(len(want)))
}

// guarded returns scratch of n numbers, what lies behind them, and a check that
// this was left alone.
func guarded[F fourier.Float](n int) (scratch []fourier.Complex[F], intact func() bool) {
	all := make([]fourier.Complex[F], n+3)
	for i := range all {
		all[i].Re = 77
	}
	return all[:n:n], func() bool {
		for _, v := range all[n:] {
			if v.Re != 77 {
				return false
			}
		}
		return true
	}
}

func testPlan[F fourier.Float](t *testing.T, bound float64) {
	for _, n := range lengths() {
		p, x := fourier.New[F](n), noise[F](n)
		if p.Len() != n {
			t.Fatalf("Len %d of a plan of %d", p.Len(), n)
		}
		scratch, intact := guarded[F](p.Scratch())
		got := p.Forward(append([]fourier.Complex[F](nil), x...), scratch)
		if d := far(got, direct(x, -1), 1); !(d <= bound) {
			t.Errorf("%d points: off by %.1e, want %.0e", n, d, bound)
		}
		got = p.Inverse(append([]fourier.Complex[F](nil), x...), scratch)
		if d := far(got, direct(x, 1), 1/float64(n)); !(d <= bound) {
			t.Errorf("inverse of %d points: off by %.1e, want %.0e", n, d, bound)
		}
		if !intact() {
			t.Errorf("%d points: more scratch than Scratch was written", n)
		}
	}
}

func TestPlan(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testPlan[float32](t, 4e-6) })
	t.Run("float64", func(t *testing.T) { testPlan[float64](t, 1e-14) })
}

func testReal[F fourier.Float](t *testing.T, bound float64) {
	for _, n := range lengths() {
		if n%2 != 0 {
			continue
		}
		r, z := fourier.NewReal[F](n), noise[F](n)
		x := make([]F, n)
		for i := range z {
			z[i].Im = 0
			x[i] = z[i].Re
		}
		if r.Bins() != n/2+1 {
			t.Fatalf("%d bins of %d numbers", r.Bins(), n)
		}
		bins := make([]fourier.Complex[F], r.Bins())
		scratch, intact := guarded[F](r.Scratch())
		r.Forward(bins, x, scratch)
		if d := far(bins, direct(z, -1)[:n/2+1], 1); !(d <= bound) {
			t.Errorf("%d numbers: off by %.1e, want %.0e", n, d, bound)
		}
		if a, b := bins[0].Im, bins[n/2].Im; a != 0 || b != 0 || math.Signbit(float64(a)) || math.Signbit(float64(b)) {
			t.Errorf("%d numbers: ends have imaginary parts %v and %v, want 0", n, a, b)
		}

		// Any bins are a transform, but for imaginary parts at the ends.
		bins = noise[F](n/2 + 1)
		whole := make([]fourier.Complex[F], n)
		for k, v := range bins {
			if k == 0 || k == n/2 {
				v.Im = 0
			}
			whole[k] = v
			whole[(n-k)%n] = fourier.Complex[F]{Re: v.Re, Im: -v.Im}
		}
		r.Inverse(x, bins, scratch)
		for i, v := range x {
			z[i] = fourier.Complex[F]{Re: v}
		}
		if d := far(z, direct(whole, 1), 1/float64(n)); !(d <= bound) {
			t.Errorf("inverse to %d numbers: off by %.1e, want %.0e", n, d, bound)
		}
		if !intact() {
			t.Errorf("%d numbers: more scratch than Scratch was written", n)
		}
	}
}

func TestReal(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testReal[float32](t, 4e-6) })
	t.Run("float64", func(t *testing.T) { testReal[float64](t, 1e-14) })
}

// TestLong has more points than the direct sum has time for: a wave of three
// periods is one number.
func TestLong(t *testing.T) {
	for _, n := range []int{1 << 17, 100003} {
		p := fourier.New[float64](n)
		x := make([]fourier.Complex[float64], n)
		for i := range x {
			x[i] = fourier.Polar[float64](2 * math.Pi * float64(3*i%n) / float64(n))
		}
		for k, v := range p.Forward(x, make([]fourier.Complex[float64], p.Scratch())) {
			want := 0.0
			if k == 3 {
				want = float64(n)
			}
			if d := math.Hypot(v.Re-want, v.Im); !(d < 1e-6) {
				t.Fatalf("%d points: number %d is %v, want %v", n, k, v, want)
			}
		}
	}
}

// TestShared has goroutines transform with one plan at a time; the race detector
// sees what they would share.
func TestShared(t *testing.T) {
	for _, n := range []int{400, 254} {
		p, r := fourier.New[float64](n), fourier.NewReal[float64](n)
		want := p.Forward(noise[float64](n), make([]fourier.Complex[float64], p.Scratch()))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				got := p.Forward(noise[float64](n), make([]fourier.Complex[float64], p.Scratch()))
				for i, v := range got {
					if v != want[i] {
						t.Errorf("%d points: number %d is %v beside others, %v alone", n, i, v, want[i])
						return
					}
				}
				r.Forward(make([]fourier.Complex[float64], r.Bins()), make([]float64, n), make([]fourier.Complex[float64], r.Scratch()))
			})
		}
		wg.Wait()
	}
}

func TestNoAllocations(t *testing.T) {
	for _, n := range []int{512, 400, 254} {
		p, r := fourier.New[float32](n), fourier.NewReal[float32](n)
		x, y := noise[float32](n), make([]float32, n)
		bins, scratch := noise[float32](n/2+1), make([]fourier.Complex[float32], max(p.Scratch(), r.Scratch()))
		if a := testing.AllocsPerRun(10, func() {
			p.Forward(x, scratch)
			p.Inverse(x, scratch)
			r.Inverse(y, bins, scratch)
			r.Forward(bins, y, scratch)
		}); a != 0 {
			t.Errorf("%d points: %v allocations, want none", n, a)
		}
	}
}

func TestPanics(t *testing.T) {
	x := func(n int) []fourier.Complex[float64] { return make([]fourier.Complex[float64], n) }
	for _, tt := range []struct {
		name string
		call func()
	}{
		{"no points", func() { fourier.New[float64](0) }},
		{"odd", func() { fourier.NewReal[float64](5) }},
		{"no numbers", func() { fourier.NewReal[float64](0) }},
		{"other length", func() { fourier.New[float64](8).Forward(x(9), x(9)) }},
		{"little scratch", func() { fourier.New[float64](7).Forward(x(7), x(7)) }},
		{"other numbers", func() { fourier.NewReal[float64](8).Forward(x(5), make([]float64, 7), x(8)) }},
		{"other bins", func() { fourier.NewReal[float64](8).Inverse(make([]float64, 8), x(4), x(8)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			tt.call()
		})
	}
}

func ExampleReal() {
	r := fourier.NewReal[float64](8)
	x := make([]float64, 8)
	for i := range x {
		x[i] = 1 + math.Cos(2*math.Pi*float64(i)/4) // a constant and two periods of a cosine
	}
	bins := make([]fourier.Complex[float64], r.Bins())
	scratch := make([]fourier.Complex[float64], r.Scratch())
	r.Forward(bins, x, scratch)
	for k, v := range bins {
		fmt.Printf("%d %.0f\n", k, math.Hypot(v.Re, v.Im))
	}
	r.Inverse(x, bins, scratch)
	fmt.Printf("%.0f\n", x)
	// Output:
	// 0 8
	// 1 0
	// 2 4
	// 3 0
	// 4 0
	// [2 1 0 1 2 1 0 1]
}

func benchmark[F fourier.Float](b *testing.B, n, bytes int) {
	p, x := fourier.New[F](n), noise[F](n)
	y, scratch := make([]fourier.Complex[F], n), make([]fourier.Complex[F], p.Scratch())
	b.SetBytes(int64(n * bytes))
	b.ReportAllocs()
	for b.Loop() {
		copy(y, x)
		p.Forward(y, scratch)
	}
}

// BenchmarkPlan has the lengths in use, and one by convolution.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{60, 64, 480, 512, 1009, 1 << 16} {
		b.Run(fmt.Sprintf("float32/%d", n), func(b *testing.B) { benchmark[float32](b, n, 8) })
	}
	for _, n := range []int{200, 400, 512, 1009, 1 << 16} {
		b.Run(fmt.Sprintf("float64/%d", n), func(b *testing.B) { benchmark[float64](b, n, 16) })
	}
}

func BenchmarkReal(b *testing.B) {
	for _, n := range []int{20, 400} {
		r := fourier.NewReal[float64](n)
		x, bins, scratch := make([]float64, n), make([]fourier.Complex[float64], r.Bins()), make([]fourier.Complex[float64], r.Scratch())
		for i := range x {
			x[i] = float64(i % 7)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(8 * n))
			b.ReportAllocs()
			for b.Loop() {
				r.Forward(bins, x, scratch)
			}
		})
	}
}
