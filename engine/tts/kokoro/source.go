package kokoro

import (
	"math"
)

// harmonics is how many multiples of the pitch the source has, the first
// included.
const harmonics = 9

// voiced is the pitch in Hz from which on a frame has a voice.
const voicedFrom = 10

// A source makes the excitation of the generator: sines at the multiples of the
// pitch where there is a voice, noise elsewhere, mixed to one channel.
//
// Wang, Takaki & Yamagishi, "Neural source-filter waveform models for
// statistical parametric speech synthesis", 2019, §3.
type source struct {
	mix  []float32 // (harmonics)
	bias float32
	hold int // samples a pitch value lasts
}

// apply returns len(f0)·hold samples. Noise sample k of harmonic h is normal
// number k·9 + h of the stream that seed starts.
func (s *source) apply(c *call, f0 []float32, seed uint64) []float32 {
	n := len(f0)
	out := c.arena.floats(n * s.hold)
	// Phase at the start of every pitch value, in cycles of hold samples. Summed
	// in float64: in float32 it is wrong by 3·10⁻³ after 2.4 s.
	phase := make([]float64, harmonics*n)
	for h := range harmonics {
		sum := 0.0
		for j, f := range f0 {
			r := float64(f) * float64(h+1) / Rate
			sum += r - math.Floor(r)
			phase[h*n+j] = 2 * math.Pi * float64(s.hold) * sum
		}
	}
	c.each(len(out), func(from, to int) {
		for t := from; t < to; t++ {
			at := min(max((float64(t)+0.5)/float64(s.hold)-0.5, 0), float64(n-1))
			j := int(at)
			k := min(j+1, n-1)
			w := at - float64(j)
			sine, noise := 0.0, 0.1/3
			if f0[t/s.hold] > voicedFrom {
				sine, noise = 0.1, 0.003
			}
			sum := float64(s.bias)
			for h := range harmonics {
				p := phase[h*n+j]*(1-w) + phase[h*n+k]*w
				e := noise * normal(seed, uint64(t*harmonics+h))
				if sine != 0 {
					e += sine * math.Sin(p)
				}
				sum += e * float64(s.mix[h])
			}
			out[t] = float32(math.Tanh(sum))
		}
	})
	return out
}

// normal returns number i of a stream of normal numbers: Box & Muller 1958 over
// two numbers of SplitMix64, which is a counter and so needs no state.
func normal(seed, i uint64) float64 {
	u := float64(splitmix(seed, 2*i)+1) / (1 << 53)
	v := float64(splitmix(seed, 2*i+1)) / (1 << 53)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

// splitmix returns 53 bits of number i of SplitMix64 (Steele, Lea & Flood 2014).
func splitmix(seed, i uint64) uint64 {
	z := seed + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return (z ^ z>>31) >> 11
}

// A transform is the short-time Fourier transform of the generator's ends: a
// periodic Hann window of size samples, every hop samples, centred.
type transform struct {
	size, hop int
	window    []float64
	cos, sin  []float64 // (size): of 2πi/size
}

func newTransform(size, hop int) *transform {
	t := &transform{size: size, hop: hop}
	for i := range size {
		a := 2 * math.Pi * float64(i) / float64(size)
		t.window = append(t.window, 0.5-0.5*math.Cos(a))
		t.cos, t.sin = append(t.cos, math.Cos(a)), append(t.sin, math.Sin(a))
	}
	return t
}

func (t *transform) bins() int { return t.size/2 + 1 }

// forward returns magnitude beside phase, (len(x)/hop+1, 2·bins). The ends of x
// are reflected.
func (t *transform) forward(c *call, x []float32) plane {
	bins, half := t.bins(), t.size/2
	y := c.arena.plane(len(x)/t.hop+1, 2*bins)
	c.each(y.rows, func(from, to int) {
		frame := make([]float64, t.size)
		for f := from; f < to; f++ {
			for i := range frame {
				frame[i] = t.window[i] * float64(x[reflect(f*t.hop+i-half, len(x))])
			}
			row := y.data[f*y.cols : (f+1)*y.cols]
			for k := range bins {
				var re, im float64
				for i, v := range frame {
					re += v * t.cos[i*k%t.size]
					im -= v * t.sin[i*k%t.size]
				}
				if k == 0 || k == half {
					im = 0 // exactly: a phase of -π would be rounding noise
				}
				row[k] = float32(math.Hypot(re, im))
				row[bins+k] = float32(math.Atan2(im, re))
			}
		}
	})
	return y
}

// reflect mirrors an index at the ends of n samples without repeating them.
func reflect(i, n int) int {
	for i < 0 || i >= n {
		if i < 0 {
			i = -i
		}
		if i >= n {
			i = 2*(n-1) - i
		}
		if n == 1 {
			return 0
		}
	}
	return i
}

// inverse writes (x.rows-1)·hop samples: overlap-add of the frames that
// exp(first half) and sin(second half) of every row describe, divided by the sum
// of squared windows.
func (t *transform) inverse(c *call, dst []float32, x plane) {
	bins, half := t.bins(), t.size/2
	frames := c.arena.floats(x.rows * t.size)
	c.each(x.rows, func(from, to int) {
		re, im := make([]float64, bins), make([]float64, bins)
		for f := from; f < to; f++ {
			row := x.data[f*x.cols : (f+1)*x.cols]
			for k := range bins {
				m, p := math.Exp(float64(row[k])), math.Sin(float64(row[bins+k]))
				re[k], im[k] = m*math.Cos(p), m*math.Sin(p)
			}
			for i := range t.size {
				// The first and the last bin stand once, the others for two.
				sum := re[0] + re[half]*t.cos[i*half%t.size]
				for k := 1; k < half; k++ {
					sum += 2 * (re[k]*t.cos[i*k%t.size] - im[k]*t.sin[i*k%t.size])
				}
				frames[f*t.size+i] = float32(sum / float64(t.size) * t.window[i])
			}
		}
	})
	c.each(len(dst), func(from, to int) {
		for s := from; s < to; s++ {
			at := s + half // position before the cut of half a window
			first := 0     // frame that still reaches here
			if at >= t.size {
				first = (at-t.size)/t.hop + 1
			}
			var sum, weight float64
			for f := first; f*t.hop <= at && f < x.rows; f++ {
				i := at - f*t.hop
				sum += float64(frames[f*t.size+i])
				weight += t.window[i] * t.window[i]
			}
			dst[s] = float32(sum / weight)
		}
	})
}
