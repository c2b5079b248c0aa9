// Package product has the products of matrices and Einsum.
package product

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"MatMul": func(c *run.Call) []*tensor.Tensor {
			return run.One(MatMul(c, c.X(0), c.Halves(1), false, false, 1, nil))
		},
		"Gemm":                      GemmOp,
		"Einsum":                    einsum,
		"com.microsoft.FusedMatMul": FusedMatMul,
	}
}
