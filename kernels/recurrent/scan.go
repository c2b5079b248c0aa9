package recurrent

import (
	"math"

	"quern/kernels/vec"
)

// The recurrences of state-space models and linear attention, for one head (or some
// channels) of one sequence. Each row is computed from the row before it and in the same
// order, so bits do not depend on where a text is cut. States are changed in place.

// ShortConv writes a causal convolution of every channel by itself:
//
//	dst[t][c] = bias[c] + Σ_j w[c][j] · x[t-(taps-1)+j][c]
//
// for the channels from c0 up to c1 of rows that are width apart, then act of it, which may
// be nil. state has the taps-1 rows before, (taps-1, channels), the oldest first.
func ShortConv(dst, x []float32, width int, w, bias, state []float32, taps, c0, c1 int, act func(dst, x []float32)) {
	rows := len(x) / width
	channels := len(w) / taps
	before := func(t, c int) float32 { // x of row t, which may be negative
		if t < 0 {
			return state[(t+taps-1)*channels+c]
		}
		return x[t*width+c]
	}
	for t := range rows {
		for c := c0; c < c1; c++ {
			var sum float32
			if bias != nil {
				sum = bias[c]
			}
			for j, v := range w[c*taps : (c+1)*taps] {
				sum += v * before(t-(taps-1)+j, c)
			}
			dst[t*width+c] = sum
		}
		if act != nil {
			act(dst[t*width+c0:t*width+c1], dst[t*width+c0:t*width+c1])
		}
	}
	for j := range taps - 1 {
		for c := c0; c < c1; c++ {
			state[j*channels+c] = before(rows-(taps-1)+j, c)
		}
	}
}

// Softplus is log(1 + eˣ).
func Softplus(x float32) float32 {
	if x > 20 {
		return x
	}
	return float32(math.Log1p(math.Exp(float64(x))))
}

// SSD is one row of Mamba-2 for one head of len(x) values:
//
//	h ← exp(dt·a)·h + dt·x⊗b;  y = h·c + d·x
//
// state is h, (len(x), len(b)). Dao & Gu, "Transformers are SSMs", 2024, §2.
func SSD(y, x, b, c, state []float32, dt, a, d float32) {
	decay := vec.ExpScalar(dt * a)
	n := len(b)
	for p, v := range x {
		h := state[p*n : (p+1)*n]
		var sum float32
		v *= dt
		for i, k := range b {
			s := decay*h[i] + v*k
			h[i] = s
			sum += s * c[i]
		}
		y[p] = sum + d*x[p]
	}
}

// Selective is one row of Mamba-1 for len(x) channels, each with its own dt and its row of
// a, (len(x), len(b)):
//
//	h ← exp(dt·a)·h + dt·b·x;  y = h·c + d·x
//
// Gu & Dao, "Mamba", 2023, §3.
func Selective(y, x, dt, b, c, state, a, d []float32) {
	n := len(b)
	for p, v := range x {
		h, decay := state[p*n:(p+1)*n], a[p*n:(p+1)*n]
		var sum float32
		for i, k := range b {
			s := vec.ExpScalar(dt[p]*decay[i])*h[i] + dt[p]*k*v
			h[i] = s
			sum += s * c[i]
		}
		y[p] = sum + d[p]*v
	}
}

// Delta is one row of a gated delta net for one head:
//
//	S ← e^g·S;  S ← S + k⊗beta·(v − Sᵀk);  o = Sᵀq
//
// state is S, (len(k), len(v)). work has room for len(v).
// Yang, Kautz & Hatamizadeh, "Gated Delta Networks", 2024, §3.
func Delta(o, q, k, v, state, work []float32, g, beta float32) {
	n := len(v)
	decay := vec.ExpScalar(g)
	work = work[:n]
	clear(work)
	for i, x := range k {
		row := state[i*n : (i+1)*n]
		for j, s := range row {
			s *= decay
			row[j] = s
			work[j] += x * s
		}
	}
	for j := range work {
		work[j] = beta * (v[j] - work[j])
	}
	o = o[:n]
	clear(o)
	for i, x := range k {
		row, y := state[i*n:(i+1)*n], q[i]
		for j, d := range work {
			s := row[j] + x*d
			row[j] = s
			o[j] += y * s
		}
	}
}
