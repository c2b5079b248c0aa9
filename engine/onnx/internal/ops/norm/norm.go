package norm

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// span returns how x is taken along the attribute axis, before opset 13 over all
// dimensions from the axis on; a scalar is a row of one.
func span(c *run.Call, x *tensor.Tensor) (outer, n, inner int) {
	switch {
	case len(x.Shape) == 0:
		return 1, 1, 1
	case c.Opset < 13:
		outer, n = tensor.Cut(x.Shape, c.Int("axis", 1))
		return outer, n, 1
	}
	return tensor.Split(x.Shape, tensor.Axis(c.Int("axis", -1), len(x.Shape)))
}

// Softmax is taken along an axis.
func Softmax(c *run.Call, x *tensor.Tensor, log bool) *tensor.Tensor {
	outer, n, inner := span(c, x)
	return softmaxOver(c, x, outer, n, inner, log)
}

// SoftmaxAlong is the softmax along an axis.
func SoftmaxAlong(c *run.Call, x *tensor.Tensor, a int) *tensor.Tensor {
	outer, n, inner := tensor.Split(x.Shape, tensor.Axis(a, len(x.Shape)))
	return softmaxOver(c, x, outer, n, inner, false)
}

func softmaxOver(c *run.Call, x *tensor.Tensor, outer, n, inner int, log bool) *tensor.Tensor {
	out := c.Blank(x.Type, x.Shape...)
	if out.Len() == 0 {
		return out
	}
	if x.D != nil {
		for i := range outer * inner {
			softmaxDouble(out.D, x.D, i/inner*n*inner+i%inner, n, inner, log)
		}
		return out
	}
	if x.F == nil {
		tensor.Malformed("softmax of %v", x.Type)
	}
	c.ByRows(outer*inner, n*8, func(from, to int) {
		var row []float32
		if inner > 1 {
			row = make([]float32, n)
		}
		for i := from; i < to; i++ {
			at := i/inner*n*inner + i%inner
			if inner == 1 {
				row = out.F[at : at+n]
				copy(row, x.F[at:])
			} else {
				for j := range row {
					row[j] = x.F[at+j*inner]
				}
			}
			top, sum := vec.Softmax(row)
			if log {
				less := top + float32(math.Log(float64(sum)))
				for j := range row {
					row[j] = x.F[at+j*inner] - less
				}
			}
			if inner > 1 {
				for j, v := range row {
					out.F[at+j*inner] = v
				}
			}
		}
	})
	return tensor.Rounded(out)
}

func softmaxDouble(dst, x []float64, at, n, step int, log bool) {
	top, sum := math.Inf(-1), 0.0
	for j := range n {
		top = max(top, x[at+j*step])
	}
	for j := range n {
		sum += math.Exp(x[at+j*step] - top)
	}
	for j := range n {
		if v := x[at+j*step] - top; log {
			dst[at+j*step] = v - math.Log(sum)
		} else {
			dst[at+j*step] = math.Exp(v) / sum
		}
	}
}

// hardmax is 1 for the first of the largest along an axis, and 0 elsewhere.
func hardmax(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	outer, n, inner := span(c, x)
	out := c.Zeros(x.Type, x.Shape...)
	if out.Len() == 0 {
		return run.One(out)
	}
	order := x.Order()
	for r := range outer * inner {
		base, best := r/inner*n*inner+r%inner, 0
		for i := 1; i < n; i++ {
			if order(base+i*inner, base+best*inner) > 0 {
				best = i
			}
		}
		out.Put(base+best*inner, 1)
	}
	return run.One(out)
}

// layerNorm normalizes over the dimensions from the axis on and returns the
// result, the mean (nil if simple) and one over the deviation. simple leaves the
// mean where it is. Sums are float32 for every type but double.
func layerNorm(c *run.Call, x, w, bias *tensor.Tensor, simple bool) []*tensor.Tensor {
	a := tensor.Axis(c.Int("axis", -1), len(x.Shape))
	n := tensor.Count(x.Shape[a:])
	rows := tensor.Count(x.Shape[:a])
	eps := c.Float("epsilon", 1e-5)
	w = w.To(x.Shape[a:])
	if bias != nil {
		bias = bias.To(x.Shape[a:])
	}
	stat := append([]int{}, x.Shape[:a]...)
	for range x.Shape[a:] {
		stat = append(stat, 1)
	}
	out := c.Blank(x.Type, x.Shape...)
	if w.Len() != n || bias != nil && bias.Len() != n {
		tensor.Malformed("scale of shape %d for %d", w.Shape, x.Shape)
	}
	if x.D != nil || w.Type != x.Type && (w.F == nil || x.F == nil) {
		return normDouble(out, x, w, bias, rows, n, eps, simple, stat)
	}
	if x.F == nil || bias != nil && bias.F == nil {
		tensor.Malformed("normalization of %v", x.Type)
	}
	if n == 0 {
		return []*tensor.Tensor{out, c.Zeros(onnx.Float, stat...), c.Zeros(onnx.Float, stat...)}
	}
	var shift []float32
	if bias != nil {
		shift = bias.F
	}
	c.ByRows(rows, n*4, func(from, to int) {
		dst, src := out.F[from*n:to*n], x.F[from*n:to*n]
		if simple {
			vec.RMSNorm(dst, src, w.F, float32(eps))
			if shift != nil {
				vec.Bias(dst, dst, shift)
			}
		} else {
			vec.LayerNorm(dst, src, w.F, shift, float32(eps))
		}
	})
	res := []*tensor.Tensor{tensor.Rounded(out), nil, nil}
	if len(c.Node.Outputs) > 1 {
		res[1], res[2] = statistics(x, rows, n, eps, simple, stat)
	}
	return res
}

// statistics returns the mean and one over the deviation of rows.
func statistics(x *tensor.Tensor, rows, n int, eps float64, simple bool, shape []int) (mean, inv *tensor.Tensor) {
	t := x.Type
	if x.D == nil {
		t = onnx.Float
	}
	mean, inv = tensor.New(t, shape...), tensor.New(t, shape...)
	for r := range rows {
		m, i := moments(x, r*n, n, eps, simple)
		mean.Put(r, m)
		inv.Put(r, i)
	}
	return mean, inv
}

func moments(x *tensor.Tensor, from, n int, eps float64, simple bool) (mean, inv float64) {
	if x.F != nil && !simple {
		mean, variance := vec.Moments(x.F[from : from+n])
		return mean, 1 / math.Sqrt(variance+eps)
	}
	if !simple {
		for i := range n {
			mean += x.At(from + i)
		}
		mean /= float64(n)
	}
	variance := 0.0
	for i := range n {
		d := x.At(from+i) - mean
		variance += d * d
	}
	return mean, 1 / math.Sqrt(variance/float64(n)+eps)
}

func normDouble(out, x, w, bias *tensor.Tensor, rows, n int, eps float64, simple bool, stat []int) []*tensor.Tensor {
	for r := range rows {
		mean, inv := moments(x, r*n, n, eps, simple)
		for i := range n {
			v := (x.At(r*n+i) - mean) * inv * w.At(i)
			if bias != nil {
				v += bias.At(i)
			}
			out.Put(r*n+i, v)
		}
	}
	mean, inv := statistics(x, rows, n, eps, simple, stat)
	return []*tensor.Tensor{out, mean, inv}
}

// simplifiedNorm is RMSNormalization as ONNX Runtime writes it.
func simplifiedNorm(c *run.Call) []*tensor.Tensor {
	r := layerNorm(c, c.X(0), c.X(1), nil, true)
	return []*tensor.Tensor{r[0], r[2]}
}

// skipNorm normalizes the sum of input, skip and bias, which it also returns.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.SkipLayerNormalization and
// com.microsoft.SkipSimplifiedLayerNormalization.
func skipNorm(c *run.Call, beta, bias *tensor.Tensor, simple bool) []*tensor.Tensor {
	x, skip, w := c.X(0), c.X(1), c.X(2)
	if x.F == nil || skip.F == nil || w.F == nil || len(x.Shape) == 0 {
		tensor.Unsupported("normalization of %v", x.Type)
	}
	n := x.Shape[len(x.Shape)-1]
	if w.Len() != n || beta != nil && len(beta.F) != n || bias != nil && len(bias.F) != n || skip.Len() == 0 || x.Len()%skip.Len() != 0 || skip.Len()%n != 0 {
		tensor.Malformed("shapes %d, %d and %d", x.Shape, skip.Shape, w.Shape)
	}
	sum, out := c.Blank(x.Type, x.Shape...), c.Zeros(x.Type, x.Shape...)
	eps := float32(c.Float("epsilon", 1e-12))
	var shift []float32
	if beta != nil {
		shift = beta.F
	}
	c.ByRows(x.Len()/n, n*8, func(from, to int) {
		for r := from; r < to; r++ {
			row := sum.F[r*n : (r+1)*n]
			vec.Add(row, x.F[r*n:(r+1)*n], skip.F[r*n%len(skip.F):][:n])
			if bias != nil {
				vec.Add(row, row, bias.F)
			}
			if simple {
				vec.RMSNorm(out.F[r*n:(r+1)*n], row, w.F, eps)
			} else {
				vec.LayerNorm(out.F[r*n:(r+1)*n], row, w.F, shift, eps)
			}
		}
	})
	tensor.Rounded(sum)
	return []*tensor.Tensor{tensor.Rounded(out), nil, nil, sum}
}

// crossEntropy returns the loss and the logarithms of the softmax over classes.
func crossEntropy(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	if len(x.Shape) < 2 {
		tensor.Malformed("scores of shape %d", x.Shape)
	}
	n := x.Shape[1]
	inner := tensor.Count(x.Shape[2:])
	log := c.Zeros(x.Type, x.Shape...)
	for i := range x.Shape[0] * inner {
		at := i/inner*n*inner + i%inner
		top, sum := math.Inf(-1), 0.0
		for j := range n {
			top = max(top, x.At(at+j*inner))
		}
		for j := range n {
			sum += math.Exp(x.At(at+j*inner) - top)
		}
		less := top + math.Log(sum)
		for j := range n {
			log.Put(at+j*inner, x.At(at+j*inner)-less)
		}
	}
	return []*tensor.Tensor{likelihoodLoss(c, log, c.X(1), c.Opt(2)), log}
}

// likelihoodLoss sums what x (batch, classes, …) has for the class of every
// label, negative and weighed by class. The mean is over the weights.
func likelihoodLoss(c *run.Call, x, label, weight *tensor.Tensor) *tensor.Tensor {
	if len(x.Shape) < 2 || len(label.Shape) != len(x.Shape)-1 || label.I == nil {
		tensor.Malformed("labels of shape %d for %d", label.Shape, x.Shape)
	}
	n, inner := x.Shape[1], tensor.Count(x.Shape[2:])
	if label.Len() != x.Shape[0]*inner || weight != nil && weight.Len() != n {
		tensor.Malformed("labels of shape %d for %d", label.Shape, x.Shape)
	}
	ignore := c.Attr("ignore_index")
	each := c.Zeros(x.Type, label.Shape...)
	total, mass := 0.0, 0.0
	for i, l := range label.I {
		if ignore != nil && l == ignore.I {
			continue
		}
		if l < 0 || l >= int64(n) {
			tensor.Malformed("label %d of %d classes", l, n)
		}
		w := 1.0
		if weight != nil {
			w = weight.At(int(l))
		}
		v := -w * x.At(i/inner*n*inner+int(l)*inner+i%inner)
		each.Put(i, v)
		total, mass = total+v, mass+w
	}
	sum := c.Zeros(x.Type)
	switch r := c.Text("reduction", "mean"); r {
	case "none":
		return each
	case "sum":
		sum.Put(0, total)
	case "mean":
		sum.Put(0, total/mass)
	default:
		tensor.Malformed("reduction %.20q", r)
	}
	return sum
}
