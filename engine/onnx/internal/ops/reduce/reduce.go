package reduce

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/ops/element"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// A Reducer makes one number of a row. Floats narrower than float32 and integers
// without i go through d.
type Reducer struct {
	D func(row []float64) float64
	i func(row []int64) int64 // for every type but uint64, nil for those kept in d
	u func(row []uint64) uint64
	F func(row []float32) float32 // nil where it is no faster
	// rows of float32 are joined by add, then end takes the result and their number.
	add func(dst, x, y []float32)
	end func(dst []float32, n int)
}

// Reducers are the operators that reduce axes.
var Reducers = map[string]Reducer{
	"ReduceSum": {
		D: sum[float64], i: sum[int64], u: sum[uint64], F: sum32,
		add: vec.Add, end: func([]float32, int) {},
	},
	"ReduceMean": {
		D:   func(row []float64) float64 { return sum(row) / float64(len(row)) },
		i:   func(row []int64) int64 { return element.Divide(sum(row), int64(len(row))) },
		u:   func(row []uint64) uint64 { return sum(row) / max(1, uint64(len(row))) },
		F:   func(row []float32) float32 { return sum32(row) / float32(len(row)) },
		add: vec.Add, end: func(dst []float32, n int) { vec.Scale(dst, dst, 1/float32(n)) },
	},
	"ReduceMax": {
		D: func(row []float64) float64 {
			return extreme(row, math.Inf(-1), func(a, b float64) float64 { return max(a, b) })
		},
		i: func(row []int64) int64 {
			return extreme(row, math.MinInt64, func(a, b int64) int64 { return max(a, b) })
		},
		u: func(row []uint64) uint64 { return extreme(row, 0, func(a, b uint64) uint64 { return max(a, b) }) },
		F: func(row []float32) float32 {
			a := float32(math.Inf(-1))
			for _, v := range row {
				if v > a || v != v { // max of floats is slower
					if a = v; v != v {
						break
					}
				}
			}
			return a
		},
		add: vec.Max, end: func([]float32, int) {},
	},
	"ReduceMin": {
		D: func(row []float64) float64 {
			return extreme(row, math.Inf(1), func(a, b float64) float64 { return min(a, b) })
		},
		i: func(row []int64) int64 {
			return extreme(row, math.MaxInt64, func(a, b int64) int64 { return min(a, b) })
		},
		u: func(row []uint64) uint64 {
			return extreme(row, math.MaxUint64, func(a, b uint64) uint64 { return min(a, b) })
		},
	},
	"ReduceProd": {
		D: product1[float64], i: product1[int64], u: product1[uint64],
	},
	"ReduceSumSquare": {
		D: squares[float64], i: squares[int64], u: squares[uint64],
		F: func(row []float32) float32 {
			var a, b, c, d float32
			for len(row) >= 4 {
				a += row[0] * row[0]
				b += row[1] * row[1]
				c += row[2] * row[2]
				d += row[3] * row[3]
				row = row[4:]
			}
			for _, v := range row {
				a += v * v
			}
			return a + b + (c + d)
		},
	},
	"ReduceL1": {
		D: func(row []float64) float64 {
			s := 0.0
			for _, v := range row {
				s += math.Abs(v)
			}
			return s
		},
		i: func(row []int64) (s int64) {
			for _, v := range row {
				s += max(v, -v)
			}
			return s
		},
		u: sum[uint64],
	},
	"ReduceL2":     {D: func(row []float64) float64 { return math.Sqrt(squares(row)) }},
	"ReduceLogSum": {D: func(row []float64) float64 { return math.Log(sum(row)) }},
	"ReduceLogSumExp": {D: func(row []float64) float64 {
		top, s := math.Inf(-1), 0.0
		for _, v := range row {
			top = max(top, v)
		}
		if math.IsInf(top, 0) {
			return top
		}
		for _, v := range row {
			s += math.Exp(v - top)
		}
		return top + math.Log(s)
	}},
}

func sum[T float64 | int64 | uint64](row []T) (s T) {
	for _, v := range row {
		s += v
	}
	return s
}

// sum32 adds in several sums, which one processor core can do at a time.
func sum32(row []float32) float32 { return vec.Sum(row) }

func squares[T float64 | int64 | uint64](row []T) (s T) {
	for _, v := range row {
		s += v * v
	}
	return s
}

func product1[T float64 | int64 | uint64](row []T) T {
	p := T(1)
	for _, v := range row {
		p *= v
	}
	return p
}

func extreme[T any](row []T, start T, f func(a, b T) T) T {
	for _, v := range row {
		start = f(start, v)
	}
	return start
}

// reduced reduces the axes to one number each.
func reduced(c *run.Call, f Reducer) *tensor.Tensor {
	x, axes := c.X(0), c.List("axes", 1)
	if x.Seq != nil || x.S != nil {
		tensor.Malformed("%s of %v", c.Node.Op, x.Type)
	}
	over := make([]bool, len(x.Shape))
	for _, a := range axes {
		over[tensor.Axis(a, len(over))] = true
	}
	if len(axes) == 0 {
		// Where no axis is named the operation is still done, on rows of one, by
		// noop_with_empty_axes.
		noop := c.Int("noop_with_empty_axes", 0) != 0
		for i := range over {
			over[i] = !noop
		}
	}
	var shape, kept, left, folded []int // left and folded are dimensions
	for d, n := range x.Shape {
		switch {
		case over[d]:
			kept, folded = append(kept, 1), append(folded, d)
			continue
		default:
			kept, shape, left = append(kept, n), append(shape, n), append(left, d)
		}
	}
	if c.Int("keepdims", 1) != 0 {
		shape = kept
	}
	outer, n, inner := 1, 1, 1
	if len(folded) > 0 {
		first, last := folded[0], folded[len(folded)-1]
		if last-first+1 != len(folded) { // the folded dimensions last
			x = c.Permuted(x, x.Shape, slices.Concat(left, folded)...)
			first, last = len(left), len(x.Shape)-1
		}
		outer, n, inner = tensor.Count(x.Shape[:first]), tensor.Count(x.Shape[first:last+1]), tensor.Count(x.Shape[last+1:])
	} else {
		outer = x.Len()
	}
	out := c.Blank(x.Type, shape...)
	f.Fold(c, out, x, outer, n, inner)
	return out
}

// Fold writes to out (outer, inner) what becomes of the middle dimension of x (outer,
// n, inner).
func (f *Reducer) Fold(c *run.Call, out, x *tensor.Tensor, outer, n, inner int) {
	switch {
	case out.Len() == 0:
	case n == 0:
		f.empty(out)
	case x.F != nil && inner > 1 && f.add != nil:
		foldRows(c, *f, out.F, x.F, outer, n, inner)
	case x.F != nil && inner == 1 && f.F != nil:
		c.ByRows(outer, n, func(from, to int) {
			for r := from; r < to; r++ {
				out.F[r] = f.F(x.F[r*n : (r+1)*n])
			}
		})
	default:
		FoldAny(c, *f, out, x, n, inner)
	}
	tensor.Rounded(out)
}

// empty writes what rows of nothing are.
func (f *Reducer) empty(out *tensor.Tensor) {
	for i := range out.Len() {
		switch {
		case out.F != nil || out.D != nil:
			out.Put(i, f.D(nil))
		case out.Type == onnx.Uint64 && f.u != nil:
			out.I[i] = int64(f.u(nil))
		case f.i == nil:
			out.Put(i, f.D(nil))
		default:
			v := f.i(nil)
			if v == math.MinInt64 || v == math.MaxInt64 {
				low, high := tensor.Bounds(out.Type)
				switch {
				case out.Type == onnx.Bool:
					low, high = 0, 1
				case out.Type == onnx.Int64:
					out.I[i] = v
					continue
				}
				v = int64(low)
				if f.i(nil) > 0 {
					v = int64(high)
				}
			}
			out.I[i] = tensor.Wrap(out.Type, v)
		}
	}
}

// foldRows reduces the middle dimension of x (outer, n, inner), whole rows of
// inner at a time.
func foldRows(c *run.Call, f Reducer, dst, x []float32, outer, n, inner int) {
	if outer >= c.Pool().Workers() {
		c.ByRows(outer, n*inner, func(from, to int) {
			for o := from; o < to; o++ {
				row := dst[o*inner : (o+1)*inner]
				copy(row, x[o*n*inner:])
				for k := 1; k < n; k++ {
					f.add(row, row, x[(o*n+k)*inner:][:inner])
				}
				f.end(row, n)
			}
		})
		return
	}
	for o := range outer {
		c.ByRows(inner, n, func(from, to int) {
			row := dst[o*inner+from : o*inner+to]
			copy(row, x[o*n*inner+from:])
			for k := 1; k < n; k++ {
				f.add(row, row, x[(o*n+k)*inner+from:][:to-from])
			}
			f.end(row, n)
		})
	}
}

// FoldAny reduces what no faster way is there for: out, of Len elements, are n elements
// of x each, inner apart.
func FoldAny(c *run.Call, f Reducer, out, x *tensor.Tensor, n, inner int) {
	c.ByRows(out.Len(), n, func(from, to int) {
		var d []float64
		var i []int64
		var u []uint64
		for r := from; r < to; r++ {
			base := r/inner*n*inner + r%inner
			switch {
			case x.I != nil && x.Type == onnx.Uint64 && f.u != nil:
				u = u[:0]
				for k := range n {
					u = append(u, uint64(x.I[base+k*inner]))
				}
				out.I[r] = int64(f.u(u))
			case x.I != nil && f.i != nil:
				i = i[:0]
				for k := range n {
					i = append(i, x.I[base+k*inner])
				}
				out.I[r] = tensor.Wrap(out.Type, f.i(i))
			default:
				d = d[:0]
				for k := range n {
					d = append(d, x.At(base+k*inner))
				}
				out.Put(r, f.D(d))
			}
		}
	})
}
