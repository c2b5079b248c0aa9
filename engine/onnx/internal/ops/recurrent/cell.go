package recurrent

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/kernels/recurrent"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// activations of recurrent cells, in place, with alpha and beta and what those
// are when not given.
var activations = map[string]struct {
	alpha, beta float32
	f           func(x []float32, alpha, beta float32)
}{
	"Sigmoid": {f: func(x []float32, _, _ float32) { vec.Sigmoid(x, x) }},
	"Tanh":    {f: func(x []float32, _, _ float32) { vec.Tanh(x, x) }},
	"Relu":    {f: each(func(v, _, _ float64) float64 { return max(v, 0) })},
	"Affine":  {1, 0, each(func(v, a, b float64) float64 { return a*v + b })},
	"LeakyRelu": {0.01, 0, each(func(v, a, _ float64) float64 {
		if v < 0 {
			return a * v
		}
		return v
	})},
	"ThresholdedRelu": {1, 0, each(func(v, a, _ float64) float64 {
		if v > a {
			return v
		}
		return 0
	})},
	"ScaledTanh":  {1, 1, each(func(v, a, b float64) float64 { return a * math.Tanh(b*v) })},
	"HardSigmoid": {0.2, 0.5, each(func(v, a, b float64) float64 { return min(max(a*v+b, 0), 1) })},
	"Elu": {1, 0, each(func(v, a, _ float64) float64 {
		if v < 0 {
			return a * math.Expm1(v)
		}
		return v
	})},
	"Softsign": {f: each(func(v, _, _ float64) float64 { return v / (1 + math.Abs(v)) })},
	"Softplus": {f: each(func(v, _, _ float64) float64 { return math.Log1p(math.Exp(v)) })},
}

func each(f func(v, alpha, beta float64) float64) func(x []float32, alpha, beta float32) {
	return func(x []float32, alpha, beta float32) {
		for i, v := range x {
			x[i] = float32(f(float64(v), float64(alpha), float64(beta)))
		}
	}
}

// activate returns the activations of each direction, n of them.
func activate(c *run.Call, directions int, missing []string) [][]func([]float32) {
	var names []string
	var alphas, betas []float32
	if a := c.Attr("activations"); a != nil {
		names = a.Strings
	}
	if len(names) == 0 {
		for range directions {
			names = append(names, missing...)
		}
	}
	if len(names) != directions*len(missing) {
		tensor.Malformed("%d activations, want %d", len(names), directions*len(missing))
	}
	if a := c.Attr("activation_alpha"); a != nil {
		alphas = a.Floats
	}
	if a := c.Attr("activation_beta"); a != nil {
		betas = a.Floats
	}
	all := make([][]func([]float32), directions)
	for i, name := range names {
		a, ok := activations[name]
		if !ok {
			tensor.Unsupported("activation %.40q", name)
		}
		alpha, beta := a.alpha, a.beta
		if i < len(alphas) {
			alpha = alphas[i]
		}
		if i < len(betas) {
			beta = betas[i]
		}
		all[i/len(missing)] = append(all[i/len(missing)], func(x []float32) { a.f(x, alpha, beta) })
	}
	return all
}

// A cell is one direction of a recurrent layer, with the state of its sequences.
type cell struct {
	pool          *threads.Pool
	gates, hidden int
	rec           []multiplier // of all gates, but of two and one for a GRU
	recBias       []float32    // of the hidden gate of a GRU, where it is apart
	peep          []float32    // (3, hidden) of an LSTM, or nil
	act           []func([]float32)
	clip          float32
	linearReset   bool // GRU: multiply before the reset gate
	coupled       bool // LSTM: forget what is not let in
	usual         bool // an LSTM without options over sequences of one length, see long

	batch   int
	h, c    []float32 // (batch, hidden)
	x       []float32 // (batch, gates·hidden): the input's part of the gates
	scratch []float32 // (batch, hidden)
	next    []float32 // (batch, hidden)
	input   []float32 // (times, batch, gates·hidden): the input's part at all times
}

// activation clips x and applies activation i.
func (l *cell) activation(i int, x []float32) {
	if l.clip > 0 {
		for k, v := range x {
			x[k] = min(max(v, -l.clip), l.clip)
		}
	}
	l.act[i](x)
}

// gate returns gate g of sequence b.
func (l *cell) gate(b, g int) []float32 {
	return l.x[(b*l.gates+g)*l.hidden:][:l.hidden]
}

func rnnCell(l *cell) {
	l.rec[0].Run(l.pool, l.x, l.hidden, l.h, l.hidden, l.batch, true)
	l.activation(0, l.x)
	copy(l.next, l.x)
}

// lstmCell has its gates in the order input, output, forget, cell.
//
// ONNX, Operators.md, LSTM; the peepholes: Gers & Schmidhuber, 2000.
func lstmCell(l *cell) {
	n := l.hidden
	l.rec[0].Run(l.pool, l.x, 4*n, l.h, n, l.batch, true)
	peep := func(dst []float32, which int, state []float32) {
		if l.peep != nil {
			for k, w := range l.peep[which*n:][:n] {
				dst[k] += w * state[k]
			}
		}
	}
	for b := range l.batch {
		in, out, forget, cand := l.gate(b, 0), l.gate(b, 1), l.gate(b, 2), l.gate(b, 3)
		state := l.c[b*n : (b+1)*n]
		peep(in, 0, state)
		peep(forget, 2, state)
		l.activation(0, in)
		if l.coupled {
			for k, v := range in {
				forget[k] = 1 - v
			}
		} else {
			l.activation(0, forget)
		}
		l.activation(1, cand)
		for k, v := range cand {
			state[k] = float32(forget[k]*state[k]) + float32(in[k]*v) // not fused, as in recurrent.Cell
		}
		peep(out, 1, state)
		l.activation(0, out)
		h := l.next[b*n : (b+1)*n]
		copy(h, state)
		l.act[2](h)
		for k, v := range out {
			h[k] *= v
		}
	}
}

// long takes an LSTM without options a step on: gates (batch, 4·hidden) are the input's part and
// are overwritten, h (batch, hidden) is where its state goes and is read from at the next step.
func (l *cell) long(h, gates []float32) {
	n := l.hidden
	l.rec[0].Run(l.pool, gates, 4*n, l.h, n, l.batch, true)
	for b := range l.batch {
		g := gates[4*b*n:][:4*n]
		recurrent.Cell(h[b*n:][:n], l.c[b*n:][:n], g[:n], g[2*n:3*n], g[3*n:], g[n:2*n])
	}
	l.h = h
}

// gruCell has its gates in the order update, reset, hidden.
//
// ONNX, Operators.md, GRU; Cho et al., 2014.
func gruCell(l *cell) {
	n := l.hidden
	l.rec[0].Run(l.pool, l.x, 3*n, l.h, n, l.batch, true)
	if l.linearReset {
		l.rec[1].Run(l.pool, l.scratch, n, l.h, n, l.batch, false)
	}
	for b := range l.batch {
		l.activation(0, l.gate(b, 0))
		reset, s := l.gate(b, 1), l.scratch[b*n:(b+1)*n]
		l.activation(0, reset)
		if l.linearReset {
			cand := l.gate(b, 2)
			for k, v := range reset {
				cand[k] += v * (s[k] + l.recBias[k])
			}
			continue
		}
		for k, v := range reset {
			s[k] = v * l.h[b*n+k]
		}
	}
	if !l.linearReset {
		l.rec[1].Run(l.pool, l.x[2*n:], 3*n, l.scratch, n, l.batch, true)
	}
	for b := range l.batch {
		update, cand := l.gate(b, 0), l.gate(b, 2)
		l.activation(1, cand)
		for k, z := range update {
			l.next[b*n+k] = (1-z)*cand[k] + z*l.h[b*n+k]
		}
	}
}
