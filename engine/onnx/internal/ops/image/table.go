// Package image has the operators on tensors (batch, channels, space…): convolutions,
// pools, sampling and regions.
package image

import (
	"quern/engine/onnx/internal/ops/reduce"
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"Conv": conv, "ConvTranspose": convTranspose,
		"DeformConv": deformConv, "Col2Im": col2Im,

		"MaxPool": maxPool, "AveragePool": averagePool, "LpPool": lpPool, "MaxUnpool": maxUnpool, "MaxRoiPool": maxRoiPool,
		"GlobalMaxPool":     func(c *run.Call) []*tensor.Tensor { return run.One(global(c, reduce.Reducers["ReduceMax"])) },
		"GlobalAveragePool": func(c *run.Call) []*tensor.Tensor { return run.One(global(c, reduce.Reducers["ReduceMean"])) },
		"GlobalLpPool": func(c *run.Call) []*tensor.Tensor {
			p := float64(c.Int("p", 2))
			return run.One(global(c, reduce.Reducer{D: func(row []float64) float64 { return reduce.Norm(row, p) }}))
		},

		"Resize": resize, "Upsample": upsample, "GridSample": gridSample, "AffineGrid": affineGrid,
		"RoiAlign": roiAlign, "NonMaxSuppression": nonMaxSuppression,
	}
}
