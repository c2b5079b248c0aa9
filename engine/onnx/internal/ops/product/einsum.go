package product

import (
	"slices"
	"strings"

	"quern/engine/onnx/internal/ops/element"
	"quern/engine/onnx/internal/ops/reduce"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// A term is a tensor with a label for each dimension: a letter, or a negative
// number for those under an ellipsis, counted from the right. Dimensions of one
// element have no label, they broadcast.
type term struct {
	t      *tensor.Tensor
	labels []int
}

// einsum sums products of elements over the labels the result lacks. Operands
// are joined from left to right, each pair as a product of matrices.
//
// Barr, "The Einstein Summation Notation", 1991; numpy.einsum has the syntax.
func einsum(c *run.Call) []*tensor.Tensor {
	in, result, explicit := strings.Cut(strings.ReplaceAll(c.Text("equation", ""), " ", ""), "->")
	parts := strings.Split(in, ",")
	if len(parts) != len(c.In) || len(parts) == 0 {
		tensor.Malformed("%.100q of %d tensors", in, len(c.In))
	}
	sizes := make(map[int]int)
	terms := make([]term, len(parts))
	uses, under := make(map[int]int), 0
	for i, p := range parts {
		x := c.X(i)
		if x.Type != c.X(0).Type || x.S != nil || x.Seq != nil {
			tensor.Malformed("Einsum of %v and %v", c.In[0].Type, x.Type)
		}
		labels := parseLabels(p, len(x.Shape)-letters(p))
		if len(labels) != len(x.Shape) {
			tensor.Malformed("labels %.100q of shape %d", p, x.Shape)
		}
		for d, l := range labels {
			uses[l]++
			under = min(under, l)
			if old, ok := sizes[l]; !ok || old == 1 {
				sizes[l] = x.Shape[d]
			} else if x.Shape[d] != 1 && x.Shape[d] != old {
				tensor.Malformed("%.100q of %d and %d elements", in, old, x.Shape[d])
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
			tensor.Malformed("result %.100q of %.100q", result, in)
		}
	}
	joint := diagonal(c, terms[0])
	for i := 1; i < len(terms); i++ {
		keep := slices.Clone(out)
		for _, later := range terms[i+1:] {
			keep = append(keep, later.labels...)
		}
		joint = joinTerms(c, joint, diagonal(c, terms[i]), keep)
	}
	joint = summed(c, joint, out)
	// The labels in their order, those of one element put back.
	var order, shape []int
	for _, l := range out {
		if at := slices.Index(joint.labels, l); at >= 0 {
			order = append(order, l)
		} else if sizes[l] != 1 {
			tensor.Malformed("result %.100q of %.100q", result, in)
		}
		shape = append(shape, sizes[l])
	}
	return run.One(ordered(c, joint, order).As(shape...))
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
				tensor.Malformed("two ellipses")
			}
			continue
		}
		r := s[0]
		if r < 'A' || r > 'z' || r > 'Z' && r < 'a' {
			tensor.Malformed("label %q", r)
		}
		labels, s = append(labels, int(r)), s[1:]
	}
	return labels
}

// diagonal returns a term without labels that occur twice or whose dimension
// has one element.
func diagonal(c *run.Call, t term) term {
	var labels, shape, step []int
	for d, s := range tensor.Strides(t.t.Shape) {
		n := t.t.Shape[d]
		switch at := slices.Index(labels, t.labels[d]); {
		case n == 1:
		case at < 0:
			labels, shape, step = append(labels, t.labels[d]), append(shape, n), append(step, s)
		case shape[at] != n:
			tensor.Malformed("diagonal of shape %d", t.t.Shape)
		default:
			step[at] += s
		}
	}
	if len(labels) == len(t.labels) || t.t.Len() == tensor.Count(shape) {
		return term{t.t.As(shape...), labels}
	}
	return term{c.View(t.t, 0, shape, step), labels}
}

// ordered returns the tensor of t with its dimensions in another order.
func ordered(c *run.Call, t term, order []int) *tensor.Tensor {
	if slices.Equal(order, t.labels) {
		return t.t
	}
	perm := make([]int, len(order))
	for i, l := range order {
		perm[i] = slices.Index(t.labels, l)
	}
	return c.Permuted(t.t, t.t.Shape, perm...)
}

// summed sums over the labels that are not in keep.
func summed(c *run.Call, t term, keep []int) term {
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
	x := ordered(c, t, slices.Concat(left, gone))
	out := c.Zeros(x.Type, x.Shape[:len(left)]...)
	if n := tensor.Count(x.Shape[len(left):]); n > 0 && out.Len() > 0 {
		reduce.FoldAny(c, reduce.Reducers["ReduceSum"], out, x, n, 1)
	}
	return term{out, left}
}

// joinTerms multiplies two terms and sums over what only they have.
func joinTerms(c *run.Call, a, b term, keep []int) term {
	a, b = summed(c, a, slices.Concat(keep, b.labels)), summed(c, b, slices.Concat(keep, a.labels))
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
	n, m, k, p := tensor.Count(sizes(batch, a)), tensor.Count(sizes(rows, a)), tensor.Count(sizes(inner, a)), tensor.Count(sizes(columns, b))
	x := ordered(c, a, slices.Concat(batch, rows, inner))
	y := ordered(c, b, slices.Concat(batch, inner, columns))
	var out *tensor.Tensor
	switch {
	case len(inner) == 0:
		out = element.Binary(c, element.Binaries["Mul"], x.As(n, m, 1), y.As(n, 1, p))
	case len(batch) == 0:
		out = MatMul(c, x.As(m, k), y.As(k, p), false, false, 1, nil)
	default:
		out = MatMul(c, x.As(n, m, k), y.As(n, k, p), false, false, 1, nil)
	}
	return term{out.As(shape...), labels}
}
