package control

import (
	"quern/engine/onnx/internal/ops/move"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// maxSequence bounds what a loop can put together.
const maxSequence = 1 << 20

func sequence(c *run.Call, i int) []*tensor.Tensor {
	t := c.X(i)
	if t.Seq == nil {
		tensor.Malformed("input %d is no sequence", i)
	}
	return t.Seq
}

// place returns the position input i names in a list of n, which may count from
// its end.
func place(c *run.Call, i, n, missing int) int {
	t := c.Opt(i)
	if t == nil {
		return missing
	}
	at := t.Scalar().List()[0]
	if at < 0 {
		at += n
	}
	return at
}

func sequenceAt(c *run.Call) []*tensor.Tensor {
	seq := sequence(c, 0)
	c.X(1)
	at := place(c, 1, len(seq), 0)
	if at < 0 || at >= len(seq) {
		tensor.Malformed("element %d of a sequence of %d", at, len(seq))
	}
	return run.One(seq[at])
}

func sequenceInsert(c *run.Call) []*tensor.Tensor {
	seq, x := sequence(c, 0), c.X(1)
	at := place(c, 2, len(seq), len(seq))
	if len(seq) == maxSequence {
		tensor.Unsupported("a sequence of more than %d", maxSequence)
	}
	if at < 0 || at > len(seq) || x.Seq != nil || x.None() {
		tensor.Malformed("element inserted at %d of a sequence of %d", at, len(seq))
	}
	out := make([]*tensor.Tensor, 0, len(seq)+1)
	out = append(append(append(out, seq[:at]...), x), seq[at:]...)
	return []*tensor.Tensor{{Seq: out}}
}

func sequenceErase(c *run.Call) []*tensor.Tensor {
	seq := sequence(c, 0)
	at := place(c, 1, len(seq), len(seq)-1)
	if at < 0 || at >= len(seq) {
		tensor.Malformed("element %d erased of a sequence of %d", at, len(seq))
	}
	return run.One(tensor.NewSequence(append(append([]*tensor.Tensor{}, seq[:at]...), seq[at+1:]...)...))
}

// sequenceMap runs its body on the elements of sequences; what is none comes
// along as it is.
func sequenceMap(c *run.Call) []*tensor.Tensor {
	g, n := c.Subgraph("body"), len(sequence(c, 0))
	out := make([]*tensor.Tensor, len(g.Outputs))
	for i := range out {
		out[i] = tensor.NewSequence()
	}
	args := make([]*tensor.Tensor, len(c.In))
	for i := range n {
		for k := range args {
			args[k] = c.X(k)
			if seq := args[k].Seq; seq != nil {
				if len(seq) != n {
					tensor.Malformed("sequences of %d and %d", n, len(seq))
				}
				args[k] = seq[i]
			}
		}
		for k, t := range c.Graph(g, args...) {
			out[k].Seq = append(out[k].Seq, t)
		}
	}
	return out
}

// splitToSequence cuts a tensor along an axis: in pieces of a size, of sizes, or
// of one.
func splitToSequence(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	at := tensor.Axis(c.Int("axis", 0), len(x.Shape))
	n := x.Shape[at]
	var sizes []int
	keep := true
	switch t := c.Opt(1); {
	case t == nil:
		keep = c.Int("keepdims", 1) != 0
		for range n {
			sizes = append(sizes, 1)
		}
	case len(t.Shape) == 0:
		size := t.List()[0]
		if size < 1 {
			tensor.Malformed("pieces of %d", size)
		}
		for left := n; left > 0; left -= size {
			sizes = append(sizes, min(size, left))
		}
	default:
		sizes = t.List()
	}
	out, from := tensor.NewSequence(), 0
	for _, size := range sizes {
		if size < 0 || size > n-from {
			tensor.Malformed("pieces of sizes %d of shape %d", sizes, x.Shape)
		}
		p := move.Part(c, x, at, from, size)
		if !keep {
			p = move.Without(p, at)
		}
		out.Seq = append(out.Seq, p)
		from += size
	}
	if from != n {
		tensor.Malformed("pieces of sizes %d of shape %d", sizes, x.Shape)
	}
	return run.One(out)
}

func concatFromSequence(c *run.Call) []*tensor.Tensor {
	seq := sequence(c, 0)
	if len(seq) == 0 {
		tensor.Malformed("nothing to join")
	}
	if c.Int("new_axis", 0) != 0 {
		return run.One(move.Stacked(c, seq, c.Int("axis", 0)))
	}
	return run.One(move.Joined(c, seq, c.Int("axis", 0)))
}

func optional(c *run.Call) []*tensor.Tensor {
	if t := c.Opt(0); t != nil {
		return run.One(t)
	}
	return []*tensor.Tensor{{}}
}

func optionalGet(c *run.Call) []*tensor.Tensor {
	if c.X(0).None() {
		tensor.Malformed("an optional without a value")
	}
	return run.One(c.X(0))
}
