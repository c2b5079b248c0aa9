package onnx

import (
	"math"

	"quern/formats/onnx"
)

// makerOps make tensors of little or nothing.
func makerOps() table {
	return table{
		"Constant": constant, "ConstantOfShape": constantOfShape, "Range": numberRange, "EyeLike": eyeLike,
	}
}

func constant(c *call) []*Tensor {
	for name := range c.n.Attrs {
		a := c.attr(name)
		if a == nil {
			continue
		}
		switch name {
		case "value":
			if a.T == nil {
				fail("%w: a constant without value", onnx.ErrFormat)
			}
			t := c.constant(a.T)
			return []*Tensor{t}
		case "sparse_value":
			if a.Sparse == nil {
				fail("%w: a constant without value", onnx.ErrFormat)
			}
			return []*Tensor{dense(a.Sparse)}
		case "value_float":
			t := newTensor(onnx.Float)
			t.F[0] = a.F
			return []*Tensor{t}
		case "value_floats":
			t := newTensor(onnx.Float, len(a.Floats))
			copy(t.F, a.Floats)
			return []*Tensor{t}
		case "value_int":
			return []*Tensor{ints(int(a.I)).as()}
		case "value_ints":
			return []*Tensor{ints(c.list(name, -1)...)}
		case "value_string":
			t := newTensor(onnx.String)
			t.S[0] = a.S
			return []*Tensor{t}
		case "value_strings":
			t := newTensor(onnx.String, len(a.Strings))
			copy(t.S, a.Strings)
			return []*Tensor{t}
		}
	}
	fail("%w: a constant without value", onnx.ErrFormat)
	return nil
}

// dense writes a sparse tensor out. The reader has checked its indices.
func dense(s *onnx.Sparse) *Tensor {
	values := fromFile(s.Values)
	indices := fromFile(s.Indices)
	values = values.whole()
	out := newTensor(values.Type, s.Shape...)
	step := strides(s.Shape)
	for i := range values.len() {
		at := 0
		if len(indices.Shape) == 1 {
			at = int(indices.I[i])
		} else {
			for d, n := range step {
				at += n * int(indices.I[i*len(step)+d])
			}
		}
		copyElems(out, at, values, i, 1)
	}
	return out
}

func constantOfShape(c *call) []*Tensor {
	fill := newTensor(onnx.Float)
	if a := c.attr("value"); a != nil && a.T != nil {
		t := fromFile(a.T)
		fill = t.whole().scalar()
	}
	out := c.blank(fill.Type, c.x(0).list()...)
	for i := range out.F {
		out.F[i] = fill.F[0]
	}
	for i := range out.D {
		out.D[i] = fill.D[0]
	}
	for i := range out.I {
		out.I[i] = fill.I[0]
	}
	for i := range out.S {
		out.S[i] = fill.S[0]
	}
	return []*Tensor{out}
}

// numberRange counts from start, included, to limit, not included.
func numberRange(c *call) []*Tensor {
	start, limit, delta := c.x(0).scalar(), c.x(1).scalar(), c.x(2).scalar()
	if start.Type != limit.Type || start.Type != delta.Type {
		fail("%w: Range from %v to %v by %v", onnx.ErrFormat, start.Type, limit.Type, delta.Type)
	}
	by := delta.at(0)
	n := math.Ceil((limit.at(0) - start.at(0)) / by)
	if by == 0 || math.IsNaN(n) || n > maxElems {
		fail("%w: Range from %v to %v by %v", onnx.ErrFormat, start.at(0), limit.at(0), by)
	}
	out := c.blank(start.Type, int(max(n, 0)))
	for i := range out.I {
		out.I[i] = wrap(out.Type, start.I[0]+int64(i)*delta.I[0])
	}
	for i := range out.F {
		out.put(i, start.at(0)+float64(i)*by)
	}
	for i := range out.D {
		out.D[i] = start.D[0] + float64(i)*by
	}
	return []*Tensor{out}
}

func eyeLike(c *call) []*Tensor {
	x := c.x(0)
	if len(x.Shape) != 2 {
		fail("%w: EyeLike of shape %d", onnx.ErrFormat, x.Shape)
	}
	t := x.Type
	if a := c.attr("dtype"); a != nil {
		t = onnx.DType(a.I)
	}
	if t.Bits() == 0 {
		fail("%w: EyeLike of %v", onnx.ErrUnsupported, t)
	}
	out, k := c.zeros(t, x.Shape...), c.int("k", 0)
	for i := range x.Shape[0] {
		if j := i + k; j >= 0 && j < x.Shape[1] {
			out.put(i*x.Shape[1]+j, 1)
		}
	}
	return []*Tensor{out}
}
