package onnx

import (
	"math"

	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// col2Im adds columns (batch, channels · block, steps) where they lie in images.
func col2Im(c *call) []*Tensor {
	x, size, block := c.x(0), c.x(1).list(), c.x(2).list()
	if len(x.Shape) != 3 || len(size) != len(block) || count(block) < 1 || x.Shape[1]%count(block) != 0 {
		fail("%w: columns of shape %d, blocks %d of images %d", onnx.ErrFormat, x.Shape, block, size)
	}
	channels := x.Shape[1] / count(block)
	image := &Tensor{Type: x.Type, Shape: append([]int{x.Shape[0], channels}, size...)}
	count(image.Shape)
	w := c.slide(image, block, false)
	if volume(w.out) != x.Shape[2] {
		fail("%w: %d columns, want %d", onnx.ErrFormat, x.Shape[2], volume(w.out))
	}
	out := c.zeros(x.Type, image.Shape...)
	plane, per := volume(w.in), count(block)*x.Shape[2]
	if plane == 0 || x.S != nil {
		return one(out)
	}
	c.byRows(x.Shape[0]*channels, per, func(from, to int) {
		for i := from; i < to; i++ {
			switch {
			case x.F != nil:
				scatterColumns(out.F[i*plane:(i+1)*plane], x.F[i*per:(i+1)*per], &w)
			case x.D != nil:
				scatterColumns(out.D[i*plane:(i+1)*plane], x.D[i*per:(i+1)*per], &w)
			case x.I != nil:
				scatterColumns(out.I[i*plane:(i+1)*plane], x.I[i*per:(i+1)*per], &w)
			}
		}
	})
	for i, v := range out.I {
		out.I[i] = wrap(out.Type, v)
	}
	return one(settle(out))
}

// deformConv is a convolution whose taps are moved by offsets (batch, groups ·
// kernel · space, steps…) and weighed by a mask, each read between elements.
//
// Dai et al., "Deformable Convolutional Networks", 2017; Zhu et al., 2018, for
// the mask.
func deformConv(c *call) []*Tensor {
	x, w, offset, bias, mask := c.x(0), c.x(1), c.x(2), c.opt(3), c.opt(4)
	v := c.convolution(x, w)
	groups, m := c.int("offset_group", 1), w.Shape[0]
	taps, steps := volume(v.kernel), volume(v.out)
	channels := v.groups * v.inC
	if v.rank != 2 || x.F == nil || w.F == nil || offset.F == nil || groups < 1 || channels%groups != 0 ||
		offset.len() != v.batch*groups*taps*2*steps || mask != nil && len(mask.F) != v.batch*groups*taps*steps || bias != nil && len(bias.F) != m {
		fail("%w: %s of shapes %d, %d and %d", onnx.ErrUnsupported, c.n.Op, x.Shape, w.Shape, offset.Shape)
	}
	out := c.blank(x.Type, v.shape(v.batch, m)...)
	if out.len() == 0 {
		return one(out)
	}
	rows := v.inC * taps
	cols := c.blank(onnx.Float, rows, steps).F
	g := gemm.NewPanels(steps, rows)
	plane := volume(v.in)
	for image := range v.batch * v.groups {
		b, group := image/v.groups, image%v.groups
		c.byRows(v.inC, taps*steps*8, func(from, to int) {
			for ch := from; ch < to; ch++ {
				at := group*v.inC + ch
				src := x.F[(b*channels+at)*plane:][:plane]
				moved := b*groups + at/(channels/groups)
				for t := range taps {
					dy, dx := offset.F[(moved*taps+t)*2*steps:][:steps], offset.F[((moved*taps+t)*2+1)*steps:][:steps]
					row := cols[(ch*taps+t)*steps:][:steps]
					for p := range row {
						y := float64(p/v.out[2]*v.stride[1]-v.before[1]+t/v.kernel[2]*v.dilation[1]) + float64(dy[p])
						xx := float64(p%v.out[2]*v.stride[2]-v.before[2]+t%v.kernel[2]*v.dilation[2]) + float64(dx[p])
						row[p] = between(src, v.in[1], v.in[2], y, xx)
						if mask != nil {
							row[p] *= mask.F[(moved*taps+t)*steps+p]
						}
					}
				}
			}
		})
		g.PackColumns(cols, steps)
		dst := out.F[image*v.outC*steps:][:v.outC*steps]
		if bias != nil {
			for o := range v.outC {
				fill(dst[o*steps:][:steps], bias.F[group*v.outC+o])
			}
		}
		gemm.Multiply(dst, steps, w.F[group*v.outC*rows:], rows, v.outC, g, nil, bias != nil)
	}
	return one(settle(out))
}

// between reads a plane between its elements, linearly; zeros lie around it.
func between(plane []float32, height, width int, y, x float64) float32 {
	if !(y > -1 && y < float64(height) && x > -1 && x < float64(width)) {
		return 0
	}
	y0, x0 := int(math.Floor(y)), int(math.Floor(x))
	fy, fx := float32(y-float64(y0)), float32(x-float64(x0))
	at := func(y, x int) float32 {
		if y < 0 || y >= height || x < 0 || x >= width {
			return 0
		}
		return plane[y*width+x]
	}
	return (1-fy)*((1-fx)*at(y0, x0)+fx*at(y0, x0+1)) + fy*((1-fx)*at(y0+1, x0)+fx*at(y0+1, x0+1))
}
