package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/threads"
)

// TestFastConv holds fast convolutions against sums in float64, and their error
// against its bound.
func TestFastConv(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	fast := &FastConv{}
	for _, tt := range []struct {
		out, taps, in, rows int
		o                   ConvOptions
	}{
		{64, 3, 64, 1, ConvOptions{Left: 1, Right: 1}},
		{64, 3, 64, 50, ConvOptions{}},
		{80, 7, 64, 203, ConvOptions{Left: 3, Right: 3}},
		{64, 7, 96, 97, ConvOptions{Left: 9, Right: 9, Dilation: 3}},
		{64, 11, 64, 3, ConvOptions{Left: 25, Right: 25, Dilation: 5}},
		{64, 11, 64, 1001, ConvOptions{Left: 25, Right: 25, Dilation: 5}},
		{64, 8, 64, 30, ConvOptions{Left: 12, Right: 1}},
		{64, 4, 64, 2, ConvOptions{}},                                  // shorter than the filter
		{64, 5, 64, 9, ConvOptions{Left: 40, Right: 40, Dilation: 20}}, // fewer rows than they are apart
		{64, 24, 64, 131, ConvOptions{Left: 12, Right: 11}},
		{64, 9, 80, 2500, ConvOptions{Left: 4, Right: 4}}, // several chunks a worker
		{128, 5, 256, 40, ConvOptions{Left: 2, Right: 2}},
	} {
		w, x, bias := kerneltest.Floats(r, tt.out*tt.taps*tt.in), kerneltest.Floats(r, tt.rows*tt.in), kerneltest.Floats(r, tt.out)
		tt.o.Bias, tt.o.Fast = bias, fast
		if tt.rows == 50 {
			tt.o.Bias = nil
			clear(bias)
		}
		count := NewConv(w, tt.out, tt.taps, tt.in, tt.o).Rows(tt.rows)
		want := slowConv(w, x, bias, tt.out, tt.taps, tt.in, tt.rows, count, tt.o)
		twice := make([]float64, len(want))
		for i, v := range want {
			twice[i] = 2 * v
		}
		t.Run(fmt.Sprintf("%d×%d×%d, %d rows, dilation %d", tt.out, tt.taps, tt.in, tt.rows, max(1, tt.o.Dilation)), func(t *testing.T) {
			isatest.Each(t, func(t *testing.T) {
				for _, workers := range []int{1, 2} {
					p := threads.NewPool(workers)
					defer p.Close()
					c := NewConv(w, tt.out, tt.taps, tt.in, tt.o)
					if c.fast == nil {
						t.Fatal("it has no fast form")
					}
					dst := kerneltest.Guarded(1, count*tt.out)
					c.Run(p, dst, x, tt.rows, false)
					closeBy(t, "once", dst, want)
					again := slices.Clone(dst)
					c.Run(p, again, x, tt.rows, false)
					if !slices.Equal(again, dst) {
						t.Error("other results the second time")
					}
					c.Run(p, dst, x, tt.rows, true)
					closeBy(t, "added", dst, twice)
				}
			})
		})
	}
}

// closeBy expects an error of 3e-6 of the size of the results.
func closeBy(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	var size, sum float64
	for i, w := range want {
		size += w * w
		d := float64(got[i]) - w
		sum += d * d
	}
	if rms := math.Sqrt(sum / size); size > 0 && !(rms <= 3e-6) {
		t.Errorf("%s: error %.2g of the results, want at most 3e-6", name, rms)
	} else if size > 0 {
		t.Logf("%s: error %.2g", name, rms)
	}
}

// TestFastConvSuits has what must stay with the plain sums.
func TestFastConvSuits(t *testing.T) {
	for _, tt := range []struct {
		name          string
		out, taps, in int
		o             ConvOptions
		want          bool
	}{
		{"asked for", 64, 3, 64, ConvOptions{Fast: &FastConv{}}, true},
		{"not asked for", 64, 3, 64, ConvOptions{}, false},
		{"a stride", 64, 3, 64, ConvOptions{Fast: &FastConv{}, Stride: 2}, false},
		{"two taps", 64, 2, 64, ConvOptions{Fast: &FastConv{}}, false},
		{"the most taps", 64, 24, 64, ConvOptions{Fast: &FastConv{}}, true},
		{"more taps", 64, 25, 64, ConvOptions{Fast: &FastConv{}}, false},
		{"few channels in", 64, 3, 48, ConvOptions{Fast: &FastConv{}}, false},
		{"few channels out", 22, 7, 128, ConvOptions{Fast: &FastConv{}}, false},
		{"no whole vectors", 65, 3, 64, ConvOptions{Fast: &FastConv{}}, false},
	} {
		if got := NewConv(make([]float32, tt.out*tt.taps*tt.in), tt.out, tt.taps, tt.in, tt.o).fast != nil; got != tt.want {
			t.Errorf("%s: fast %v, want %v", tt.name, got, tt.want)
		}
	}
}

// BenchmarkFastConv has the shapes of Kokoro's generator, one thread.
func BenchmarkFastConv(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, s := range []struct{ channels, taps, dilation, rows int }{
		{256, 3, 1, 2880}, {256, 7, 3, 2880}, {256, 11, 5, 2880},
		{128, 3, 1, 8641}, {128, 7, 3, 8641}, {128, 11, 5, 8641},
	} {
		for _, fast := range []*FastConv{nil, {}} {
			b.Run(fmt.Sprintf("%d channels %d taps dilation %d fast %v", s.channels, s.taps, s.dilation, fast != nil), func(b *testing.B) {
				p := threads.NewPool(1)
				defer p.Close()
				pad := (s.taps - 1) * s.dilation / 2
				c := NewConv(kerneltest.Floats(r, s.channels*s.taps*s.channels), s.channels, s.taps, s.channels, ConvOptions{Left: pad, Right: pad, Dilation: s.dilation, Fast: fast})
				x, dst := kerneltest.Floats(r, s.rows*s.channels), make([]float32, s.rows*s.channels)
				b.ReportAllocs()
				for b.Loop() {
					c.Run(p, dst, x, s.rows, false)
				}
				kerneltest.Report(b, 2*float64(s.rows*s.channels*s.taps*s.channels))
			})
		}
	}
}
