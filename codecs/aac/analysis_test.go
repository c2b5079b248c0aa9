package aac

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What the analysis makes of samples, the filterbank of the decoder turns back, through
// every sequence of windows.
func TestAnalysis(t *testing.T) {
	const n = maxFrame
	sequences := []int{longStop, onlyLong, onlyLong, longStart, eightShort, eightShort, longStop, longStart, eightShort, longStop, onlyLong}
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, n*(len(sequences)+1))
	for i := range x {
		x[i] = float32(r.Float64()*2 - 1)
	}
	a, f := newAnalysis(), newFilterbank(n)
	var got []float32
	last := tail{x: make([]float32, n/2)}
	for i, s := range sequences {
		spectrum, out := make([]float32, n), make([]float32, n)
		a.run(spectrum, x[i*n:], s)
		f.run(out, 1, spectrum, s, 0, &last)
		got = append(got, out...)
	}
	// The first block begins with the slope of a short window.
	const from = EncoderDelay
	if db := ratio(got[from:], x[from:len(got)]); !(db > 120) {
		t.Errorf("%.1f dB from what went in, want 120", db)
	}
	for i, v := range got[:from-n/8] {
		if v != 0 {
			t.Fatalf("sample %d is %v before the first window", i, v)
		}
	}
	// A tone of full scale has the coefficients the standard's definition gives it.
	for i := range x[:2*n] {
		x[i] = float32(math.Cos(math.Pi / n * (float64(i) + float64(n)/2 + 0.5) * 100.5))
	}
	spectrum := make([]float32, n)
	a.run(spectrum, x, onlyLong)
	var want float64
	for i := range 2 * n {
		want += 2 * fullScale * math.Sin(math.Pi*(float64(i)+0.5)/(2*n)) * float64(x[i]) * float64(x[i])
	}
	if math.Abs(float64(spectrum[100])/want-1) > 1e-5 {
		t.Errorf("coefficient %v, want %v", spectrum[100], want)
	}
}
