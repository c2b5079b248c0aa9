// Package ttstest measures what synthesisers make.
package ttstest

import "math"

// Frames of the measure, in seconds: what is looked at, and how much of what stands on
// either side of it.
const (
	frame  = 0.001
	beside = 0.010
)

// quiet is the level below which nothing is said: -40 dBFS. least is the energy that is
// heard in a quiet room, of a high band: -90 dBFS.
const (
	quiet = 1e-4
	least = 1e-9
)

// Clicks measures joins of sound: by how many decibels, at most, the high band of a
// millisecond is stronger than the stronger of the 10 ms before and behind it. What is
// looked at is 5 ms around each join, and all that is quiet from 0.5 s before it to 0.1 s
// behind. A cut without a fade is 20 dB and more; 0 says that no millisecond stands out.
func Clicks(samples []float32, rate int, joins []int) float64 {
	n := int(frame * float64(rate))
	high := make([]float64, len(samples)/n)
	level := make([]float64, len(high))
	for i := range high {
		for t := i * n; t < (i+1)*n; t++ {
			x := float64(samples[t])
			level[i] += x * x / float64(n)
			if t >= 2 {
				d := x - 2*float64(samples[t-1]) + float64(samples[t-2])
				high[i] += d * d / float64(n)
			}
		}
	}
	side := int(beside / frame)
	mean := func(x []float64, from, to int) float64 {
		to = min(max(to, 0), len(x))
		from = min(max(from, 0), to)
		sum := 0.0
		for _, v := range x[from:to] {
			sum += v
		}
		return sum / float64(max(to-from, 1))
	}
	most := 1.0
	for _, j := range joins {
		at := j / n
		for i := max(at-500, 0); i < min(at+100, len(high)); i++ {
			near := i >= at-5 && i <= at+5
			if !near && mean(level, i-side, i+side+1) > quiet {
				continue
			}
			around := max(mean(high, i-1-side, i-1), mean(high, i+2, i+2+side), least)
			most = max(most, high[i]/around)
		}
	}
	return 10 * math.Log10(most)
}
