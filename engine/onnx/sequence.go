package onnx

import "quern/formats/onnx"

func sequenceOps() table {
	return table{
		"SequenceEmpty":      func(*call) []*Tensor { return []*Tensor{NewSequence()} },
		"SequenceConstruct":  func(c *call) []*Tensor { return []*Tensor{NewSequence(c.all()...)} },
		"SequenceAt":         sequenceAt,
		"SequenceInsert":     sequenceInsert,
		"SequenceErase":      sequenceErase,
		"SequenceLength":     func(c *call) []*Tensor { return []*Tensor{ints(len(c.sequence(0))).as()} },
		"SequenceMap":        sequenceMap,
		"SplitToSequence":    splitToSequence,
		"ConcatFromSequence": concatFromSequence,
		"Optional":           optional,
		"OptionalHasElement": func(c *call) []*Tensor { return []*Tensor{flag(c.opt(0) != nil && !c.opt(0).none())} },
		"OptionalGetElement": optionalGet,
	}
}

// maxSequence bounds what a loop can put together.
const maxSequence = 1 << 20

func (c *call) sequence(i int) []*Tensor {
	t := c.x(i)
	if t.Seq == nil {
		fail("%w: input %d is no sequence", onnx.ErrFormat, i)
	}
	return t.Seq
}

// place returns the position input i names in a list of n, which may count from
// its end.
func (c *call) place(i, n, missing int) int {
	t := c.opt(i)
	if t == nil {
		return missing
	}
	at := t.scalar().list()[0]
	if at < 0 {
		at += n
	}
	return at
}

func sequenceAt(c *call) []*Tensor {
	seq := c.sequence(0)
	c.x(1)
	at := c.place(1, len(seq), 0)
	if at < 0 || at >= len(seq) {
		fail("%w: element %d of a sequence of %d", onnx.ErrFormat, at, len(seq))
	}
	return []*Tensor{seq[at]}
}

func sequenceInsert(c *call) []*Tensor {
	seq, x := c.sequence(0), c.x(1)
	at := c.place(2, len(seq), len(seq))
	if len(seq) == maxSequence {
		fail("%w: a sequence of more than %d", onnx.ErrUnsupported, maxSequence)
	}
	if at < 0 || at > len(seq) || x.Seq != nil || x.none() {
		fail("%w: element inserted at %d of a sequence of %d", onnx.ErrFormat, at, len(seq))
	}
	out := make([]*Tensor, 0, len(seq)+1)
	out = append(append(append(out, seq[:at]...), x), seq[at:]...)
	return []*Tensor{{Seq: out}}
}

func sequenceErase(c *call) []*Tensor {
	seq := c.sequence(0)
	at := c.place(1, len(seq), len(seq)-1)
	if at < 0 || at >= len(seq) {
		fail("%w: element %d erased of a sequence of %d", onnx.ErrFormat, at, len(seq))
	}
	return []*Tensor{NewSequence(append(append([]*Tensor{}, seq[:at]...), seq[at+1:]...)...)}
}

// sequenceMap runs its body on the elements of sequences; what is none comes
// along as it is.
func sequenceMap(c *call) []*Tensor {
	g, n := c.subgraph("body"), len(c.sequence(0))
	out := make([]*Tensor, len(g.Outputs))
	for i := range out {
		out[i] = NewSequence()
	}
	args := make([]*Tensor, len(c.in))
	for i := range n {
		for k := range args {
			args[k] = c.x(k)
			if seq := args[k].Seq; seq != nil {
				if len(seq) != n {
					fail("%w: sequences of %d and %d", onnx.ErrFormat, n, len(seq))
				}
				args[k] = seq[i]
			}
		}
		for k, t := range c.graph(g, args...) {
			out[k].Seq = append(out[k].Seq, t)
		}
	}
	return out
}

// splitToSequence cuts a tensor along an axis: in pieces of a size, of sizes, or
// of one.
func splitToSequence(c *call) []*Tensor {
	x := c.x(0)
	at := axis(c.int("axis", 0), len(x.Shape))
	n := x.Shape[at]
	var sizes []int
	keep := true
	switch t := c.opt(1); {
	case t == nil:
		keep = c.int("keepdims", 1) != 0
		for range n {
			sizes = append(sizes, 1)
		}
	case len(t.Shape) == 0:
		size := t.list()[0]
		if size < 1 {
			fail("%w: pieces of %d", onnx.ErrFormat, size)
		}
		for left := n; left > 0; left -= size {
			sizes = append(sizes, min(size, left))
		}
	default:
		sizes = t.list()
	}
	out, from := NewSequence(), 0
	for _, size := range sizes {
		if size < 0 || size > n-from {
			fail("%w: pieces of sizes %d of shape %d", onnx.ErrFormat, sizes, x.Shape)
		}
		p := c.part(x, at, from, size)
		if !keep {
			p = without(p, at)
		}
		out.Seq = append(out.Seq, p)
		from += size
	}
	if from != n {
		fail("%w: pieces of sizes %d of shape %d", onnx.ErrFormat, sizes, x.Shape)
	}
	return []*Tensor{out}
}

func concatFromSequence(c *call) []*Tensor {
	seq := c.sequence(0)
	if len(seq) == 0 {
		fail("%w: nothing to join", onnx.ErrFormat)
	}
	if c.int("new_axis", 0) != 0 {
		return []*Tensor{c.stacked(seq, c.int("axis", 0))}
	}
	return []*Tensor{c.joined(seq, c.int("axis", 0))}
}

func optional(c *call) []*Tensor {
	if t := c.opt(0); t != nil {
		return []*Tensor{t}
	}
	return []*Tensor{{}}
}

func optionalGet(c *call) []*Tensor {
	if c.x(0).none() {
		fail("%w: an optional without a value", onnx.ErrFormat)
	}
	return []*Tensor{c.x(0)}
}
