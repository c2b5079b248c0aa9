package onnx

import (
	"slices"

	"quern/formats/onnx"
)

// stacked joins tensors along a new axis.
func (c *call) stacked(rows []*Tensor, at int) *Tensor {
	first := rows[0].whole()
	at = axis(at, len(first.Shape)+1)
	shape := append(append(append([]int{}, first.Shape[:at]...), len(rows)), first.Shape[at:]...)
	out := c.blank(first.Type, shape...)
	outer, inner := count(first.Shape[:at]), count(first.Shape[at:])
	for k, r := range rows {
		r = r.whole()
		if r.Type != first.Type || !slices.Equal(r.Shape, first.Shape) || r.Seq != nil || r.none() {
			fail("%w: %v of shape %d stacked with %v of %d", onnx.ErrFormat, r.Type, r.Shape, first.Type, first.Shape)
		}
		for o := range outer {
			copyElems(out, (o*len(rows)+k)*inner, r, o*inner, inner)
		}
	}
	return out
}

// joined joins tensors along an axis they have.
func (c *call) joined(parts []*Tensor, at int) *Tensor {
	first := parts[0].whole()
	at = axis(at, len(first.Shape))
	shape := append([]int{}, first.Shape...)
	shape[at] = 0
	for _, p := range parts {
		same := p.Type == first.Type && len(p.Shape) == len(shape) && p.Seq == nil
		for d := range shape {
			same = same && (d == at || p.Shape[d] == shape[d])
		}
		if !same {
			fail("%w: %v of shape %d joined to %v of %d", onnx.ErrFormat, p.Type, p.Shape, first.Type, first.Shape)
		}
		shape[at] += p.Shape[at]
	}
	out := c.blank(first.Type, shape...)
	outer, row, done := count(shape[:at]), count(shape[at:]), 0
	for _, p := range parts {
		p = p.whole()
		n := count(p.Shape[at:])
		for o := range outer {
			copyElems(out, o*row+done, p, o*n, n)
		}
		done += n
	}
	return out
}

// part returns elements from to from+n along an axis.
func (c *call) part(t *Tensor, at, from, n int) *Tensor {
	shape := append([]int{}, t.Shape...)
	shape[at] = n
	out := c.blank(t.Type, shape...)
	inner := count(t.Shape[at+1:])
	for o := range count(t.Shape[:at]) {
		copyElems(out, o*n*inner, t, (o*t.Shape[at]+from)*inner, n*inner)
	}
	return out
}

// without returns t without an axis of size 1.
func without(t *Tensor, at int) *Tensor {
	return t.as(append(append([]int{}, t.Shape[:at]...), t.Shape[at+1:]...)...)
}
