package image

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// col2Im adds columns (batch, channels · block, steps) where they lie in images.
func col2Im(c *run.Call) []*tensor.Tensor {
	x, size, block := c.X(0), c.X(1).List(), c.X(2).List()
	if len(x.Shape) != 3 || len(size) != len(block) || tensor.Count(block) < 1 || x.Shape[1]%tensor.Count(block) != 0 {
		tensor.Malformed("columns of shape %d, blocks %d of images %d", x.Shape, block, size)
	}
	channels := x.Shape[1] / tensor.Count(block)
	image := &tensor.Tensor{Type: x.Type, Shape: append([]int{x.Shape[0], channels}, size...)}
	tensor.Count(image.Shape)
	w := slide(c, image, block, false)
	if Volume(w.Out) != x.Shape[2] {
		tensor.Malformed("%d columns, want %d", x.Shape[2], Volume(w.Out))
	}
	out := c.Zeros(x.Type, image.Shape...)
	plane, per := Volume(w.In), tensor.Count(block)*x.Shape[2]
	if plane == 0 || x.S != nil {
		return run.One(out)
	}
	c.ByRows(x.Shape[0]*channels, per, func(from, to int) {
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
		out.I[i] = tensor.Wrap(out.Type, v)
	}
	return run.One(tensor.Rounded(out))
}

// deformConv is a convolution whose taps are moved by offsets (batch, groups ·
// kernel · space, steps…) and weighed by a mask, each read between elements.
//
// Dai et al., "Deformable Convolutional Networks", 2017; Zhu et al., 2018, for
// the mask.
func deformConv(c *run.Call) []*tensor.Tensor {
	x, w, offset, bias, mask := c.X(0), c.X(1), c.X(2), c.Opt(3), c.Opt(4)
	v := NewConvolution(c, x, w)
	groups, m := c.Int("offset_group", 1), w.Shape[0]
	taps, steps := Volume(v.Kernel), Volume(v.Out)
	channels := v.Groups * v.InC
	if v.rank != 2 || x.F == nil || w.F == nil || offset.F == nil || groups < 1 || channels%groups != 0 ||
		offset.Len() != v.Batch*groups*taps*2*steps || mask != nil && len(mask.F) != v.Batch*groups*taps*steps || bias != nil && len(bias.F) != m {
		tensor.Unsupported("%s of shapes %d, %d and %d", c.Node.Op, x.Shape, w.Shape, offset.Shape)
	}
	out := c.Blank(x.Type, v.Shape(v.Batch, m)...)
	if out.Len() == 0 {
		return run.One(out)
	}
	rows := v.InC * taps
	cols := c.Blank(onnx.Float, rows, steps).F
	g := gemm.NewPanels(steps, rows)
	plane := Volume(v.In)
	for image := range v.Batch * v.Groups {
		b, group := image/v.Groups, image%v.Groups
		c.ByRows(v.InC, taps*steps*8, func(from, to int) {
			for ch := from; ch < to; ch++ {
				at := group*v.InC + ch
				src := x.F[(b*channels+at)*plane:][:plane]
				moved := b*groups + at/(channels/groups)
				for t := range taps {
					dy, dx := offset.F[(moved*taps+t)*2*steps:][:steps], offset.F[((moved*taps+t)*2+1)*steps:][:steps]
					row := cols[(ch*taps+t)*steps:][:steps]
					for p := range row {
						y := float64(p/v.Out[2]*v.Stride[1]-v.Before[1]+t/v.Kernel[2]*v.Dilation[1]) + float64(dy[p])
						xx := float64(p%v.Out[2]*v.Stride[2]-v.Before[2]+t%v.Kernel[2]*v.Dilation[2]) + float64(dx[p])
						row[p] = between(src, v.In[1], v.In[2], y, xx)
						if mask != nil {
							row[p] *= mask.F[(moved*taps+t)*steps+p]
						}
					}
				}
			}
		})
		g.PackColumns(cols, steps)
		dst := out.F[image*v.OutC*steps:][:v.OutC*steps]
		if bias != nil {
			for o := range v.OutC {
				tensor.Fill(dst[o*steps:][:steps], bias.F[group*v.OutC+o])
			}
		}
		gemm.Multiply(dst, steps, w.F[group*v.OutC*rows:], rows, v.OutC, g, nil, bias != nil)
	}
	return run.One(tensor.Rounded(out))
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
