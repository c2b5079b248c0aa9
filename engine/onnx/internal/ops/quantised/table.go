// Package quantised has the operators on numbers of few bits: quantisation itself,
// products and convolutions of integers, weights in blocks.
package quantised

import (
	"math"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"QuantizeLinear":                     quantizeLinear,
		"DequantizeLinear":                   dequantizeLinear,
		"com.microsoft.QuantizeLinear":       quantizeLinear,
		"com.microsoft.DequantizeLinear":     dequantizeLinear,
		"DynamicQuantizeLinear":              dynamicQuantize,
		"MatMulInteger":                      matMulInteger,
		"QLinearMatMul":                      linearMatMul,
		"com.microsoft.MatMulIntegerToFloat": integerToFloat,
		"com.microsoft.QAttention":           quantisedAttention,
		"com.microsoft.QGemm":                quantisedGemm,
		"com.microsoft.DynamicQuantizeMatMul": func(c *run.Call) []*tensor.Tensor {
			return run.One(dynamicMatMul(c, c.X(0), c.Packed(1), c.X(2), c.OptPacked(3), c.Opt(4)))
		},

		"ConvInteger": convInteger, "QLinearConv": linearConv,

		"com.microsoft.MatMulNBits":          matMulBits,
		"com.microsoft.MatMulBnb4":           matMulBnb4,
		"com.microsoft.GatherBlockQuantized": gatherBlocks,

		// What static quantisation writes: tensors of 8 bits come with a scale and a zero
		// point, and so does the result.
		//
		// ONNX Runtime, ContribOperators.md, QLinear….
		"com.microsoft.QLinearAdd": func(c *run.Call) []*tensor.Tensor {
			return run.One(linearPair(c, func(a, b float32) float32 { return a + b }))
		},
		"com.microsoft.QLinearMul": func(c *run.Call) []*tensor.Tensor {
			return run.One(linearPair(c, func(a, b float32) float32 { return a * b }))
		},
		"com.microsoft.QLinearSigmoid": func(c *run.Call) []*tensor.Tensor {
			return run.One(linearEach(c, func(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) }))
		},
		"com.microsoft.QLinearLeakyRelu": func(c *run.Call) []*tensor.Tensor {
			alpha := float32(c.Float("alpha", 0.01))
			return run.One(linearEach(c, func(v float32) float32 { return max(v, 0) + alpha*min(v, 0) }))
		},
		"com.microsoft.QLinearSoftmax":           linearSoftmax,
		"com.microsoft.QLinearWhere":             linearWhere,
		"com.microsoft.QLinearConcat":            linearConcat,
		"com.microsoft.QLinearAveragePool":       func(c *run.Call) []*tensor.Tensor { return run.One(linearPool(c, "AveragePool")) },
		"com.microsoft.QLinearGlobalAveragePool": func(c *run.Call) []*tensor.Tensor { return run.One(linearPool(c, "GlobalAveragePool")) },
		"com.microsoft.QLinearConv": func(c *run.Call) []*tensor.Tensor {
			return run.One(InLayout(c, "QLinearConv", c.Int("channels_last", 0) != 0))
		},
		"com.microsoft.NhwcMaxPool": func(c *run.Call) []*tensor.Tensor { return run.One(InLayout(c, "MaxPool", true)) },
	}
}
