package onnx

import (
	"math"
	"slices"

	"quern/formats/onnx"
)

// planeNormOps normalize channels, groups of them or samples.
func planeNormOps() table {
	return table{
		"BatchNormalization": batchNorm, "InstanceNormalization": instanceNorm, "GroupNormalization": groupNorm,
		"LRN": localNorm, "MeanVarianceNormalization": meanVarianceNorm, "LpNormalization": lpNorm,
	}
}

// affine writes x·w + b with one w and b for each stretch of n elements.
func (c *call) affine(x *Tensor, n int, w, b []float64) *Tensor {
	out := c.blank(x.Type, x.Shape...)
	if n == 0 || out.len() == 0 {
		return out
	}
	c.byRows(out.len()/n, n, func(from, to int) {
		for r := from; r < to; r++ {
			if x.F != nil {
				by, add := float32(w[r%len(w)]), float32(b[r%len(b)])
				row := out.F[r*n : (r+1)*n]
				for i, v := range x.F[r*n : (r+1)*n] {
					row[i] = v*by + add
				}
				continue
			}
			for i := r * n; i < (r+1)*n; i++ {
				out.put(i, x.at(i)*w[r%len(w)]+b[r%len(b)])
			}
		}
	})
	return settle(out)
}

// channelled checks x (batch, channels, …) and tensors of one number a channel.
func (c *call) channelled(x *Tensor, each ...*Tensor) (channels, inner int) {
	if len(x.Shape) < 1 || x.F == nil && x.D == nil {
		fail("%w: %s of %v of shape %d", onnx.ErrFormat, c.n.Op, x.Type, x.Shape)
	}
	channels = 1
	if len(x.Shape) > 1 {
		channels, inner = x.Shape[1], count(x.Shape[2:])
	} else {
		inner = 1
	}
	for _, t := range each {
		if t.len() != channels || t.S != nil {
			fail("%w: %d numbers for %d channels", onnx.ErrFormat, t.len(), channels)
		}
	}
	return channels, inner
}

func batchNorm(c *call) []*Tensor {
	x, scale, bias, mean, variance := c.x(0), c.x(1), c.x(2), c.x(3), c.x(4)
	if c.opset < 9 && c.int("spatial", 1) == 0 && len(x.Shape) > 0 { // every element of a sample is a channel
		flat := x.as(x.Shape[0], count(x.Shape[1:]))
		return one(c.again("BatchNormalization", map[string]*onnx.Attr{"epsilon": c.attr("epsilon")}, flat,
			scale.as(scale.len()), bias.as(bias.len()), mean.as(mean.len()), variance.as(variance.len())).as(x.Shape...))
	}
	channels, inner := c.channelled(x, scale, bias, mean, variance)
	eps := c.float("epsilon", 1e-5)
	res := []*Tensor{nil}
	if c.int("training_mode", 0) != 0 {
		momentum := c.float("momentum", 0.9)
		n := x.Shape[0] * inner
		now, spread := newTensor(mean.Type, channels), newTensor(variance.Type, channels)
		newMean, newVariance := newTensor(mean.Type, channels), newTensor(variance.Type, channels)
		for ch := range channels {
			m, s := 0.0, 0.0
			for i := range n {
				m += x.at((i/inner*channels+ch)*inner + i%inner)
			}
			m /= float64(n)
			for i := range n {
				d := x.at((i/inner*channels+ch)*inner+i%inner) - m
				s += d * d
			}
			s /= float64(n)
			now.put(ch, m)
			spread.put(ch, s)
			newMean.put(ch, mean.at(ch)*momentum+m*(1-momentum))
			newVariance.put(ch, variance.at(ch)*momentum+s*(1-momentum))
		}
		mean, variance = now, spread
		res = append(res, newMean, newVariance)
	}
	w, b := make([]float64, channels), make([]float64, channels)
	for ch := range channels {
		w[ch] = scale.at(ch) / math.Sqrt(variance.at(ch)+eps)
		b[ch] = bias.at(ch) - mean.at(ch)*w[ch]
	}
	res[0] = c.affine(x, inner, w, b)
	return res
}

// grouped normalizes stretches of n elements, then multiplies with a scale and
// adds a bias, one for each of the channels a stretch has.
func (c *call) grouped(x *Tensor, groups, n int, eps float64, scale, bias func(ch int) float64) *Tensor {
	channels, inner := c.channelled(x)
	if n == 0 {
		return c.blank(x.Type, x.Shape...)
	}
	rows := x.len() / n
	w, b := make([]float64, x.Shape[0]*channels), make([]float64, x.Shape[0]*channels)
	per := channels / groups
	c.byRows(rows, n*4, func(from, to int) {
		for r := from; r < to; r++ {
			mean, inv := moments(x, r*n, n, eps, false)
			for ch := r * per; ch < (r+1)*per; ch++ {
				w[ch] = inv * scale(ch%channels)
				b[ch] = bias(ch%channels) - mean*w[ch]
			}
		}
	})
	return c.affine(x, inner, w, b)
}

func instanceNorm(c *call) []*Tensor {
	x, scale, bias := c.x(0), c.x(1), c.x(2)
	channels, inner := c.channelled(x, scale, bias)
	return one(c.grouped(x, channels, inner, c.float("epsilon", 1e-5), scale.at, bias.at))
}

// groupNorm has scales by group in opset 18 and by channel since 21.
//
// Wu & He, "Group Normalization", 2018.
func groupNorm(c *call) []*Tensor {
	x, scale, bias := c.x(0), c.x(1), c.x(2)
	channels, inner := c.channelled(x)
	groups := c.int("num_groups", 1)
	if groups < 1 || channels%groups != 0 || scale.len() != bias.len() || scale.len() != channels && scale.len() != groups || channels == 0 {
		fail("%w: %d channels in %d groups with %d scales", onnx.ErrFormat, channels, groups, scale.len())
	}
	per := channels / scale.len()
	return one(c.grouped(x, groups, channels/groups*inner, c.float("epsilon", 1e-5),
		func(ch int) float64 { return scale.at(ch / per) }, func(ch int) float64 { return bias.at(ch / per) }))
}

// localNorm divides by a power of the squares of size neighbouring channels.
//
// Krizhevsky, Sutskever & Hinton, "ImageNet Classification with Deep
// Convolutional Neural Networks", 2012, §3.3.
func localNorm(c *call) []*Tensor {
	x := c.x(0)
	channels, inner := c.channelled(x)
	size := c.int("size", 1)
	if size < 1 {
		fail("%w: %d channels", onnx.ErrFormat, size)
	}
	alpha, beta, bias := c.float("alpha", 1e-4), c.float("beta", 0.75), c.float("bias", 1)
	out := c.blank(x.Type, x.Shape...)
	before, after := (size-1)/2, size/2
	c.byRows(out.len(), 16, func(from, to int) {
		for i := from; i < to; i++ {
			ch, sum := i/inner%channels, 0.0
			for k := max(0, ch-before); k <= min(channels-1, ch+after); k++ {
				v := x.at(i + (k-ch)*inner)
				sum += v * v
			}
			out.put(i, x.at(i)/math.Pow(bias+alpha/float64(size)*sum, beta))
		}
	})
	return one(out)
}

// meanVarianceNorm brings what the axes span to a mean of 0 and a deviation of 1.
func meanVarianceNorm(c *call) []*Tensor {
	x, axes := c.x(0), c.list("axes", -1)
	if axes == nil {
		axes = []int{0, 2, 3}
	}
	if x.F == nil && x.D == nil {
		fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, x.Type)
	}
	kept := slices.Clone(x.Shape)
	for _, a := range axes {
		kept[axis(a, len(kept))] = 1
	}
	group := walk(x.Shape, spreadSteps(kept, x.Shape), 0)
	out := c.blank(x.Type, x.Shape...)
	mean, square, n := make([]float64, count(kept)), make([]float64, count(kept)), float64(x.len()/max(1, count(kept)))
	for i, g := range group {
		mean[g] += x.at(i) / n
	}
	for i, g := range group {
		d := x.at(i) - mean[g]
		square[g] += d * d / n
	}
	for i, g := range group {
		out.put(i, (x.at(i)-mean[g])/(math.Sqrt(square[g])+1e-9))
	}
	return one(out)
}

// lpNorm divides by the p-norm along an axis, zeros staying zeros.
func lpNorm(c *call) []*Tensor {
	x, p := c.x(0), float64(c.int("p", 2))
	if x.F == nil && x.D == nil {
		fail("%w: %s of %v", onnx.ErrFormat, c.n.Op, x.Type)
	}
	outer, n, inner := split(x.Shape, axis(c.int("axis", -1), len(x.Shape)))
	out := c.blank(x.Type, x.Shape...)
	c.byRows(outer*inner, n*2, func(from, to int) {
		for r := from; r < to; r++ {
			base, sum := r/inner*n*inner+r%inner, 0.0
			for i := range n {
				sum += power(math.Abs(x.at(base+i*inner)), p)
			}
			by := root(sum, p)
			for i := range n {
				v := x.at(base + i*inner)
				if by != 0 {
					v /= by
				}
				out.put(base+i*inner, v)
			}
		}
	})
	return one(out)
}
