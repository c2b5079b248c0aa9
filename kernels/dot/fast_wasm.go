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
		quant.F32:    kernels(0, none, 4),
		quant.F16:    kernels(1, none, 4),
		quant.BF16:   kernels(2, none, 4),
		quant.Q4_0:   kernels(3, 64+3, 32),
		quant.Q4_1:   kernels(4, 64+4, 32),
		quant.Q5_0:   kernels(5, 64+5, 32),
		quant.Q5_1:   kernels(6, 64+6, 32),
		quant.Q8_0:   kernels(7, 64+7, 32),
		quant.Q2_K:   kernels(8, none, 256),
		quant.Q3_K:   kernels(9, none, 256),
		quant.Q4_K:   kernels(10, none, 256),
		quant.Q5_K:   kernels(11, none, 256),
		quant.Q6_K:   kernels(12, none, 256),
		quant.IQ4_NL: kernels(13, 64+13, 32),
		quant.IQ4_XS: kernels(14, none, 256),
		quant.MXFP4:  kernels(15, 64+15, 32),
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

//go:wasmimport quern rows
//go:noescape
func rowsSIMD(one, four int32, w *byte, n, rows, rowBytes, chunk int32, x *byte, xStride, batch int32, out *float32, outStride int32)

const none = -1

// kernels are those of a type with these numbers for one and for four activation rows.
func kernels(one, four int32, lanes int) fastDot {
	return fastDot{
		lanes: lanes,
		one: func(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int) {
			dotSIMD(one, w, int32(n), int32(rows), x, int32(xStride), out, int32(outStride))
		},
		all: func(w *byte, n, rows, rowBytes int, x *byte, xStride, batch int, out *float32, outStride int) {
			rowsSIMD(one, four, w, int32(n), int32(rows), int32(rowBytes), int32(chunkRows(rowBytes, batch)), x, int32(xStride), int32(batch), out, int32(outStride))
		},
	}
}

// chunkRows is how many weight rows one thread takes at a time: enough to outweigh taking
// them, and few enough to stay in its cache while several activation rows use them.
func chunkRows(rowBytes, batch int) int {
	if batch == 1 {
		return max(1, 64<<10/rowBytes)
	}
	return max(16, 32<<10/rowBytes/16*16)
}

func simdSum(kernel int32) func(dst *float32, n int, w *byte, rows, stride int, p *float32) {
	return func(dst *float32, n int, w *byte, rows, stride int, p *float32) {
		sumSIMD(kernel, dst, int32(n), w, int32(rows), int32(stride), p)
	}
}
