//go:build js && simd128 && !noasm

package quant

import "quern/kernels/internal/isa"

// fast holds kernels/_wasm/dot.c by level and type, and so by the numbers it
// gives them. Their bits are those of Dot.
var fast = [isa.SIMD128 + 1][count]fastDot{
	isa.SIMD128: {
		F32:    {one: simd(0), lanes: 4},
		F16:    {one: simd(1), lanes: 4},
		BF16:   {one: simd(2), lanes: 4},
		Q4_0:   {one: simd(3), four: simd(64 + 3), lanes: 32},
		Q4_1:   {one: simd(4), four: simd(64 + 4), lanes: 32},
		Q5_0:   {one: simd(5), four: simd(64 + 5), lanes: 32},
		Q5_1:   {one: simd(6), four: simd(64 + 6), lanes: 32},
		Q8_0:   {one: simd(7), four: simd(64 + 7), lanes: 32},
		Q2_K:   {one: simd(8), lanes: 256},
		Q3_K:   {one: simd(9), lanes: 256},
		Q4_K:   {one: simd(10), lanes: 256},
		Q5_K:   {one: simd(11), lanes: 256},
		Q6_K:   {one: simd(12), lanes: 256},
		IQ4_NL: {one: simd(13), four: simd(64 + 13), lanes: 32},
		IQ4_XS: {one: simd(14), lanes: 256},
		MXFP4:  {one: simd(15), four: simd(64 + 15), lanes: 32},
	},
}

var sums = [isa.SIMD128 + 1][count]fastSum{
	isa.SIMD128: {F32: {simdSum(0), 4}, F16: {simdSum(1), 4}},
}

// Four activation rows at a time is what there is.
var panels [isa.SIMD128 + 1][count]panelKernel

var acts [isa.SIMD128 + 1]actKernel

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
