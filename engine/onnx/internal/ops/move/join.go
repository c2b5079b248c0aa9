package move

import (
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// Stacked joins tensors along a new axis.
func Stacked(c *run.Call, rows []*tensor.Tensor, at int) *tensor.Tensor {
	first := rows[0].Whole()
	at = tensor.Axis(at, len(first.Shape)+1)
	shape := append(append(append([]int{}, first.Shape[:at]...), len(rows)), first.Shape[at:]...)
	out := c.Blank(first.Type, shape...)
	outer, inner := tensor.Count(first.Shape[:at]), tensor.Count(first.Shape[at:])
	for k, r := range rows {
		r = r.Whole()
		if r.Type != first.Type || !slices.Equal(r.Shape, first.Shape) || r.Seq != nil || r.None() {
			tensor.Malformed("%v of shape %d stacked with %v of %d", r.Type, r.Shape, first.Type, first.Shape)
		}
		for o := range outer {
			tensor.CopyElems(out, (o*len(rows)+k)*inner, r, o*inner, inner)
		}
	}
	return out
}

// Joined joins tensors along an axis they have.
func Joined(c *run.Call, parts []*tensor.Tensor, at int) *tensor.Tensor {
	first := parts[0].Whole()
	at = tensor.Axis(at, len(first.Shape))
	shape := append([]int{}, first.Shape...)
	shape[at] = 0
	for _, p := range parts {
		same := p.Type == first.Type && len(p.Shape) == len(shape) && p.Seq == nil
		for d := range shape {
			same = same && (d == at || p.Shape[d] == shape[d])
		}
		if !same {
			tensor.Malformed("%v of shape %d joined to %v of %d", p.Type, p.Shape, first.Type, first.Shape)
		}
		shape[at] += p.Shape[at]
	}
	outer, row, done := tensor.Count(shape[:at]), tensor.Count(shape[at:]), 0
	var out *tensor.Tensor
	// What grows by little is likely to go on growing.
	begun, n := false, tensor.Count(first.Shape)
	if outer == 1 && first.Type == onnx.Float && first == c.In[0] && c.Mine(0) && n > row/2 {
		out, begun = c.Grown(0, shape...)
	} else {
		out = c.Blank(first.Type, shape...)
	}
	for i, p := range parts {
		p = p.Whole()
		n := tensor.Count(p.Shape[at:])
		if begun && i == 0 {
			done = n
			continue
		}
		for o := range outer {
			tensor.CopyElems(out, o*row+done, p, o*n, n)
		}
		done += n
	}
	return out
}

// Part returns elements from to from+n along an axis.
func Part(c *run.Call, t *tensor.Tensor, at, from, n int) *tensor.Tensor {
	shape := append([]int{}, t.Shape...)
	shape[at] = n
	out := c.Blank(t.Type, shape...)
	inner := tensor.Count(t.Shape[at+1:])
	for o := range tensor.Count(t.Shape[:at]) {
		tensor.CopyElems(out, o*n*inner, t, (o*t.Shape[at]+from)*inner, n*inner)
	}
	return out
}

// Without returns t without an axis of size 1.
func Without(t *tensor.Tensor, at int) *tensor.Tensor {
	return t.As(append(append([]int{}, t.Shape[:at]...), t.Shape[at+1:]...)...)
}
