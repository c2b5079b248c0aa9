//go:build amd64 && !noasm

package recurrent

import "quern/kernels/internal/isa"

// loops are the assembly of a level; lanes is 0 where there is none.
type loops struct {
	lanes int
	decay func(row, sum *float32, n int, by, x float32)
	learn func(row, delta, sum *float32, n int, x, y float32)
	tap   func(dst, w, x *float32, n int)
	step  func(row, b, c *float32, n int, by, x float32) float32
	steps func(y, x, b, c, state *float32, rows, n int, by, dt, d float32)
	delta func(o, q, k, v, state *float32, keys, n, columns int, by, beta float32)
	wkv   func(o, r, w, k, v, key, back, state *float32, keys, n, columns int)
	cell  func(h, c, i, f, cand, o *float32, n int)
}

var levels = [...]loops{
	isa.Generic: {},
	isa.AVX2:    {8, decayAVX2, learnAVX2, tapAVX2, stepAVX2, stepsAVX2, deltaAVX2, wkvAVX2, cellAVX2},
	isa.AVX512:  {16, decayAVX512, learnAVX512, tapAVX512, stepAVX512, stepsAVX512, deltaAVX512, wkvAVX512, cellAVX512},
}

// whole returns the loops of the level in force, and how many of n floats they do.
func whole(n int) (*loops, int) {
	l := &levels[isa.Current()]
	if l.lanes == 0 {
		return l, 0
	}
	return l, n &^ (l.lanes - 1)
}

func decayFast(row, sum []float32, by, x float32) int {
	l, n := whole(min(len(row), len(sum)))
	if n > 0 {
		l.decay(&row[0], &sum[0], n, by, x)
	}
	return n
}

func learnFast(row, delta, sum []float32, x, y float32) int {
	l, n := whole(min(len(row), len(delta), len(sum)))
	if n > 0 {
		l.learn(&row[0], &delta[0], &sum[0], n, x, y)
	}
	return n
}

func tapFast(dst, w, x []float32) int {
	l, n := whole(min(len(dst), len(w), len(x)))
	if n > 0 {
		l.tap(&dst[0], &w[0], &x[0], n)
	}
	return n
}

func stepFast(row, b, c []float32, by, x float32) (int, float32) {
	l, n := whole(min(len(row), len(b), len(c)))
	if n == 0 {
		return 0, 0
	}
	return n, l.step(&row[0], &b[0], &c[0], n, by, x)
}

// stepsFast does SSD for the first rows of the state and says how many.
func stepsFast(y, x, b, c, state []float32, by, dt, d float32) int {
	n := len(b)
	l, whole := whole(n)
	rows := len(x) &^ 3
	if whole != n || n == 0 || rows == 0 {
		return 0
	}
	y, c, state = y[:rows], c[:n], state[:rows*n]
	l.steps(&y[0], &x[0], &b[0], &c[0], &state[0], rows, n, by, dt, d)
	return rows
}

// deltaFast does Delta for the first columns of the state and says how many.
func deltaFast(o, q, k, v, state []float32, by, beta float32) int {
	keys, n := len(k), len(v)
	l := &levels[isa.Current()]
	if l.lanes == 0 || n < 4*l.lanes || keys == 0 {
		return 0
	}
	columns := n / (4 * l.lanes) * 4 * l.lanes
	o, q, state = o[:n], q[:keys], state[:keys*n]
	l.delta(&o[0], &q[0], &k[0], &v[0], &state[0], keys, n, columns, by, beta)
	return columns
}

// wkvFast does WKV for the first columns of the state and says how many.
func wkvFast(o, r, w, k, v, key, back, state []float32) int {
	keys, n := len(k), len(v)
	l := &levels[isa.Current()]
	if l.lanes == 0 || n < 4*l.lanes || keys == 0 {
		return 0
	}
	columns := n / (4 * l.lanes) * 4 * l.lanes
	o, r, w, key, back, state = o[:n], r[:keys], w[:keys], key[:keys], back[:keys], state[:keys*n]
	l.wkv(&o[0], &r[0], &w[0], &k[0], &v[0], &key[0], &back[0], &state[0], keys, n, columns)
	return columns
}

// cellFast does Cell for the first values and says how many.
func cellFast(h, c, i, f, g, o []float32) int {
	l, n := whole(len(h))
	if n > 0 {
		l.cell(&h[0], &c[0], &i[0], &f[0], &g[0], &o[0], n)
	}
	return n
}
