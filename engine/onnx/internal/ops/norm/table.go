// Package norm has softmax, norms and losses.
package norm

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"Hardmax":                          hardmax,
		"Softmax":                          func(c *run.Call) []*tensor.Tensor { return run.One(Softmax(c, c.X(0), false)) },
		"LogSoftmax":                       func(c *run.Call) []*tensor.Tensor { return run.One(Softmax(c, c.X(0), true)) },
		"LayerNormalization":               func(c *run.Call) []*tensor.Tensor { return layerNorm(c, c.X(0), c.X(1), c.Opt(2), false) },
		"RMSNormalization":                 func(c *run.Call) []*tensor.Tensor { return layerNorm(c, c.X(0), c.X(1), nil, true)[:1] },
		"SimplifiedLayerNormalization":     simplifiedNorm,
		"com.microsoft.LayerNormalization": func(c *run.Call) []*tensor.Tensor { return layerNorm(c, c.X(0), c.X(1), c.Opt(2), false) },
		"SoftmaxCrossEntropyLoss":          crossEntropy,
		"NegativeLogLikelihoodLoss":        func(c *run.Call) []*tensor.Tensor { return run.One(likelihoodLoss(c, c.X(0), c.X(1), c.Opt(2))) },
		"com.microsoft.SkipLayerNormalization": func(c *run.Call) []*tensor.Tensor {
			return skipNorm(c, c.Opt(3), c.Opt(4), false)
		},
		"com.microsoft.SkipSimplifiedLayerNormalization": func(c *run.Call) []*tensor.Tensor {
			return skipNorm(c, nil, c.Opt(3), true)
		},
		"com.microsoft.SimplifiedLayerNormalization": simplifiedNorm,

		"BatchNormalization": batchNorm, "InstanceNormalization": instanceNorm, "GroupNormalization": groupNorm,
		"LRN": localNorm, "MeanVarianceNormalization": meanVarianceNorm, "LpNormalization": lpNorm,
	}
}
