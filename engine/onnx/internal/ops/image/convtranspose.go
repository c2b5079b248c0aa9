package image

import (
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// convTranspose writes, for every step of the input, the filter times what is
// there; the window is that of the convolution it turns round.
func convTranspose(c *run.Call) []*tensor.Tensor {
	x, w, bias := c.X(0), c.X(1), c.Opt(2)
	r := len(x.Shape) - 2
	if len(w.Shape) != len(x.Shape) || r < 1 || r > 3 || x.Type != w.Type || bias != nil && bias.Type != x.Type {
		tensor.Malformed("%s of shapes %d and %d", c.Node.Op, x.Shape, w.Shape)
	}
	v := Convolution{window: spatial(c, x, w.Shape[2:], c.List("pads", -1)), Batch: x.Shape[0], Groups: c.Int("group", 1), OutC: w.Shape[1]}
	more, want := c.List("output_padding", -1), c.List("output_shape", -1)
	if len(want) > r {
		want = want[len(want)-r:]
	}
	if v.Groups < 1 || x.Shape[1] != w.Shape[0] || x.Shape[1]%v.Groups != 0 || v.OutC < 1 || more != nil && len(more) != r || want != nil && len(want) != r ||
		bias != nil && bias.Len() != v.Groups*v.OutC {
		tensor.Malformed("%s of shapes %d and %d in %d groups", c.Node.Op, x.Shape, w.Shape, v.Groups)
	}
	v.InC = x.Shape[1] / v.Groups
	auto := c.Text("auto_pad", "NOTSET")
	extra, size := three(more, 0), three(want, 1)
	for d := range 3 {
		full := (v.In[d]-1)*v.Stride[d] + (v.Kernel[d]-1)*v.Dilation[d] + 1 + extra[d]
		all := full - size[d]
		switch {
		case extra[d] < 0 || extra[d] > tensor.MaxElems:
			tensor.Malformed("output_padding %d", more)
		case want != nil:
		case auto == "SAME_UPPER" || auto == "SAME_LOWER":
			all = full - v.In[d]*v.Stride[d]
		case auto == "VALID":
			all, v.Before[d] = 0, 0
		default:
			all = v.Before[d] + v.beyond[d]
		}
		if want != nil || auto == "SAME_UPPER" || auto == "SAME_LOWER" {
			if all < 0 { // more is wanted than there is: at the end
				full -= all
				all = 0
			}
			if v.Before[d] = all / 2; auto == "SAME_LOWER" || want != nil && auto != "SAME_UPPER" {
				v.Before[d] = all - all/2
			}
		}
		v.Out[d] = max(0, full-all)
	}
	// The window of the convolution from the result to x.
	v.In, v.Out = v.Out, v.In
	out := c.Zeros(x.Type, append([]int{v.Batch, v.Groups * v.OutC}, v.In[3-r:]...)...)
	if out.Len() == 0 {
		return run.One(out)
	}
	var b tensor.Tensor
	if bias != nil {
		b = *bias
	}
	switch {
	case x.F != nil:
		transposeConvolve(c, out.F, x.F, w.F, b.F, &v)
	case x.D != nil:
		steps, taps, plane := Volume(v.Out), Volume(v.Kernel), Volume(v.In)
		cols := c.Blank(onnx.Double, taps, steps).D
		for i := range v.Batch * v.Groups * v.OutC {
			image, o := i/v.OutC, i%v.OutC
			g := image % v.Groups
			clear(cols)
			for k := range v.InC {
				product.SlowProduct(cols, w.D[((g*v.InC+k)*v.OutC+o)*taps:], x.D[(image*v.InC+k)*steps:], taps, 1, steps)
			}
			dst := out.D[i*plane : (i+1)*plane]
			if b.D != nil {
				for j := range dst {
					dst[j] = b.D[g*v.OutC+o]
				}
			}
			scatterColumns(dst, cols, &v.window)
		}
	default:
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	return run.One(tensor.Rounded(out))
}

// transposeConvolve multiplies the turned weights with x and adds the columns
// that gives where they belong. dst is zero.
func transposeConvolve(c *run.Call, dst, x, w, bias []float32, v *Convolution) {
	steps, taps, plane := Volume(v.Out), Volume(v.Kernel), Volume(v.In)
	rows := v.OutC * taps
	turned := c.Blank(onnx.Float, rows, v.InC).F
	columns := c.Blank(onnx.Float, c.Pool().Workers(), tensor.Count([]int{taps, steps})).F
	p := gemm.NewPanels(steps, v.InC)
	// As many channels at a time as keep every worker busy.
	per := max(1, v.OutC/(2*c.Pool().Workers()))
	for image := range v.Batch * v.Groups {
		g := image % v.Groups
		if image < v.Groups || v.Groups > 1 {
			flipInto(turned, w[g*v.InC*rows:], v.InC, rows)
		}
		p.PackColumns(x[image*v.InC*steps:][:v.InC*steps], steps)
		c.SpreadOut((v.OutC+per-1)/per, func(worker, i int) {
			s := columns[worker*taps*steps:][:taps*steps]
			for o := i * per; o < min(v.OutC, (i+1)*per); o++ {
				gemm.Multiply(s, steps, turned[o*taps*v.InC:], v.InC, taps, p, nil, false)
				out := dst[(image*v.OutC+o)*plane:][:plane]
				if bias != nil {
					tensor.Fill(out, bias[g*v.OutC+o])
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
