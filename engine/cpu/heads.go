package cpu

import (
	"fmt"

	"quern/engine/graph"
	"quern/kernels/dot"
	"quern/kernels/quant"
	"quern/kernels/threads"
)

func (e *exec) headCut(op graph.HeadCut, s graph.Step) error {
	from, to := e.width(s.In[0])/op.Heads, op.To-op.From
	e.byRow(s.In[0], func(r0, r1 int) {
		x, dst := e.floats(s.In[0]), e.floats(s.Out)
		for h := r0 * op.Heads; h < r1*op.Heads; h++ {
			copy(dst[h*to:(h+1)*to], x[h*from+op.From:])
		}
	})
	return nil
}

func (e *exec) headJoin(op graph.HeadJoin, s graph.Step) error {
	a, b := e.width(s.In[0])/op.Heads, e.width(s.In[1])/op.Heads
	e.byRow(s.Out, func(r0, r1 int) {
		x, y, dst := e.floats(s.In[0]), e.floats(s.In[1]), e.floats(s.Out)
		for h := r0 * op.Heads; h < r1*op.Heads; h++ {
			copy(dst[h*(a+b):], x[h*a:(h+1)*a])
			copy(dst[h*(a+b)+a:], y[h*b:(h+1)*b])
		}
	})
	return nil
}

// headRows is how many weight rows a chunk of a headLinear takes.
const headRows = 64

// headLinear takes the heads apart by strides: a head's rows are a matrix in x and in the
// result. A row's bits do not depend on the batch, which is that of dot.Rows.
func (e *exec) headLinear(op graph.HeadLinear, s graph.Step) error {
	w := op.Weight
	heads, out, in := w.Shape[0], w.Shape[1], w.Shape[2]
	row, ok := w.Type.Size(in)
	if !ok {
		return fmt.Errorf("cpu: rows of %d of %s are no whole blocks of %v", in, w.Name, w.Type)
	}
	x, with := s.In[0], w.Type.Layout().With
	head, stride := 4*in, 4*in*heads // bytes of a head of x, and of its row
	acts := func() []byte { return quant.Floats(e.floats(x)) }
	if with != quant.F32 {
		head = quant.ActBytes(with, in)
		stride = head * heads
		quantised := make([]byte, e.p.Values[x].Shape[0]*stride)
		e.byRow(x, func(r0, r1 int) {
			for h := r0 * heads; h < r1*heads; h++ {
				quant.Quantize(quantised[h*head:(h+1)*head], with, e.floats(x)[h*in:(h+1)*in], in)
			}
		})
		acts = func() []byte { return quantised }
	}
	chunks := (out + headRows - 1) / headRows // of a head
	region := &threads.Region{F: func(_, c int) {
		h, r := c/chunks, c%chunks*headRows
		n := min(headRows, out-r)
		at := (h*out + r) * row
		dot.Rows(w.Type, e.floats(s.Out)[h*out+r:], heads*out, w.Data[at:at+n*row], n, in, acts()[h*head:], stride, e.rows(x))
	}}
	e.steps = append(e.steps, func() {
		if e.rows(x) > 0 { // wanted rows may be none
			e.b.pool.Run(heads*chunks, region)
		}
	})
	return nil
}
