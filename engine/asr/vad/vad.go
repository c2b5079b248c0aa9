// Package vad finds the speech in audio: a Detector says how likely each moment of it
// is speech, and a Gate lets only stretches of speech through.
package vad

import (
	"fmt"
)

// A Detector tells speech from other sound. It is safe for concurrent use.
type Detector interface {
	// Listen starts on new audio.
	Listen() Listener
}

// A Listener reads one stream of audio.
type Listener interface {
	// Hear returns how likely the next Hop samples are speech, from 0 to 1.
	Hear(x []float32) float32
}

// Everything is a Detector, and a Listener, that takes all for speech.
type Everything struct{}

// Listen implements Detector.
func (Everything) Listen() Listener { return Everything{} }

// Hear implements Listener.
func (Everything) Hear([]float32) float32 { return 1 }

// Hop is how many samples a Listener reads at a time: 32 ms.
const Hop = 512

// Options say what counts as a stretch of speech. Times are in seconds; a
// time of 0 is the default, a negative one is none.
type Options struct {
	Threshold float32 // speech begins at this probability; 0 means 0.5
	// Release is the probability below which speech may end; 0 means 0.15 less
	// than Threshold.
	Release    float32
	MinSpeech  float64 // shorter stretches are left out; 0.25
	MinSilence float64 // shorter silences are part of the speech; 0.5
	Pad        float64 // added to both ends; 0.2
}

// Resolved returns o with the defaults filled in, or why it cannot be.
func (o Options) Resolved() (Options, error) {
	if o.Threshold == 0 {
		o.Threshold = 0.5
	}
	if o.Release == 0 {
		o.Release = max(o.Threshold-0.15, 0.01)
	}
	if !(o.Threshold > 0 && o.Threshold < 1) || !(o.Release > 0 && o.Release <= o.Threshold) {
		return o, fmt.Errorf("speech from probability %g to %g", o.Threshold, o.Release)
	}
	for _, x := range []struct {
		v   *float64
		def float64
	}{{&o.MinSpeech, 0.25}, {&o.MinSilence, 0.5}, {&o.Pad, 0.2}} {
		if *x.v == 0 {
			*x.v = x.def
		}
		*x.v = max(0, *x.v)
		if !(*x.v <= 10) {
			return o, fmt.Errorf("%g seconds of speech or silence", *x.v)
		}
	}
	return o, nil
}
