package onnx

import (
	"slices"

	"quern/formats/onnx"
)

// shapeOps are what every exported transformer needs of shapes.
// moveTable are operators that make tensors of little, or move their elements.
func moveTable() table { return join(makerOps(), shapeOps(), movementOps()) }

func shapeOps() table {
	return table{
		"Shape": shapeOf, "Size": func(c *call) []*Tensor { return one(ints(c.in[0].len()).as()) },
		"Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
		"Transpose": transpose, "Concat": concat, "Slice": slice, "Split": splitInto, "Gather": gather, "Expand": expand,
	}
}

func shapeOf(c *call) []*Tensor {
	if c.in[0] == nil || c.in[0].Seq != nil {
		fail("%w: shape of no tensor", onnx.ErrFormat)
	}
	s := c.in[0].Shape
	r := len(s)
	bound := func(v int) int {
		if v < 0 {
			v += r
		}
		return min(max(v, 0), r)
	}
	from, to := bound(c.int("start", 0)), bound(c.int("end", r))
	return one(ints(s[from:max(from, to)]...))
}

func reshape(c *call) []*Tensor {
	x, shape := c.x(0), c.list("shape", 1)
	shape = append([]int{}, shape...)
	open, n := -1, 1
	for i, d := range shape {
		if d == 0 && c.int("allowzero", 0) == 0 {
			if i >= len(x.Shape) {
				fail("%w: shape %d as %d", onnx.ErrFormat, x.Shape, shape)
			}
			shape[i] = x.Shape[i]
		}
		if d == -1 && open < 0 {
			open = i
			shape[i] = 1
		}
	}
	if open >= 0 {
		if n = count(shape); n == 0 || x.len()%n != 0 {
			fail("%w: shape %d as %d", onnx.ErrFormat, x.Shape, shape)
		}
		shape[open] = x.len() / n
	}
	return one(x.as(shape...))
}

func flatten(c *call) []*Tensor {
	x, a := c.x(0), c.int("axis", 1)
	if a < 0 {
		a += len(x.Shape)
	}
	if a < 0 || a > len(x.Shape) {
		fail("%w: axis %d of rank %d", onnx.ErrFormat, a, len(x.Shape))
	}
	return one(x.as(count(x.Shape[:a]), count(x.Shape[a:])))
}

func squeeze(c *call) []*Tensor {
	x, axes := c.x(0), c.list("axes", 1)
	drop := make(map[int]bool)
	for _, a := range axes {
		a = axis(a, len(x.Shape))
		if x.Shape[a] != 1 {
			fail("%w: shape %d squeezed at %d", onnx.ErrFormat, x.Shape, a)
		}
		drop[a] = true
	}
	var shape []int
	for i, d := range x.Shape {
		if !drop[i] && (axes != nil || d != 1) {
			shape = append(shape, d)
		}
	}
	return one(x.as(shape...))
}

func unsqueeze(c *call) []*Tensor {
	x, axes := c.x(0), c.list("axes", 1)
	r := len(x.Shape) + len(axes)
	if r > maxRank {
		fail("%w: rank %d", onnx.ErrUnsupported, r)
	}
	shape := make([]int, r)
	for _, a := range axes {
		if a = axis(a, r); shape[a] != 0 {
			fail("%w: axis %d twice", onnx.ErrFormat, a)
		}
		shape[a] = -1
	}
	from := 0
	for i := range shape {
		if shape[i] == -1 {
			shape[i] = 1
		} else {
			shape[i] = x.Shape[from]
			from++
		}
	}
	return one(x.as(shape...))
}

func transpose(c *call) []*Tensor {
	x, perm := c.x(0), c.list("perm", -1)
	r := len(x.Shape)
	if perm == nil {
		for i := range r {
			perm = append(perm, r-1-i)
		}
	}
	sorted := slices.Sorted(slices.Values(perm))
	shape, step, all := make([]int, r), make([]int, r), strides(x.Shape)
	for i := range r {
		if len(perm) != r || sorted[i] != i {
			fail("%w: permutation %d of rank %d", onnx.ErrFormat, perm, r)
		}
		shape[i], step[i] = x.Shape[perm[i]], all[perm[i]]
	}
	return one(c.view(x, 0, shape, step))
}

func concat(c *call) []*Tensor {
	c.x(0)
	return one(c.joined(c.all(), c.int("axis", 0)))
}

func slice(c *call) []*Tensor {
	x := c.x(0)
	starts, ends, axes, steps := c.list("starts", 1), c.list("ends", 2), c.list("axes", 3), c.list("steps", 4)
	base, shape, step := 0, slices.Clone(x.Shape), strides(x.Shape)
	if len(starts) != len(ends) || axes != nil && len(axes) != len(starts) || steps != nil && len(steps) != len(starts) || axes == nil && len(starts) > len(shape) {
		fail("%w: slice from %d to %d of axes %d by %d", onnx.ErrFormat, starts, ends, axes, steps)
	}
	for i, from := range starts {
		a, by, to := axis(pickOr(axes, i, i), len(shape)), pickOr(steps, i, 1), ends[i]
		n := x.Shape[a]
		if by == 0 {
			fail("%w: slice by 0", onnx.ErrFormat)
		}
		limit := func(v, lo, hi int) int {
			if v < 0 {
				v += n
			}
			return min(max(v, lo), hi)
		}
		if by > 0 {
			from, to = limit(from, 0, n), limit(to, 0, n)
			shape[a] = max(0, (to-from+by-1)/by)
			if by > n {
				shape[a] = min(max(to-from, 0), 1)
			}
		} else {
			from, to = limit(from, 0, n-1), limit(to, -1, n-1)
			shape[a] = max(0, (from-to-by-1)/-by)
			if by < -n {
				shape[a] = min(max(from-to, 0), 1)
			}
		}
		if shape[a] > 0 {
			base += from * step[a]
		}
		step[a] *= by
	}
	return one(c.view(x, base, shape, step))
}

func splitInto(c *call) []*Tensor {
	x := c.x(0)
	at := axis(c.int("axis", 0), len(x.Shape))
	sizes, n := c.list("split", 1), x.Shape[at]
	if sizes == nil {
		parts := max(1, c.int("num_outputs", len(c.n.Outputs)))
		size := (n + parts - 1) / parts
		for i := range min(parts, len(c.n.Outputs)) {
			sizes = append(sizes, max(0, min(size, n-i*size)))
		}
	}
	var out []*Tensor
	from := 0
	for _, size := range sizes {
		if size < 0 || size > n-from {
			fail("%w: shape %d split into %d", onnx.ErrFormat, x.Shape, sizes)
		}
		out = append(out, c.part(x, at, from, size))
		from += size
	}
	return out
}

func gather(c *call) []*Tensor {
	x, index := c.x(0), c.x(1)
	at := axis(c.int("axis", 0), len(x.Shape))
	n, list := x.Shape[at], index.list()
	for i, v := range list {
		if v < 0 {
			v += n
		}
		if v < 0 || v >= n {
			fail("%w: index %d of %d", onnx.ErrFormat, list[i], n)
		}
		list[i] = v
	}
	return one(c.along(x, at, list, index.Shape...))
}

func expand(c *call) []*Tensor {
	x := c.x(0)
	shape := broadcast(x.Shape, c.x(1).list())
	return one(c.view(x, 0, shape, spreadSteps(x.Shape, shape)))
}
