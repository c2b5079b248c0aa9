// Package recurrent holds layers that carry a state from row to row: the LSTM, and the scans of
// state-space models and linear attention.
package recurrent

import (
	"fmt"

	"quern/kernels/gemm"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// LSTMWeights are one direction of an LSTM. Gates are in the order input,
// forget, cell, output. Hidden is the width of the state.
type LSTMWeights struct {
	In   []float32 // (4·hidden, in)
	Rec  []float32 // (4·hidden, hidden)
	Bias []float32 // (4·hidden); where a file has two, their sum
}

// An LSTM runs a long short-term memory over rows in time, in one direction or
// in both. It is made once per weight and is not safe for concurrent use.
//
//	i, f, o = σ(…), g = tanh(…) of x_t·Inᵀ + h_{t-1}·Recᵀ + Bias
//	c_t = f·c_{t-1} + i·g
//	h_t = o·tanh(c_t)
//
// Hochreiter & Schmidhuber, "Long Short-Term Memory", 1997; the forget gate:
// Gers, Schmidhuber & Cummins, 2000; both directions: Schuster & Paliwal, 1997.
type LSTM struct {
	in, hidden int
	sides      []*lstmSide
	input      *gemm.Gemm // of all directions at once
	gates      []float32  // (rows, directions, 4·hidden)

	dst    []float32
	rows   int
	region threads.Region
}

type lstmSide struct {
	rec          *gemm.Panels
	state, first []float32
}

// NewLSTM packs weights. backward may be nil. They are not kept.
func NewLSTM(in, hidden int, forward LSTMWeights, backward *LSTMWeights) *LSTM {
	all := []LSTMWeights{forward}
	if backward != nil {
		all = append(all, *backward)
	}
	l := &LSTM{in: in, hidden: hidden}
	wide := 4 * hidden
	var w, bias []float32
	for _, s := range all {
		if in <= 0 || hidden <= 0 || len(s.In) != wide*in || len(s.Rec) != wide*hidden || len(s.Bias) != wide {
			panic(fmt.Sprintf("recurrent: an LSTM of %d to %d with weights of %d, %d and %d floats", in, hidden, len(s.In), len(s.Rec), len(s.Bias)))
		}
		w, bias = append(w, s.In...), append(bias, s.Bias...)
		rec := gemm.NewPanels(wide, hidden)
		rec.PackRows(s.Rec, hidden)
		l.sides = append(l.sides, &lstmSide{rec: rec, state: make([]float32, hidden), first: make([]float32, hidden)})
	}
	p := gemm.NewPanels(len(bias), in)
	p.PackRows(w, in)
	l.input = gemm.NewGemm(p, bias)
	l.region.F = l.side
	return l
}

// Width returns the width of a row of the result: hidden for each direction.
func (l *LSTM) Width() int { return len(l.sides) * l.hidden }

// Run writes the states to dst (rows, Width()), forward before backward, from x
// (rows, in). The state before the first row is zero. dst may be x where the
// widths are equal.
func (l *LSTM) Run(p *threads.Pool, dst, x []float32, rows int) {
	if len(x) != rows*l.in || len(dst) != rows*l.Width() {
		panic(fmt.Sprintf("recurrent: LSTM of %d rows of %d in %d floats into %d rows of %d in %d", rows, l.in, len(x), rows, l.Width(), len(dst)))
	}
	wide := 4 * l.Width()
	if len(l.gates) < rows*wide {
		l.gates = make([]float32, rows*wide)
	}
	l.input.Run(p, l.gates, wide, x, l.in, rows, false)
	l.dst, l.rows = dst, rows
	p.Run(len(l.sides), &l.region)
	l.dst = nil
}

// side runs one direction.
func (l *LSTM) side(_, d int) {
	s, n := l.sides[d], l.hidden
	clear(s.state)
	clear(s.first)
	before := s.first
	for t := range l.rows {
		at := t
		if d == 1 {
			at = l.rows - 1 - t
		}
		gates := l.gates[(at*len(l.sides)+d)*4*n:][:4*n]
		gemm.Multiply(gates, 4*n, before, n, 1, s.rec, nil, true)
		h := l.dst[at*l.Width()+d*n:][:n]
		Cell(h, s.state, gates[:n], gates[n:2*n], gates[2*n:3*n], gates[3*n:])
		before = h
	}
}

// Cell takes a long short-term memory a step on, from the sums of its gates, which are
// overwritten:
//
//	c ← σ(f)·c + σ(i)·tanh(g)
//	h = σ(o)·tanh(c)
//
// All have one length. The functions are those of Sigmoid and Tanh of package vec.
func Cell(h, c, i, f, g, o []float32) {
	if n := len(h); len(c) != n || len(i) != n || len(f) != n || len(g) != n || len(o) != n {
		panic(fmt.Sprintf("recurrent: a cell of %d with states of %d and gates of %d, %d, %d and %d", n, len(c), len(i), len(f), len(g), len(o)))
	}
	done := cellFast(h, c, i, f, g, o)
	h, c, i, f, g, o = h[done:], c[done:], i[done:], f[done:], g[done:], o[done:]
	if len(h) == 0 {
		return
	}
	vec.Sigmoid(i, i)
	vec.Sigmoid(f, f)
	vec.Tanh(g, g)
	vec.Sigmoid(o, o)
	for k, v := range c {
		c[k] = float32(f[k]*v) + float32(i[k]*g[k])
	}
	vec.Tanh(h, c)
	for k, v := range o {
		h[k] *= v
	}
}

// Move is Move of the packed weights of all directions.
func (l *LSTM) Move(memory func(n int) []float32) {
	l.input.Move(memory)
	for _, s := range l.sides {
		s.rec.Move(memory)
	}
}
