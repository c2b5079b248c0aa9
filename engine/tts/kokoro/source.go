package kokoro

import "math"

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
