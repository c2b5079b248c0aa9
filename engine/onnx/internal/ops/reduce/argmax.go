package reduce

import (
	"slices"

	"quern/engine/onnx/internal/ops/element"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// argBest returns where the largest (sign 1) or smallest (-1) along an axis is.
func argBest(c *run.Call, sign int) *tensor.Tensor {
	x := c.X(0)
	if len(x.Shape) == 0 {
		return tensor.New(onnx.Int64)
	}
	a := tensor.Axis(c.Int("axis", 0), len(x.Shape))
	outer, n, inner := tensor.Split(x.Shape, a)
	shape := slices.Clone(x.Shape)
	if shape[a] = 1; c.Int("keepdims", 1) == 0 {
		shape = slices.Delete(shape, a, a+1)
	}
	last := c.Int("select_last_index", 0) != 0
	out := c.Blank(onnx.Int64, shape...)
	if out.Len() > 0 && n == 0 {
		tensor.Malformed("%s of shape %d", c.Node.Op, x.Shape)
	}
	order := x.Order()
	c.ByRows(outer*inner, n, func(from, to int) {
		for r := from; r < to; r++ {
			base, best := r/inner*n*inner+r%inner, 0
			if x.F != nil && inner == 1 && sign > 0 && !last {
				row := x.F[base : base+n]
				top := row[0]
				for i, v := range row {
					if v > top {
						top, best = v, i
					}
				}
			} else {
				for i := 1; i < n; i++ {
					if o := sign * order(base+i*inner, base+best*inner); o > 0 || o == 0 && last {
						best = i
					}
				}
			}
			out.I[r] = int64(best)
		}
	})
	return out
}

// running joins the elements of an axis up to each, from its end with reverse,
// without the element itself with exclusive.
func running(c *run.Call, f element.Pairwise) *tensor.Tensor {
	x, at := c.X(0), c.X(1).Scalar().List()[0]
	if x.S != nil || x.Seq != nil {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	outer, n, inner := tensor.Split(x.Shape, tensor.Axis(at, len(x.Shape)))
	exclusive, reverse := c.Int("exclusive", 0) != 0, c.Int("reverse", 0) != 0
	// The neutral element: 1 of a product (1·1 = 1), 0 of a sum (1+1 = 2).
	start := 2 - f.I(1, 1)
	out := c.Blank(x.Type, x.Shape...)
	c.ByRows(outer*inner, n, func(from, to int) {
		for r := from; r < to; r++ {
			base, by := r/inner*n*inner+r%inner, inner
			if reverse {
				base, by = base+(n-1)*inner, -inner
			}
			d, i := float64(start), start
			for k := range n {
				p := base + k*by
				if x.I != nil {
					next := tensor.Wrap(x.Type, f.I(i, x.I[p]))
					if out.I[p] = next; exclusive {
						out.I[p] = i
					}
					i = next
					continue
				}
				next := f.D(d, x.At(p))
				if exclusive {
					out.Put(p, d)
				} else {
					out.Put(p, next)
				}
				d = next
			}
		}
	})
	return out
}
