package onnx

import (
	"math"
	"math/rand/v2"
	"sort"

	"quern/formats/onnx"
)

func randomOps() table {
	ops := table{"Bernoulli": bernoulli, "Multinomial": multinomial}
	for name, draw := range map[string]func(c *call, r *rand.Rand) func() float64{
		"RandomNormal": func(c *call, r *rand.Rand) func() float64 {
			mean, scale := c.float("mean", 0), c.float("scale", 1)
			return func() float64 { return mean + scale*r.NormFloat64() }
		},
		"RandomUniform": func(c *call, r *rand.Rand) func() float64 {
			low, high := c.float("low", 0), c.float("high", 1)
			return func() float64 { return low + (high-low)*r.Float64() }
		},
	} {
		ops[name] = func(c *call) []*Tensor {
			return []*Tensor{c.draw(c.dtype(onnx.Float), c.list("shape", -1), draw(c, c.random()))}
		}
		ops[name+"Like"] = func(c *call) []*Tensor {
			return []*Tensor{c.draw(c.dtype(c.x(0).Type), c.x(0).Shape, draw(c, c.random()))}
		}
	}
	return ops
}

func (c *call) draw(t onnx.DType, shape []int, f func() float64) *Tensor {
	if t.Bits() == 0 {
		fail("%w: random numbers of %v", onnx.ErrUnsupported, t)
	}
	out := c.blank(t, shape...)
	for i := range out.len() {
		out.put(i, f())
	}
	return out
}

// bernoulli draws 1 with the probability each element is.
func bernoulli(c *call) []*Tensor {
	x, r, i := c.x(0), c.random(), -1
	return []*Tensor{c.draw(c.dtype(x.Type), x.Shape, func() float64 {
		i++
		if r.Float64() < x.at(i) {
			return 1
		}
		return 0
	})}
}

// multinomial draws classes by rows of logarithms of their weights.
func multinomial(c *call) []*Tensor {
	x, n, t := c.x(0), c.int("sample_size", 1), c.dtype(onnx.Int32)
	if len(x.Shape) != 2 || x.Shape[1] == 0 || t != onnx.Int32 && t != onnx.Int64 {
		fail("%w: Multinomial of shape %d to %v", onnx.ErrFormat, x.Shape, t)
	}
	out, r, classes := c.blank(t, x.Shape[0], n), c.random(), x.Shape[1]
	sums := make([]float64, classes)
	for row := range x.Shape[0] {
		top := math.Inf(-1)
		for k := range sums {
			top = max(top, x.at(row*classes+k))
		}
		sum := 0.0
		for k := range sums {
			sum += math.Exp(x.at(row*classes+k) - top)
			sums[k] = sum
		}
		for i := range n {
			v := r.Float64() * sum
			out.I[row*n+i] = int64(min(sort.SearchFloat64s(sums, v), classes-1))
		}
	}
	return []*Tensor{out}
}
