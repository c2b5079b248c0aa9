package onnx

import (
	"math"

	"quern/formats/onnx"
)

// namedOps are operators of com.microsoft that are those of ai.onnx under
// another name, or little else.
//
// ONNX Runtime, ContribOperators.md.
func namedOps() table {
	same := func(op string) op {
		return func(c *call) []*Tensor { return one(c.again(op, c.resolved(), c.in...)) }
	}
	return table{
		"com.microsoft.TransposeMatMul": fusedMatMul,
		"com.microsoft.GatherND":        same("GatherND"),
		"com.microsoft.GridSample":      same("GridSample"),
		"com.microsoft.Trilu":           same("Trilu"),
		"com.microsoft.Pad": func(c *call) []*Tensor {
			in := append([]*Tensor{}, c.in...)
			in[1] = c.x(1).as(c.x(1).len()) // may be a row
			return one(c.again("Pad", c.resolved(), in...))
		},
		"com.microsoft.Range": func(c *call) []*Tensor {
			in := append([]*Tensor{}, c.in...)
			if len(in) == 2 {
				step := newTensor(c.x(0).Type)
				step.put(0, 1)
				in = append(in, step)
			}
			return one(c.again("Range", nil, in...))
		},
		"com.microsoft.ExpandDims": func(c *call) []*Tensor {
			at := c.x(1).list()
			if len(at) != 1 {
				fail("%w: axes %d", onnx.ErrFormat, at)
			}
			return one(c.again("Unsqueeze", nil, c.x(0), ints(at...)))
		},
		"com.microsoft.Unique":  uniqueInOrder,
		"com.microsoft.Inverse": func(c *call) []*Tensor { return one(c.inverse(c.x(0))) },
		"com.microsoft.CDist":   distances,
	}
}

// uniqueInOrder returns values in the order they come in, which of them each
// element is, and how often they come.
func uniqueInOrder(c *call) []*Tensor {
	attrs := map[string]*onnx.Attr{"sorted": {Name: "sorted", Type: onnx.AttrInt}}
	out := unique(c.sub("Unique", attrs, make([]string, 4), c.in))
	return []*Tensor{out[0], out[2], out[3]}
}

// inverse returns the inverses of square matrices, by elimination with the
// largest of each column in front.
func (c *call) inverse(x *Tensor) *Tensor {
	r := len(x.Shape)
	if r < 2 || x.Shape[r-1] != x.Shape[r-2] || x.F == nil && x.D == nil {
		fail("%w: inverse of %v, shape %d", onnx.ErrFormat, x.Type, x.Shape)
	}
	n, out := x.Shape[r-1], c.blank(x.Type, x.Shape...)
	c.fits(onnx.Double, n, 2*n)
	m := make([]float64, 2*n*n) // the matrix, and beside it what becomes its inverse
	for i := range count(x.Shape[:r-2]) {
		clear(m)
		for j := range n {
			for k := range n {
				m[j*2*n+k] = x.at((i*n+j)*n + k)
			}
			m[j*2*n+n+j] = 1
		}
		row := func(j int) []float64 { return m[j*2*n : (j+1)*2*n] }
		for j := range n {
			c.check()
			best := j
			for k := j + 1; k < n; k++ {
				if math.Abs(row(k)[j]) > math.Abs(row(best)[j]) {
					best = k
				}
			}
			top, other := row(j), row(best)
			if best != j {
				for k := range top {
					top[k], other[k] = other[k], top[k]
				}
			}
			by := 1 / top[j]
			for k := range top {
				top[k] *= by
			}
			for k := range n {
				if f := row(k)[j]; k != j && f != 0 {
					for l, v := range top {
						row(k)[l] -= f * v
					}
				}
			}
		}
		for j := range n {
			for k := range n {
				out.put((i*n+j)*n+k, row(j)[n+k])
			}
		}
	}
	return out
}

// distances returns how far every row of the first matrix is from every one of
// the second.
func distances(c *call) []*Tensor {
	a, b := c.x(0), c.x(1)
	metric := c.text("metric", "sqeuclidean")
	if len(a.Shape) != 2 || len(b.Shape) != 2 || a.Shape[1] != b.Shape[1] || a.Type != b.Type || a.F == nil && a.D == nil || metric != "euclidean" && metric != "sqeuclidean" {
		fail("%w: distance %.20q of %v, shapes %d and %d", onnx.ErrUnsupported, metric, a.Type, a.Shape, b.Shape)
	}
	m, n, k := a.Shape[0], b.Shape[0], a.Shape[1]
	out := c.blank(a.Type, m, n)
	c.byRows(m, n*(k+1), func(from, to int) {
		for i := from * n; i < to*n; i++ {
			sum := 0.0
			for j := range k {
				d := a.at(i/n*k+j) - b.at(i%n*k+j)
				sum += d * d
			}
			if metric == "euclidean" {
				sum = math.Sqrt(sum)
			}
			out.put(i, sum)
		}
	})
	return one(out)
}
