package onnx

import (
	"cmp"
	"slices"

	"quern/formats/onnx"
)

// compress keeps the slices of an axis, or the elements of all, whose condition
// holds. Conditions may be fewer than slices.
func compress(c *call) []*Tensor {
	x, a := c.sliced()
	cond := c.x(1).I
	var keep []int
	for i, v := range cond[:min(len(cond), x.Shape[a])] {
		if v != 0 {
			keep = append(keep, i)
		}
	}
	return one(c.along(x, a, keep, len(keep)))
}

// sliced returns the first input and the axis it is taken along: without the
// attribute all its elements, in a row.
func (c *call) sliced() (x *Tensor, a int) {
	x = c.x(0)
	if c.attr("axis") == nil {
		return x.as(x.len()), 0
	}
	return x, axis(c.int("axis", 0), len(x.Shape))
}

// along returns the slices of x along an axis that list names, in dimensions
// instead of the axis.
func (c *call) along(x *Tensor, at int, list []int, dims ...int) *Tensor {
	out := c.blank(x.Type, slices.Concat(x.Shape[:at], dims, x.Shape[at+1:])...)
	outer, n, inner := split(x.Shape, at)
	for o := range outer {
		for i, v := range list {
			copyElems(out, (o*len(list)+i)*inner, x, (o*n+v)*inner, inner)
		}
	}
	return out
}

// nonZero returns the positions of elements that are not zero, one a column.
func nonZero(c *call) []*Tensor {
	x := c.x(0)
	var at []int
	for i := range x.len() {
		if x.S == nil && x.at(i) != 0 || x.S != nil && x.S[i] != "" {
			at = append(at, i)
		}
	}
	out := c.blank(onnx.Int64, len(x.Shape), len(at))
	for d, s := range strides(x.Shape) {
		for j, i := range at {
			out.I[d*len(at)+j] = int64(i / s % x.Shape[d])
		}
	}
	return one(out)
}

func oneHot(c *call) []*Tensor {
	index, values := c.x(0), c.x(2)
	n := int64(c.x(1).scalar().at(0))
	a := axis(c.int("axis", -1), len(index.Shape)+1)
	if n < 0 || n > maxElems || values.len() != 2 {
		fail("%w: one of %d, of %d values", onnx.ErrFormat, n, values.len())
	}
	shape := slices.Insert(slices.Clone(index.Shape), a, int(n))
	outer, inner := count(index.Shape[:a]), count(index.Shape[a:])
	out := c.blank(values.Type, shape...)
	for i := range out.len() {
		copyElems(out, i, values, 0, 1)
	}
	for i := range outer * inner {
		v := int64(index.at(i))
		if v < 0 {
			v += n
		}
		if v >= 0 && v < n {
			copyElems(out, (i/inner*int(n)+int(v))*inner+i%inner, values, 1, 1)
		}
	}
	return one(out)
}

// insertUpTo is the k up to which topK inserts into a short sorted list.
const insertUpTo = 256

// topK returns the k largest or smallest along an axis, and where they are. Of
// equals the first comes first.
func topK(c *call) []*Tensor {
	x, k := c.x(0), c.int("k", 0)
	if t := c.opt(1); t != nil {
		k = t.scalar().list()[0]
	}
	if len(x.Shape) == 0 {
		fail("%w: TopK of a scalar", onnx.ErrFormat)
	}
	a := axis(c.int("axis", -1), len(x.Shape))
	outer, n, inner := split(x.Shape, a)
	if k < 0 || k > n {
		fail("%w: %d largest of %d", onnx.ErrFormat, k, n)
	}
	order, sign := x.order(), -1
	if c.int("largest", 1) == 0 {
		sign = 1
	}
	shape := slices.Clone(x.Shape)
	shape[a] = k
	out, at := c.blank(x.Type, shape...), c.blank(onnx.Int64, shape...)
	if k == 0 {
		return []*Tensor{out, at}
	}
	quick := x.F != nil && inner == 1 && sign < 0
	c.byRows(outer*inner, n*4, func(from, to int) {
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
				copyElems(out, to, x, base+i*inner, 1)
				at.I[to] = int64(i)
			}
		}
	})
	return []*Tensor{out, at}
}

// unique returns the different slices along an axis (elements without one), the
// first position of each, which each slice is, and how often each occurs.
func unique(c *call) []*Tensor {
	x, a := c.sliced()
	outer, n, inner := split(x.Shape, a)
	order := x.order()
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
	sorted := upTo(n)
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
	if c.int("sorted", 1) == 0 {
		slices.Sort(first)
	}
	number := make([]int64, n)
	for k, i := range first {
		number[i] = int64(k)
	}
	out := c.along(x, a, first, len(first))
	inverse, counts := c.zeros(onnx.Int64, n), c.zeros(onnx.Int64, len(first))
	for i, g := range group {
		inverse.I[i] = number[g]
		counts.I[number[g]]++
	}
	return []*Tensor{out, ints(first...), inverse, counts}
}
