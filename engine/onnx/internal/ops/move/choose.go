package move

import (
	"cmp"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// compress keeps the slices of an axis, or the elements of all, whose condition
// holds. Conditions may be fewer than slices.
func compress(c *run.Call) []*tensor.Tensor {
	x, a := sliced(c)
	cond := c.X(1).I
	var keep []int
	for i, v := range cond[:min(len(cond), x.Shape[a])] {
		if v != 0 {
			keep = append(keep, i)
		}
	}
	return run.One(takeAlong(c, x, a, keep, len(keep)))
}

// sliced returns the first input and the axis it is taken along: without the
// attribute all its elements, in a row.
func sliced(c *run.Call) (x *tensor.Tensor, a int) {
	x = c.X(0)
	if c.Attr("axis") == nil {
		return x.As(x.Len()), 0
	}
	return x, tensor.Axis(c.Int("axis", 0), len(x.Shape))
}

// takeAlong returns the slices of x along an axis that list names, in dimensions
// instead of the axis.
func takeAlong(c *run.Call, x *tensor.Tensor, at int, list []int, dims ...int) *tensor.Tensor {
	out := c.Blank(x.Type, slices.Concat(x.Shape[:at], dims, x.Shape[at+1:])...)
	outer, n, inner := tensor.Split(x.Shape, at)
	for o := range outer {
		for i, v := range list {
			tensor.CopyElems(out, (o*len(list)+i)*inner, x, (o*n+v)*inner, inner)
		}
	}
	return out
}

// nonZero returns the positions of elements that are not zero, one a column.
func nonZero(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	var at []int
	for i := range x.Len() {
		if x.S == nil && x.At(i) != 0 || x.S != nil && x.S[i] != "" {
			at = append(at, i)
		}
	}
	out := c.Blank(onnx.Int64, len(x.Shape), len(at))
	for d, s := range tensor.Strides(x.Shape) {
		for j, i := range at {
			out.I[d*len(at)+j] = int64(i / s % x.Shape[d])
		}
	}
	return run.One(out)
}

func oneHot(c *run.Call) []*tensor.Tensor {
	index, values := c.X(0), c.X(2)
	n := int64(c.X(1).Scalar().At(0))
	a := tensor.Axis(c.Int("axis", -1), len(index.Shape)+1)
	if n < 0 || n > tensor.MaxElems || values.Len() != 2 {
		tensor.Malformed("one of %d, of %d values", n, values.Len())
	}
	shape := slices.Insert(slices.Clone(index.Shape), a, int(n))
	outer, inner := tensor.Count(index.Shape[:a]), tensor.Count(index.Shape[a:])
	out := c.Blank(values.Type, shape...)
	for i := range out.Len() {
		tensor.CopyElems(out, i, values, 0, 1)
	}
	for i := range outer * inner {
		v := int64(index.At(i))
		if v < 0 {
			v += n
		}
		if v >= 0 && v < n {
			tensor.CopyElems(out, (i/inner*int(n)+int(v))*inner+i%inner, values, 1, 1)
		}
	}
	return run.One(out)
}

// insertUpTo is the k up to which topK inserts into a short sorted list.
const insertUpTo = 256

// topK returns the k largest or smallest along an axis, and where they are. Of
// equals the first comes first.
func topK(c *run.Call) []*tensor.Tensor {
	x, k := c.X(0), c.Int("k", 0)
	if t := c.Opt(1); t != nil {
		k = t.Scalar().List()[0]
	}
	if len(x.Shape) == 0 {
		tensor.Malformed("TopK of a scalar")
	}
	a := tensor.Axis(c.Int("axis", -1), len(x.Shape))
	outer, n, inner := tensor.Split(x.Shape, a)
	if k < 0 || k > n {
		tensor.Malformed("%d largest of %d", k, n)
	}
	order, sign := x.Order(), -1
	if c.Int("largest", 1) == 0 {
		sign = 1
	}
	shape := slices.Clone(x.Shape)
	shape[a] = k
	out, at := c.Blank(x.Type, shape...), c.Blank(onnx.Int64, shape...)
	if k == 0 {
		return []*tensor.Tensor{out, at}
	}
	quick := x.F != nil && inner == 1 && sign < 0
	c.ByRows(outer*inner, n*4, func(from, to int) {
		var best []int
		for r := from; r < to; r++ {
			base := r/inner*n*inner + r%inner
			better := func(i, j int) int {
				if o := sign * order(base+i*inner, base+j*inner); o != 0 {
					return o
				}
				return cmp.Compare(i, j)
			}
			best = best[:0]
			if k > insertUpTo {
				for i := range n {
					best = append(best, i)
				}
				slices.SortFunc(best, better)
			} else {
				for i := range n {
					if len(best) == k {
						if quick && x.F[base+i] < x.F[base+best[k-1]] || better(i, best[k-1]) > 0 {
							continue
						}
						best = best[:k-1]
					}
					j, _ := slices.BinarySearchFunc(best, i, better)
					best = slices.Insert(best, j, i)
				}
			}
			for j, i := range best[:k] {
				to := r/inner*k*inner + j*inner + r%inner
				tensor.CopyElems(out, to, x, base+i*inner, 1)
				at.I[to] = int64(i)
			}
		}
	})
	return []*tensor.Tensor{out, at}
}

// Unique returns the different slices along an axis (elements without one), the
// first position of each, which each slice is, and how often each occurs.
func Unique(c *run.Call) []*tensor.Tensor {
	x, a := sliced(c)
	outer, n, inner := tensor.Split(x.Shape, a)
	order := x.Order()
	compare := func(i, j int) int {
		for o := range outer {
			for k := range inner {
				if v := order((o*n+i)*inner+k, (o*n+j)*inner+k); v != 0 {
					return v
				}
			}
		}
		return 0
	}
	sorted := tensor.UpTo(n)
	slices.SortStableFunc(sorted, compare)
	group := make([]int, n) // by slice, the position of its first equal
	var first []int
	for s, i := range sorted {
		if s > 0 && compare(sorted[s-1], i) == 0 {
			group[i] = group[sorted[s-1]]
		} else {
			group[i] = i
			first = append(first, i)
		}
	}
	if c.Int("sorted", 1) == 0 {
		slices.Sort(first)
	}
	number := make([]int64, n)
	for k, i := range first {
		number[i] = int64(k)
	}
	out := takeAlong(c, x, a, first, len(first))
	inverse, counts := c.Zeros(onnx.Int64, n), c.Zeros(onnx.Int64, len(first))
	for i, g := range group {
		inverse.I[i] = number[g]
		counts.I[number[g]]++
	}
	return []*tensor.Tensor{out, tensor.Ints(first...), inverse, counts}
}
