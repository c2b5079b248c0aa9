package cpu

import (
	"math"
	"slices"

	"quern/engine/graph"
	"quern/kernels/recurrent"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// A run is the rows of one sequence in a batch.
type run struct {
	from, to int
	state    []float32 // the sequence's slot
	fresh    bool      // it begins here, with zeros
}

// findRuns finds the runs of a batch whose sequences have states.
func (e *exec) findRuns() {
	e.runs = e.runs[:0]
	if e.limits.State == 0 {
		return
	}
	for i, s := range e.in.Seq {
		if i == 0 || e.in.Seq[i-1] != s {
			at := int(e.in.States[s]) * e.state
			e.runs = append(e.runs, run{from: i, state: e.states[at : at+e.state], fresh: e.in.Positions[i] == 0})
		}
		e.runs[len(e.runs)-1].to = i + 1
	}
}

// byRun adds a step that calls f for each run and each of n parts of its state, which is
// the size floats from at on. A part's work does not depend on the others.
func (e *exec) byRun(n, at, size int, f func(worker int, r *run, part int, state []float32)) {
	region := &threads.Region{F: func(worker, c int) {
		r := &e.runs[c/n]
		f(worker, r, c%n, r.state[at:at+size])
	}}
	e.steps = append(e.steps, func() { e.b.pool.Run(len(e.runs)*n, region) })
}

// convChannels is how many channels a part of a convolution has.
const convChannels = 256

func (e *exec) shortConv(op graph.ShortConv, s graph.Step) error {
	channels, taps := op.Weight.Shape[0], op.Weight.Shape[1]
	bias := e.vector(op.Bias)
	w := make([]float32, channels*taps) // (taps, channels)
	for i, v := range e.vector(op.Weight) {
		w[i%taps*channels+i/taps] = v
	}
	var act func(dst, x []float32)
	if op.Act {
		act = silu
	}
	parts := (channels + convChannels - 1) / convChannels
	e.byRun(parts, op.At, channels*(taps-1), func(_ int, r *run, part int, state []float32) {
		c0, c1 := part*convChannels, min((part+1)*convChannels, channels)
		if r.fresh {
			for j := range taps - 1 {
				clear(state[j*channels+c0 : j*channels+c1])
			}
		}
		dst, x := e.floats(s.Out), e.floats(s.In[0])
		recurrent.ShortConv(dst[r.from*channels:r.to*channels], x[r.from*channels:r.to*channels], channels, w, bias, state, taps, c0, c1, act)
	})
	return nil
}

// silu is at most convChannels wide.
func silu(dst, x []float32) { vec.SiLUGate(dst, x, manyOnes[:len(x)]) }

var manyOnes = slices.Repeat([]float32{1}, convChannels)

func (e *exec) mamba2(op graph.Mamba2, s graph.Step) error {
	heads, n := op.A.Elems(), op.State
	a, d, bias := e.vector(op.A), e.vector(op.D), e.vector(op.DtBias)
	inner := heads * op.Head
	e.byRun(heads, op.At, inner*n, func(_ int, r *run, h int, state []float32) {
		state = state[h*op.Head*n : (h+1)*op.Head*n]
		if r.fresh {
			clear(state)
		}
		y, xbc, dt := e.floats(s.Out), e.floats(s.In[0]), e.floats(s.In[1])
		width, group := e.width(s.In[0]), h/(heads/op.Groups)
		for t := r.from; t < r.to; t++ {
			row := xbc[t*width : (t+1)*width]
			recurrent.SSD(y[t*inner+h*op.Head:t*inner+(h+1)*op.Head], row[h*op.Head:(h+1)*op.Head],
				row[inner+group*n:inner+(group+1)*n], row[inner+(op.Groups+group)*n:inner+(op.Groups+group+1)*n],
				state, recurrent.Softplus(dt[t*heads+h]+bias[h]), a[h], d[h])
		}
	})
	return nil
}

// scanChannels is how many channels a part of Mamba1 has.
const scanChannels = 32

func (e *exec) mamba1(op graph.Mamba1, s graph.Step) error {
	width, n := op.A.Shape[0], op.A.Shape[1]
	a, d := e.vector(op.A), e.vector(op.D)
	size := scanChannels * (n + 1)
	work := make([]float32, e.b.pool.Workers()*size)
	e.byRun((width+scanChannels-1)/scanChannels, op.At, width*n, func(worker int, r *run, part int, state []float32) {
		c0, c1 := part*scanChannels, min((part+1)*scanChannels, width)
		state = state[c0*n : c1*n]
		if r.fresh {
			clear(state)
		}
		y, x, dt, b, c := e.floats(s.Out), e.floats(s.In[0]), e.floats(s.In[1]), e.floats(s.In[2]), e.floats(s.In[3])
		var step [scanChannels]float32
		for t := r.from; t < r.to; t++ {
			for i := c0; i < c1; i++ {
				step[i-c0] = recurrent.Softplus(dt[t*width+i])
			}
			recurrent.Selective(y[t*width+c0:t*width+c1], x[t*width+c0:t*width+c1], step[:], b[t*n:(t+1)*n], c[t*n:(t+1)*n], state, a[c0*n:c1*n], d[c0:c1], work[worker*size:(worker+1)*size])
		}
	})
	return nil
}

func (e *exec) deltaNet(op graph.DeltaNet, s graph.Step) error {
	a, bias := e.vector(op.A), e.vector(op.DtBias)
	keys, size := op.KeyHeads*op.Key, op.Key*op.Value
	// Queries and keys of length 1, the former over the root of their size: by RMSNorm, which
	// takes means where lengths have sums.
	n := float64(op.Key)
	unitQuery, unitKey, eps := slices.Repeat([]float32{float32(1 / n)}, op.Key), slices.Repeat([]float32{float32(1 / math.Sqrt(n))}, op.Key), float32(1e-6/n)
	// Of each head: its query, its key, and the update of its state.
	work := make([]float32, e.p.Rows*op.Heads*(2*op.Key+op.Value))
	e.byRun(op.Heads, op.At, op.Heads*size, func(_ int, r *run, h int, state []float32) {
		state = state[h*size : (h+1)*size]
		if r.fresh {
			clear(state)
		}
		o, qkv, beta, alpha := e.floats(s.Out), e.floats(s.In[0]), e.floats(s.In[1]), e.floats(s.In[2])
		width, head := e.width(s.In[0]), h/(op.Heads/op.KeyHeads)
		if op.Tiled {
			head = h % op.KeyHeads
		}
		// Runs have rows of their own, so only this one uses the first row's part of work.
		room := work[(r.from*op.Heads+h)*(2*op.Key+op.Value):][:2*op.Key+op.Value]
		q, k := room[:op.Key], room[op.Key:2*op.Key]
		for t := r.from; t < r.to; t++ {
			row := qkv[t*width : (t+1)*width]
			vec.RMSNorm(q, row[head*op.Key:(head+1)*op.Key], unitQuery, eps)
			vec.RMSNorm(k, row[keys+head*op.Key:keys+(head+1)*op.Key], unitKey, eps)
			recurrent.Delta(o[(t*op.Heads+h)*op.Value:(t*op.Heads+h+1)*op.Value], q, k, row[2*keys+h*op.Value:2*keys+(h+1)*op.Value], state, room[2*op.Key:],
				a[h]*recurrent.Softplus(alpha[t*op.Heads+h]+bias[h]), 1/(1+vec.ExpScalar(-beta[t*op.Heads+h])))
		}
	})
	return nil
}

func (e *exec) tokenShift(op graph.TokenShift, s graph.Step) error {
	width := op.Mix.Shape[1]
	mix := e.vector(op.Mix)
	e.byRun((width+convChannels-1)/convChannels, op.At, width, func(_ int, r *run, part int, state []float32) {
		c0, c1 := part*convChannels, min((part+1)*convChannels, width)
		if r.fresh {
			clear(state[c0:c1])
		}
		n := len(mix)
		recurrent.TokenShift(e.floats(s.Out)[r.from*n:r.to*n], e.floats(s.In[0])[r.from*width:r.to*width], width, mix, state, c0, c1)
	})
	return nil
}

func (e *exec) wkv7(op graph.WKV7, s graph.Step) error {
	n, width := op.Head, e.width(s.Out)
	memory := recurrent.RWKV{
		Key: e.vector(op.Key), Rate: e.vector(op.Rate), Bonus: e.vector(op.Bonus), Norm: e.vector(op.Norm), Shift: e.vector(op.Shift), Eps: op.Eps,
	}
	work := make([]float32, e.b.pool.Workers()*recurrent.RWKVWork*n)
	e.byRun(width/n, op.At, width*n, func(worker int, r *run, h int, state []float32) {
		state = state[h*n*n : (h+1)*n*n]
		if r.fresh {
			clear(state)
		}
		var in [5][]float32
		for i, v := range s.In {
			in[i] = e.floats(v)
		}
		room := work[worker*recurrent.RWKVWork*n:][:recurrent.RWKVWork*n]
		for t := r.from; t < r.to; t++ {
			at, to := t*width+h*n, t*width+(h+1)*n
			memory.Row(e.floats(s.Out)[at:to], in[0][at:to], in[1][at:to], in[2][at:to], in[3][at:to], in[4][at:to], h, state, room)
		}
	})
	return nil
}
