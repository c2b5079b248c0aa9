package formant

import "math"

// Rate is the sample rate of everything this package makes, in Hz.
const Rate = 24000

// step is how many samples share one set of filter coefficients: 2.5 ms, short
// enough that a moving formant does not sound like a staircase.
const step = Rate / 400

// A frame holds the control parameters of the synthesiser at one moment.
// Frequencies and bandwidths are in Hz, amplitudes in dB with 60 as the level of
// a stressed vowel and 0 as silence.
type frame struct {
	av, ah, af float64    // voicing, aspiration, frication
	f, b       [3]float64 // first three formants
	nasal      float64    // Hz of the nasal zero; nasalPole where nothing is nasal
	a          [5]float64 // frication through formants 2 to 6
	ab         float64    // frication past all formants
}

// lerp returns the frame a share t of the way from x to y.
func lerp(x, y *frame, t float64) frame {
	mix := func(a, b float64) float64 { return a + (b-a)*t }
	z := frame{
		av: mix(x.av, y.av), ah: mix(x.ah, y.ah), af: mix(x.af, y.af),
		nasal: mix(x.nasal, y.nasal), ab: mix(x.ab, y.ab),
	}
	for i := range z.f {
		z.f[i], z.b[i] = mix(x.f[i], y.f[i]), mix(x.b[i], y.b[i])
	}
	for i := range z.a {
		z.a[i] = mix(x.a[i], y.a[i])
	}
	return z
}

// nasalPole is the frequency of the nose's own resonance, in Hz.
const nasalPole = 270

// upper are the formants above the third, which speech sounds hardly move: one
// for each kilohertz up to half the sample rate, as a tube of 17 cm has them.
var upper = [...]struct{ f, b float64 }{
	{3400, 250}, {4300, 300}, {5300, 400}, {6300, 500}, {7300, 700}, {8300, 900}, {9300, 1100},
}

// A resonator is a second-order section: y = a·x + b·y₁ + c·y₂. Klatt 1980, eq. 1.
type resonator struct{ a, b, c, y1, y2 float64 }

// set tunes the resonator to frequency f and bandwidth bw, in Hz.
func (r *resonator) set(f, bw float64) {
	// Close to half the sample rate a bandwidth means nothing any more.
	f = min(f, 0.47*Rate)
	e := math.Exp(-math.Pi * bw / Rate)
	r.c = -e * e
	r.b = 2 * e * math.Cos(2*math.Pi*f/Rate)
	r.a = 1 - r.b - r.c
}

func (r *resonator) next(x float64) float64 {
	y := r.a*x + r.b*r.y1 + r.c*r.y2
	r.y2, r.y1 = r.y1, y
	return y
}

// An antiresonator is the inverse section: it takes a frequency out.
type antiresonator struct{ a, b, c, x1, x2 float64 }

func (r *antiresonator) set(f, bw float64) {
	var p resonator
	p.set(f, bw)
	r.a = 1 / p.a
	r.b = -p.b * r.a
	r.c = -p.c * r.a
}

func (r *antiresonator) next(x float64) float64 {
	y := r.a*x + r.b*r.x1 + r.c*r.x2
	r.x2, r.x1 = r.x1, x
	return y
}

// A tract is a glottal source and a noise source, a cascade of resonators for
// the voice and a parallel bank for the noise of narrow places.
//
// Klatt, "Software for a cascade/parallel formant synthesizer", JASA 67, 1980.
type tract struct {
	voice *Voice
	noise rng

	phase  float64    // of the glottal cycle, in cycles
	tilt   [2]float64 // state of the low-pass that softens the source
	wobble float64    // slow drift of the pitch

	nasalPole resonator
	nasalZero antiresonator
	cascade   [3 + len(upper)]resonator
	parallel  [5]resonator
	last      float64 // previous noise sample of the bypass, for its first difference
}

func newTract(v *Voice, seed uint64) *tract {
	t := &tract{voice: v, noise: rng(seed)}
	t.nasalPole.set(nasalPole*v.Tract, 100)
	for i, u := range upper {
		t.cascade[3+i].set(u.f*v.Tract, u.b*v.Tract)
	}
	return t
}

// glottis returns the next sample of the flow's derivative: the polynomial pulse
// a·t² − b·t³ while the folds are open, nothing while they are closed.
//
// Klatt & Klatt, "Analysis, synthesis, and perception of voice quality
// variations", JASA 87, 1990 (KLGLOTT88).
func (t *tract) glottis(f0 float64) float64 {
	t.phase += f0 / Rate
	t.phase -= math.Floor(t.phase)
	var y float64
	if x := t.phase / t.voice.Open; x < 1 {
		y = 2*x - 3*x*x
	}
	// Two poles: a soft voice loses its high harmonics first.
	t.tilt[0] += (1 - t.voice.Tilt) * (y - t.tilt[0])
	t.tilt[1] += (1 - t.voice.Tilt) * (t.tilt[0] - t.tilt[1])
	return t.tilt[1]
}

// level turns dB into a factor; 0 dB and less is silence.
func level(db float64) float64 {
	if db <= 0 {
		return 0
	}
	return math.Pow(10, (db-60)/20)
}

// render writes len(dst) ≤ step samples spoken with parameters p at pitch f0.
func (t *tract) render(dst []float32, p *frame, f0 float64) {
	scale := t.voice.Tract
	for i := range p.f {
		t.cascade[i].set(p.f[i]*scale, p.b[i])
	}
	t.nasalZero.set(p.nasal*scale, 100)
	for i := range t.parallel {
		switch i {
		case 0, 1:
			t.parallel[i].set(p.f[i+1]*scale, p.b[i+1])
		default:
			u := upper[i-2]
			// Narrow places make broad peaks up there.
			t.parallel[i].set(u.f*scale, 2*u.b)
		}
	}
	// Klatt's branches have levels of their own; these factors bring them to one
	// loudness (measured against the levels of natural consonants beside vowels).
	av, ah, af := 0.30*level(p.av), 0.05*level(p.ah), 0.028*level(p.af)
	ah += 0.018 * t.voice.Breath * level(p.av)
	var a [5]float64
	sign := 1.0
	for i := range a {
		a[i] = sign * level(p.a[i])
		sign = -sign // neighbours in phase opposition, so that no false zeros lie between them
	}
	ab := level(p.ab)

	for i := range dst {
		// Pitch is never perfectly steady: a slow random walk of about 1 %.
		t.wobble += 0.002 * (t.noise.float() - t.wobble)
		f := f0 * (1 + 0.25*t.wobble)
		n := t.noise.float()
		open := t.phase < t.voice.Open

		x := av * t.glottis(f)
		breath := ah * n
		if av > 0 && !open {
			breath *= 0.5 // the closed glottis lets less air through
		}
		x += breath
		x = t.nasalZero.next(t.nasalPole.next(x))
		for j := range t.cascade {
			x = t.cascade[j].next(x)
		}
		// The first difference stands for the radiation of the lips in the noise
		// branch; the glottal pulse is a derivative already.
		d := af * n
		if av > 0 && !open {
			d *= 0.4
		}
		for j := range t.parallel {
			x += a[j] * t.parallel[j].next(d)
		}
		x += ab * (d - t.last)
		t.last = d
		dst[i] = float32(limit(x * t.voice.Gain))
	}
}

// top bounds every sample.
const top = 0.95

// limit leaves |x| ≤ 0.6 alone and bends louder samples smoothly towards 0.95.
func limit(x float64) float64 {
	const knee = 0.6
	y := math.Abs(x)
	if y <= knee {
		return x
	}
	return math.Copysign(knee+(top-knee)*math.Tanh((y-knee)/(top-knee)), x)
}

// An rng is SplitMix64 (Steele, Lea & Flood 2014).
type rng uint64

// increment is what one draw adds to the state.
const increment = 0x9e3779b97f4a7c15

// float returns the next value, uniform in [-1, 1).
func (r *rng) float() float64 {
	*r += increment
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(int64(z>>11)-1<<52) / (1 << 52)
}

// floor is the level of the noise under everything a voice says, as a share of full
// scale: -72 dBFS, which cannot be heard.
const floor = 2.5e-4

// Floor adds the noise of a quiet room to the samples of an answer that begin at
// sample at. Recordings have one; digital silence in closures and pauses is not
// speech, and recognisers, which compare with a mean over time, are led astray by
// it: without the floor they get more than twice as many words wrong.
//
// A sample's noise depends on seed and its place alone, so that an answer has the
// same samples however it is cut into pieces.
func Floor(samples []float32, at int, seed uint64) {
	noise := rng(seed ^ 0x5851f42d4c957f2d)
	noise += rng(at) * increment
	for i, x := range samples {
		samples[i] = float32(min(max(float64(x)+floor*math.Sqrt(3)*noise.float(), -top), top))
	}
}
