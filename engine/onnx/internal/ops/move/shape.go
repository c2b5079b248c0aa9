package move

import (
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

func shapeOf(c *run.Call) []*tensor.Tensor {
	if c.In[0] == nil || c.In[0].Seq != nil {
		tensor.Malformed("shape of no tensor")
	}
	s := c.In[0].Shape
	r := len(s)
	bound := func(v int) int {
		if v < 0 {
			v += r
		}
		return min(max(v, 0), r)
	}
	from, to := bound(c.Int("start", 0)), bound(c.Int("end", r))
	return run.One(tensor.Ints(s[from:max(from, to)]...))
}

func reshape(c *run.Call) []*tensor.Tensor {
	x, shape := c.X(0), c.List("shape", 1)
	shape = append([]int{}, shape...)
	open, n := -1, 1
	for i, d := range shape {
		if d == 0 && c.Int("allowzero", 0) == 0 {
			if i >= len(x.Shape) {
				tensor.Malformed("shape %d as %d", x.Shape, shape)
			}
			shape[i] = x.Shape[i]
		}
		if d == -1 && open < 0 {
			open = i
			shape[i] = 1
		}
	}
	if open >= 0 {
		if n = tensor.Count(shape); n == 0 || x.Len()%n != 0 {
			tensor.Malformed("shape %d as %d", x.Shape, shape)
		}
		shape[open] = x.Len() / n
	}
	return run.One(x.As(shape...))
}

func flatten(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	return run.One(x.As(tensor.Cut(x.Shape, c.Int("axis", 1))))
}

func squeeze(c *run.Call) []*tensor.Tensor {
	x, axes := c.X(0), c.List("axes", 1)
	drop := make(map[int]bool)
	for _, a := range axes {
		a = tensor.Axis(a, len(x.Shape))
		if x.Shape[a] != 1 {
			tensor.Malformed("shape %d squeezed at %d", x.Shape, a)
		}
		drop[a] = true
	}
	var shape []int
	for i, d := range x.Shape {
		if !drop[i] && (axes != nil || d != 1) {
			shape = append(shape, d)
		}
	}
	return run.One(x.As(shape...))
}

func unsqueeze(c *run.Call) []*tensor.Tensor {
	x, axes := c.X(0), c.List("axes", 1)
	r := len(x.Shape) + len(axes)
	if r > tensor.MaxRank {
		tensor.Unsupported("rank %d", r)
	}
	shape := make([]int, r)
	for _, a := range axes {
		if a = tensor.Axis(a, r); shape[a] != 0 {
			tensor.Malformed("axis %d twice", a)
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
	return run.One(x.As(shape...))
}

func transpose(c *run.Call) []*tensor.Tensor {
	x, perm := c.X(0), c.List("perm", -1)
	r := len(x.Shape)
	if perm == nil {
		for i := range r {
			perm = append(perm, r-1-i)
		}
	}
	sorted := slices.Sorted(slices.Values(perm))
	shape, step, all := make([]int, r), make([]int, r), tensor.Strides(x.Shape)
	for i := range r {
		if len(perm) != r || sorted[i] != i {
			tensor.Malformed("permutation %d of rank %d", perm, r)
		}
		shape[i], step[i] = x.Shape[perm[i]], all[perm[i]]
	}
	return run.One(c.View(x, 0, shape, step))
}

func concat(c *run.Call) []*tensor.Tensor {
	c.X(0)
	return run.One(Joined(c, c.All(), c.Int("axis", 0)))
}

func slice(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	starts, ends, axes, steps := c.List("starts", 1), c.List("ends", 2), c.List("axes", 3), c.List("steps", 4)
	base, shape, step := 0, slices.Clone(x.Shape), tensor.Strides(x.Shape)
	if len(starts) != len(ends) || axes != nil && len(axes) != len(starts) || steps != nil && len(steps) != len(starts) || axes == nil && len(starts) > len(shape) {
		tensor.Malformed("slice from %d to %d of axes %d by %d", starts, ends, axes, steps)
	}
	for i, from := range starts {
		a, by, to := tensor.Axis(tensor.PickOr(axes, i, i), len(shape)), tensor.PickOr(steps, i, 1), ends[i]
		n := x.Shape[a]
		if by == 0 {
			tensor.Malformed("slice by 0")
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
	return run.One(c.View(x, base, shape, step))
}

func splitInto(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	at := tensor.Axis(c.Int("axis", 0), len(x.Shape))
	sizes, n := c.List("split", 1), x.Shape[at]
	if sizes == nil {
		parts := max(1, c.Int("num_outputs", len(c.Node.Outputs)))
		size := (n + parts - 1) / parts
		for i := range min(parts, len(c.Node.Outputs)) {
			sizes = append(sizes, max(0, min(size, n-i*size)))
		}
	}
	var out []*tensor.Tensor
	from := 0
	for _, size := range sizes {
		if size < 0 || size > n-from {
			tensor.Malformed("shape %d split into %d", x.Shape, sizes)
		}
		out = append(out, Part(c, x, at, from, size))
		from += size
	}
	return out
}

func gather(c *run.Call) []*tensor.Tensor {
	x, index := c.X(0), c.X(1)
	at := tensor.Axis(c.Int("axis", 0), len(x.Shape))
	n, list := x.Shape[at], index.List()
	for i, v := range list {
		if v < 0 {
			v += n
		}
		if v < 0 || v >= n {
			tensor.Malformed("index %d of %d", list[i], n)
		}
		list[i] = v
	}
	return run.One(takeAlong(c, x, at, list, index.Shape...))
}

func expand(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	shape := tensor.Broadcast(x.Shape, c.X(1).List())
	return run.One(c.View(x, 0, shape, tensor.SpreadSteps(x.Shape, shape)))
}
