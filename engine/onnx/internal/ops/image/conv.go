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

// An Ending is what is done to the results of a convolution of float32 while they lie in a
// cache: channel by channel they are multiplied by By, Add is added, then Side, and they are
// no less than Floor, and without a sign where Abs says so. nil is 1, and 0. The bias is not
// among it.
type Ending struct {
	By, Add []float32
	Side    *tensor.Tensor // of the shape of the result, or nil
	Floor   float32
	Abs     bool
}

// A Beginning is done to the input of a convolution whose filter sees single points: channel
// by channel it is multiplied by By, Add is added, and it is no less than Floor. A nil By is
// none.
type Beginning struct {
	By, Add []float32
	Floor   float32
}

// NoFloor is below every number.
var NoFloor = float32(math.Inf(-1))

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

// finish does it to results of a channel, which lie at a place in the tensor.
func (e *Ending) finish(row []float32, channel, at int) {
	by, add, floor := float32(1), float32(0), e.Floor
	if e.By != nil {
		by = e.By[channel]
	}
	if e.Add != nil {
		add = e.Add[channel]
	}
	if e.Side != nil {
		floor = NoFloor
	}
	if by != 1 || add != 0 || floor != NoFloor {
		vec.Affine(row, row, by, add, floor)
	}
	if e.Side != nil {
		vec.Add(row, row, e.Side.F[at:at+len(row)])
		if e.Floor != NoFloor {
			vec.Affine(row, row, 1, 0, e.Floor)
		}
	}
	if e.Abs {
		for i, v := range row {
			row[i] = math.Float32frombits(math.Float32bits(v) &^ (1 << 31))
		}
	}
}

func conv(c *run.Call) []*tensor.Tensor {
	return run.One(Convolve(c, c.Node, Beginning{}, Ending{Floor: NoFloor}))
}

// Convolve is Conv, whose node n stands for the attributes and whose inputs are the first
// three of c. b and e are of use for float32 only; nil says that they do not fit.
func Convolve(c *run.Call, n *onnx.Node, b Beginning, e Ending) *tensor.Tensor {
	as := *c
	c, as.Node = &as, n
	x, w, bias := c.X(0), c.X(1), c.Opt(2)
	v := NewConvolution(c, x, w)
	if x.Type != w.Type || x.S != nil || bias != nil && (bias.Type != x.Type || bias.Len() != w.Shape[0]) {
		tensor.Malformed("%v and %v convolved", x.Type, w.Type)
	}
	shape := v.Shape(v.Batch, w.Shape[0])
	if e.Side != nil && (e.Side.Type != onnx.Float || !slices.Equal(e.Side.Shape, shape)) || b.By != nil && (!v.plain() || len(b.By) != x.Shape[1]) {
		return nil
	}
	out := c.Blank(x.Type, shape...)
	if out.Len() == 0 {
		return out
	}
	var add tensor.Tensor
	if bias != nil {
		add = *bias
	}
	switch {
	case x.F == nil && x.D != nil:
		convolveAny(c, out.D, x.D, w.D, add.D, &v)
	case x.F == nil:
		convolveAny(c, out.I, x.I, w.I, add.I, &v)
	case v.InC == 1 && v.OutC < 4 && b.By == nil:
		convolveEach(c, out.F, x.F, w.F, &v, e.with(add.F))
	default:
		convolve(c, out.F, x.F, w.F, &v, b, e.with(add.F))
	}
	return tensor.Rounded(out)
}

const (
	// tileElems is about how many elements of columns, or of a field and results, are worked on at a
	// time: they stay in the second-level cache.
	tileElems = 1 << 17
	minTile   = 64
	maxTile   = 1024
)

// tile returns how many of steps are done together, of rows elements each.
func (v *Convolution) tile(rows, steps, workers int) int {
	n := min(max(tileElems/rows, minTile), maxTile)
	if jobs := v.Batch * v.Groups; jobs < 2*workers {
		n = min(n, (steps*jobs+2*workers-1)/(2*workers))
	}
	// Whole groups of four panels, which products take at a time.
	if n > 48 {
		return (n + 32) / 64 * 64
	}
	return max(16, n/16*16)
}

// convolve multiplies the weights with the columns of each group, a tile of
// steps at a time.
func convolve(c *run.Call, dst, x, w []float32, v *Convolution, b Beginning, e Ending) {
	if v.plain() && v.Groups == 1 && v.OutC*v.InC >= leastLarge {
		convolveLarge(c, dst, x, w, v, b, e)
		return
	}
	if f, ok := v.field(); ok {
		convolveField(c, dst, x, w, v, &f, e)
		return
	}
	steps, plane := Volume(v.Out), Volume(v.In)
	rows := v.InC * Volume(v.Kernel)
	workers := c.Pool().Workers()
	size := v.tile(rows, steps, workers)
	tiles := (steps + size - 1) / size
	// Of each worker: packed columns, and a line of them.
	each := gemm.PanelFloats(size, rows) + size
	scratch := c.Blank(onnx.Float, workers, each).F
	c.SpreadOut(v.Batch*v.Groups*tiles, func(worker, i int) {
		scratch := scratch[worker*each:][:each]
		from := i % tiles * size
		to := min(steps, from+size)
		image := i / tiles // batch and group
		g, n := image%v.Groups, to-from
		src := x[image*v.InC*plane:][:v.InC*plane]
		var panels gemm.Panels
		panels.Use(scratch[size:], n, rows)
		if v.plain() {
			b.pack(&panels, src[from:], plane, g*v.InC, 0, n)
		} else {
			eachTap(scratch[:n], src, v.InC, &v.window, from, panels.PackColumn)
		}
		out := dst[image*v.OutC*steps+from:]
		gemm.Multiply(out, steps, w[g*v.OutC*rows:], rows, v.OutC, &panels, nil, false)
		for o := range v.OutC {
			e.finish(out[o*steps:][:n], g*v.OutC+o, (image*v.OutC+o)*steps+from)
		}
	})
}

// pack takes n elements of each line of x, whose first belongs to a channel, for those from
// row on of the columns of a matrix.
func (b *Beginning) pack(p *gemm.Panels, x []float32, stride, channel, row, n int) {
	for i := range p.Columns() {
		by, add, floor := float32(1), float32(0), NoFloor
		if b.By != nil {
			by, add, floor = b.By[channel+i], b.Add[channel+i], b.Floor
		}
		p.PackAffine(i, row, x[i*stride:][:n], by, add, floor)
	}
}

// leastLarge is the weights from which they are better read from memory once than stay in the
// caches: a megabyte.
const leastLarge = 1 << 18

// convolveLarge is convolve by a large filter of single points: the columns of an image are
// packed first, then every worker multiplies rows of the weights with them.
func convolveLarge(c *run.Call, dst, x, w []float32, v *Convolution, b Beginning, e Ending) {
	steps, k := Volume(v.Out), v.InC
	var panels gemm.Panels
	panels.Use(c.Blank(onnx.Float, gemm.PanelFloats(steps, k)).F, steps, k)
	const size = 8 * gemm.PanelWidth
	for image := range v.Batch {
		src, out := x[image*k*steps:][:k*steps], dst[image*v.OutC*steps:][:v.OutC*steps]
		c.SpreadOut((steps+size-1)/size, func(_, i int) {
			b.pack(&panels, src[i*size:], steps, 0, i*size, min(size, steps-i*size))
		})
		p := gemm.Product{
			Dst: out, DstStride: steps, X: w, XStride: k, Rows: v.OutC,
			Taps: 1, K: k, W: panels.Data(), WStride: gemm.PanelWidth * k, N: steps,
		}
		// One worker needs chunks too: they are finished while they lie in a cache.
		o := gemm.CutProduct(&p, max(2, c.Pool().Workers()))
		c.SpreadOut(o.Chunks(), func(_, chunk int) {
			o.Chunk(&p, chunk)
			r, j := chunk/o.Across*o.Rows, chunk%o.Across*o.Columns
			for i := r; i < min(r+o.Rows, v.OutC); i++ {
				at := i*steps + j
				e.finish(out[at:at+min(o.Columns, steps-j)], i, image*v.OutC*steps+at)
			}
		})
	}
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
			e.finish(out, ch, i*steps)
		}
	})
}

// addLine adds f times every by-th element of line.
func addLine(dst, line []float32, f float32, by int) {
	if by == 1 {
		vec.Plus(dst, line[:len(dst)], f)
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
