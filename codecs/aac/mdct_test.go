package aac

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The transform equals its definition: x[n] = 2/N Σ X[k] cos(2π/N (n+n0)(k+½)),
// N twice the number of coefficients and n0 = (N/2+1)/2.
func TestIMDCT(t *testing.T) {
	for _, n := range []int{1024, 128, 960, 120} {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		got := make([]float32, n)
		newIMDCT(n).run(got, x)
		var signal, noise float64
		for i := range got {
			var want float64
			for k, c := range x {
				want += float64(c) * math.Cos(math.Pi/float64(n)*(float64(n/2+i)+float64(n+1)/2)*(float64(k)+0.5))
			}
			want /= float64(n) * 32768
			signal += want * want
			noise += (want - float64(got[i])) * (want - float64(got[i]))
		}
		if snr := 10 * math.Log10(signal/noise); !(snr > 120) {
			t.Errorf("%d coefficients: %.1f dB from the definition, want 120", n, snr)
		}
	}
}

// What one long block leaves and the next one adds is the signal: windows of
// both shapes satisfy w[i]² + w[n-1-i]² = 1.
func TestWindows(t *testing.T) {
	for _, n := range []int{1024, 128, 960, 120} {
		for shape, w := range newFilterbank(8 * n).shortRise {
			for i, v := range w {
				if got := v*v + w[n-1-i]*w[n-1-i]; math.Abs(float64(got)-1) > 1e-6 {
					t.Fatalf("%d samples, shape %d: squares at %d add up to %v, want 1", n, shape, i, got)
				}
			}
		}
	}
}

// reference is the window of a long block as the standard writes it: rising
// with one shape and falling with another, next to short blocks with slopes in
// the middle of constant parts.
func reference(f *filterbank, n, sequence, before, shape int) []float32 {
	w := make([]float32, 2*n)
	fill := func(w, long, short []float32, steep bool) {
		if !steep {
			copy(w, long)
			return
		}
		flat := (n - n/8) / 2
		copy(w[flat:], short)
		for i := flat + n/8; i < n; i++ {
			w[i] = 1
		}
	}
	fill(w[:n], f.longRise[before], f.shortRise[before], sequence == longStop)
	fall := make([]float32, n)
	fill(fall, f.longRise[shape], f.shortRise[shape], sequence == longStart)
	for i, v := range fall {
		w[2*n-1-i] = v
	}
	return w
}

// forward is the transform by its definition, of 2n windowed values.
func forward(z []float32) []float32 {
	n := len(z) / 2
	x := make([]float32, n)
	for k := range x {
		var sum float64
		for i, v := range z {
			sum += float64(v) * math.Cos(math.Pi/float64(n)*(float64(i)+float64(n+1)/2)*(float64(k)+0.5))
		}
		x[k] = float32(2 * sum * 32768)
	}
	return x
}

// A signal cut into blocks of all kinds, with shapes that change, transformed
// by the definition and back, is the signal.
func TestReconstruction(t *testing.T) {
	sequences := []int{onlyLong, onlyLong, longStart, eightShort, longStop, onlyLong, longStart, eightShort, eightShort, longStop, onlyLong}
	shapes := []int{0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1}
	for _, n := range []int{64, 240} {
		f := newFilterbank(n)
		r := rand.New(rand.NewPCG(2, uint64(n)))
		signal := make([]float32, n*(len(sequences)+1))
		for i := range signal {
			signal[i] = float32(r.Float64()*2 - 1)
		}
		tail := tail{x: make([]float32, n/2)}
		before := 0
		for b, sequence := range sequences {
			block := signal[b*n:][:2*n]
			var x []float32
			if sequence == eightShort {
				m := n / 8
				for i := range 8 {
					z := make([]float32, 2*m)
					rise := f.shortRise[shapes[b]]
					if i == 0 {
						rise = f.shortRise[before]
					}
					for j := range m {
						z[j] = block[(n-m)/2+i*m+j] * rise[j]
						z[2*m-1-j] = block[(n-m)/2+i*m+2*m-1-j] * f.shortRise[shapes[b]][j]
					}
					x = append(x, forward(z)...)
				}
			} else {
				z := make([]float32, 2*n)
				for i, w := range reference(f, n, sequence, before, shapes[b]) {
					z[i] = block[i] * w
				}
				x = forward(z)
			}
			got := make([]float32, n)
			f.run(got, 1, x, sequence, shapes[b], &tail)
			before = shapes[b]
			if b == 0 {
				continue // the first half of the first block has no partner
			}
			if db := ratio(got, block[:n]); !(db > 100) {
				t.Errorf("windows of %d, block %d: %.1f dB from the signal, want 100", n, b, db)
			}
		}
	}
}
