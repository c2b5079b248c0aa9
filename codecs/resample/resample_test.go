package resample_test

import (
	"fmt"
	"math"
	"testing"

	"quern/codecs/internal/audiotest"
	"quern/codecs/resample"
)

func convert(t testing.TB, x []float32, in, out, channels, block int) []float32 {
	t.Helper()
	r, err := resample.New(in, out, channels)
	if err != nil {
		t.Fatal(err)
	}
	var y []float32
	for len(x) > 0 {
		n := min(block*channels, len(x))
		y = r.Process(y, x[:n])
		x = x[n:]
	}
	return r.Flush(y)
}

func tone(freq float64, rate, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(0.5 * math.Sin(2*math.Pi*freq*float64(i)/float64(rate)))
	}
	return x
}

// decibel returns the power of x's middle against that of a sine of 0.5.
func decibel(x []float32) float64 {
	x = x[len(x)/4 : len(x)*3/4]
	var e float64
	for _, v := range x {
		e += float64(v) * float64(v)
	}
	return 10 * math.Log10(e/float64(len(x))/0.125+1e-30)
}

var ratios = []struct{ in, out int }{
	{48000, 16000}, {44100, 16000}, {8000, 16000}, {11025, 16000}, {22050, 16000}, {24000, 16000},
	{32000, 16000}, {96000, 16000}, {24000, 48000}, {24000, 44100}, {16000, 24000}, {44056, 16000},
	{47999, 16000}, {16000, 16001}, {12345, 48000}, {192000, 8000},
}

func TestTones(t *testing.T) {
	for _, r := range ratios {
		t.Run(fmt.Sprintf("%d to %d", r.in, r.out), func(t *testing.T) {
			n := r.in / 4
			nyquist := float64(min(r.in, r.out)) / 2
			for _, part := range []float64{0.1, 0.4, 0.8} {
				freq := part * nyquist
				y := convert(t, tone(freq, r.in, n), r.in, r.out, 1, 1000)
				if want := (n*r.out + r.in - 1) / r.in; len(y) != want {
					t.Fatalf("%d samples became %d, want %d", n, len(y), want)
				}
				want := tone(freq, r.out, len(y))
				quarter := len(y) / 4
				if snr := audiotest.SNR(y[quarter:3*quarter], want[quarter:3*quarter]); snr < 105 {
					t.Errorf("%.0f Hz: %.1f dB, want 105", freq, snr)
				}
			}
			if r.in > r.out {
				for _, part := range []float64{1.0625, 1.2, 1.4} {
					if freq := part * nyquist; freq < float64(r.in)/2 {
						if db := decibel(convert(t, tone(freq, r.in, n), r.in, r.out, 1, 1000)); db > -110 {
							t.Errorf("%.0f Hz comes through at %.1f dB, want -110", freq, db)
						}
					}
				}
			}
		})
	}
}

func TestPassband(t *testing.T) {
	for _, in := range []int{44100, 48000} {
		y := convert(t, tone(7500, in, in), in, 16000, 1, 4096)
		if db := decibel(y); db < -0.41 || db > 0 {
			t.Errorf("%d to 16000: 7.5 kHz at %.3f dB, want -0.4", in, db)
		}
	}
}

// The result must not depend on how the input is cut, nor on other channels.
func TestBlocks(t *testing.T) {
	for _, r := range ratios[:6] {
		left, right := tone(440, r.in, 5000), tone(1234, r.in, 5000)
		both := make([]float32, 0, 10000)
		for i := range left {
			both = append(both, left[i], right[i])
		}
		l, s := convert(t, left, r.in, r.out, 1, 5000), convert(t, right, r.in, r.out, 1, 5000)
		for _, block := range []int{1, 7, 480, 5000} {
			y := convert(t, both, r.in, r.out, 2, block)
			if len(y) != 2*len(l) {
				t.Fatalf("%v in blocks of %d: %d samples, want %d", r, block, len(y), 2*len(l))
			}
			for i := range l {
				if y[2*i] != l[i] || y[2*i+1] != s[i] {
					t.Fatalf("%v in blocks of %d: frame %d is %v %v, want %v %v", r, block, i, y[2*i], y[2*i+1], l[i], s[i])
				}
			}
		}
	}
}

func TestLengths(t *testing.T) {
	for _, r := range ratios {
		for _, n := range []int{0, 1, 2, 63, 64, 65, 1000} {
			want := (n*r.out + r.in - 1) / r.in
			if got := len(convert(t, make([]float32, n), r.in, r.out, 1, 100)); got != want {
				t.Errorf("%d to %d: %d samples became %d, want %d", r.in, r.out, n, got, want)
			}
		}
	}
	same := tone(440, 16000, 100)
	if got := convert(t, same, 16000, 16000, 1, 33); audiotest.SNR(got, same) != 200 || len(got) != len(same) {
		t.Error("equal rates change the samples")
	}
	for _, rate := range []int{-1, 0, 999, 1<<20 + 1} {
		if _, err := resample.New(rate, 16000, 1); err == nil {
			t.Errorf("%d Hz is accepted", rate)
		}
	}
}

func TestMono(t *testing.T) {
	for _, tt := range []struct {
		name     string
		channels int
		x        []float32
		want     float32
	}{
		{"mono", 1, []float32{.5}, .5},
		{"stereo", 2, []float32{1, .5}, .75},
		{"quad, all alike", 4, []float32{.5, .5, .5, .5}, .5},
		{"5.1, all alike", 6, []float32{.5, .5, .5, .5, .5, .5}, .5},
		{"5.1, LFE only", 6, []float32{0, 0, 0, 1, 0, 0}, 0},
		{"5.1, centre only", 6, []float32{0, 0, 1, 0, 0, 0}, 1 / 3.4142},
		{"ten", 10, []float32{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, .1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := resample.Mono(nil, append(tt.x, tt.x...), tt.channels)
			if len(got) != 2 || math.Abs(float64(got[1]-tt.want)) > 1e-6 {
				t.Errorf("got %v, want two of %v", got, tt.want)
			}
		})
	}
}

func BenchmarkTo16k(b *testing.B) {
	for _, in := range []int{48000, 44100, 24000, 44056} {
		b.Run(fmt.Sprint(in), func(b *testing.B) {
			second, y := tone(440, in, in), make([]float32, 0, 17000)
			r, err := resample.New(in, 16000, 1)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(4 * in))
			b.ReportAllocs()
			for b.Loop() {
				y = r.Process(y[:0], second)
			}
		})
	}
}
