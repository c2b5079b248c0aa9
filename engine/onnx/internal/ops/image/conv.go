package image

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
	"quern/kernels/vec"
)

// A Convolution is the shapes of x (batch, groups · in, space…) and w
// (groups · out, in, kernel…).
type Convolution struct {
	window
	Batch, Groups, InC, OutC int
}

// NewConvolution checks the shapes and attributes of a convolution.
func NewConvolution(c *run.Call, x, w *tensor.Tensor) Convolution {
	if len(w.Shape) < 3 || len(w.Shape) != len(x.Shape) {
		tensor.Malformed("%s of shapes %d and %d", c.Node.Op, x.Shape, w.Shape)
	}
	kernel := w.Shape[2:]
	if k := c.List("kernel_shape", -1); k != nil && !slices.Equal(k, kernel) {
		tensor.Malformed("kernel_shape %d of weights of shape %d", k, w.Shape)
	}
	v := Convolution{window: slide(c, x, kernel, false), Batch: x.Shape[0], Groups: c.Int("group", 1), InC: w.Shape[1]}
	if v.Groups < 1 || w.Shape[0]%v.Groups != 0 || v.InC < 1 || x.Shape[1] != v.Groups*v.InC {
		tensor.Malformed("%s of shapes %d and %d in %d groups", c.Node.Op, x.Shape, w.Shape, v.Groups)
	}
	v.OutC = w.Shape[0] / v.Groups
	return v
}

// An Ending is done to the results of a convolution of float32, channel by channel: they are
// multiplied by By, Add is added, and they are no less than Floor. nil is 1, and 0. The bias
// is not among it.
type Ending struct {
	By, Add []float32
	Floor   float32
}

// noEnding changes nothing.
var noEnding = Ending{Floor: float32(math.Inf(-1))}

// with is the ending behind a bias, which may be nil.
func (e Ending) with(bias []float32) Ending {
	if bias == nil {
		return e
	}
	add := slices.Clone(bias)
	for i := range add {
		if e.By != nil {
			add[i] *= e.By[i]
		}
		if e.Add != nil {
			add[i] += e.Add[i]
		}
	}
	e.Add = add
	return e
}

// finish does it to results of a channel.
func (e *Ending) finish(row []float32, channel int) {
	by, add := float32(1), float32(0)
	if e.By != nil {
		by = e.By[channel]
	}
	if e.Add != nil {
		add = e.Add[channel]
	}
	if by != 1 || add != 0 || !math.IsInf(float64(e.Floor), -1) {
		vec.Affine(row, row, by, add, e.Floor)
	}
}

func conv(c *run.Call) []*tensor.Tensor { return run.One(Convolve(c, c.Node, noEnding)) }

// Convolve is Conv, whose node n stands for the attributes and whose inputs are the first
// three of c. e is of use for float32 only.
func Convolve(c *run.Call, n *onnx.Node, e Ending) *tensor.Tensor {
	as := *c
	c, as.Node = &as, n
	x, w, bias := c.X(0), c.X(1), c.Opt(2)
	v := NewConvolution(c, x, w)
	if x.Type != w.Type || x.S != nil || bias != nil && (bias.Type != x.Type || bias.Len() != w.Shape[0]) {
		tensor.Malformed("%v and %v convolved", x.Type, w.Type)
	}
	out := c.Blank(x.Type, v.Shape(v.Batch, w.Shape[0])...)
	if out.Len() == 0 {
		return out
	}
	var b tensor.Tensor
	if bias != nil {
		b = *bias
	}
	switch {
	case x.F == nil && x.D != nil:
		convolveAny(c, out.D, x.D, w.D, b.D, &v)
	case x.F == nil:
		convolveAny(c, out.I, x.I, w.I, b.I, &v)
	case v.InC == 1 && v.OutC < 4:
		convolveEach(c, out.F, x.F, w.F, &v, e.with(b.F))
	default:
		convolve(c, out.F, x.F, w.F, &v, e.with(b.F))
	}
	return tensor.Rounded(out)
}

const (
	// tileElems is about how many elements of columns are multiplied at a time:
	// with their packed copy they stay in the second-level cache.
	tileElems = 1 << 17
	minTile   = 64
	maxTile   = 1024
)

// tile returns how many steps of rows elements are done together.
func (v *Convolution) tile(rows, workers int) int {
	steps := Volume(v.Out)
	n := min(max(tileElems/rows, minTile), maxTile)
	if jobs := v.Batch * v.Groups; jobs < 2*workers {
		n = min(n, (steps*jobs+2*workers-1)/(2*workers))
	}
	return max(16, n/16*16)
}

// convolve multiplies the weights with the columns of each group, a tile of
// steps at a time.
func convolve(c *run.Call, dst, x, w []float32, v *Convolution, e Ending) {
	steps, plane := Volume(v.Out), Volume(v.In)
	rows := v.InC * Volume(v.Kernel)
	size := v.tile(rows, c.Pool().Workers())
	tiles := (steps + size - 1) / size
	type scratch struct {
		panels gemm.Panels
		line   []float32
	}
	all := make([]scratch, c.Pool().Workers())
	c.SpreadOut(v.Batch*v.Groups*tiles, func(worker, i int) {
		s := &all[worker]
		from := i % tiles * size
		to := min(steps, from+size)
		image := i / tiles // batch and group
		g, n := image%v.Groups, to-from
		src := x[image*v.InC*plane:][:v.InC*plane]
		s.panels.Resize(n, rows)
		if v.plain() {
			s.panels.PackColumns(src[from:], plane)
		} else {
			if len(s.line) < n {
				s.line = make([]float32, n)
			}
			eachTap(s.line[:n], src, v.InC, &v.window, from, s.panels.PackColumn)
		}
		out := dst[image*v.OutC*steps+from:]
		gemm.Multiply(out, steps, w[g*v.OutC*rows:], rows, v.OutC, &s.panels, nil, false)
		for o := range v.OutC {
			e.finish(out[o*steps:][:n], g*v.OutC+o)
		}
	})
}

// convolveEach sums taps one by one, for groups of one channel.
func convolveEach(c *run.Call, dst, x, w []float32, v *Convolution, e Ending) {
	steps, plane, taps := Volume(v.Out), Volume(v.In), Volume(v.Kernel)
	c.ByRows(v.Batch*v.Groups*v.OutC, steps*taps, func(from, to int) {
		for i := from; i < to; i++ {
			ch := i % (v.Groups * v.OutC)
			out, src := dst[i*steps:(i+1)*steps], x[i/v.OutC*plane:][:plane]
			clear(out)
			filter := w[ch*taps:][:taps]
			v.joinLines(out, src, func(dst, line []float32, by, tap int) { addLine(dst, line, filter[tap], by) })
			e.finish(out, ch)
		}
	})
}

// addLine adds f times every by-th element of line.
func addLine(dst, line []float32, f float32, by int) {
	if by == 1 {
		line = line[:len(dst)]
		for i, v := range line {
			dst[i] += f * v
		}
		return
	}
	for i := range dst {
		dst[i] += f * line[i*by]
	}
}

// convolveAny is convolve of doubles and integers.
func convolveAny[T float64 | int64](c *run.Call, dst, x, w, bias []T, v *Convolution) {
	steps, plane := Volume(v.Out), Volume(v.In)
	rows := v.InC * Volume(v.Kernel)
	const size = 256
	tiles := (steps + size - 1) / size
	all := make([][]T, c.Pool().Workers())
	c.SpreadOut(v.Batch*v.Groups*tiles, func(worker, i int) {
		from := i % tiles * size
		to := min(steps, from+size)
		image := i / tiles
		g, n := image%v.Groups, to-from
		if len(all[worker]) < rows*n {
			all[worker] = make([]T, rows*n)
		}
		s := all[worker]
		columns(s, x[image*v.InC*plane:][:v.InC*plane], v.InC, &v.window, from, to)
		for o := range v.OutC {
			row := dst[(image*v.OutC+o)*steps+from:][:n]
			clear(row)
			if bias != nil {
				for k := range row {
					row[k] = bias[g*v.OutC+o]
				}
			}
			product.SlowProduct(row, w[(g*v.OutC+o)*rows:], s, 1, rows, n)
		}
	})
}
