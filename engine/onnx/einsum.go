package onnx

import (
	"slices"
	"strings"

	"quern/formats/onnx"
)

// A term is a tensor with a label for each dimension: a letter, or a negative
// number for those under an ellipsis, counted from the right. Dimensions of one
// element have no label, they broadcast.
type term struct {
	t      *Tensor
	labels []int
}

// einsum sums products of elements over the labels the result lacks. Operands
// are joined from left to right, each pair as a product of matrices.
//
// Barr, "The Einstein Summation Notation", 1991; numpy.einsum has the syntax.
func einsum(c *call) []*Tensor {
	in, result, explicit := strings.Cut(strings.ReplaceAll(c.text("equation", ""), " ", ""), "->")
	parts := strings.Split(in, ",")
	if len(parts) != len(c.in) || len(parts) == 0 {
		fail("%w: %.100q of %d tensors", onnx.ErrFormat, in, len(c.in))
	}
	sizes := make(map[int]int)
	terms := make([]term, len(parts))
	uses, under := make(map[int]int), 0
	for i, p := range parts {
		x := c.x(i)
		if x.Type != c.x(0).Type || x.S != nil || x.Seq != nil {
			fail("%w: Einsum of %v and %v", onnx.ErrFormat, c.in[0].Type, x.Type)
		}
		labels := parseLabels(p, len(x.Shape)-letters(p))
		if len(labels) != len(x.Shape) {
			fail("%w: labels %.100q of shape %d", onnx.ErrFormat, p, x.Shape)
		}
		for d, l := range labels {
			uses[l]++
			under = min(under, l)
			if old, ok := sizes[l]; !ok || old == 1 {
				sizes[l] = x.Shape[d]
			} else if x.Shape[d] != 1 && x.Shape[d] != old {
				fail("%w: %.100q of %d and %d elements", onnx.ErrFormat, in, old, x.Shape[d])
			}
		}
		terms[i] = term{x, labels}
	}
	var out []int
	for l := under; l < 0; l++ {
		out = append(out, l)
	}
	if explicit {
		out = parseLabels(result, -under)
	} else {
		for l, n := range uses {
			if n == 1 && l > 0 {
				out = append(out, l)
			}
		}
		slices.Sort(out)
	}
	for i, l := range out {
		if _, ok := sizes[l]; !ok || slices.Contains(out[:i], l) {
			fail("%w: result %.100q of %.100q", onnx.ErrFormat, result, in)
		}
	}
	joint := c.diagonal(terms[0])
	for i := 1; i < len(terms); i++ {
		keep := slices.Clone(out)
		for _, later := range terms[i+1:] {
			keep = append(keep, later.labels...)
		}
		joint = c.joinTerms(joint, c.diagonal(terms[i]), keep)
	}
	joint = c.summed(joint, out)
	// The labels in their order, those of one element put back.
	var order, shape []int
	for _, l := range out {
		if at := slices.Index(joint.labels, l); at >= 0 {
			order = append(order, l)
		} else if sizes[l] != 1 {
			fail("%w: result %.100q of %.100q", onnx.ErrFormat, result, in)
		}
		shape = append(shape, sizes[l])
	}
	return one(c.ordered(joint, order).as(shape...))
}

// letters returns how many labels of s are letters.
func letters(s string) int { return len(strings.Replace(s, "...", "", 1)) }

// parseLabels reads labels; an ellipsis stands for under of them.
func parseLabels(s string, under int) []int {
	labels := make([]int, 0, letters(s)+max(0, under))
	for s != "" {
		if rest, ok := strings.CutPrefix(s, "..."); ok {
			for l := -under; l < 0; l++ {
				labels = append(labels, l)
			}
			if s = rest; strings.Contains(s, ".") {
				fail("%w: two ellipses", onnx.ErrFormat)
			}
			continue
		}
		r := s[0]
		if r < 'A' || r > 'z' || r > 'Z' && r < 'a' {
			fail("%w: label %q", onnx.ErrFormat, r)
		}
		labels, s = append(labels, int(r)), s[1:]
	}
	return labels
}

// diagonal returns a term without labels that occur twice or whose dimension
// has one element.
func (c *call) diagonal(t term) term {
	var labels, shape, step []int
	for d, s := range strides(t.t.Shape) {
		n := t.t.Shape[d]
		switch at := slices.Index(labels, t.labels[d]); {
		case n == 1:
		case at < 0:
			labels, shape, step = append(labels, t.labels[d]), append(shape, n), append(step, s)
		case shape[at] != n:
			fail("%w: diagonal of shape %d", onnx.ErrFormat, t.t.Shape)
		default:
			step[at] += s
		}
	}
	if len(labels) == len(t.labels) || t.t.len() == count(shape) {
		return term{t.t.as(shape...), labels}
	}
	return term{c.view(t.t, 0, shape, step), labels}
}

// ordered returns the tensor of t with its dimensions in another order.
func (c *call) ordered(t term, order []int) *Tensor {
	if slices.Equal(order, t.labels) {
		return t.t
	}
	perm := make([]int, len(order))
	for i, l := range order {
		perm[i] = slices.Index(t.labels, l)
	}
	return c.permuted(t.t, t.t.Shape, perm...)
}

// summed sums over the labels that are not in keep.
func (c *call) summed(t term, keep []int) term {
	var left, gone []int
	for _, l := range t.labels {
		if slices.Contains(keep, l) {
			left = append(left, l)
		} else {
			gone = append(gone, l)
		}
	}
	if len(gone) == 0 {
		return t
	}
	x := c.ordered(t, slices.Concat(left, gone))
	out := c.zeros(x.Type, x.Shape[:len(left)]...)
	if n := count(x.Shape[len(left):]); n > 0 && out.len() > 0 {
		foldAny(c, reducers["ReduceSum"], out, x, n, 1)
	}
	return term{out, left}
}

// joinTerms multiplies two terms and sums over what only they have.
func (c *call) joinTerms(a, b term, keep []int) term {
	a, b = c.summed(a, slices.Concat(keep, b.labels)), c.summed(b, slices.Concat(keep, a.labels))
	var batch, rows, inner, columns []int
	sizes := func(labels []int, t term) (v []int) {
		for _, l := range labels {
			v = append(v, t.t.Shape[slices.Index(t.labels, l)])
		}
		return v
	}
	for _, l := range a.labels {
		switch both := slices.Contains(b.labels, l); {
		case !both:
			rows = append(rows, l)
		case slices.Contains(keep, l):
			batch = append(batch, l)
		default:
			inner = append(inner, l)
		}
	}
	for _, l := range b.labels {
		if !slices.Contains(a.labels, l) {
			columns = append(columns, l)
		}
	}
	shape := slices.Concat(sizes(batch, a), sizes(rows, a), sizes(columns, b))
	labels := slices.Concat(batch, rows, columns)
	n, m, k, p := count(sizes(batch, a)), count(sizes(rows, a)), count(sizes(inner, a)), count(sizes(columns, b))
	x := c.ordered(a, slices.Concat(batch, rows, inner))
	y := c.ordered(b, slices.Concat(batch, inner, columns))
	var out *Tensor
	switch {
	case len(inner) == 0:
		out = c.binary(binaries["Mul"], x.as(n, m, 1), y.as(n, 1, p))
	case len(batch) == 0:
		out = c.matMul(x.as(m, k), y.as(k, p), false, false, 1, nil)
	default:
		out = c.matMul(x.as(n, m, k), y.as(n, k, p), false, false, 1, nil)
	}
	return term{out.as(shape...), labels}
}
