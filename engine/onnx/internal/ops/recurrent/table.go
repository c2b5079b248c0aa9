// Package recurrent has RNN, GRU and LSTM.
package recurrent

import (
	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/kernels/gemm"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	r := &recurrent{packs: make(map[part]*gemm.Panels)}
	q := &int8Recurrent{packs: make(map[int8Part]*quantised.Weights)}
	return run.Table{
		"LSTM": func(c *run.Call) []*tensor.Tensor {
			return recur(c, 4, r.operands(c, 4), lstmCell, "Sigmoid", "Tanh", "Tanh")
		},
		"GRU": func(c *run.Call) []*tensor.Tensor { return recur(c, 3, r.operands(c, 3), gruCell, "Sigmoid", "Tanh") },
		"RNN": func(c *run.Call) []*tensor.Tensor { return recur(c, 1, r.operands(c, 1), rnnCell, "Tanh") },
		"com.microsoft.DynamicQuantizeLSTM": func(c *run.Call) []*tensor.Tensor {
			return recur(c, 4, q.operands(c), lstmCell, "Sigmoid", "Tanh", "Tanh")
		},
	}
}
