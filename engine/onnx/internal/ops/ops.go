// Package ops is the table of operators. They are in the packages below it, by
// family; package run says how they are written.
package ops

import (
	"quern/engine/onnx/internal/ops/attention"
	"quern/engine/onnx/internal/ops/contrib"
	"quern/engine/onnx/internal/ops/control"
	"quern/engine/onnx/internal/ops/element"
	"quern/engine/onnx/internal/ops/image"
	"quern/engine/onnx/internal/ops/move"
	"quern/engine/onnx/internal/ops/norm"
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/ops/recurrent"
	"quern/engine/onnx/internal/ops/reduce"
	"quern/engine/onnx/internal/ops/signal"
	"quern/engine/onnx/internal/run"
)

// families are the tables of operators.
var families = append([]func() run.Table{
	element.Table, move.Table, reduce.Table, norm.Table, product.Table, quantised.Table,
	image.Table, recurrent.Table, signal.Table, attention.Table, contrib.Table, control.Table,
}, further...)

// Hints say what to do about operators that are left out.
var Hints = map[string]string{
	"ai.onnx.ml.ZipMap": "it makes maps: convert the model without it, with zipmap=False in skl2onnx",
}

// Table returns all operators, for one Session: some keep what they made of
// constants.
func Table() run.Table {
	all := make([]run.Table, len(families))
	for i, family := range families {
		all[i] = family()
	}
	return run.Join(all...)
}
