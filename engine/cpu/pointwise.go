package cpu

import (
	"fmt"

	"quern/engine/graph"
	"quern/kernels/vec"
)

// Ops that change each value by itself, or by its like.

func (e *exec) scale(op graph.Scale, s graph.Step) error {
	e.pointwise(s, func(dst, x []float32) { vec.Scale(dst, x, op.By) })
	return nil
}

func (e *exec) softCap(op graph.SoftCap, s graph.Step) error {
	e.pointwise(s, func(dst, x []float32) { vec.SoftCap(dst, x, op.Limit) })
	return nil
}

func (e *exec) clamp(op graph.Clamp, s graph.Step) error {
	e.pointwise(s, func(dst, x []float32) { vec.Clamp(dst, x, op.Limit) })
	return nil
}

func (e *exec) xielu(op graph.XIELU, s graph.Step) error {
	e.pointwise(s, func(dst, x []float32) { vec.XIELU(dst, x, op.Positive, op.Negative, op.Beta, op.Epsilon) })
	return nil
}

func (e *exec) activate(op graph.Activate, s graph.Step) error {
	switch op.Act {
	case graph.Sigmoid:
		e.pointwise(s, vec.Sigmoid)
		return nil
	case graph.Tanh:
		e.pointwise(s, vec.Tanh)
		return nil
	}
	act, err := activation(op.Act)
	if err != nil {
		return err
	}
	e.pointwise(s, func(dst, x []float32) { act(dst, x, nil) })
	return nil
}

func (e *exec) gate(op graph.Gate, s graph.Step) error {
	act, err := activation(op.Act)
	if err != nil {
		return err
	}
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(s.Out)
		for r := r0; r < r1; r++ { // row by row: see vec
			act(e.floats(s.Out)[r*n:(r+1)*n], e.floats(s.In[0])[r*n:(r+1)*n], e.floats(s.In[1])[r*n:(r+1)*n])
		}
	})
	return nil
}

func (e *exec) weigh(_ graph.Weigh, s graph.Step) error {
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(s.Out)
		vec.Weigh(e.floats(s.Out)[r0*n:r1*n], e.floats(s.In[0])[r0*n:r1*n], e.floats(s.In[1])[r0:r1])
	})
	return nil
}

// activation returns the kernel of a: it writes a(x) · up, and a nil up, where
// a may stand alone, is ones.
func activation(a graph.Act) (func(dst, x, up []float32), error) {
	switch a {
	case graph.SiLU:
		return vec.SiLUGate, nil
	case graph.GELU:
		return vec.GELU, nil
	case graph.GELUTanh:
		return vec.GELUTanh, nil
	case graph.SwiGLUClamped:
		return vec.SwiGLUClamped, nil
	case graph.Sigmoid:
		return vec.SigmoidGate, nil
	case graph.Product:
		return vec.Multiply, nil
	case graph.ReLU:
		return vec.ReLU, nil
	case graph.SquaredReLU:
		return vec.SquaredReLU, nil
	}
	return nil, fmt.Errorf("cpu: no kernel for activation %v", a)
}

// pointwise adds a step that does f for every row.
func (e *exec) pointwise(s graph.Step, f func(dst, x []float32)) {
	e.byRow(s.Out, func(r0, r1 int) {
		n := e.width(s.Out)
		for r := r0; r < r1; r++ {
			f(e.floats(s.Out)[r*n:(r+1)*n], e.floats(s.In[0])[r*n:(r+1)*n])
		}
	})
}
