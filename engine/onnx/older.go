package onnx

import (
	"slices"

	"quern/formats/onnx"
)

// aligned are the operators whose second input an attribute aligned with the
// first, before opset 7.
var aligned = []string{"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater"}

// older makes operators run calls of opset 6 too.
func older(ops table) table {
	for _, name := range aligned {
		ops[name] = before7(ops[name], (*call).align)
	}
	ops["PRelu"] = before7(ops["PRelu"], (*call).alignSlope)
	return ops
}

func before7(f op, change func(*call)) op {
	return func(c *call) []*Tensor {
		if c.opset < 7 {
			change(c)
		}
		return f(c)
	}
}

// align puts the dimensions of the second input where the attribute axis says
// that they are among those of the first. Without it they are the last ones, as
// numpy has it.
func (c *call) align() {
	if c.int("broadcast", 0) == 0 || c.attr("axis") == nil {
		return
	}
	a, b := c.x(0), c.x(1)
	at := c.int("axis", 0)
	if at < 0 {
		at += len(a.Shape)
	}
	after := len(a.Shape) - at - len(b.Shape)
	if b.len() == 1 {
		c.in[1] = b.as()
		return
	}
	if at < 0 || after < 0 {
		fail("%w: %s of shapes %d and %d at axis %d", onnx.ErrFormat, c.n.Op, a.Shape, b.Shape, at)
	}
	c.in[1] = b.as(append(slices.Clone(b.Shape), ones(after)...)...)
}

// alignSlope puts the slopes of PRelu, one a channel, at dimension 1.
func (c *call) alignSlope() {
	x, slope := c.x(0), c.x(1)
	switch {
	case slope.len() == 1:
		c.in[1] = slope.as()
	case len(slope.Shape) == 1 && len(x.Shape) > 2 && slope.len() == x.Shape[1]:
		c.in[1] = slope.as(append([]int{slope.len()}, ones(len(x.Shape)-2)...)...)
	}
}
