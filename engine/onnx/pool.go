package onnx

import (
	"math"
	"slices"

	"quern/formats/onnx"
)

func poolOps() table {
	return table{
		"MaxPool": maxPool, "AveragePool": averagePool, "LpPool": lpPool, "MaxUnpool": maxUnpool, "MaxRoiPool": maxRoiPool,
		"GlobalMaxPool":     func(c *call) []*Tensor { return one(c.global(reducers["ReduceMax"])) },
		"GlobalAveragePool": func(c *call) []*Tensor { return one(c.global(reducers["ReduceMean"])) },
		"GlobalLpPool": func(c *call) []*Tensor {
			p := float64(c.int("p", 2))
			return one(c.global(reducer{d: func(row []float64) float64 { return norm(row, p) }}))
		},
	}
}

// global reduces every channel to one number.
func (c *call) global(f reducer) *Tensor {
	x := c.x(0)
	if len(x.Shape) < 2 || x.F == nil && x.D == nil {
		fail("%w: %s of %v of shape %d", onnx.ErrFormat, c.n.Op, x.Type, x.Shape)
	}
	shape := slices.Clone(x.Shape)
	for i := range shape[2:] {
		shape[2+i] = 1
	}
	out, n := c.blank(x.Type, shape...), count(x.Shape[2:])
	switch {
	case n == 0:
		f.empty(out)
	case x.F != nil && f.f != nil:
		c.byRows(out.len(), n, func(from, to int) {
			for r := from; r < to; r++ {
				out.F[r] = f.f(x.F[r*n : (r+1)*n])
			}
		})
	default:
		foldAny(c, f, out, x, n, 1)
	}
	return settle(out)
}

// steps calls f for every step of a window over planes of x, with the index of
// the step in the result and where in its plane of x the taps begin.
func (c *call) steps(w *window, planes int, f func(step, plane int, from, to [3]int)) {
	n := volume(w.out)
	cost := 1
	for d := range 3 {
		cost = min(perChunk, cost*min(w.kernel[d], w.in[d]+1))
	}
	c.byRows(planes*n, cost, func(a, b int) {
		for i := a; i < b; i++ {
			var from, to [3]int
			rest := i % n
			for d := 2; d >= 0; d-- {
				from[d], to[d] = w.taps(d, rest%w.out[d])
				at := rest%w.out[d]*w.stride[d] - w.before[d]
				from[d], to[d] = at+from[d]*w.dilation[d], at+to[d]*w.dilation[d]
				rest /= w.out[d]
			}
			f(i, i/n, from, to)
		}
	})
}

func (c *call) pooled() (x *Tensor, w window) {
	x = c.x(0)
	if x.S != nil || x.Seq != nil {
		fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, x.Type)
	}
	return x, c.slide(x, c.list("kernel_shape", -1), c.int("ceil_mode", 0) != 0)
}

// joinLines joins into each line of a plane of results what the taps see of a
// plane of x: f takes a line of results, one of x, and where the first element
// lies in it. There may be less than a whole line. The window must be narrow.
func (w *window) joinLines(dst, x []float32, f func(dst, line []float32, by int)) {
	for o0 := range w.out[0] {
		a0, b0 := w.taps(0, o0)
		for o1 := range w.out[1] {
			a1, b1 := w.taps(1, o1)
			row := dst[(o0*w.out[1]+o1)*w.out[2]:][:w.out[2]]
			for k0 := a0; k0 < b0; k0++ {
				z := o0*w.stride[0] - w.before[0] + k0*w.dilation[0]
				for k1 := a1; k1 < b1; k1++ {
					y := o1*w.stride[1] - w.before[1] + k1*w.dilation[1]
					line := x[(z*w.in[1]+y)*w.in[2]:][:w.in[2]]
					for k2 := range w.kernel[2] {
						first, by := k2*w.dilation[2]-w.before[2], w.stride[2]
						if lo, hi := stretch(len(row), len(line), first, by); lo < hi {
							f(row[lo:hi], line[first+lo*by:], by)
						}
					}
				}
			}
		}
	}
}

// narrow reports whether most taps of a line meet the input: those that do not
// cost joinLines as much.
func (w *window) narrow() bool { return w.kernel[2] <= max(64, 2*w.in[2]) }

func maxLine(dst, line []float32, by int) {
	at := 0
	for i, v := range dst {
		// Padding is -∞ and NaN wins, as in IEEE 754's maximum.
		if u := line[at]; u > v || u != u {
			dst[i] = u
		}
		at += by
	}
}

func maxPool(c *call) []*Tensor {
	x, w := c.pooled()
	out := c.blank(x.Type, w.shape(x.Shape[0], x.Shape[1])...)
	if x.F != nil && w.narrow() && (len(c.n.Outputs) < 2 || c.n.Outputs[1] == "") {
		steps, plane := volume(w.out), volume(w.in)
		c.byRows(x.Shape[0]*x.Shape[1], steps*4, func(from, to int) {
			for p := from; p < to; p++ {
				dst := out.F[p*steps : (p+1)*steps]
				fill(dst, float32(math.Inf(-1)))
				w.joinLines(dst, x.F[p*plane:(p+1)*plane], maxLine)
			}
		})
		return one(out)
	}
	at := c.blank(onnx.Int64, out.Shape...)
	columnMajor := c.int("storage_order", 0) != 0
	plane := volume(w.in)
	low, _ := bounds(x.Type)
	order := x.order()
	c.steps(&w, x.Shape[0]*x.Shape[1], func(step, p int, from, to [3]int) {
		best := -1
		for z := from[0]; z < to[0]; z += w.dilation[0] {
			for y := from[1]; y < to[1]; y += w.dilation[1] {
				line := p*plane + (z*w.in[1]+y)*w.in[2]
				if x.F != nil {
					for i := from[2]; i < to[2]; i += w.dilation[2] {
						if best < 0 || x.F[line+i] > x.F[best] {
							best = line + i
						}
					}
					continue
				}
				for i := from[2]; i < to[2]; i += w.dilation[2] {
					if best < 0 || order(line+i, best) > 0 {
						best = line + i
					}
				}
			}
		}
		if best < 0 { // padding alone
			if at.I[step] = -1; out.I != nil {
				out.I[step] = int64(low)
			} else {
				out.put(step, math.Inf(-1))
			}
			return
		}
		copyElems(out, step, x, best, 1)
		if columnMajor {
			in := best - p*plane
			z, y, i := in/w.in[2]/w.in[1], in/w.in[2]%w.in[1], in%w.in[2]
			switch w.rank {
			case 2:
				best = p*plane + i*w.in[1] + y
			case 3:
				best = p*plane + (i*w.in[1]+y)*w.in[0] + z
			}
		}
		at.I[step] = int64(best)
	})
	return []*Tensor{out, at}
}

// gathered sums f of what each step sees.
func (c *call) gathered(x *Tensor, w *window, end func(sum float64, seen int, step int) float64, f func(v float64) float64) *Tensor {
	out := c.blank(x.Type, w.shape(x.Shape[0], x.Shape[1])...)
	plane := volume(w.in)
	c.steps(w, x.Shape[0]*x.Shape[1], func(step, p int, from, to [3]int) {
		sum, seen := 0.0, 0
		for z := from[0]; z < to[0]; z += w.dilation[0] {
			for y := from[1]; y < to[1]; y += w.dilation[1] {
				line := p*plane + (z*w.in[1]+y)*w.in[2]
				for i := from[2]; i < to[2]; i += w.dilation[2] {
					sum += f(x.at(line + i))
					seen++
				}
			}
		}
		out.put(step, end(sum, seen, step))
	})
	return out
}

func sumLine(dst, line []float32, by int) {
	at := 0
	for i := range dst {
		dst[i] += line[at]
		at += by
	}
}

// seen returns how many elements a step sees.
func (w *window) seen(step int) int {
	n := 1
	for d := 2; d >= 0; d-- {
		a, b := w.taps(d, step%w.out[d])
		n *= b - a
		step /= w.out[d]
	}
	return n
}

func averagePool(c *call) []*Tensor {
	x, w := c.pooled()
	n := volume(w.out)
	all := c.int("count_include_pad", 0) != 0
	padded := w // as if the padding were input
	for d := range 3 {
		padded.in[d] += w.before[d] + w.beyond[d]
		padded.before[d] = 0
	}
	if !all {
		padded = w
	}
	if x.F != nil && w.narrow() {
		plane, out := volume(w.in), c.zeros(x.Type, w.shape(x.Shape[0], x.Shape[1])...)
		share := c.blank(onnx.Float, n).F // of each element a step sees
		for i := range share {
			share[i] = 1 / float32(max(1, padded.seen(i)))
		}
		c.byRows(x.Shape[0]*x.Shape[1], n*4, func(from, to int) {
			for p := from; p < to; p++ {
				dst := out.F[p*n : (p+1)*n]
				w.joinLines(dst, x.F[p*plane:(p+1)*plane], sumLine)
				for i, v := range share {
					dst[i] *= v
				}
			}
		})
		return one(settle(out))
	}
	end := func(sum float64, _, step int) float64 { return sum / float64(max(1, padded.seen(step%n))) }
	return one(c.gathered(x, &w, end, func(v float64) float64 { return v }))
}

func lpPool(c *call) []*Tensor {
	x, w := c.pooled()
	p := float64(c.int("p", 2))
	return one(c.gathered(x, &w, func(sum float64, _, _ int) float64 { return root(sum, p) },
		func(v float64) float64 { return power(math.Abs(v), p) }))
}

// maxUnpool puts what MaxPool chose back where it was.
func maxUnpool(c *call) []*Tensor {
	x, index, want := c.x(0), c.x(1), c.opt(2)
	if x.len() != index.len() || index.I == nil && index.len() > 0 {
		fail("%w: indices of shape %d for %d", onnx.ErrFormat, index.Shape, x.Shape)
	}
	w := c.spatial(x, c.list("kernel_shape", -1), c.list("pads", -1))
	shape := slices.Clone(x.Shape)
	for d := range shape[2:] {
		at := d + 3 - w.rank
		shape[2+d] = max(0, (x.Shape[2+d]-1)*w.stride[at]+w.kernel[at]-w.before[at]-w.beyond[at])
	}
	// Indices are those of the shape that would be without output_shape.
	from, size := strides(shape), count(shape)
	to := from
	if want != nil {
		wide := want.list()
		if len(wide) != len(shape) || wide[0] != shape[0] || wide[1] != shape[1] {
			fail("%w: shape %d unpooled as %d", onnx.ErrFormat, x.Shape, wide)
		}
		for d, n := range wide {
			if n < shape[d] {
				fail("%w: shape %d unpooled as %d", onnx.ErrFormat, x.Shape, wide)
			}
		}
		shape, to = wide, strides(wide)
	}
	out := c.zeros(x.Type, shape...)
	for i, v := range index.I {
		rest, at := inside(v, size), 0
		for d, s := range from {
			at += rest / s * to[d]
			rest %= s
		}
		copyElems(out, at, x, i, 1)
	}
	return one(out)
}
