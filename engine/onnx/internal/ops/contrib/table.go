// Package contrib has operators of ONNX Runtime that exporters and its optimizer write
// in place of those of the standard.
//
// ONNX Runtime, ContribOperators.md.
package contrib

import (
	"quern/engine/onnx/internal/ops/product"
	"quern/engine/onnx/internal/ops/quantised"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/kernels/vec"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	same := func(op string) run.Op {
		return func(c *run.Call) []*tensor.Tensor { return run.One(c.Again(op, c.Attrs(), c.In...)) }
	}
	return run.Table{
		"SwiGLU":                                swiGLU,
		"com.microsoft.Gelu":                    func(c *run.Call) []*tensor.Tensor { return run.One(gelu(c, c.X(0), nil, vec.GELU)) },
		"com.microsoft.BiasGelu":                func(c *run.Call) []*tensor.Tensor { return run.One(gelu(c, c.X(0), c.X(1), vec.GELU)) },
		"com.microsoft.FastGelu":                func(c *run.Call) []*tensor.Tensor { return run.One(gelu(c, c.X(0), c.Opt(1), vec.GELUTanh)) },
		"com.microsoft.QuickGelu":               quickGelu,
		"com.microsoft.EmbedLayerNormalization": embedNorm,
		"com.microsoft.FusedConv":               fusedConv,
		"com.microsoft.FusedGemm":               fusedGemm,

		// Operators of ai.onnx under another name, or little else.
		"com.microsoft.TransposeMatMul": product.FusedMatMul,
		"com.microsoft.GatherND":        same("GatherND"),
		"com.microsoft.GridSample":      same("GridSample"),
		"com.microsoft.Trilu":           same("Trilu"),
		"com.microsoft.Pad":             padOfRow,
		"com.microsoft.Range":           rangeByOne,
		"com.microsoft.ExpandDims":      expandDims,
		"com.microsoft.Unique":          uniqueInOrder,
		"com.microsoft.Inverse":         func(c *run.Call) []*tensor.Tensor { return run.One(inverse(c, c.X(0))) },
		"com.microsoft.CDist":           distances,

		// What ONNX Runtime's optimizers make of operators that are here already, mostly
		// for GPUs.
		"com.microsoft.BiasAdd":                         biasAdd,
		"com.microsoft.BiasSplitGelu":                   biasSplitGelu,
		"com.microsoft.GemmFastGelu":                    gemmFastGelu,
		"com.microsoft.GroupNorm":                       func(c *run.Call) []*tensor.Tensor { return run.One(groupNormLast(c, c.X(0), c.X(1), c.X(2))) },
		"com.microsoft.SkipGroupNorm":                   skipGroupNorm,
		"com.microsoft.NhwcConv":                        func(c *run.Call) []*tensor.Tensor { return run.One(quantised.InLayout(c, "Conv", true)) },
		"com.microsoft.NhwcFusedConv":                   nhwcFusedConv,
		"com.microsoft.DecoderMaskedMultiHeadAttention": maskedMultiHead,
		"com.microsoft.QEmbedLayerNormalization":        quantisedEmbedNorm,
	}
}
