//go:build !(amd64 || arm64 || (wasm && js && simd128)) || noasm

package dot

import "quern/kernels/quant"

var (
	fast [3][quant.Count]fastDot
	sums [3][quant.Count]fastSum

	panels [3][quant.Count]panelKernel
)
