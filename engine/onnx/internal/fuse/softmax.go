package fuse

import (
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
	"quern/kernels/vec"
)

// hidden finds the softmax of scores of which some are hidden, and what makes the scores of
// two terms, as FastConformers have it:
//
//	Where(hide, 0, Softmax(Where(hide, low, (a + b) / scale)))
func (g *group) hidden(n *onnx.Node) bool {
	if !g.start(n, "Where") || len(n.Inputs) != 3 || !g.isZero(n.Inputs[1]) || g.s.Opset < 13 {
		return false
	}
	soft := g.take(n.Inputs[2], "Softmax")
	if soft == nil {
		return false
	}
	where := g.take(soft.Inputs[0], "Where")
	if where == nil || len(where.Inputs) != 3 || where.Inputs[0] != n.Inputs[0] {
		return false
	}
	h := hidden{axis: -1}
	if a := soft.Attrs["axis"]; a != nil {
		h.axis = int(a.I)
	}
	low, ok := g.scalar(where.Inputs[1])
	if !ok {
		return false
	}
	h.low = float32(low)
	a, b := g.scaled(where.Inputs[2], &h.by), ""
	base := slices.Clone(g.nodes)
	inputs := func() []string {
		list := []string{n.Inputs[0], a, b}
		for _, s := range h.by {
			list = append(list, s.name)
		}
		return list
	}
	if add := g.take(a, "Add"); add != nil && len(add.Inputs) == 2 {
		whole := a
		a, b = add.Inputs[0], add.Inputs[1]
		if g.replace("hidden softmax", inputs(), n.Outputs, h.run) {
			return true
		}
		a, b, g.nodes = whole, "", base
	}
	return g.replace("hidden softmax", inputs(), n.Outputs, h.run)
}

// A hidden is a softmax of which hidden elements have no part.
type hidden struct {
	axis int
	low  float32 // what they are set to, which weighs where all of a row are hidden
	by   []scaler
}

// run computes it; it returns nil where its inputs are not what it is written for.
func (h hidden) run(c *run.Call) []*tensor.Tensor {
	hide, a, b := c.X(0), c.X(1), c.Opt(2)
	if hide.Type != onnx.Bool || a.Type != onnx.Float || a.Len() == 0 || len(a.Shape) == 0 || len(hide.Shape) > len(a.Shape) ||
		h.axis != -1 && h.axis != len(a.Shape)-1 || b != nil && (b.Type != onnx.Float || !slices.Equal(b.Shape, a.Shape)) {
		return nil
	}
	for i, d := range hide.Shape {
		if d != 1 && d != a.Shape[len(a.Shape)-len(hide.Shape)+i] {
			return nil
		}
	}
	by := float32(1)
	for i, s := range h.by {
		t := c.X(3 + i)
		if t.Type != onnx.Float || len(t.F) != 1 || len(t.Shape) > len(a.Shape) {
			return nil
		}
		if s.divide {
			by /= t.F[0]
		} else {
			by *= t.F[0]
		}
	}
	out := c.Blank(onnx.Float, a.Shape...)
	step, last := tensor.SpreadSteps(hide.Shape, a.Shape), len(a.Shape)-1
	n := a.Shape[last]
	c.ByRows(a.Len()/n, 8*n, func(from, to int) {
		for r := from; r < to; r++ {
			at, rest := 0, r // in hide
			for d := last - 1; d >= 0; d-- {
				at += rest % a.Shape[d] * step[d]
				rest /= a.Shape[d]
			}
			row := out.F[r*n : (r+1)*n]
			if copy(row, a.F[r*n:]); b != nil {
				vec.Add(row, row, b.F[r*n:(r+1)*n])
			}
			h.row(row, by, hide.I[at:], step[last])
		}
	})
	return run.One(out)
}

// row makes scores weights. Element i is hidden where element i·step of hide is set.
func (h *hidden) row(row []float32, by float32, hide []int64, step int) {
	some := false
	for i := range row {
		if some = hide[i*step] != 0; some {
			break
		}
	}
	if some {
		vec.Scale(row, row, by)
		by = 1
		for i := range row {
			if hide[i*step] != 0 {
				row[i] = h.low
			}
		}
	}
	_, sum := vec.SoftmaxWeights(row, nil, by)
	vec.Scale(row, row, 1/sum)
	if some {
		for i := range row {
			if hide[i*step] != 0 {
				row[i] = 0
			}
		}
	}
}
