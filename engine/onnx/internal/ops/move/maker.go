package move

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

func constant(c *run.Call) []*tensor.Tensor {
	for name := range c.Node.Attrs {
		a := c.Attr(name)
		if a == nil {
			continue
		}
		switch name {
		case "value":
			if a.T == nil {
				tensor.Malformed("a constant without value")
			}
			return run.One(c.Constant(a.T))
		case "sparse_value":
			if a.Sparse == nil {
				tensor.Malformed("a constant without value")
			}
			return run.One(dense(c, a.Sparse))
		case "value_float":
			t := tensor.New(onnx.Float)
			t.F[0] = a.F
			return run.One(t)
		case "value_floats":
			t := tensor.New(onnx.Float, len(a.Floats))
			copy(t.F, a.Floats)
			return run.One(t)
		case "value_int":
			return run.One(tensor.Ints(int(a.I)).As())
		case "value_ints":
			return run.One(tensor.Ints(c.List(name, -1)...))
		case "value_string":
			t := tensor.New(onnx.String)
			t.S[0] = a.S
			return run.One(t)
		case "value_strings":
			t := tensor.New(onnx.String, len(a.Strings))
			copy(t.S, a.Strings)
			return run.One(t)
		}
	}
	tensor.Malformed("a constant without value")
	return nil
}

// dense writes a sparse tensor out. The reader has checked its indices.
func dense(c *run.Call, s *onnx.Sparse) *tensor.Tensor {
	values, indices := c.Of(s.Values).Whole(), tensor.Of(s.Indices)
	out := tensor.New(values.Type, s.Shape...)
	step := tensor.Strides(s.Shape)
	for i := range values.Len() {
		at := 0
		if len(indices.Shape) == 1 {
			at = int(indices.I[i])
		} else {
			for d, n := range step {
				at += n * int(indices.I[i*len(step)+d])
			}
		}
		tensor.CopyElems(out, at, values, i, 1)
	}
	return out
}

func constantOfShape(c *run.Call) []*tensor.Tensor {
	fill := tensor.New(onnx.Float)
	if a := c.Attr("value"); a != nil && a.T != nil {
		fill = c.Of(a.T).Whole().Scalar()
	}
	shape := c.X(0).List()
	return run.One(c.View(fill, 0, shape, make([]int, len(shape))))
}

// numberRange counts from start, included, to limit, not included.
func numberRange(c *run.Call) []*tensor.Tensor {
	start, limit, delta := c.X(0).Scalar(), c.X(1).Scalar(), c.X(2).Scalar()
	if start.Type != limit.Type || start.Type != delta.Type {
		tensor.Malformed("Range from %v to %v by %v", start.Type, limit.Type, delta.Type)
	}
	by := delta.At(0)
	n := math.Ceil((limit.At(0) - start.At(0)) / by)
	if by == 0 || math.IsNaN(n) || n > tensor.MaxElems {
		tensor.Malformed("Range from %v to %v by %v", start.At(0), limit.At(0), by)
	}
	out := c.Blank(start.Type, int(max(n, 0)))
	for i := range out.I {
		out.I[i] = tensor.Wrap(out.Type, start.I[0]+int64(i)*delta.I[0])
	}
	for i := range out.F {
		out.Put(i, start.At(0)+float64(i)*by)
	}
	for i := range out.D {
		out.D[i] = start.D[0] + float64(i)*by
	}
	return run.One(out)
}

func eyeLike(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	if len(x.Shape) != 2 {
		tensor.Malformed("EyeLike of shape %d", x.Shape)
	}
	t := c.DType(x.Type)
	if t.Bits() == 0 {
		tensor.Unsupported("EyeLike of %v", t)
	}
	out, k := c.Zeros(t, x.Shape...), c.Int("k", 0)
	for i := range x.Shape[0] {
		if j := i + k; j >= 0 && j < x.Shape[1] {
			out.Put(i*x.Shape[1]+j, 1)
		}
	}
	return run.One(out)
}
