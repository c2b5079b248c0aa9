package audio

import "math"

// triangles are the bands of a spectrum: band b is the sum of its bins from first[b] on,
// each by its weight.
type triangles struct {
	first   []int
	weights [][]float32
}

// sum is band b of a spectrum of powers.
func (t *triangles) sum(b int, power []float32) (sum float32) {
	power = power[t.first[b]:]
	for i, w := range t.weights[b] {
		sum += w * power[i]
	}
	return sum
}

// add appends the band whose weight at a bin is weight(bin), where that is above 0.
func (t *triangles) add(bins int, weight func(bin int) float64) {
	first, w := 0, []float32(nil)
	for bin := range bins {
		v := weight(bin)
		if v <= 0 {
			continue
		}
		if w == nil {
			first = bin
		}
		w = append(w, float32(v))
	}
	t.first, t.weights = append(t.first, first), append(t.weights, w)
}

// slaney returns bands from 0 Hz to half the rate for the spectrum of size samples.
//
// Slaney, "Auditory Toolbox", 1998: triangles of equal area over a scale that
// is linear below 1 kHz and logarithmic above.
func slaney(bands, size int) (t triangles) {
	edges := make([]float64, bands+2) // Hz
	top := toMel(Rate / 2)
	for i := range edges {
		edges[i] = toHz(top * float64(i) / float64(bands+1))
	}
	for b := range bands {
		low, mid, high := edges[b], edges[b+1], edges[b+2]
		t.add(size/2+1, func(bin int) float64 {
			hz := float64(bin) * Rate / float64(size)
			return min((hz-low)/(mid-low), (high-hz)/(high-mid)) * 2 / (high - low)
		})
	}
	return t
}

// The scale: 3 mel for 200 Hz up to 1 kHz, then 27 mel for a factor of 6.4.
const (
	melPerHz = 3.0 / 200
	kneeHz   = 1000.0
	kneeMel  = kneeHz * melPerHz
)

var melPerLog = 27 / math.Log(6.4)

func toMel(hz float64) float64 {
	if hz < kneeHz {
		return hz * melPerHz
	}
	return kneeMel + math.Log(hz/kneeHz)*melPerLog
}

func toHz(mel float64) float64 {
	if mel < kneeMel {
		return mel / melPerHz
	}
	return kneeHz * math.Exp((mel-kneeMel)/melPerLog)
}

// kaldi returns bands from 20 Hz to half the rate, which has none: triangles of
// height 1 that are straight over the scale, not over frequency.
//
// Kaldi, feat/mel-computations.cc.
func kaldi(bands, size int) triangles { return kaldiTo(bands, size, Rate/2) }

// kaldiBelow returns those up to 400 Hz less.
func kaldiBelow(bands, size int) triangles { return kaldiTo(bands, size, Rate/2-400) }

func kaldiTo(bands, size int, top float64) (t triangles) {
	mel := func(hz float64) float64 { return 1127 * math.Log(1+hz/700) }
	low := mel(20)
	step := (mel(top) - low) / float64(bands+1)
	for b := range bands {
		from := low + float64(b)*step
		t.add(size/2, func(bin int) float64 {
			at := (mel(float64(bin)*Rate/float64(size)) - from) / step
			return min(at, 2-at)
		})
	}
	return t
}
