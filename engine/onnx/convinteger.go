package onnx

import (
	"math"

	"quern/formats/onnx"
)

// shifted returns integers less their zero point: one for all, or with rows one
// for each of the first dimension.
func shifted(c *call, x, zero *Tensor, rows bool) []int64 {
	if x.I == nil {
		fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, x.Type)
	}
	out := c.blank(onnx.Int64, x.len()).I
	if zero == nil {
		copy(out, x.I)
		return out
	}
	per := len(out)
	if n := zero.len(); n != 1 {
		if !rows || n != x.Shape[0] {
			fail("%w: zero points of shape %d for %d", onnx.ErrFormat, zero.Shape, x.Shape)
		}
		per = count(x.Shape[1:])
	}
	for i, v := range x.I {
		out[i] = v - zero.I[i/per]
	}
	return out
}

func convInteger(c *call) []*Tensor {
	x, w := c.x(0), c.x(1)
	v := c.convolution(x, w)
	out := c.blank(onnx.Int32, v.shape(v.batch, w.Shape[0])...)
	if out.len() > 0 {
		convolveAny(c, out.I, shifted(c, x, c.opt(2), false), shifted(c, w, c.opt(3), true), nil, &v)
	}
	return one(out)
}

// linearConv is a convolution of quantised numbers, quantised again.
func linearConv(c *call) []*Tensor {
	x, w, scaleX, scaleW, scaleY, zeroY, bias := c.x(0), c.x(3), c.x(1), c.x(4), c.x(6), c.x(7), c.opt(8)
	v := c.convolution(x, w)
	m := w.Shape[0]
	if scaleX.len() != 1 || scaleW.len() != 1 && scaleW.len() != m || scaleY.len() != 1 || zeroY.len() != 1 || bias != nil && (bias.len() != m || bias.I == nil) {
		fail("%w: scales of shapes %d, %d and %d", onnx.ErrFormat, scaleX.Shape, scaleW.Shape, scaleY.Shape)
	}
	out := c.blank(zeroY.Type, v.shape(v.batch, m)...)
	if out.len() == 0 {
		return one(out)
	}
	var b []int64
	if bias != nil {
		b = bias.I
	}
	convolveAny(c, out.I, shifted(c, x, c.opt(2), false), shifted(c, w, c.opt(5), true), b, &v)
	low, high := bounds(out.Type)
	steps, zero := volume(v.out), zeroY.at(0)
	for i, sum := range out.I {
		scale := scaleX.at(0) * scaleW.at(i/steps%m%scaleW.len()) / scaleY.at(0)
		out.I[i] = int64(min(max(math.RoundToEven(float64(sum)*scale)+zero, low), high))
	}
	return one(out)
}
