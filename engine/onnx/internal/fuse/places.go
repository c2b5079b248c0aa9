package fuse

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/gemm"
)

// excerpt finds the product of rows of a constant and a constant: what layers of an encoder
// make of relative positions, of which a graph has thousands and a run takes those in the
// middle, as many as it has frames.
func (g *group) excerpt(n *onnx.Node) bool {
	if !g.start(n, "MatMul") || !g.plain(n) {
		return false
	}
	s := g.made[n.Inputs[0]]
	if s == nil || s.Domain != "" || s.Op != "Slice" || !g.gapless(s) {
		return false
	}
	if rows := g.constant(s.Inputs[0]); rows == nil || rows.Type != onnx.Float || len(rows.Shape) < 2 || rows.Len() == 0 {
		return false
	}
	if !g.replace("excerpt", append(slices.Clone(n.Inputs[1:]), s.Inputs[:4]...), n.Outputs, excerptStep) {
		return false
	}
	g.s.TakesHalves(g.put[n], 0)
	return true
}

// gapless reports whether a Slice leaves nothing out between its ends.
func (g *group) gapless(n *onnx.Node) bool {
	if len(n.Inputs) < 4 || slices.Contains(n.Inputs[:4], "") {
		return false
	}
	if len(n.Inputs) == 4 || n.Inputs[4] == "" {
		return true
	}
	by := g.constant(n.Inputs[4])
	return by != nil && slices.Equal(by.I, []int64{1})
}

// An excerpt is those rows of x · W that runs asked for.
type excerpt struct {
	first, most int       // the rows there is memory for
	from, to    int       // those that are computed, of all
	data        []float32 // from row first on
}

type excerptOf struct{ x, w *tensor.Tensor }

// excerptStep computes the rows that no run before has asked for, and keeps as many as weigh
// what W does: those about the middle of the first ones.
func excerptStep(c *run.Call) []*tensor.Tensor {
	w, x := c.Halves(0), c.X(1)
	from, to, ok := sliced(c.List("", 2), c.List("", 3), c.List("", 4), x.Shape)
	rank := len(x.Shape)
	k, n := w.Shape[0], w.Shape[1]
	if !ok || !tensor.Constant(x, w) || tensor.Count(x.Shape[:rank-2]) != 1 || x.Shape[rank-1] != k {
		return nil
	}
	all := x.Shape[rank-2]
	e := run.Prepared(c, excerptOf{x, w}, true, func() *excerpt {
		e := &excerpt{most: min(k, all)}
		e.first = min(max((from+to-e.most)/2, 0), all-e.most)
		e.from, e.to = from, from
		return e
	})
	if from < e.first || to > e.first+e.most || from >= to {
		return nil
	}
	if e.data == nil {
		e.data = run.Lasting[float32](c, e.most*n)
	}
	row := func(i int) []float32 { return e.data[(i-e.first)*n:] }
	product := gemm.NewGemm(product.Packed(c, w, false), nil)
	fill := func(from, to int) {
		if from < to {
			product.Run(c.Pool(), row(from), n, x.F[from*k:], k, to-from, false)
		}
	}
	fill(from, e.from)
	fill(e.to, to)
	e.from, e.to = min(e.from, from), max(e.to, to)
	out := c.Blank(onnx.Float, append(slices.Clone(x.Shape[:rank-2]), to-from, n)...)
	copy(out.F, row(from)) // what a caller may be given is not what is kept
	return run.One(out)
}

// sliced returns what a Slice takes of the last dimension but one of a shape, if of that alone.
func sliced(starts, ends, axes, shape []int) (from, to int, ok bool) {
	if len(starts) != 1 || len(ends) != 1 || len(axes) != 1 || tensor.Axis(axes[0], len(shape)) != len(shape)-2 {
		return 0, 0, false
	}
	n := shape[len(shape)-2]
	limit := func(v int) int {
		if v < 0 {
			v += n
		}
		return min(max(v, 0), n)
	}
	return limit(starts[0]), limit(ends[0]), true
}

// shift finds how scores by distance become scores by position: a column of zeros is put
// before them, and all is read as rows of another length.
//
//	Slice(Reshape(Slice(Reshape(Pad(x)), 1:)), :n)
//
// Dai et al., "Transformer-XL", 2019, appendix B.
func (g *group) shift(n *onnx.Node) bool {
	if !g.start(n, "Slice") || !g.gapless(n) {
		return false
	}
	across := g.take(n.Inputs[0], "Reshape")
	if across == nil {
		return false
	}
	down := g.take(across.Inputs[0], "Slice")
	if down == nil || !g.gapless(down) {
		return false
	}
	turned := g.take(down.Inputs[0], "Reshape")
	if turned == nil {
		return false
	}
	pad := g.take(turned.Inputs[0], "Pad")
	if pad == nil || len(pad.Inputs) < 2 || pad.Attrs["mode"] != nil && pad.Attrs["mode"].S != "constant" ||
		slices.ContainsFunc(pad.Inputs[2:], func(in string) bool { return in != "" && !g.isZero(in) }) {
		return false
	}
	by := g.constant(pad.Inputs[1])
	if by == nil || !slices.Equal(by.I, []int64{0, 0, 0, 1, 0, 0, 0, 0}) {
		return false
	}
	inputs := slices.Concat([]string{pad.Inputs[0], turned.Inputs[1]}, down.Inputs[1:4], across.Inputs[1:2], n.Inputs[1:4])
	return g.replace("shift", inputs, n.Outputs, shiftStep)
}

func shiftStep(c *run.Call) []*tensor.Tensor {
	x := c.X(0)
	if x.Type != onnx.Float || len(x.Shape) != 4 || x.Len() == 0 {
		return nil
	}
	batch, heads, rows, distances := x.Shape[0], x.Shape[1], x.Shape[2], x.Shape[3]
	one := func(i int) int { // a list of one number
		if l := c.List("", i); len(l) == 1 {
			return l[0]
		}
		return math.MinInt
	}
	n := one(7)
	if !shaped(c.List("", 1), batch, heads, distances+1, rows) || one(2) != 1 || one(3) <= distances || one(4) != 2 && one(4) != -2 ||
		!shaped(c.List("", 5), batch, heads, rows, distances) || one(6) != 0 || one(8) != 3 && one(8) != -1 ||
		n < 1 || n > rows || distances != 2*rows-1 {
		return nil
	}
	// Row i begins at the distance of its first position, one before that of the row above;
	// no zero is ever reached.
	return run.One(c.View(x, rows-1, []int{batch, heads, rows, n}, []int{heads * rows * distances, rows * distances, distances - 1, 1}))
}

// shaped reports whether a Reshape to a list makes a shape, of as many elements as that has:
// zeros take the size that was, which of batch and heads is that of the shape.
func shaped(list []int, shape ...int) bool {
	if len(list) != len(shape) {
		return false
	}
	free := 0
	for i, d := range list {
		if d == -1 {
			free++
		} else if d != shape[i] && (d != 0 || i > 1) {
			return false
		}
	}
	return free <= 1
}
