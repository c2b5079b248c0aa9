package element

import (
	"math"
	"math/rand/v2"
	"sort"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

func randomOps() run.Table {
	ops := run.Table{"Bernoulli": bernoulli, "Multinomial": multinomial}
	for name, source := range map[string]func(c *run.Call, r *rand.Rand) func() float64{
		"RandomNormal": func(c *run.Call, r *rand.Rand) func() float64 {
			mean, scale := c.Float("mean", 0), c.Float("scale", 1)
			return func() float64 { return mean + scale*r.NormFloat64() }
		},
		"RandomUniform": func(c *run.Call, r *rand.Rand) func() float64 {
			low, high := c.Float("low", 0), c.Float("high", 1)
			return func() float64 { return low + (high-low)*r.Float64() }
		},
	} {
		ops[name] = func(c *run.Call) []*tensor.Tensor {
			return run.One(draw(c, c.DType(onnx.Float), c.List("shape", -1), source(c, c.Random())))
		}
		ops[name+"Like"] = func(c *run.Call) []*tensor.Tensor {
			return run.One(draw(c, c.DType(c.X(0).Type), c.X(0).Shape, source(c, c.Random())))
		}
	}
	return ops
}

func draw(c *run.Call, t onnx.DType, shape []int, f func() float64) *tensor.Tensor {
	if t.Bits() == 0 {
		tensor.Unsupported("random numbers of %v", t)
	}
	out := c.Blank(t, shape...)
	for i := range out.Len() {
		out.Put(i, f())
	}
	return out
}

// bernoulli draws 1 with the probability each element is.
func bernoulli(c *run.Call) []*tensor.Tensor {
	x, r, i := c.X(0), c.Random(), -1
	return run.One(draw(c, c.DType(x.Type), x.Shape, func() float64 {
		i++
		if r.Float64() < x.At(i) {
			return 1
		}
		return 0
	}))
}

// multinomial draws classes by rows of logarithms of their weights.
func multinomial(c *run.Call) []*tensor.Tensor {
	x, n, t := c.X(0), c.Int("sample_size", 1), c.DType(onnx.Int32)
	if len(x.Shape) != 2 || x.Shape[1] == 0 || t != onnx.Int32 && t != onnx.Int64 {
		tensor.Malformed("Multinomial of shape %d to %v", x.Shape, t)
	}
	out, r, classes := c.Blank(t, x.Shape[0], n), c.Random(), x.Shape[1]
	sums := make([]float64, classes)
	for row := range x.Shape[0] {
		top := math.Inf(-1)
		for k := range sums {
			top = max(top, x.At(row*classes+k))
		}
		sum := 0.0
		for k := range sums {
			sum += math.Exp(x.At(row*classes+k) - top)
			sums[k] = sum
		}
		for i := range n {
			v := r.Float64() * sum
			out.I[row*n+i] = int64(min(sort.SearchFloat64s(sums, v), classes-1))
		}
	}
	return run.One(out)
}
