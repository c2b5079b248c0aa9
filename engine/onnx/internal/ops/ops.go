package ops

import (
	"quern/engine/onnx/internal/ops/attention"
	"quern/engine/onnx/internal/ops/contrib"
	"quern/engine/onnx/internal/ops/control"
	"quern/engine/onnx/internal/ops/element"
	"quern/engine/onnx/internal/ops/image"
	"quern/engine/onnx/internal/ops/ml"
	"quern/engine/onnx/internal/ops/move"
	"quern/engine/onnx/internal/ops/norm"
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/ops/recurrent"
	"quern/engine/onnx/internal/ops/reduce"
	"quern/engine/onnx/internal/ops/signal"
	"quern/engine/onnx/internal/ops/text"
	"quern/engine/onnx/internal/run"
)

// How operators are written.
//
//   - An op is a function of its call: c.x(i) and c.opt(i) are its inputs, c.int,
//     c.float, c.text, c.list and c.attr its attributes. What is wrong with them
//     is told by fail, also from work on the pool (c.spreadOut, c.byRows).
//   - c.in[i] may be packed (Raw set, I nil; 8 bits and less): only what reads Raw
//     looks there. An operator may return such a tensor too (c.blankRaw).
//   - Results come from c.blank (contents undefined) or c.zeros: these are drawn
//     from the Session's memory, held against its limit before they are made, and
//     recycled. t.pick and t.another do the same. What they make must not be kept
//     past the call: caches take make or newTensor. Scratch may come from them
//     too: it goes back when the node ends.
//   - c.reuse(i) is c.blank of input i's type and shape, or that very input
//     where nobody reads it later: for operators that may work in place.
//   - c.view(t, base, shape, step) reads t with any steps: transpose, slice,
//     expand; newGrid(out, shapes...).rows(c, f) goes over broadcast operands. Both
//     use the pool and make no list of indices.
//   - A sequence is a Tensor with Seq, an optional without a value one with
//     neither Type nor Seq (t.none()).
//   - Inputs are never written to, and loops that may be long look at c.ctx.Err().

// families are the tables of operators.
var families = []func() run.Table{
	element.Table, move.Table, reduce.Table, norm.Table, product.Table, quantised.Table,
	image.Table, recurrent.Table, signal.Table, attention.Table, contrib.Table, control.Table, text.Table, ml.Table,
}

// Hints say what to do about operators that are left out.
var Hints = map[string]string{
	"ai.onnx.ml.ZipMap": "it makes maps: convert the model without it, with zipmap=False in skl2onnx",
}

// operators are all of them, for one Session: some keep what they made of constants.
func Table() run.Table {
	all := make([]run.Table, len(families))
	for i, family := range families {
		all[i] = family()
	}
	return run.Join(all...)
}
