// Package recurrent has RNN, GRU and LSTM.
package recurrent

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"LSTM": func(c *run.Call) []*tensor.Tensor {
			return recur(c, 4, floatOperands(c, 4), lstmCell, "Sigmoid", "Tanh", "Tanh")
		},
		"GRU": func(c *run.Call) []*tensor.Tensor {
			return recur(c, 3, floatOperands(c, 3), gruCell, "Sigmoid", "Tanh")
		},
		"RNN": func(c *run.Call) []*tensor.Tensor { return recur(c, 1, floatOperands(c, 1), rnnCell, "Tanh") },
		"com.microsoft.DynamicQuantizeLSTM": func(c *run.Call) []*tensor.Tensor {
			return recur(c, 4, int8Operands(c), lstmCell, "Sigmoid", "Tanh", "Tanh")
		},
	}
}
