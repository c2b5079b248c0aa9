package cpu

import (
	"quern/engine/graph"
	"quern/kernels/vec"
)

func (e *exec) blend(op graph.Blend, s graph.Step) error {
	x, y, c := e.width(s.In[0]), e.width(s.In[1]), e.width(s.In[2])
	e.byRow(s.Out, func(r0, r1 int) {
		for r := r0; r < r1; r++ {
			vec.Blend(e.floats(s.Out)[r*x:(r+1)*x], e.floats(s.In[0])[r*x:(r+1)*x], e.floats(s.In[1])[r*y:(r+1)*y], e.floats(s.In[2])[r*c:(r+1)*c], x/op.Streams)
		}
	})
	return nil
}

func (e *exec) matchRMS(op graph.MatchRMS, s graph.Step) error {
	e.byRow(s.Out, func(r0, r1 int) {
		n, own := e.width(s.Out), e.width(s.In[1])
		for at := r0 * n; at < r1*n; at += own {
			y := at / n * own
			vec.MatchRMS(e.floats(s.Out)[at:at+own], e.floats(s.In[0])[at:at+own], e.floats(s.In[1])[y:y+own], op.Eps)
		}
	})
	return nil
}

func (e *exec) sparsify(op graph.Sparsify, s graph.Step) error {
	e.pointwise(s, func(dst, x []float32) { vec.Sparsify(dst, x, op.Deviations) })
	return nil
}

func (e *exec) times(op graph.Times, s graph.Step) error {
	v := e.vector(op.Vector)
	e.pointwise(s, func(dst, x []float32) { vec.Mul(dst, x, v) })
	return nil
}
