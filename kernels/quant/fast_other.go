//go:build !(amd64 || arm64 || (wasm && js && simd128)) || noasm

package quant

var (
	fast [3][count]fastDot
	sums [3][count]fastSum

	panels [3][count]panelKernel
	acts   [3]actKernel
)
