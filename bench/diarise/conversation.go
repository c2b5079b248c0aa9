package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"quern/bench/internal/must"
	"quern/bench/internal/sound"
	"quern/engine/asr/audio"
	"quern/engine/asr/speakers"
	"quern/engine/tts"
)

const rate = audio.Rate

// A conversation is how people talk to each other.
type conversation struct {
	speakers int
	rate     int     // Hz of the line it comes over
	noise    float64 // deviation of noise, as a share of full scale
	seconds  float64
	seed     uint64
}

// conversations are those that are scored: two to four speakers, with overlaps, as recorded
// and over a telephone, quiet and with noise 20 dB below speech.
func conversations(seconds float64, seed uint64) (list []conversation) {
	for n := 2; n <= 4; n++ {
		for _, line := range []int{16000, 8000} {
			for _, noise := range []float64{0, 0.01} {
				list = append(list, conversation{n, line, noise, seconds, seed})
			}
		}
	}
	return list
}

func (c conversation) noiseName() string {
	if c.noise == 0 {
		return "none"
	}
	return fmt.Sprintf("%.0f dBFS", 20*math.Log10(c.noise))
}

// tones lie under each voice: the first is one of those by which pyannote-seg-bands tells
// local speakers apart, all below what a telephone carries.
var tones = [][]float64{{400, 3200}, {1200, 1700}, {2600, 700}, {400, 2000, 3000}}

const sentences = "The old house on the hill was built long ago. Would you like milk or sugar in your coffee? " +
	"Heavy rain is expected in the northern valleys tonight. Nothing in the letter explained why she had left. "

// record has four of the built-in voices speak, at 16 kHz.
func record(ctx context.Context) (list [][]float32, err error) {
	p, err := tts.NewPronouncer(nil)
	if err != nil {
		return nil, err
	}
	synth := tts.Formant()
	for _, v := range synth.Voices()[:len(tones)] {
		var said []float32
		for c, err := range tts.Speak(ctx, synth, p, tts.Request{Text: sentences, Voice: v.ID, Speed: 1}) {
			if err != nil {
				return nil, err
			}
			said = append(said, c.Samples...)
		}
		if said, err = sound.Resample(said, synth.Rate(), rate); err != nil {
			return nil, err
		}
		list = append(list, said)
	}
	return list, nil
}

// play makes the conversation of voices, and tells who speaks when in it.
func (c conversation) play(voices [][]float32) (x []float32, truth []speakers.Turn) {
	rng := rand.New(rand.NewPCG(c.seed, uint64(c.speakers)))
	x = make([]float32, int(c.seconds*rate))
	at, last := 0.5, -1
	for {
		// The first and the fourth share a tone of the window's local speakers, as people
		// are more than a window knows; so they never speak in the same window.
		var may []int
		for v := range c.speakers {
			first := c.speakers < 4 || at < c.seconds/2-6
			if v != last && (v != 0 || first) && (v != 3 || at > c.seconds/2+6) {
				may = append(may, v)
			}
		}
		u := speakers.Turn{Start: at, Speaker: may[rng.IntN(len(may))]}
		u.End = at + 2 + 4*rng.Float64()
		if u.End > c.seconds-0.5 {
			break
		}
		voice, from := voices[u.Speaker], rng.IntN(len(voices[u.Speaker]))
		for i := int(u.Start * rate); i < int(u.End*rate); i++ {
			v := 0.3 * float64(voice[(from+i)%len(voice)])
			for _, hz := range tones[u.Speaker] {
				v += 0.15 * math.Sin(2*math.Pi*hz*float64(i)/rate)
			}
			x[i] += float32(v)
		}
		truth, last = append(truth, u), u.Speaker
		at = u.End + 0.6*rng.Float64()
		if rng.IntN(4) == 0 {
			at = u.End - 0.5 - 0.5*rng.Float64() // who comes next interrupts
		}
	}
	for i := range x {
		x[i] += float32((c.noise + 1e-4) * rng.NormFloat64())
	}
	if c.rate != rate {
		n := len(x)
		x = must.Get(sound.Resample(must.Get(sound.Resample(x, rate, c.rate)), c.rate, rate))
		x = append(x, make([]float32, max(0, n-len(x)))...)[:n]
	}
	return x, truth
}
