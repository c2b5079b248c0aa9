// Package signal has Fourier transforms, windows and filter banks.
package signal

import (
	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
)

// Table returns the operators of the family, for one Session.
func Table() run.Table {
	return run.Table{
		"DFT": dft, "STFT": stft, "MelWeightMatrix": melWeights, "Det": det,
		"HannWindow":     func(c *run.Call) []*tensor.Tensor { return run.One(cosines(c, 0.5, -0.5, 0)) },
		"HammingWindow":  func(c *run.Call) []*tensor.Tensor { return run.One(cosines(c, 25.0/46, -21.0/46, 0)) },
		"BlackmanWindow": func(c *run.Call) []*tensor.Tensor { return run.One(cosines(c, 0.42, -0.5, 0.08)) },
	}
}
