package run

import "quern/engine/onnx/internal/tensor"

// A Grid is a result and operands that broadcast to it, with as few dimensions
// as say where their elements lie: neighbours that are read in one stretch are
// one dimension. Where operands are broadcast the last one has a step of 0 or 1.
type Grid struct {
	shape []int
	steps [][]int // by operand and dimension
}

// NewGrid is a grid of operands that broadcast to out.
func NewGrid(out []int, shapes ...[]int) *Grid {
	all := make([][]int, len(shapes))
	for i, s := range shapes {
		all[i] = tensor.SpreadSteps(s, out)
	}
	return gridOf(out, all...)
}

// gridOf is a grid of operands read with any steps.
func gridOf(out []int, all ...[]int) *Grid {
	g := &Grid{steps: make([][]int, len(all))}
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

// Rows calls f for stretches of n elements of the result from at, with where
// each operand starts and steps; on the pool where there is much to do. f must
// not panic.
func (g *Grid) Rows(c *Call, f func(at, n int, from, step []int)) {
	last := len(g.shape) - 1
	width := g.shape[last]
	step := make([]int, len(g.steps))
	for i := range step {
		step[i] = g.steps[i][last]
	}
	if last == 0 {
		c.ByRows(width, 1, func(from, to int) {
			start := make([]int, len(step))
			for i := range start {
				start[i] = from * step[i]
			}
			f(from, to-from, start, step)
		})
		return
	}
	c.ByRows(tensor.Count(g.shape[:last]), width, func(from, to int) {
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

// Zip computes one element of the result from one of a and one of b.
func Zip[T, R any](c *Call, g *Grid, dst []R, a, b []T, f func(a, b T) R) {
	g.Rows(c, func(at, n int, from, step []int) {
		row, a, b := dst[at:at+n], a[from[0]:], b[from[1]:]
		sa, sb := step[0], step[1]
		for i := range row {
			row[i] = f(a[i*sa], b[i*sb])
		}
	})
}

// View returns a tensor of shape whose element at a position is that of t at
// base + Σ position·step: a transposed, sliced or repeated t. All of these must
// lie in t.
func (c *Call) View(t *tensor.Tensor, base int, shape, step []int) *tensor.Tensor {
	out := c.Blank(t.Type, shape...)
	if out.Len() > 0 {
		g := gridOf(shape, step)
		lay(c, g, out.F, t.F, base)
		lay(c, g, out.D, t.D, base)
		lay(c, g, out.I, t.I, base)
		lay(c, g, out.S, t.S, base)
	}
	return out
}

func lay[T any](c *Call, g *Grid, dst, src []T, base int) {
	if len(dst) == 0 {
		return
	}
	if last := len(g.shape) - 1; last > 0 && g.steps[0][last] != 0 && g.steps[0][last] != 1 && g.steps[0][last-1] == 1 {
		turn(c, g, dst, src, base)
		return
	}
	g.Rows(c, func(at, n int, from, step []int) {
		row, i, by := dst[at:at+n], base+from[0], step[0]
		switch by {
		case 0:
			row[0] = src[i]
			for done := 1; done < n; done *= 2 {
				copy(row[done:], row[:done])
			}
			return
		case 1:
			copy(row, src[i:])
			return
		}
		for k := range row {
			row[k] = src[i]
			i += by
		}
	})
}

// band is how many rows of a transposed matrix are written side by side: what is read of a
// line of the other is written at once, and the rows, whose starts may be a page apart, stay in
// a first-level cache.
const band = 8

// turn is lay of matrices that are transposed: elements of a row are apart, those of a column
// are neighbours.
func turn[T any](c *Call, g *Grid, dst, src []T, base int) {
	last := len(g.shape) - 1
	outer, h, w := g.shape[:last-1], g.shape[last-1], g.shape[last]
	steps, by := g.steps[0], g.steps[0][last]
	bands := (h + band - 1) / band
	c.ByRows(tensor.Count(outer)*bands, band*w, func(from, to int) {
		for b := from; b < to; b++ {
			matrix, r := b/bands, b%bands*band
			i := base + r
			for d, rest := len(outer)-1, matrix; d >= 0; d-- {
				i += rest % outer[d] * steps[d]
				rest /= outer[d]
			}
			turnBand(dst[(matrix*h+r)*w:][:min(band, h-r)*w], src, w, i, by)
		}
	})
}

// turnBand writes rows of w elements, of which src has those of a column side by side: the first
// from i on, the next by elements further on.
func turnBand[T any](dst, src []T, w, i, by int) {
	n := len(dst) / w
	if n < band {
		for k := range w {
			for j, v := range src[i+k*by:][:n] {
				dst[j*w+k] = v
			}
		}
		return
	}
	r0, r1, r2, r3 := dst[:w], dst[w:][:w], dst[2*w:][:w], dst[3*w:][:w]
	r4, r5, r6, r7 := dst[4*w:][:w], dst[5*w:][:w], dst[6*w:][:w], dst[7*w:][:w]
	for k := range r0 {
		s := (*[band]T)(src[i+k*by:])
		r0[k], r1[k], r2[k], r3[k] = s[0], s[1], s[2], s[3]
		r4[k], r5[k], r6[k], r7[k] = s[4], s[5], s[6], s[7]
	}
}

// Permuted is a transposed x, read as having another shape before.
func (c *Call) Permuted(x *tensor.Tensor, shape []int, perm ...int) *tensor.Tensor {
	all := tensor.Strides(shape)
	to, step := make([]int, len(perm)), make([]int, len(perm))
	for i, p := range perm {
		to[i], step[i] = shape[p], all[p]
	}
	return c.View(x.As(shape...), 0, to, step)
}
