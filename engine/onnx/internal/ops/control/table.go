// Package control has the operators that run graphs, and those on sequences and
// optionals.
package control

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"If": ifThen, "Loop": loop, "Scan": scan,

		"SequenceEmpty":      func(*run.Call) []*tensor.Tensor { return run.One(tensor.NewSequence()) },
		"SequenceConstruct":  func(c *run.Call) []*tensor.Tensor { return run.One(tensor.NewSequence(c.All()...)) },
		"SequenceAt":         sequenceAt,
		"SequenceInsert":     sequenceInsert,
		"SequenceErase":      sequenceErase,
		"SequenceLength":     func(c *run.Call) []*tensor.Tensor { return run.One(tensor.Ints(len(sequence(c, 0))).As()) },
		"SequenceMap":        sequenceMap,
		"SplitToSequence":    splitToSequence,
		"ConcatFromSequence": concatFromSequence,
		"Optional":           optional,
		"OptionalHasElement": func(c *run.Call) []*tensor.Tensor {
			return run.One(flag(c.Opt(0) != nil && !c.Opt(0).None()))
		},
		"OptionalGetElement": optionalGet,
	}
}
