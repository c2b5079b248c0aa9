package asr

import (
	"math"
	"slices"
)

// focus turns the scores of a head, (tokens, frames), into where each token
// stands out: softmax over frames, the same mean and variance over tokens in
// every frame, and a median over seven frames.
func focus(x []float32, frames int) {
	tokens := len(x) / frames
	for t := range tokens {
		row := x[t*frames : (t+1)*frames]
		norm := logSumExp(row)
		for i, v := range row {
			row[i] = float32(math.Exp(float64(v) - norm))
		}
	}
	for f := range frames {
		var mean, square float64
		for t := range tokens {
			mean += float64(x[t*frames+f])
		}
		mean /= float64(tokens)
		for t := range tokens {
			d := float64(x[t*frames+f]) - mean
			square += d * d
		}
		std := math.Sqrt(square / float64(tokens))
		if std == 0 { // all tokens attend alike
			std = 1
		}
		for t := range tokens {
			v := &x[t*frames+f]
			*v = float32((float64(*v) - mean) / std)
		}
	}
	for t := range tokens {
		median(x[t*frames : (t+1)*frames])
	}
}

// medianWidth is how many frames a median is taken of; beyond the ends frames
// are mirrored.
const medianWidth = 7

func median(x []float32) {
	const half = medianWidth / 2
	if len(x) <= half {
		return
	}
	in := slices.Clone(x)
	var near [medianWidth]float32
	for i := range x {
		for k := range near {
			j := i + k - half
			if j < 0 {
				j = -j
			}
			if j >= len(in) {
				j = 2*len(in) - 2 - j
			}
			near[k] = in[j]
		}
		slices.Sort(near[:])
		x[i] = near[half]
	}
}

// dtw returns the path of least cost through a matrix of columns columns, by
// rows and columns. Of equals a step along the columns is taken. Costs are
// summed in float32, as the reference does.
//
// Sakoe & Chiba, "Dynamic Programming Algorithm Optimization for Spoken Word
// Recognition", 1978, with steps of (1, 1), (1, 0) and (0, 1).
func dtw(x []float64, columns int) (rows, cols []int) {
	n := len(x) / columns
	width := columns + 1
	cost := make([]float32, (n+1)*width)
	step := make([]byte, (n+1)*width)
	for i := range cost {
		cost[i] = float32(math.Inf(1))
	}
	cost[0] = 0
	for i := 1; i <= n; i++ {
		for j := 1; j <= columns; j++ {
			both, down, along := cost[(i-1)*width+j-1], cost[(i-1)*width+j], cost[i*width+j-1]
			c, s := along, byte(2)
			if both < down && both < along {
				c, s = both, 0
			} else if down < both && down < along {
				c, s = down, 1
			}
			cost[i*width+j] = float32(x[(i-1)*columns+j-1] + float64(c))
			step[i*width+j] = s
		}
	}
	for i, j := n, columns; i > 0 || j > 0; {
		rows, cols = append(rows, i-1), append(cols, j-1)
		s := step[i*width+j]
		if i == 0 {
			s = 2
		} else if j == 0 {
			s = 1
		}
		if s != 2 {
			i--
		}
		if s != 1 {
			j--
		}
	}
	slices.Reverse(rows)
	slices.Reverse(cols)
	return rows, cols
}
