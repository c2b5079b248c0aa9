package onnx

import (
	"slices"

	"quern/formats/onnx"
)

// argBest returns where the largest (sign 1) or smallest (-1) along an axis is.
func (c *call) argBest(sign int) *Tensor {
	x := c.x(0)
	if len(x.Shape) == 0 {
		return newTensor(onnx.Int64)
	}
	a := axis(c.int("axis", 0), len(x.Shape))
	outer, n, inner := split(x.Shape, a)
	shape := slices.Clone(x.Shape)
	if shape[a] = 1; c.int("keepdims", 1) == 0 {
		shape = slices.Delete(shape, a, a+1)
	}
	last := c.int("select_last_index", 0) != 0
	out := c.blank(onnx.Int64, shape...)
	if out.len() > 0 && n == 0 {
		fail("%w: %s of shape %d", onnx.ErrFormat, c.n.Op, x.Shape)
	}
	order := x.order()
	c.byRows(outer*inner, n, func(from, to int) {
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
func (c *call) running(f pairwise) *Tensor {
	x, at := c.x(0), c.x(1).scalar().list()[0]
	if x.S != nil || x.Seq != nil {
		fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, x.Type)
	}
	outer, n, inner := split(x.Shape, axis(at, len(x.Shape)))
	exclusive, reverse := c.int("exclusive", 0) != 0, c.int("reverse", 0) != 0
	// The neutral element: 1 of a product (1·1 = 1), 0 of a sum (1+1 = 2).
	start := 2 - f.i(1, 1)
	out := c.blank(x.Type, x.Shape...)
	c.byRows(outer*inner, n, func(from, to int) {
		for r := from; r < to; r++ {
			base, by := r/inner*n*inner+r%inner, inner
			if reverse {
				base, by = base+(n-1)*inner, -inner
			}
			d, i := float64(start), start
			for k := range n {
				p := base + k*by
				if x.I != nil {
					next := wrap(x.Type, f.i(i, x.I[p]))
					if out.I[p] = next; exclusive {
						out.I[p] = i
					}
					i = next
					continue
				}
				next := f.d(d, x.at(p))
				if exclusive {
					out.put(p, d)
				} else {
					out.put(p, next)
				}
				d = next
			}
		}
	})
	return out
}

// hardmax is 1 for the first of the largest along an axis, before opset 13 over
// all dimensions from the axis on, and 0 elsewhere.
func hardmax(c *call) []*Tensor {
	x := c.x(0)
	outer, n, inner := 1, 1, 1
	switch a := c.int("axis", -1); {
	case c.opset < 13:
		if a = c.int("axis", 1); a < 0 {
			a += len(x.Shape)
		}
		if a < 0 || a > len(x.Shape) {
			fail("%w: axis %d of rank %d", onnx.ErrFormat, a, len(x.Shape))
		}
		outer, n = count(x.Shape[:a]), count(x.Shape[a:])
	case len(x.Shape) > 0:
		outer, n, inner = split(x.Shape, axis(a, len(x.Shape)))
	}
	out := c.zeros(x.Type, x.Shape...)
	if out.len() == 0 {
		return one(out)
	}
	order := x.order()
	for r := range outer * inner {
		base, best := r/inner*n*inner+r%inner, 0
		for i := 1; i < n; i++ {
			if order(base+i*inner, base+best*inner) > 0 {
				best = i
			}
		}
		out.put(base+best*inner, 1)
	}
	return one(out)
}
