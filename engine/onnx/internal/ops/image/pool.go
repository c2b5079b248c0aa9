package image

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/ops/reduce"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// global reduces every channel to one number.
func global(c *run.Call, f reduce.Reducer) *tensor.Tensor {
	x := c.X(0)
	if len(x.Shape) < 2 || x.F == nil && x.D == nil {
		tensor.Malformed("%s of %v of shape %d", c.Node.Op, x.Type, x.Shape)
	}
	shape := slices.Clone(x.Shape)
	for i := range shape[2:] {
		shape[2+i] = 1
	}
	out, n := c.Blank(x.Type, shape...), tensor.Count(x.Shape[2:])
	f.Fold(c, out, x, out.Len(), n, 1)
	return out
}

// steps calls f for every step of a window over planes of x, with the index of
// the step in the result and where in its plane of x the taps begin.
func steps(c *run.Call, w *window, planes int, f func(step, plane int, from, to [3]int)) {
	n := Volume(w.Out)
	cost := 1
	for d := range 3 {
		cost = min(run.PerChunk, cost*min(w.Kernel[d], w.In[d]+1))
	}
	c.ByRows(planes*n, cost, func(a, b int) {
		for i := a; i < b; i++ {
			var from, to [3]int
			rest := i % n
			for d := 2; d >= 0; d-- {
				from[d], to[d] = w.taps(d, rest%w.Out[d])
				at := rest%w.Out[d]*w.Stride[d] - w.Before[d]
				from[d], to[d] = at+from[d]*w.Dilation[d], at+to[d]*w.Dilation[d]
				rest /= w.Out[d]
			}
			f(i, i/n, from, to)
		}
	})
}

func pooled(c *run.Call) (x *tensor.Tensor, w window) {
	x = c.X(0)
	if x.S != nil || x.Seq != nil {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	return x, slide(c, x, c.List("kernel_shape", -1), c.Int("ceil_mode", 0) != 0)
}

// narrow reports whether most taps of a line meet the input: those that do not
// cost joinLines as much.
func (w *window) narrow() bool { return w.Kernel[2] <= max(64, 2*w.In[2]) }

func maxLine(dst, line []float32, by, _ int) {
	at := 0
	for i, v := range dst {
		// Padding is -∞ and NaN wins, as in IEEE 754's maximum.
		if u := line[at]; u > v || u != u {
			dst[i] = u
		}
		at += by
	}
}

// close reports whether a window sees few neighbours of a line that has no padding.
func (w *window) close() bool {
	return w.flat() && w.Kernel[2] > 1 && w.Kernel[2] <= 8 && w.Stride[2] <= 4
}

// flat reports whether a window sees whole stretches of a line that has no padding.
func (w *window) flat() bool {
	return w.Kernel[0] == 1 && w.Kernel[1] == 1 && w.Stride[0] == 1 && w.Stride[1] == 1 && w.Dilation[2] == 1 &&
		w.Before == [3]int{} && w.beyond == [3]int{} && (w.Out[2]-1)*w.Stride[2]+w.Kernel[2] <= w.In[2]
}

// maxNear is MaxPool of a plane by a window that is close: the largest from every element on,
// of which those are taken where a step begins. NaN wins.
func (w *window) maxNear(dst, x []float32) {
	const most = 256
	var near [4*most + 8]float32
	n, by, taps := w.Out[2], w.Stride[2], w.Kernel[2]
	for line := range len(dst) / n {
		dst, x := dst[line*n:][:n], x[line*w.In[2]:][:w.In[2]]
		for len(dst) > 0 {
			m := min(most, len(dst))
			top := near[:(m-1)*by+1]
			vec.Max(top, x[:len(top)], x[1:1+len(top)])
			for k := 2; k < taps; k++ {
				vec.Max(top, top, x[k:k+len(top)])
			}
			for i := range dst[:m] {
				dst[i] = top[i*by]
			}
			if dst = dst[m:]; len(dst) > 0 {
				x = x[m*by:]
			}
		}
	}
}

func maxPool(c *run.Call) []*tensor.Tensor {
	x, w := pooled(c)
	out := c.Blank(x.Type, w.Shape(x.Shape[0], x.Shape[1])...)
	if x.F != nil && w.narrow() && (len(c.Node.Outputs) < 2 || c.Node.Outputs[1] == "") {
		steps, plane := Volume(w.Out), Volume(w.In)
		c.ByRows(x.Shape[0]*x.Shape[1], steps*4, func(from, to int) {
			for p := from; p < to; p++ {
				dst, src := out.F[p*steps:(p+1)*steps], x.F[p*plane:(p+1)*plane]
				if w.close() {
					w.maxNear(dst, src)
					continue
				}
				tensor.Fill(dst, float32(math.Inf(-1)))
				w.joinLines(dst, src, maxLine)
			}
		})
		return run.One(out)
	}
	at := c.Blank(onnx.Int64, out.Shape...)
	columnMajor := c.Int("storage_order", 0) != 0
	plane := Volume(w.In)
	low, _ := tensor.Bounds(x.Type)
	order := x.Order()
	steps(c, &w, x.Shape[0]*x.Shape[1], func(step, p int, from, to [3]int) {
		best := -1
		for z := from[0]; z < to[0]; z += w.Dilation[0] {
			for y := from[1]; y < to[1]; y += w.Dilation[1] {
				line := p*plane + (z*w.In[1]+y)*w.In[2]
				if x.F != nil {
					for i := from[2]; i < to[2]; i += w.Dilation[2] {
						if best < 0 || x.F[line+i] > x.F[best] {
							best = line + i
						}
					}
					continue
				}
				for i := from[2]; i < to[2]; i += w.Dilation[2] {
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
				out.Put(step, math.Inf(-1))
			}
			return
		}
		tensor.CopyElems(out, step, x, best, 1)
		if columnMajor {
			in := best - p*plane
			z, y, i := in/w.In[2]/w.In[1], in/w.In[2]%w.In[1], in%w.In[2]
			switch w.rank {
			case 2:
				best = p*plane + i*w.In[1] + y
			case 3:
				best = p*plane + (i*w.In[1]+y)*w.In[0] + z
			}
		}
		at.I[step] = int64(best)
	})
	return []*tensor.Tensor{out, at}
}

// gathered sums f of what each step sees.
func gathered(c *run.Call, x *tensor.Tensor, w *window, end func(sum float64, seen int, step int) float64, f func(v float64) float64) *tensor.Tensor {
	out := c.Blank(x.Type, w.Shape(x.Shape[0], x.Shape[1])...)
	plane := Volume(w.In)
	steps(c, w, x.Shape[0]*x.Shape[1], func(step, p int, from, to [3]int) {
		sum, seen := 0.0, 0
		for z := from[0]; z < to[0]; z += w.Dilation[0] {
			for y := from[1]; y < to[1]; y += w.Dilation[1] {
				line := p*plane + (z*w.In[1]+y)*w.In[2]
				for i := from[2]; i < to[2]; i += w.Dilation[2] {
					sum += f(x.At(line + i))
					seen++
				}
			}
		}
		out.Put(step, end(sum, seen, step))
	})
	return out
}

func sumLine(dst, line []float32, by, _ int) {
	at := 0
	for i := range dst {
		dst[i] += line[at]
		at += by
	}
}

// long reports whether a window sees long stretches of lines.
func (w *window) long() bool {
	return w.Kernel[0] == 1 && w.Kernel[1] == 1 && w.Kernel[2] >= 32 && w.Dilation[2] == 1
}

// sumLong writes the sums of what each step sees, of a plane and a window that is long.
func (w *window) sumLong(dst, x []float32) {
	for i := range dst {
		var from, to [3]int
		rest := i
		for d := 2; d >= 0; d-- {
			a, b := w.taps(d, rest%w.Out[d])
			at := rest%w.Out[d]*w.Stride[d] - w.Before[d]
			from[d], to[d] = at+a, at+b
			rest /= w.Out[d]
		}
		if dst[i] = 0; from[0] < to[0] && from[1] < to[1] && from[2] < to[2] {
			line := (from[0]*w.In[1] + from[1]) * w.In[2]
			dst[i] = vec.Sum(x[line+from[2] : line+to[2]])
		}
	}
}

// seen returns how many elements a step sees.
func (w *window) seen(step int) int {
	n := 1
	for d := 2; d >= 0; d-- {
		a, b := w.taps(d, step%w.Out[d])
		n *= b - a
		step /= w.Out[d]
	}
	return n
}

func averagePool(c *run.Call) []*tensor.Tensor {
	x, w := pooled(c)
	n := Volume(w.Out)
	all := c.Int("count_include_pad", 0) != 0
	padded := w // as if the padding were input
	for d := range 3 {
		padded.In[d] += w.Before[d] + w.beyond[d]
		padded.Before[d] = 0
	}
	if !all {
		padded = w
	}
	if x.F != nil && w.narrow() {
		plane, out := Volume(w.In), c.Zeros(x.Type, w.Shape(x.Shape[0], x.Shape[1])...)
		share := c.Blank(onnx.Float, n).F // of each element a step sees
		for i := range share {
			share[i] = 1 / float32(max(1, padded.seen(i)))
		}
		c.ByRows(x.Shape[0]*x.Shape[1], n*4, func(from, to int) {
			for p := from; p < to; p++ {
				dst, src := out.F[p*n:(p+1)*n], x.F[p*plane:(p+1)*plane]
				if w.long() {
					w.sumLong(dst, src)
				} else {
					w.joinLines(dst, src, sumLine)
				}
				for i, v := range share {
					dst[i] *= v
				}
			}
		})
		return run.One(tensor.Rounded(out))
	}
	end := func(sum float64, _, step int) float64 { return sum / float64(max(1, padded.seen(step%n))) }
	return run.One(gathered(c, x, &w, end, func(v float64) float64 { return v }))
}

func lpPool(c *run.Call) []*tensor.Tensor {
	x, w := pooled(c)
	p := float64(c.Int("p", 2))
	return run.One(gathered(c, x, &w, func(sum float64, _, _ int) float64 { return reduce.Root(sum, p) },
		func(v float64) float64 { return reduce.Power(math.Abs(v), p) }))
}

// maxUnpool puts what MaxPool chose back where it was.
func maxUnpool(c *run.Call) []*tensor.Tensor {
	x, index, want := c.X(0), c.X(1), c.Opt(2)
	if x.Len() != index.Len() || index.I == nil && index.Len() > 0 {
		tensor.Malformed("indices of shape %d for %d", index.Shape, x.Shape)
	}
	w := spatial(c, x, c.List("kernel_shape", -1), c.List("pads", -1))
	shape := slices.Clone(x.Shape)
	for d := range shape[2:] {
		at := d + 3 - w.rank
		shape[2+d] = max(0, (x.Shape[2+d]-1)*w.Stride[at]+w.Kernel[at]-w.Before[at]-w.beyond[at])
	}
	// Indices are those of the shape that would be without output_shape.
	from, size := tensor.Strides(shape), tensor.Count(shape)
	to := from
	if want != nil {
		wide := want.List()
		if len(wide) != len(shape) || wide[0] != shape[0] || wide[1] != shape[1] {
			tensor.Malformed("shape %d unpooled as %d", x.Shape, wide)
		}
		for d, n := range wide {
			if n < shape[d] {
				tensor.Malformed("shape %d unpooled as %d", x.Shape, wide)
			}
		}
		shape, to = wide, tensor.Strides(wide)
	}
	out := c.Zeros(x.Type, shape...)
	for i, v := range index.I {
		rest, at := tensor.Inside(v, size), 0
		for d, s := range from {
			at += rest / s * to[d]
			rest %= s
		}
		tensor.CopyElems(out, at, x, i, 1)
	}
	return run.One(out)
}
