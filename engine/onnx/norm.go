package onnx

import (
	"math"

	"quern/formats/onnx"
	"quern/kernels/vec"
)

// normTable are softmax, norms and losses.
func normTable() table { return join(normOps(), planeNormOps()) }

func normOps() table {
	return table{
		"Softmax":                          func(c *call) []*Tensor { return one(c.softmax(c.x(0), false)) },
		"LogSoftmax":                       func(c *call) []*Tensor { return one(c.softmax(c.x(0), true)) },
		"LayerNormalization":               func(c *call) []*Tensor { return c.layerNorm(c.x(0), c.x(1), c.opt(2), false) },
		"RMSNormalization":                 func(c *call) []*Tensor { return c.layerNorm(c.x(0), c.x(1), nil, true)[:1] },
		"SimplifiedLayerNormalization":     simplifiedNorm,
		"com.microsoft.LayerNormalization": func(c *call) []*Tensor { return c.layerNorm(c.x(0), c.x(1), c.opt(2), false) },
		"SoftmaxCrossEntropyLoss":          crossEntropy,
		"NegativeLogLikelihoodLoss":        func(c *call) []*Tensor { return one(c.likelihoodLoss(c.x(0), c.x(1), c.opt(2))) },
		"com.microsoft.SkipLayerNormalization": func(c *call) []*Tensor {
			return c.skipNorm(c.opt(3), c.opt(4), false)
		},
		"com.microsoft.SkipSimplifiedLayerNormalization": func(c *call) []*Tensor {
			return c.skipNorm(nil, c.opt(3), true)
		},
		"com.microsoft.SimplifiedLayerNormalization": simplifiedNorm,
	}
}

// softmax is taken along an axis, and before opset 13 over all dimensions from
// the axis on.
func (c *call) softmax(x *Tensor, log bool) *Tensor {
	missing := -1
	if c.opset < 13 {
		missing = 1
	}
	if len(x.Shape) == 0 {
		x = x.as(1)
		return c.softmax(x, log).as()
	}
	var outer, n, inner int
	if a := c.int("axis", missing); c.opset < 13 {
		if a < 0 {
			a += len(x.Shape)
		}
		if a < 0 || a > len(x.Shape) {
			fail("%w: axis %d of rank %d", onnx.ErrFormat, a, len(x.Shape))
		}
		outer, n, inner = count(x.Shape[:a]), count(x.Shape[a:]), 1
	} else {
		outer, n, inner = split(x.Shape, axis(a, len(x.Shape)))
	}
	return c.softmaxOver(x, outer, n, inner, log)
}

// softmaxAlong is the softmax along an axis.
func (c *call) softmaxAlong(x *Tensor, a int) *Tensor {
	outer, n, inner := split(x.Shape, axis(a, len(x.Shape)))
	return c.softmaxOver(x, outer, n, inner, false)
}

func (c *call) softmaxOver(x *Tensor, outer, n, inner int, log bool) *Tensor {
	out := c.blank(x.Type, x.Shape...)
	if out.len() == 0 {
		return out
	}
	if x.D != nil {
		for i := range outer * inner {
			softmaxDouble(out.D, x.D, i/inner*n*inner+i%inner, n, inner, log)
		}
		return out
	}
	if x.F == nil {
		fail("%w: softmax of %v", onnx.ErrFormat, x.Type)
	}
	c.byRows(outer*inner, n*8, func(from, to int) {
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
	return settle(out)
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

// layerNorm normalizes over the dimensions from the axis on and returns the
// result, the mean (nil if simple) and one over the deviation. simple leaves the
// mean where it is. Sums are float32 for every type but double.
func (c *call) layerNorm(x, w, bias *Tensor, simple bool) []*Tensor {
	a := axis(c.int("axis", -1), len(x.Shape))
	n := count(x.Shape[a:])
	rows := count(x.Shape[:a])
	eps := c.float("epsilon", 1e-5)
	w = w.to(x.Shape[a:])
	if bias != nil {
		bias = bias.to(x.Shape[a:])
	}
	stat := append([]int{}, x.Shape[:a]...)
	for range x.Shape[a:] {
		stat = append(stat, 1)
	}
	out := c.blank(x.Type, x.Shape...)
	if w.len() != n || bias != nil && bias.len() != n {
		fail("%w: scale of shape %d for %d", onnx.ErrFormat, w.Shape, x.Shape)
	}
	if x.D != nil || w.Type != x.Type && (w.F == nil || x.F == nil) {
		return normDouble(out, x, w, bias, rows, n, eps, simple, stat)
	}
	if x.F == nil || bias != nil && bias.F == nil {
		fail("%w: normalization of %v", onnx.ErrFormat, x.Type)
	}
	if n == 0 {
		return []*Tensor{out, c.zeros(onnx.Float, stat...), c.zeros(onnx.Float, stat...)}
	}
	var shift []float32
	if bias != nil {
		shift = bias.F
	}
	c.byRows(rows, n*4, func(from, to int) {
		dst, src := out.F[from*n:to*n], x.F[from*n:to*n]
		if simple {
			vec.RMSNorm(dst, src, w.F, float32(eps))
			addRows(dst, shift)
		} else {
			vec.LayerNorm(dst, src, w.F, shift, float32(eps))
		}
	})
	res := []*Tensor{settle(out), nil, nil}
	if len(c.n.Outputs) > 1 {
		res[1], res[2] = statistics(x, rows, n, eps, simple, stat)
	}
	return res
}

// statistics returns the mean and one over the deviation of rows.
func statistics(x *Tensor, rows, n int, eps float64, simple bool, shape []int) (mean, inv *Tensor) {
	t := x.Type
	if x.D == nil {
		t = onnx.Float
	}
	mean, inv = newTensor(t, shape...), newTensor(t, shape...)
	for r := range rows {
		m, i := moments(x, r*n, n, eps, simple)
		mean.put(r, m)
		inv.put(r, i)
	}
	return mean, inv
}

func moments(x *Tensor, from, n int, eps float64, simple bool) (mean, inv float64) {
	if !simple {
		for i := range n {
			mean += x.at(from + i)
		}
		mean /= float64(n)
	}
	variance := 0.0
	for i := range n {
		d := x.at(from+i) - mean
		variance += d * d
	}
	return mean, 1 / math.Sqrt(variance/float64(n)+eps)
}

func normDouble(out, x, w, bias *Tensor, rows, n int, eps float64, simple bool, stat []int) []*Tensor {
	for r := range rows {
		mean, inv := moments(x, r*n, n, eps, simple)
		for i := range n {
			v := (x.at(r*n+i) - mean) * inv * w.at(i)
			if bias != nil {
				v += bias.at(i)
			}
			out.put(r*n+i, v)
		}
	}
	mean, inv := statistics(x, rows, n, eps, simple, stat)
	return []*Tensor{out, mean, inv}
}

// simplifiedNorm is RMSNormalization as ONNX Runtime writes it.
func simplifiedNorm(c *call) []*Tensor {
	r := c.layerNorm(c.x(0), c.x(1), nil, true)
	return []*Tensor{r[0], r[2]}
}

// skipNorm normalizes the sum of input, skip and bias, which it also returns.
//
// ONNX Runtime, ContribOperators.md, com.microsoft.SkipLayerNormalization and
// com.microsoft.SkipSimplifiedLayerNormalization.
func (c *call) skipNorm(beta, bias *Tensor, simple bool) []*Tensor {
	x, skip, w := c.x(0), c.x(1), c.x(2)
	if x.F == nil || skip.F == nil || w.F == nil || len(x.Shape) == 0 {
		fail("%w: normalization of %v", onnx.ErrUnsupported, x.Type)
	}
	n := x.Shape[len(x.Shape)-1]
	if w.len() != n || beta != nil && len(beta.F) != n || bias != nil && len(bias.F) != n || skip.len() == 0 || x.len()%skip.len() != 0 || skip.len()%n != 0 {
		fail("%w: shapes %d, %d and %d", onnx.ErrFormat, x.Shape, skip.Shape, w.Shape)
	}
	sum, out := c.blank(x.Type, x.Shape...), c.zeros(x.Type, x.Shape...)
	eps := float32(c.float("epsilon", 1e-12))
	var shift []float32
	if beta != nil {
		shift = beta.F
	}
	c.byRows(x.len()/n, n*8, func(from, to int) {
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
	settle(sum)
	return []*Tensor{settle(out), nil, nil, sum}
}

// crossEntropy returns the loss and the logarithms of the softmax over classes.
func crossEntropy(c *call) []*Tensor {
	x := c.x(0)
	if len(x.Shape) < 2 {
		fail("%w: scores of shape %d", onnx.ErrFormat, x.Shape)
	}
	n := x.Shape[1]
	inner := count(x.Shape[2:])
	log := c.zeros(x.Type, x.Shape...)
	for i := range x.Shape[0] * inner {
		at := i/inner*n*inner + i%inner
		top, sum := math.Inf(-1), 0.0
		for j := range n {
			top = max(top, x.at(at+j*inner))
		}
		for j := range n {
			sum += math.Exp(x.at(at+j*inner) - top)
		}
		less := top + math.Log(sum)
		for j := range n {
			log.put(at+j*inner, x.at(at+j*inner)-less)
		}
	}
	return []*Tensor{c.likelihoodLoss(log, c.x(1), c.opt(2)), log}
}

// likelihoodLoss sums what x (batch, classes, …) has for the class of every
// label, negative and weighed by class. The mean is over the weights.
func (c *call) likelihoodLoss(x, label, weight *Tensor) *Tensor {
	if len(x.Shape) < 2 || len(label.Shape) != len(x.Shape)-1 || label.I == nil {
		fail("%w: labels of shape %d for %d", onnx.ErrFormat, label.Shape, x.Shape)
	}
	n, inner := x.Shape[1], count(x.Shape[2:])
	if label.len() != x.Shape[0]*inner || weight != nil && weight.len() != n {
		fail("%w: labels of shape %d for %d", onnx.ErrFormat, label.Shape, x.Shape)
	}
	ignore := c.attr("ignore_index")
	each := c.zeros(x.Type, label.Shape...)
	total, mass := 0.0, 0.0
	for i, l := range label.I {
		if ignore != nil && l == ignore.I {
			continue
		}
		if l < 0 || l >= int64(n) {
			fail("%w: label %d of %d classes", onnx.ErrFormat, l, n)
		}
		w := 1.0
		if weight != nil {
			w = weight.at(int(l))
		}
		v := -w * x.at(i/inner*n*inner+int(l)*inner+i%inner)
		each.put(i, v)
		total, mass = total+v, mass+w
	}
	sum := c.zeros(x.Type)
	switch r := c.text("reduction", "mean"); r {
	case "none":
		return each
	case "sum":
		sum.put(0, total)
	case "mean":
		sum.put(0, total/mass)
	default:
		fail("%w: reduction %.20q", onnx.ErrFormat, r)
	}
	return sum
}
