package contrib

import (
	"math"

	"quern/engine/onnx/internal/ops/move"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// padOfRow is Pad whose sizes may be a row.
func padOfRow(c *run.Call) []*tensor.Tensor {
	in := append([]*tensor.Tensor{}, c.In...)
	in[1] = c.X(1).As(c.X(1).Len())
	return run.One(c.Again("Pad", c.Attrs(), in...))
}

// rangeByOne is Range whose step may be left out.
func rangeByOne(c *run.Call) []*tensor.Tensor {
	in := append([]*tensor.Tensor{}, c.In...)
	if len(in) == 2 {
		step := tensor.New(c.X(0).Type)
		step.Put(0, 1)
		in = append(in, step)
	}
	return run.One(c.Again("Range", nil, in...))
}

// expandDims is Unsqueeze of one axis.
func expandDims(c *run.Call) []*tensor.Tensor {
	at := c.X(1).List()
	if len(at) != 1 {
		tensor.Malformed("axes %d", at)
	}
	return run.One(c.Again("Unsqueeze", nil, c.X(0), tensor.Ints(at...)))
}

// uniqueInOrder returns values in the order they come in, which of them each
// element is, and how often they come.
func uniqueInOrder(c *run.Call) []*tensor.Tensor {
	attrs := map[string]*onnx.Attr{"sorted": {Name: "sorted", Type: onnx.AttrInt}}
	out := move.Unique(c.Sub("Unique", attrs, make([]string, 4), c.In))
	return []*tensor.Tensor{out[0], out[2], out[3]}
}

// inverse returns the inverses of square matrices, by elimination with the
// largest of each column in front.
func inverse(c *run.Call, x *tensor.Tensor) *tensor.Tensor {
	r := len(x.Shape)
	if r < 2 || x.Shape[r-1] != x.Shape[r-2] || x.F == nil && x.D == nil {
		tensor.Malformed("inverse of %v, shape %d", x.Type, x.Shape)
	}
	n, out := x.Shape[r-1], c.Blank(x.Type, x.Shape...)
	c.Fits(onnx.Double, n, 2*n)
	m := make([]float64, 2*n*n) // the matrix, and beside it what becomes its inverse
	for i := range tensor.Count(x.Shape[:r-2]) {
		clear(m)
		for j := range n {
			for k := range n {
				m[j*2*n+k] = x.At((i*n+j)*n + k)
			}
			m[j*2*n+n+j] = 1
		}
		row := func(j int) []float64 { return m[j*2*n : (j+1)*2*n] }
		for j := range n {
			c.Check()
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
				out.Put((i*n+j)*n+k, row(j)[n+k])
			}
		}
	}
	return out
}

// distances returns how far every row of the first matrix is from every one of
// the second.
func distances(c *run.Call) []*tensor.Tensor {
	a, b := c.X(0), c.X(1)
	metric := c.Text("metric", "sqeuclidean")
	if len(a.Shape) != 2 || len(b.Shape) != 2 || a.Shape[1] != b.Shape[1] || a.Type != b.Type || a.F == nil && a.D == nil || metric != "euclidean" && metric != "sqeuclidean" {
		tensor.Unsupported("distance %.20q of %v, shapes %d and %d", metric, a.Type, a.Shape, b.Shape)
	}
	m, n, k := a.Shape[0], b.Shape[0], a.Shape[1]
	out := c.Blank(a.Type, m, n)
	c.ByRows(m, n*(k+1), func(from, to int) {
		for i := from * n; i < to*n; i++ {
			sum := 0.0
			for j := range k {
				d := a.At(i/n*k+j) - b.At(i%n*k+j)
				sum += d * d
			}
			if metric == "euclidean" {
				sum = math.Sqrt(sum)
			}
			out.Put(i, sum)
		}
	})
	return run.One(out)
}
