package onnx

import (
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// convTranspose writes, for every step of the input, the filter times what is
// there; the window is that of the convolution it turns round.
func convTranspose(c *call) []*Tensor {
	x, w, bias := c.x(0), c.x(1), c.opt(2)
	r := len(x.Shape) - 2
	if len(w.Shape) != len(x.Shape) || r < 1 || r > 3 || x.Type != w.Type || bias != nil && bias.Type != x.Type {
		fail("%w: %s of shapes %d and %d", onnx.ErrFormat, c.n.Op, x.Shape, w.Shape)
	}
	v := convolution{window: c.spatial(x, w.Shape[2:], c.list("pads", -1)), batch: x.Shape[0], groups: c.int("group", 1), outC: w.Shape[1]}
	more, want := c.list("output_padding", -1), c.list("output_shape", -1)
	if len(want) > r {
		want = want[len(want)-r:]
	}
	if v.groups < 1 || x.Shape[1] != w.Shape[0] || x.Shape[1]%v.groups != 0 || v.outC < 1 || more != nil && len(more) != r || want != nil && len(want) != r ||
		bias != nil && bias.len() != v.groups*v.outC {
		fail("%w: %s of shapes %d and %d in %d groups", onnx.ErrFormat, c.n.Op, x.Shape, w.Shape, v.groups)
	}
	v.inC = x.Shape[1] / v.groups
	auto := c.text("auto_pad", "NOTSET")
	extra, size := three(more, 0), three(want, 1)
	for d := range 3 {
		full := (v.in[d]-1)*v.stride[d] + (v.kernel[d]-1)*v.dilation[d] + 1 + extra[d]
		all := full - size[d]
		switch {
		case extra[d] < 0 || extra[d] > maxElems:
			fail("%w: output_padding %d", onnx.ErrFormat, more)
		case want != nil:
		case auto == "SAME_UPPER" || auto == "SAME_LOWER":
			all = full - v.in[d]*v.stride[d]
		case auto == "VALID":
			all, v.before[d] = 0, 0
		default:
			all = v.before[d] + v.beyond[d]
		}
		if want != nil || auto == "SAME_UPPER" || auto == "SAME_LOWER" {
			if all < 0 { // more is wanted than there is: at the end
				full -= all
				all = 0
			}
			if v.before[d] = all / 2; auto == "SAME_LOWER" || want != nil && auto != "SAME_UPPER" {
				v.before[d] = all - all/2
			}
		}
		v.out[d] = max(0, full-all)
	}
	// The window of the convolution from the result to x.
	v.in, v.out = v.out, v.in
	out := c.zeros(x.Type, append([]int{v.batch, v.groups * v.outC}, v.in[3-r:]...)...)
	if out.len() == 0 {
		return one(out)
	}
	var b Tensor
	if bias != nil {
		b = *bias
	}
	switch {
	case x.F != nil:
		transposeConvolve(c, out.F, x.F, w.F, b.F, &v)
	case x.D != nil:
		steps, taps, plane := volume(v.out), volume(v.kernel), volume(v.in)
		cols := c.blank(onnx.Double, taps, steps).D
		for i := range v.batch * v.groups * v.outC {
			image, o := i/v.outC, i%v.outC
			g := image % v.groups
			clear(cols)
			for k := range v.inC {
				slowProduct(cols, w.D[((g*v.inC+k)*v.outC+o)*taps:], x.D[(image*v.inC+k)*steps:], taps, 1, steps)
			}
			dst := out.D[i*plane : (i+1)*plane]
			if b.D != nil {
				for j := range dst {
					dst[j] = b.D[g*v.outC+o]
				}
			}
			scatterColumns(dst, cols, &v.window)
		}
	default:
		fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, x.Type)
	}
	return one(settle(out))
}

// transposeConvolve multiplies the turned weights with x and adds the columns
// that gives where they belong. dst is zero.
func transposeConvolve(c *call, dst, x, w, bias []float32, v *convolution) {
	steps, taps, plane := volume(v.out), volume(v.kernel), volume(v.in)
	rows := v.outC * taps
	turned := c.blank(onnx.Float, rows, v.inC).F
	columns := c.blank(onnx.Float, c.pool().Workers(), count([]int{taps, steps})).F
	p := gemm.NewPanels(steps, v.inC)
	// As many channels at a time as keep every worker busy.
	per := max(1, v.outC/(2*c.pool().Workers()))
	for image := range v.batch * v.groups {
		g := image % v.groups
		if image < v.groups || v.groups > 1 {
			flipInto(turned, w[g*v.inC*rows:], v.inC, rows)
		}
		p.PackColumns(x[image*v.inC*steps:][:v.inC*steps], steps)
		c.spreadOut((v.outC+per-1)/per, func(worker, i int) {
			s := columns[worker*taps*steps:][:taps*steps]
			for o := i * per; o < min(v.outC, (i+1)*per); o++ {
				gemm.Multiply(s, steps, turned[o*taps*v.inC:], v.inC, taps, p, nil, false)
				out := dst[(image*v.outC+o)*plane:][:plane]
				if bias != nil {
					fill(out, bias[g*v.outC+o])
				}
				scatterColumns(out, s, &v.window)
			}
		})
	}
}

// flipInto writes the transpose of src (rows, columns) to dst.
func flipInto[T any](dst, src []T, rows, columns int) {
	const block = 16
	for i0 := 0; i0 < rows; i0 += block {
		for j0 := 0; j0 < columns; j0 += block {
			for j := j0; j < min(columns, j0+block); j++ {
				for i := i0; i < min(rows, i0+block); i++ {
					dst[j*rows+i] = src[i*columns+j]
				}
			}
		}
	}
}
