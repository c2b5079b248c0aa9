//go:build js && simd128 && !noasm

package dot

import (
	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// fast holds kernels/_wasm/dot.c by level and type, and so by the numbers it
// gives them. Their bits are those of Dot.
var fast = [isa.SIMD128 + 1][quant.Count]fastDot{
	isa.SIMD128: {
		quant.F32:    {one: simd(0), lanes: 4},
		quant.F16:    {one: simd(1), lanes: 4},
		quant.BF16:   {one: simd(2), lanes: 4},
		quant.Q4_0:   {one: simd(3), four: simd(64 + 3), lanes: 32},
		quant.Q4_1:   {one: simd(4), four: simd(64 + 4), lanes: 32},
		quant.Q5_0:   {one: simd(5), four: simd(64 + 5), lanes: 32},
		quant.Q5_1:   {one: simd(6), four: simd(64 + 6), lanes: 32},
		quant.Q8_0:   {one: simd(7), four: simd(64 + 7), lanes: 32},
		quant.Q2_K:   {one: simd(8), lanes: 256},
		quant.Q3_K:   {one: simd(9), lanes: 256},
		quant.Q4_K:   {one: simd(10), lanes: 256},
		quant.Q5_K:   {one: simd(11), lanes: 256},
		quant.Q6_K:   {one: simd(12), lanes: 256},
		quant.IQ4_NL: {one: simd(13), four: simd(64 + 13), lanes: 32},
		quant.IQ4_XS: {one: simd(14), lanes: 256},
		quant.MXFP4:  {one: simd(15), four: simd(64 + 15), lanes: 32},
	},
}

var sums = [isa.SIMD128 + 1][quant.Count]fastSum{
	isa.SIMD128: {quant.F32: {simdSum(0), 4}, quant.F16: {simdSum(1), 4}},
}

// panels is empty: kernels take at most four activation rows at a time.
var panels [isa.SIMD128 + 1][quant.Count]panelKernel

//go:wasmimport quern dot
//go:noescape
func dotSIMD(kernel int32, w *byte, n, rows int32, x *byte, xStride int32, out *float32, outStride int32)

//go:wasmimport quern sum
//go:noescape
func sumSIMD(kernel int32, dst *float32, n int32, w *byte, rows, stride int32, p *float32)

func simd(kernel int32) dotKernel {
	return func(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int) {
		dotSIMD(kernel, w, int32(n), int32(rows), x, int32(xStride), out, int32(outStride))
	}
}

func simdSum(kernel int32) func(dst *float32, n int, w *byte, rows, stride int, p *float32) {
	return func(dst *float32, n int, w *byte, rows, stride int, p *float32) {
		sumSIMD(kernel, dst, int32(n), w, int32(rows), int32(stride), p)
	}
}
