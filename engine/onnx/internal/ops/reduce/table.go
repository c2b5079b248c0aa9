// Package reduce has the operators that make one number of many, and running sums.
package reduce

import (
	"quern/engine/onnx/internal/ops/element"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	ops := run.Table{
		"ArgMax":  func(c *run.Call) []*tensor.Tensor { return run.One(argBest(c, 1)) },
		"ArgMin":  func(c *run.Call) []*tensor.Tensor { return run.One(argBest(c, -1)) },
		"CumSum":  func(c *run.Call) []*tensor.Tensor { return run.One(running(c, element.Binaries["Add"])) },
		"CumProd": func(c *run.Call) []*tensor.Tensor { return run.One(running(c, element.Binaries["Mul"])) },
	}
	for name, f := range Reducers {
		ops[name] = func(c *run.Call) []*tensor.Tensor { return run.One(reduced(c, f)) }
	}
	return ops
}
