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
//	dst[t][c] = bias[c] + Σ_j w[j][c] · x[t-(taps-1)+j][c]
//
// for the channels from c0 up to c1 of rows of so many channels, then act of it, which may be
// nil. w is (taps, channels). state has the taps-1 rows before, the oldest first.
func ShortConv(dst, x []float32, channels int, w, bias, state []float32, taps, c0, c1 int, act func(dst, x []float32)) {
	rows := len(x) / channels
	before := func(t int) []float32 { // the channels of row t, which may be negative
		if t < 0 {
			return state[(t+taps-1)*channels+c0 : (t+taps-1)*channels+c1]
		}
		return x[t*channels+c0 : t*channels+c1]
	}
	for t := range rows {
		out := dst[t*channels+c0 : t*channels+c1]
		if bias != nil {
			copy(out, bias[c0:c1])
		} else {
			clear(out)
		}
		for j := range taps {
			tap(out, w[j*channels+c0:j*channels+c1], before(t-(taps-1)+j))
		}
		if act != nil {
			act(out, out)
		}
	}
	for j := range taps - 1 {
		copy(state[j*channels+c0:j*channels+c1], before(rows-(taps-1)+j))
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
	for p := stepsFast(y, x, b, c, state, decay, dt, d); p < len(x); p++ {
		y[p] = step(state[p*n:(p+1)*n], b, c, decay, x[p]*dt) + d*x[p]
	}
}

// Selective is one row of Mamba-1 for len(x) channels, each with its own dt and its row of
// a, (len(x), len(b)):
//
//	h ← exp(dt·a)·h + dt·b·x;  y = h·c + d·x
//
// work has room for a and x. Gu & Dao, "Mamba", 2023, §3.
func Selective(y, x, dt, b, c, state, a, d, work []float32) {
	n := len(b)
	decay, steps := work[:len(a)], work[len(a):len(a)+len(x)]
	for p, v := range x {
		by := dt[p]
		for i, k := range a[p*n : (p+1)*n] {
			decay[p*n+i] = by * k
		}
		steps[p] = by * v
	}
	vec.Exp(decay, decay)
	vec.Multiply(state, state, decay)
	for p := stepsFast(y, steps, b, c, state, 1, 1, 0); p < len(x); p++ {
		y[p] = step(state[p*n:(p+1)*n], b, c, 1, steps[p])
	}
	for p, v := range x {
		y[p] += d[p] * v
	}
}

// Delta is one row of a gated delta net for one head:
//
//	S ← e^g·S;  S ← S + k⊗beta·(v − Sᵀk);  o = Sᵀq
//
// state is S, (len(k), len(v)). work has room for len(v).
// Yang, Kautz & Hatamizadeh, "Gated Delta Networks", 2024, §3.
func Delta(o, q, k, v, state, work []float32, g, beta float32) {
	n, by := len(v), vec.ExpScalar(g)
	done := deltaFast(o, q, k, v, state, by, beta)
	if done == n {
		return
	}
	work, o, v = work[:n-done], o[done:n], v[done:]
	clear(work)
	for i, x := range k {
		decay(state[i*n+done:(i+1)*n], work, by, x)
	}
	for j := range work {
		work[j] = beta * (v[j] - work[j])
	}
	clear(o)
	for i, x := range k {
		learn(state[i*n+done:(i+1)*n], work, o, x, q[i])
	}
}

// WKV is one row of RWKV-7 for one head:
//
//	S ← diag(w)·S + back⊗(κᵀS) + k⊗v;  o = Sᵀr
//
// state is S, (len(k), len(v)); κ is called key, and back is −κ⊙a. work has room for len(v).
// Peng et al., "RWKV-7 'Goose'", 2025, §4.
func WKV(o, r, w, k, v, key, back, state, work []float32) {
	n := len(v)
	done := wkvFast(o, r, w, k, v, key, back, state)
	if done == n {
		return
	}
	work, o, v = work[:n-done], o[done:n], v[done:]
	clear(work)
	for i, x := range key {
		for j, s := range state[i*n+done : (i+1)*n] {
			work[j] += s * x
		}
	}
	clear(o)
	for i, x := range k {
		row := state[i*n+done : (i+1)*n]
		for j, s := range row {
			row[j] = s*w[i] + v[j]*x + work[j]*back[i]
			o[j] += row[j] * r[i]
		}
	}
}
