package norm

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/ops/reduce"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// A Bend is what is done to numbers behind a norm: those below zero are multiplied by Slope,
// and all are no less than Floor. Of float32 alone, and one of both at a time.
type Bend struct{ Slope, Floor float32 }

// Straight leaves numbers as they are.
var Straight = Bend{1, float32(math.Inf(-1))}

// Affine writes x·w + b with one w and b for each stretch of n elements, bent.
func Affine(c *run.Call, x *tensor.Tensor, n int, w, b []float64, bend Bend) *tensor.Tensor {
	out := c.Blank(x.Type, x.Shape...)
	if n == 0 || out.Len() == 0 {
		return out
	}
	c.ByRows(out.Len()/n, n, func(from, to int) {
		for r := from; r < to; r++ {
			if x.F != nil {
				dst, src, by, add := out.F[r*n:(r+1)*n], x.F[r*n:(r+1)*n], float32(w[r%len(w)]), float32(b[r%len(b)])
				if bend.Slope != 1 {
					vec.Bend(dst, src, by, add, bend.Slope)
				} else {
					vec.Affine(dst, src, by, add, bend.Floor)
				}
				continue
			}
			for i := r * n; i < (r+1)*n; i++ {
				out.Put(i, x.At(i)*w[r%len(w)]+b[r%len(b)])
			}
		}
	})
	return tensor.Rounded(out)
}

// channelled checks x (batch, channels, …) and tensors of one number a channel.
func channelled(c *run.Call, x *tensor.Tensor, each ...*tensor.Tensor) (channels, inner int) {
	if len(x.Shape) < 1 || x.F == nil && x.D == nil {
		tensor.Malformed("%s of %v of shape %d", c.Node.Op, x.Type, x.Shape)
	}
	channels = 1
	if len(x.Shape) > 1 {
		channels, inner = x.Shape[1], tensor.Count(x.Shape[2:])
	} else {
		inner = 1
	}
	for _, t := range each {
		if t.Len() != channels || t.S != nil {
			tensor.Malformed("%d numbers for %d channels", t.Len(), channels)
		}
	}
	return channels, inner
}

func batchNorm(c *run.Call) []*tensor.Tensor {
	x, scale, bias, mean, variance := c.X(0), c.X(1), c.X(2), c.X(3), c.X(4)
	if c.Opset < 9 && c.Int("spatial", 1) == 0 && len(x.Shape) > 0 { // every element of a sample is a channel
		flat := x.As(x.Shape[0], tensor.Count(x.Shape[1:]))
		return run.One(c.Again("BatchNormalization", map[string]*onnx.Attr{"epsilon": c.Attr("epsilon")}, flat,
			scale.As(scale.Len()), bias.As(bias.Len()), mean.As(mean.Len()), variance.As(variance.Len())).As(x.Shape...))
	}
	channels, inner := channelled(c, x, scale, bias, mean, variance)
	eps := c.Float("epsilon", 1e-5)
	res := []*tensor.Tensor{nil}
	if c.Int("training_mode", 0) != 0 {
		momentum := c.Float("momentum", 0.9)
		n := x.Shape[0] * inner
		now, spread := tensor.New(mean.Type, channels), tensor.New(variance.Type, channels)
		newMean, newVariance := tensor.New(mean.Type, channels), tensor.New(variance.Type, channels)
		for ch := range channels {
			m, s := 0.0, 0.0
			for i := range n {
				m += x.At((i/inner*channels+ch)*inner + i%inner)
			}
			m /= float64(n)
			for i := range n {
				d := x.At((i/inner*channels+ch)*inner+i%inner) - m
				s += d * d
			}
			s /= float64(n)
			now.Put(ch, m)
			spread.Put(ch, s)
			newMean.Put(ch, mean.At(ch)*momentum+m*(1-momentum))
			newVariance.Put(ch, variance.At(ch)*momentum+s*(1-momentum))
		}
		mean, variance = now, spread
		res = append(res, newMean, newVariance)
	}
	w, b := Scales(scale, bias, mean, variance, eps)
	res[0] = Affine(c, x, inner, w, b, Straight)
	return res
}

// Scales returns what a batch normalization multiplies each channel with and adds to it.
func Scales(scale, bias, mean, variance *tensor.Tensor, eps float64) (w, b []float64) {
	w, b = make([]float64, scale.Len()), make([]float64, scale.Len())
	for ch := range w {
		w[ch] = scale.At(ch) / math.Sqrt(variance.At(ch)+eps)
		b[ch] = bias.At(ch) - mean.At(ch)*w[ch]
	}
	return w, b
}

// grouped normalizes stretches of n elements, then multiplies with a scale and
// adds a bias, one for each of the channels a stretch has.
func grouped(c *run.Call, x *tensor.Tensor, groups, n int, eps float64, bend Bend, scale, bias func(ch int) float64) *tensor.Tensor {
	channels, inner := channelled(c, x)
	if n == 0 {
		return c.Blank(x.Type, x.Shape...)
	}
	rows := x.Len() / n
	w, b := make([]float64, x.Shape[0]*channels), make([]float64, x.Shape[0]*channels)
	per := channels / groups
	c.ByRows(rows, n*4, func(from, to int) {
		for r := from; r < to; r++ {
			mean, inv := moments(x, r*n, n, eps, false)
			for ch := r * per; ch < (r+1)*per; ch++ {
				w[ch] = inv * scale(ch%channels)
				b[ch] = bias(ch%channels) - mean*w[ch]
			}
		}
	})
	return Affine(c, x, inner, w, b, bend)
}

func instanceNorm(c *run.Call) []*tensor.Tensor {
	return run.One(Instance(c, c.Float("epsilon", 1e-5), Straight))
}

// Instance is InstanceNormalization, whose inputs are the first three of c, bent.
func Instance(c *run.Call, eps float64, bend Bend) *tensor.Tensor {
	x, scale, bias := c.X(0), c.X(1), c.X(2)
	channels, inner := channelled(c, x, scale, bias)
	return grouped(c, x, channels, inner, eps, bend, scale.At, bias.At)
}

// groupNorm has scales by group in opset 18 and by channel since 21.
//
// Wu & He, "Group Normalization", 2018.
func groupNorm(c *run.Call) []*tensor.Tensor {
	x, scale, bias := c.X(0), c.X(1), c.X(2)
	channels, inner := channelled(c, x)
	groups := c.Int("num_groups", 1)
	if groups < 1 || channels%groups != 0 || scale.Len() != bias.Len() || scale.Len() != channels && scale.Len() != groups || channels == 0 {
		tensor.Malformed("%d channels in %d groups with %d scales", channels, groups, scale.Len())
	}
	per := channels / scale.Len()
	return run.One(grouped(c, x, groups, channels/groups*inner, c.Float("epsilon", 1e-5), Straight,
		func(ch int) float64 { return scale.At(ch / per) }, func(ch int) float64 { return bias.At(ch / per) }))
}

// localNorm divides by a power of the squares of size neighbouring channels.
//
// Krizhevsky, Sutskever & Hinton, "ImageNet Classification with Deep
// Convolutional Neural Networks", 2012, §3.3.
func localNorm(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	channels, inner := channelled(c, x)
	size := c.Int("size", 1)
	if size < 1 {
		tensor.Malformed("%d channels", size)
	}
	alpha, beta, bias := c.Float("alpha", 1e-4), c.Float("beta", 0.75), c.Float("bias", 1)
	out := c.Blank(x.Type, x.Shape...)
	before, after := (size-1)/2, size/2
	c.ByRows(out.Len(), 16, func(from, to int) {
		for i := from; i < to; i++ {
			ch, sum := i/inner%channels, 0.0
			for k := max(0, ch-before); k <= min(channels-1, ch+after); k++ {
				v := x.At(i + (k-ch)*inner)
				sum += v * v
			}
			out.Put(i, x.At(i)/math.Pow(bias+alpha/float64(size)*sum, beta))
		}
	})
	return run.One(out)
}

// meanVarianceNorm brings what the axes span to a mean of 0 and a deviation of 1.
func meanVarianceNorm(c *run.Call) []*tensor.Tensor {
	x, axes := c.X(0), c.List("axes", -1)
	if axes == nil {
		axes = []int{0, 2, 3}
	}
	if x.F == nil && x.D == nil {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	kept := slices.Clone(x.Shape)
	for _, a := range axes {
		kept[tensor.Axis(a, len(kept))] = 1
	}
	group := tensor.Walk(x.Shape, tensor.SpreadSteps(kept, x.Shape), 0)
	out := c.Blank(x.Type, x.Shape...)
	mean, square, n := make([]float64, tensor.Count(kept)), make([]float64, tensor.Count(kept)), float64(x.Len()/max(1, tensor.Count(kept)))
	for i, g := range group {
		mean[g] += x.At(i) / n
	}
	for i, g := range group {
		d := x.At(i) - mean[g]
		square[g] += d * d / n
	}
	for i, g := range group {
		out.Put(i, (x.At(i)-mean[g])/(math.Sqrt(square[g])+1e-9))
	}
	return run.One(out)
}

// lpNorm divides by the p-norm along an axis, zeros staying zeros.
func lpNorm(c *run.Call) []*tensor.Tensor {
	x, p := c.X(0), float64(c.Int("p", 2))
	if x.F == nil && x.D == nil {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	outer, n, inner := tensor.Split(x.Shape, tensor.Axis(c.Int("axis", -1), len(x.Shape)))
	out := c.Blank(x.Type, x.Shape...)
	c.ByRows(outer*inner, n*2, func(from, to int) {
		for r := from; r < to; r++ {
			base, sum := r/inner*n*inner+r%inner, 0.0
			for i := range n {
				sum += reduce.Power(math.Abs(x.At(base+i*inner)), p)
			}
			by := reduce.Root(sum, p)
			for i := range n {
				v := x.At(base + i*inner)
				if by != 0 {
					v /= by
				}
				out.Put(base+i*inner, v)
			}
		}
	})
	return run.One(out)
}
