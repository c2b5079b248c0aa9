package recurrent

import (
	"math"

	"quern/kernels/vec"
)

// TokenShift writes a row mixed with the row before it, for each row of mix (n, width):
//
//	dst[t][i][c] = x[t][c] + (x[t-1][c] − x[t][c]) · mix[i][c]
//
// for the channels from c0 up to c1. state is the row before the first, and becomes the last.
func TokenShift(dst, x []float32, width int, mix, state []float32, c0, c1 int) {
	rows, n := len(x)/width, len(mix)/width
	before := state[c0:c1]
	for t := range rows {
		row := x[t*width+c0 : t*width+c1]
		// The last mix's place holds the difference until its turn comes.
		last := dst[(t*n+n-1)*width+c0 : (t*n+n-1)*width+c1]
		for c, v := range row {
			last[c] = before[c] - v
		}
		for i := range n - 1 {
			out := dst[(t*n+i)*width+c0 : (t*n+i)*width+c1]
			copy(out, row)
			tap(out, mix[i*width+c0:i*width+c1], last)
		}
		vec.Multiply(last, last, mix[(n-1)*width+c0:(n-1)*width+c1])
		vec.Add(last, last, row)
		before = row
	}
	copy(state[c0:c1], before)
}

// RWKV is the weights of a layer of RWKV-7's memory, (heads·head) each. Norm and Shift are
// of the norm of each head.
type RWKV struct {
	Key, Rate, Bonus, Norm, Shift []float32
	Eps                           float32
}

// RWKVWork is how many heads' width Row needs to work in.
const RWKVWork = 5

// Row is one row of head h: its state and what goes in are those of one head. The paper's
// letters: r, w before it becomes a decay, k, v, a before the sigmoid.
func (m *RWKV) Row(o, r, w, k, v, a []float32, h int, state, work []float32) {
	n := len(o)
	of := func(weights []float32) []float32 { return weights[h*n : (h+1)*n] }
	decay, rate, key, grown, read := work[:n], work[n:2*n], work[2*n:3*n], work[3*n:4*n], work[4*n:5*n]
	vec.Sigmoid(decay, w)
	vec.Scale(decay, decay, -halfDecay)
	vec.Exp(decay, decay)
	vec.Sigmoid(rate, a)
	vec.Multiply(key, k, of(m.Key))
	var ss float32
	for _, x := range key {
		ss += x * x
	}
	vec.Scale(key, key, 1/max(float32(math.Sqrt(float64(ss))), 1e-12))
	var bonus float32
	scale, mine := of(m.Rate), of(m.Bonus)
	for i, x := range k {
		grown[i] = x * (1 + (rate[i]-1)*scale[i])
		bonus += r[i] * grown[i] * mine[i]
		rate[i] *= -key[i]
	}
	WKV(o, r, decay, grown, v, key, rate, state, read)
	vec.LayerNorm(o, o, of(m.Norm), of(m.Shift), m.Eps)
	for i, x := range v {
		o[i] += bonus * x
	}
}

// halfDecay is e^−½: no channel forgets faster than exp(−halfDecay) a row.
const halfDecay = 0.606530659712633
