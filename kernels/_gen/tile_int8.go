package main

import (
	"encoding/binary"
	"fmt"
	"math"
)

// An int8 tile computes rows of a product of uint8 with int8; see int8Product in
// kernels/gemm/int8.go.
//
//	func name(dst *byte, dstStride int, x *byte, xStride, quads int, w *int8, wStride int,
//		init *int32, scale, bias *float32, last int)
//
// dst is int32 where scale is nil, float32 otherwise. Strides count bytes; last is
// how many columns of the last panel there are. init, scale and bias have
// values for whole panels.
const int8Params = "dst *byte, dstStride int, x *byte, xStride, quads int, w *int8, wStride int, init *int32, scale, bias *float32, last int"

// genInt8 writes the int8 product's tiles and the quantisation of its input.
func genInt8(a *file) {
	for _, rows := range []int{6, 4, 2, 1} {
		for _, panels := range []int{4, 2, 1} {
			int8Tile(a, rows, panels)
		}
	}
	int8Range(a)
	int8Quantize(a)
}

// int8Tile writes dst = init + x·w for one tile, as gemmTile does, four values of k at a
// time by VPDPBUSD; with scale, float32(sum)·scale + bias.
func int8Tile(a *file, rows, width int) {
	fn := fmt.Sprintf("int8x%dx%dAVX512", rows, width*16)
	a.function(fn, int8Params, fmt.Sprintf("%s multiplies %d rows of uint8 with %d columns of int8.", fn, rows, 16*width))
	a.use(
		"x", "SI", // next four values of row 0
		"xStride", "R8",
		"x3", "R9", // of row 3
		"w", "DI", // next weights of panel 0
		"wStride", "R10",
		"wStride3", "R11", // three times that
		"left", "CX", // quads
		"dstStride", "R13", "scale", "BX", "bias", "DX",
		"lastMask", "K1", // columns of the last panel
	)
	a.reuse("last", "CX")
	o := outer{rows, width, z}
	acc, b, value := o.acc, o.b, o.value()
	wAt := func(v, disp int) string { return upTo4(v, disp, "w", "wStride") }
	a.load("last")
	a.f("MOVL $1, AX")
	a.f("SHLL {last}, AX")
	a.f("DECL AX")
	a.f("KMOVW AX, {lastMask}")
	a.f("MOVQ %s, AX", a.arg("init"))
	for v := range width {
		a.f("VMOVDQU32 %s, %s", mem(64*v, "AX"), acc(0, v))
		for r := 1; r < rows; r++ {
			a.f("VMOVDQA64 %s, %s", acc(0, v), acc(r, v))
		}
	}
	a.load("x")
	sixRows(a, rows)
	a.load("w")
	if width > 1 {
		a.load("wStride")
		a.f("LEAQ ({wStride})({wStride}*2), {wStride3}")
	}
	a.load("quads=left")
	step := func(i int) {
		for v := range width {
			a.f("VMOVDQU32 %s, %s", wAt(v, 64*i), b(v))
		}
		o.add(a, "VPBROADCASTD", "VPDPBUSD", 4*i)
	}
	forward := func(n int) {
		moveRows(a, rows, fmt.Sprintf("$%d", 4*n))
		a.f("ADDQ $%d, {w}", 64*n)
	}
	byFours(a, step, forward, "store")
	a.l("store")
	a.f("MOVQ %s, AX", a.arg("dst"))
	a.load("dstStride", "scale")
	a.f("TESTQ {scale}, {scale}")
	a.f("JZ ints")
	a.load("bias")
	for v := range width {
		a.f("VMOVUPS %s, %s", mem(64*v, "{scale}"), b(v))
		a.f("VMOVUPS %s, %s", mem(64*v, "{bias}"), value)
		for r := range rows {
			a.f("VCVTDQ2PS %s, %s", acc(r, v), acc(r, v))
			a.f("VMULPS %s, %s, %s", b(v), acc(r, v), acc(r, v))
			a.f("VADDPS %s, %s, %s", value, acc(r, v), acc(r, v))
		}
	}
	a.l("ints")
	for r := range rows {
		for v := range width {
			if v < width-1 {
				a.f("VMOVDQU32 %s, %s", acc(r, v), mem(64*v, "AX"))
			} else {
				a.f("VMOVDQU32 %s, {lastMask}, %s", acc(r, v), mem(64*v, "AX"))
			}
		}
		if r < rows-1 {
			a.f("ADDQ {dstStride}, AX")
		}
	}
	finish(a)
}

// int8Range writes min(0, x) and max(0, x) by lanes.
func int8Range(a *file) {
	a.function("rangeAVX512", "x *float32, n int, lanes *float32",
		"rangeAVX512 writes the smallest and the largest of x and zero by lanes. n is a multiple of 16; NaN is ignored.")
	a.use(
		"x", "SI", // next floats
		"n", "CX", // left
		"lanes", "DI", "low", "Z0", "high", "Z1", "value", "Z2",
	)
	a.load("x", "n", "lanes")
	a.f("VPXORD {low}, {low}, {low}")
	a.f("VPXORD {high}, {high}, {high}")
	a.l("loop")
	a.f("VMOVUPS ({x}), {value}")
	// Where a value is NaN, the result is the second operand of Intel's order.
	a.f("VMINPS {low}, {value}, {low}")
	a.f("VMAXPS {high}, {value}, {high}")
	a.f("ADDQ $64, {x}")
	a.f("SUBQ $16, {n}")
	a.f("JNZ loop")
	a.f("VMOVUPS {low}, ({lanes})")
	a.f("VMOVUPS {high}, 64({lanes})")
	finish(a)
}

// int8Quantize writes clamp(round(x/scale) + zero, 0, 255) as bytes.
func int8Quantize(a *file) {
	a.function("quantizeAVX512", "dst *byte, x *float32, n int, scale float32, zero int32",
		"quantizeAVX512 is QuantizeBytes. n is a multiple of 16.")
	a.use(
		"dst", "DI",
		"x", "SI", // next floats
		"n", "CX", // left
		"scale", "Z0", "zero", "Z1", "least", "Z2", "most", "Z3",
		"nought", "Z4", "value", "Z5",
	)
	c := a.bytes("quotients", func() []byte {
		b := make([]byte, 8)
		binary.LittleEndian.PutUint32(b, math.Float32bits(-1000))
		binary.LittleEndian.PutUint32(b[4:], math.Float32bits(1000))
		return b
	}())
	a.load("dst", "x", "n")
	a.f("VBROADCASTSS %s, {scale}", a.arg("scale"))
	a.f("MOVL %s, AX", a.arg("zero"))
	a.f("VPBROADCASTD AX, {zero}")
	a.f("VBROADCASTSS %s, {least}", sym(c, 0))
	a.f("VBROADCASTSS %s, {most}", sym(c, 4))
	a.f("VPXORD {nought}, {nought}, {nought}")
	a.l("loop")
	a.f("VMOVUPS ({x}), {value}")
	a.f("VDIVPS {scale}, {value}, {value}")
	a.f("VMAXPS {least}, {value}, {value}") // a NaN becomes -1000
	a.f("VMINPS {most}, {value}, {value}")
	a.f("VCVTPS2DQ {value}, {value}")
	a.f("VPADDD {zero}, {value}, {value}")
	a.f("VPMAXSD {nought}, {value}, {value}")
	a.f("VPMOVUSDB {value}, {value.x}")
	a.f("VMOVDQU {value.x}, ({dst})")
	a.f("ADDQ $64, {x}")
	a.f("ADDQ $16, {dst}")
	a.f("SUBQ $16, {n}")
	a.f("JNZ loop")
	finish(a)
}
