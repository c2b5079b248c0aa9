package onnx

// A grid is a result and operands that broadcast to it, with as few dimensions
// as say where their elements lie: neighbours that are read in one stretch are
// one dimension. Where operands are broadcast the last one has a step of 0 or 1.
type grid struct {
	shape []int
	steps [][]int // by operand and dimension
}

func newGrid(out []int, shapes ...[]int) *grid {
	all := make([][]int, len(shapes))
	for i, s := range shapes {
		all[i] = spreadSteps(s, out)
	}
	return gridOf(out, all...)
}

// gridOf is a grid of operands read with any steps.
func gridOf(out []int, all ...[]int) *grid {
	g := &grid{steps: make([][]int, len(all))}
	for d, n := range out {
		if n == 1 {
			continue
		}
		last := len(g.shape) - 1
		joins := last >= 0
		for i := range all {
			joins = joins && g.steps[i][last] == all[i][d]*n
		}
		if joins {
			g.shape[last] *= n
		} else {
			g.shape = append(g.shape, n)
			last++
		}
		for i := range all {
			if joins {
				g.steps[i][last] = all[i][d]
			} else {
				g.steps[i] = append(g.steps[i], all[i][d])
			}
		}
	}
	if len(g.shape) == 0 {
		g.shape = []int{1}
		for i := range g.steps {
			g.steps[i] = []int{0}
		}
	}
	return g
}

// rows calls f for stretches of n elements of the result from at, with where
// each operand starts and steps; on the pool where there is much to do. f must
// not panic.
func (g *grid) rows(c *call, f func(at, n int, from, step []int)) {
	last := len(g.shape) - 1
	width := g.shape[last]
	step := make([]int, len(g.steps))
	for i := range step {
		step[i] = g.steps[i][last]
	}
	if last == 0 {
		c.byRows(width, 1, func(from, to int) {
			start := make([]int, len(step))
			for i := range start {
				start[i] = from * step[i]
			}
			f(from, to-from, start, step)
		})
		return
	}
	c.byRows(count(g.shape[:last]), width, func(from, to int) {
		pos, start := make([]int, last), make([]int, len(step))
		rest := from
		for d := last - 1; d >= 0; d-- {
			pos[d] = rest % g.shape[d]
			rest /= g.shape[d]
			for i := range start {
				start[i] += pos[d] * g.steps[i][d]
			}
		}
		for row := from; row < to; row++ {
			f(row*width, width, start, step)
			for d := last - 1; d >= 0; d-- {
				pos[d]++
				for i := range start {
					start[i] += g.steps[i][d]
				}
				if pos[d] < g.shape[d] {
					break
				}
				for i := range start {
					start[i] -= g.steps[i][d] * g.shape[d]
				}
				pos[d] = 0
			}
		}
	})
}

// zip computes one element of the result from one of a and one of b.
func zip[T, R any](c *call, g *grid, dst []R, a, b []T, f func(a, b T) R) {
	g.rows(c, func(at, n int, from, step []int) {
		row, a, b := dst[at:at+n], a[from[0]:], b[from[1]:]
		sa, sb := step[0], step[1]
		for i := range row {
			row[i] = f(a[i*sa], b[i*sb])
		}
	})
}

// view returns a tensor of shape whose element at a position is that of t at
// base + Σ position·step: a transposed, sliced or repeated t. All of these must
// lie in t.
func (c *call) view(t *Tensor, base int, shape, step []int) *Tensor {
	out := c.blank(t.Type, shape...)
	if out.len() > 0 {
		g := gridOf(shape, step)
		lay(c, g, out.F, t.F, base)
		lay(c, g, out.D, t.D, base)
		lay(c, g, out.I, t.I, base)
		lay(c, g, out.S, t.S, base)
	}
	return out
}

func lay[T any](c *call, g *grid, dst, src []T, base int) {
	if len(dst) == 0 {
		return
	}
	g.rows(c, func(at, n int, from, step []int) {
		row, i, by := dst[at:at+n], base+from[0], step[0]
		if by == 1 {
			copy(row, src[i:])
			return
		}
		for k := range row {
			row[k] = src[i]
			i += by
		}
	})
}

// permuted is a transposed x, read as having another shape before.
func (c *call) permuted(x *Tensor, shape []int, perm ...int) *Tensor {
	all := strides(shape)
	to, step := make([]int, len(perm)), make([]int, len(perm))
	for i, p := range perm {
		to[i], step[i] = shape[p], all[p]
	}
	return c.view(x.as(shape...), 0, to, step)
}
