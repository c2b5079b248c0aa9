package onnx

import (
	"slices"

	"quern/formats/onnx"
	"quern/kernels/gemm"
)

func convOps() table {
	return table{
		"Conv": conv, "ConvTranspose": convTranspose,
		"DeformConv": deformConv, "Col2Im": col2Im,
	}
}

// A convolution is the shapes of x (batch, groups · in, space…) and w
// (groups · out, in, kernel…).
type convolution struct {
	window
	batch, groups, inC, outC int
}

func (c *call) convolution(x, w *Tensor) convolution {
	if len(w.Shape) < 3 || len(w.Shape) != len(x.Shape) {
		fail("%w: %s of shapes %d and %d", onnx.ErrFormat, c.n.Op, x.Shape, w.Shape)
	}
	kernel := w.Shape[2:]
	if k := c.list("kernel_shape", -1); k != nil && !slices.Equal(k, kernel) {
		fail("%w: kernel_shape %d of weights of shape %d", onnx.ErrFormat, k, w.Shape)
	}
	v := convolution{window: c.slide(x, kernel, false), batch: x.Shape[0], groups: c.int("group", 1), inC: w.Shape[1]}
	if v.groups < 1 || w.Shape[0]%v.groups != 0 || v.inC < 1 || x.Shape[1] != v.groups*v.inC {
		fail("%w: %s of shapes %d and %d in %d groups", onnx.ErrFormat, c.n.Op, x.Shape, w.Shape, v.groups)
	}
	v.outC = w.Shape[0] / v.groups
	return v
}

func conv(c *call) []*Tensor {
	x, w, bias := c.x(0), c.x(1), c.opt(2)
	v := c.convolution(x, w)
	if x.Type != w.Type || x.S != nil || bias != nil && (bias.Type != x.Type || bias.len() != w.Shape[0]) {
		fail("%w: %v and %v convolved", onnx.ErrFormat, x.Type, w.Type)
	}
	out := c.blank(x.Type, v.shape(v.batch, w.Shape[0])...)
	if out.len() == 0 {
		return one(out)
	}
	var b Tensor
	if bias != nil {
		b = *bias
	}
	switch {
	case x.F == nil && x.D != nil:
		convolveAny(c, out.D, x.D, w.D, b.D, &v)
	case x.F == nil:
		convolveAny(c, out.I, x.I, w.I, b.I, &v)
	case v.inC == 1 && v.outC < 4:
		convolveEach(c, out.F, x.F, w.F, b.F, &v)
	default:
		convolve(c, out.F, x.F, w.F, b.F, &v)
	}
	return one(settle(out))
}

const (
	// tileElems is about how many elements of columns are multiplied at a time:
	// with their packed copy they stay in the second-level cache.
	tileElems = 1 << 17
	minTile   = 64
	maxTile   = 1024
)

// tile returns how many steps of rows elements are done together.
func (v *convolution) tile(rows, workers int) int {
	steps := volume(v.out)
	n := min(max(tileElems/rows, minTile), maxTile)
	if jobs := v.batch * v.groups; jobs < 2*workers {
		n = min(n, (steps*jobs+2*workers-1)/(2*workers))
	}
	return max(16, n/16*16)
}

// convolve multiplies the weights with the columns of each group, a tile of
// steps at a time. bias may be nil.
func convolve(c *call, dst, x, w, bias []float32, v *convolution) {
	steps, plane := volume(v.out), volume(v.in)
	rows := v.inC * volume(v.kernel)
	size := v.tile(rows, c.pool().Workers())
	tiles := (steps + size - 1) / size
	type scratch struct {
		panels  gemm.Panels
		columns []float32
	}
	all := make([]scratch, c.pool().Workers())
	c.spreadOut(v.batch*v.groups*tiles, func(worker, i int) {
		s := &all[worker]
		from := i % tiles * size
		to := min(steps, from+size)
		image := i / tiles // batch and group
		g, n := image%v.groups, to-from
		src := x[image*v.inC*plane:][:v.inC*plane]
		s.panels.Resize(n, rows)
		if v.plain() {
			s.panels.PackColumns(src[from:], plane)
		} else {
			if len(s.columns) < rows*n {
				s.columns = make([]float32, rows*n)
			}
			columns(s.columns, src, v.inC, &v.window, from, to)
			s.panels.PackColumns(s.columns, n)
		}
		out := dst[image*v.outC*steps+from:]
		if bias != nil {
			for o := range v.outC {
				fill(out[o*steps:][:n], bias[g*v.outC+o])
			}
		}
		gemm.Multiply(out, steps, w[g*v.outC*rows:], rows, v.outC, &s.panels, nil, bias != nil)
	})
}

// convolveEach sums taps one by one, for groups of one channel.
func convolveEach(c *call, dst, x, w, bias []float32, v *convolution) {
	steps, plane, taps := volume(v.out), volume(v.in), volume(v.kernel)
	c.byRows(v.batch*v.groups*v.outC, steps*taps, func(from, to int) {
		for i := from; i < to; i++ {
			ch := i % (v.groups * v.outC)
			out, src := dst[i*steps:(i+1)*steps], x[i/v.outC*plane:][:plane]
			start := float32(0)
			if bias != nil {
				start = bias[ch]
			}
			fill(out, start)
			for o0 := range v.out[0] {
				a0, b0 := v.taps(0, o0)
				for o1 := range v.out[1] {
					a1, b1 := v.taps(1, o1)
					row := out[(o0*v.out[1]+o1)*v.out[2]:][:v.out[2]]
					for k0 := a0; k0 < b0; k0++ {
						z := o0*v.stride[0] - v.before[0] + k0*v.dilation[0]
						for k1 := a1; k1 < b1; k1++ {
							y := o1*v.stride[1] - v.before[1] + k1*v.dilation[1]
							line := src[(z*v.in[1]+y)*v.in[2]:][:v.in[2]]
							filter := w[((ch*v.kernel[0]+k0)*v.kernel[1]+k1)*v.kernel[2]:][:v.kernel[2]]
							for k2, f := range filter {
								addLine(row, line, f, k2*v.dilation[2]-v.before[2], v.stride[2])
							}
						}
					}
				}
			}
		}
	})
}

// addLine adds f times every by-th element of line from first on; zeros lie
// around it.
func addLine(dst, line []float32, f float32, first, by int) {
	lo, hi := stretch(len(dst), len(line), first, by)
	if lo >= hi {
		return
	}
	dst, line = dst[lo:hi], line[first+lo*by:]
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
func convolveAny[T float64 | int64](c *call, dst, x, w, bias []T, v *convolution) {
	steps, plane := volume(v.out), volume(v.in)
	rows := v.inC * volume(v.kernel)
	const size = 256
	tiles := (steps + size - 1) / size
	all := make([][]T, c.pool().Workers())
	c.spreadOut(v.batch*v.groups*tiles, func(worker, i int) {
		from := i % tiles * size
		to := min(steps, from+size)
		image := i / tiles
		g, n := image%v.groups, to-from
		if len(all[worker]) < rows*n {
			all[worker] = make([]T, rows*n)
		}
		s := all[worker]
		columns(s, x[image*v.inC*plane:][:v.inC*plane], v.inC, &v.window, from, to)
		for o := range v.outC {
			row := dst[(image*v.outC+o)*steps+from:][:n]
			clear(row)
			if bias != nil {
				for k := range row {
					row[k] = bias[g*v.outC+o]
				}
			}
			slowProduct(row, w[(g*v.outC+o)*rows:], s, 1, rows, n)
		}
	})
}
