package tts

import "math"

// ramp is how long the change from one volume to another takes, in seconds.
const ramp = 0.015

// volume makes the samples of units louder or softer as these ask. Spans are those of
// the lead-in, each symbol and the lead-out. What would be louder than full scale is
// as loud as that.
func (u *utterance) volume(samples []float32, spans []int, rate int) {
	changed := false
	for i := range u.units {
		changed = changed || u.units[i].Volume != 0
	}
	if !changed {
		return
	}
	begin := make([]int, len(u.symbols)+1) // of each symbol, in samples
	at := spans[0]
	for i := range begin {
		begin[i] = min(at, len(samples))
		at += spans[1+i]
	}
	step := float32(1 / (ramp * float64(rate)))
	gain := gainOf(u.units[0].Volume)
	from := 0
	for i := range u.units {
		to := len(samples)
		if i+1 < len(u.units) {
			to = begin[u.at[i+1][0]]
		}
		want := gainOf(u.units[i].Volume)
		for k := from; k < to; k++ {
			gain += min(max(want-gain, -step), step)
			samples[k] = min(max(samples[k]*gain, -1), 1)
		}
		from = max(from, to)
	}
}

// gainOf is what samples are multiplied by for so many decibels.
func gainOf(decibels float64) float32 {
	if decibels <= -96 {
		return 0
	}
	return float32(math.Pow(10, decibels/20))
}
