package cpu

import (
	"fmt"

	"quern/engine/graph"
	"quern/kernels/attention"
	"quern/kernels/conv"
	"quern/kernels/gemm"
	"quern/kernels/threads"
	"quern/kernels/vec"
)

// conv adds a convolution over time. Rows of the batch that belong to one
// sequence are convolved together.
func (e *exec) conv(op graph.Conv1D, s graph.Step) error {
	out, in, taps := op.Weight.Shape[0], op.Weight.Shape[1], op.Weight.Shape[2]
	stored := make([]float32, op.Weight.Elems())
	op.Weight.Type.Layout().Decode(stored, op.Weight.Data)
	w := make([]float32, len(stored)) // (out, taps, in)
	for o := range out {
		for i := range in {
			for t := range taps {
				w[(o*taps+t)*in+i] = stored[(o*in+i)*taps+t]
			}
		}
	}
	c := conv.NewConv(w, out, taps, in, conv.ConvOptions{
		Stride: op.Stride, Left: taps / 2, Right: taps / 2, Bias: e.vector(op.Bias),
	})
	wide, narrow := e.width(s.In[0]), e.width(s.Out)
	e.steps = append(e.steps, func() {
		dst, x := e.floats(s.Out), e.floats(s.In[0])
		for r0, seq := 0, e.in.Seq; r0 < len(seq); {
			r1 := r0 + 1
			for r1 < len(seq) && seq[r1] == seq[r0] {
				r1++
			}
			c.Run(e.b.pool, dst[r0*narrow:r1*narrow], x[r0*wide:r1*wide], (r1-r0)*op.Steps, false)
			r0 = r1
		}
	})
	return nil
}

// panelColumns is how many columns of a result a worker computes at a time in
// encode. Their weights are decoded and packed just before, which over the rows
// of an encoder costs little and keeps no second copy of the model in memory.
const panelColumns = 128

// panels is what one worker packs weights into.
type panels struct {
	decoded []float32
	packed  map[[2]int]*gemm.Panels // by rows and columns
}

func (p *panels) of(n, k int) *gemm.Panels {
	key := [2]int{n, k}
	w := p.packed[key]
	if w == nil {
		if p.packed == nil {
			p.packed = make(map[[2]int]*gemm.Panels)
		}
		w = gemm.NewPanels(n, k)
		p.packed[key] = w
	}
	if len(p.decoded) < n*k {
		p.decoded = make([]float32, n*k)
	}
	return w
}

// encodeLinear adds a Linear of an encoder: the weights become float32 whatever
// their type, and so do products.
func (e *exec) encodeLinear(op graph.Linear, s graph.Step) error {
	w, bias := op.Weight, e.vector(op.Bias)
	out, in := w.Shape[0], w.Shape[1]
	row, ok := w.Type.Size(in)
	if !ok {
		return fmt.Errorf("cpu: rows of %d of %s are no whole blocks of %v", in, w.Name, w.Type)
	}
	if e.panels == nil {
		e.panels = make([]panels, e.b.pool.Workers())
	}
	decode := w.Type.Layout().Decode
	region := &threads.Region{F: func(worker, c int) {
		j := c * panelColumns
		n := min(panelColumns, out-j)
		p := &e.panels[worker]
		packed := p.of(n, in)
		decode(p.decoded[:n*in], w.Data[j*row:(j+n)*row])
		packed.PackRows(p.decoded, in)
		var b []float32
		if bias != nil {
			b = bias[j : j+n]
		}
		gemm.Multiply(e.floats(s.Out)[j:], out, e.floats(s.In[0]), in, e.rows(s.In[0]), packed, b, false)
	}}
	e.steps = append(e.steps, func() { e.b.pool.Run((out+panelColumns-1)/panelColumns, region) })
	return nil
}

func (e *exec) store(op graph.Store, s graph.Step) error {
	x := s.In[0]
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(x)
		copy(e.floats(s.Out)[r0*n:r1*n], e.floats(x)[r0*n:r1*n])
	})
	e.put(op.Layer, s.In[1], s.In[2])
	return nil
}

// denseAttention attends over the whole batch. Layers share the buffers of packed keys
// and values.
func (e *exec) denseAttention(op graph.DenseAttention, s graph.Step) error {
	key := [2]int{op.Heads, op.HeadDim}
	a := e.dense[key]
	if a == nil {
		if e.dense == nil {
			e.dense = make(map[[2]int]*attention.DenseAttention)
		}
		a = attention.NewDenseAttention(op.Heads, op.HeadDim)
		e.dense[key] = a
	}
	q, k, v, width := s.In[0], s.In[1], s.In[2], op.Heads*op.HeadDim
	e.steps = append(e.steps, func() {
		rows := e.rows(q)
		a.Pack(e.b.pool, e.floats(k), e.floats(v), width, rows)
		a.Run(e.b.pool, e.floats(s.Out), width, e.floats(q), width, rows, op.Scale)
	})
	return nil
}

// crossAttention attends to whole memories. Rows of one memory, the beams of a
// window or the tokens of its prompt, read it together.
func (e *exec) crossAttention(op graph.CrossAttention, s graph.Step) error {
	e.batchAttention(op.Heads, op.Heads, op.HeadDim, op.Layer, s, attention.AttendOptions{Scale: op.Scale}, func(row, _ int) attention.Query {
		return attention.Query{Table: e.in.Memory[e.in.Seq[row]], End: op.Tokens}
	})
	return nil
}

func (e *exec) crossScores(op graph.CrossScores, s graph.Step) error {
	q, n := s.In[0], op.HeadDim
	region := &threads.Region{F: func(_, c int) {
		r, h := c/len(op.Of), op.Of[c%len(op.Of)]
		dst := e.floats(s.Out)[c*op.Tokens : (c+1)*op.Tokens]
		x := e.floats(q)[(r*op.Heads+h)*n : (r*op.Heads+h+1)*n]
		in := e.kv.layers[op.Layer]
		in.kv.Scores(dst, x, in.layer, h, e.in.Memory[e.in.Seq[r]])
		vec.Scale(dst, dst, op.Scale)
	}}
	e.steps = append(e.steps, func() { e.b.pool.Run(e.rows(q)*len(op.Of), region) })
	return nil
}
