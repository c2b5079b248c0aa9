package vad

import (
	"math"

	"quern/engine/asr/audio"
)

// EnergyDetector takes sound for speech that is clearly louder than the background.
// It needs no model, and it errs on the side of passing sound on: music and
// bangs are speech to it, and noise is until it has lasted for a while. It
// leaves out silence, what is below -60 dBFS, and steady hum and hiss.
//
// The level of a hop is its mean square after a first difference, which takes
// off hum and keeps consonants. The background is a minimum that follows the
// level down at once and up by 1.5 dB a second: the pauses between words hold it
// down. 6 dB above it is a probability of one half, and 3 dB more or less are
// worth a factor of e in the odds. Martin, "Noise Power Spectral Density
// Estimation Based on Optimal Smoothing and Minimum Statistics", 2001, has the
// idea in full.
type EnergyDetector struct{}

// Listen implements Detector.
func (EnergyDetector) Listen() Listener { return &energy{floor: startFloor} }

type energy struct {
	floor float64 // background, dB
	level float64 // smoothed, dB
	last  float32
	begun bool
}

// Levels in dB relative to full scale.
const (
	startFloor = -50.0 // of the background
	quietFloor = -66.0 // and it counts as no less
	rise       = 1.5 * Hop / audio.Rate
	half       = 6.0 // above it, for a probability of one half
)

func (e *energy) Hear(x []float32) float32 {
	var sum float64
	for _, v := range x {
		d := float64(v - 0.9*e.last)
		e.last = v
		sum += d * d
	}
	level := 10 * math.Log10(sum/float64(len(x))+1e-12)
	if !e.begun {
		e.level, e.begun = level, true
	}
	e.level += (level - e.level) / 2
	e.floor = max(quietFloor, min(e.floor+rise, e.level))
	return float32(1 / (1 + math.Exp(-(e.level-e.floor-half)/3)))
}
