package element

import (
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// aligned are the operators whose second input an attribute aligned with the
// first, before opset 7.
var aligned = []string{"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater"}

// older makes operators run calls of opset 6 too.
func older(ops run.Table) run.Table {
	for _, name := range aligned {
		ops[name] = before7(ops[name], align)
	}
	ops["PRelu"] = before7(ops["PRelu"], alignSlope)
	return ops
}

func before7(f run.Op, change func(*run.Call)) run.Op {
	return func(c *run.Call) []*tensor.Tensor {
		if c.Opset < 7 {
			change(c)
		}
		return f(c)
	}
}

// align puts the dimensions of the second input where the attribute axis says
// that they are among those of the first. Without it they are the last ones, as
// numpy has it.
func align(c *run.Call) {
	if c.Int("broadcast", 0) == 0 || c.Attr("axis") == nil {
		return
	}
	a, b := c.X(0), c.X(1)
	at := c.Int("axis", 0)
	if at < 0 {
		at += len(a.Shape)
	}
	after := len(a.Shape) - at - len(b.Shape)
	if b.Len() == 1 {
		c.In[1] = b.As()
		return
	}
	if at < 0 || after < 0 {
		tensor.Malformed("%s of shapes %d and %d at axis %d", c.Node.Op, a.Shape, b.Shape, at)
	}
	c.In[1] = b.As(append(slices.Clone(b.Shape), tensor.Ones(after)...)...)
}

// alignSlope puts the slopes of PRelu, one a channel, at dimension 1.
func alignSlope(c *run.Call) {
	x, slope := c.X(0), c.X(1)
	switch {
	case slope.Len() == 1:
		c.In[1] = slope.As()
	case len(slope.Shape) == 1 && len(x.Shape) > 2 && slope.Len() == x.Shape[1]:
		c.In[1] = slope.As(append([]int{slope.Len()}, tensor.Ones(len(x.Shape)-2)...)...)
	}
}
