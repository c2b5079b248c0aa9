package main

import (
	"encoding/binary"
	"fmt"
	"math"
)

// An int8 tile computes rows of a product of uint8 with int8; see int8Product in
// kernels/int8.go.
//
//	func name(dst *byte, dstStride int, x *byte, xStride, quads int, w *int8, wStride int,
//		init *int32, scale, bias *float32, last int)
//
// dst is int32 where scale is nil, float32 otherwise. Strides count bytes; last is
// how many columns of the last panel there are. init, scale and bias are there
// for whole panels.
const int8Params = "dst *byte, dstStride int, x *byte, xStride, quads int, w *int8, wStride int, init *int32, scale, bias *float32, last int"

func genInt8(a *file) {
	for _, rows := range []int{6, 4, 2, 1} {
		for _, panels := range []int{4, 2, 1} {
			int8Tile(a, rows, panels)
		}
	}
	int8Range(a)
	int8Quantize(a)
}

// int8Tile keeps its sums in registers, four weight vectors and one value of x.
func int8Tile(a *file, rows, width int) {
	fn := fmt.Sprintf("int8x%dx%dAVX512", rows, width*16)
	a.function(fn, int8Params, 88, fmt.Sprintf("%s multiplies %d rows of uint8 with %d columns of int8.", fn, rows, 16*width))
	acc := func(r, v int) string { return z(r*width + v) }
	b := func(v int) string { return z(rows*width + v) }
	value := z(rows*width + width)
	const (
		xp, xs, xp3 = "SI", "R8", "R9"
		wp, ws, ws3 = "DI", "R10", "R11"
	)
	xAt := func(r, disp int) string {
		base := xp
		if r >= 3 {
			base, r = xp3, r-3
		}
		if r == 0 {
			return mem(disp, base)
		}
		return fmt.Sprintf("%d(%s)(%s*%d)", disp, base, xs, r)
	}
	wAt := func(v, disp int) string {
		switch v {
		case 0:
			return mem(disp, wp)
		case 3:
			return fmt.Sprintf("%d(%s)(%s*1)", disp, wp, ws3)
		}
		return fmt.Sprintf("%d(%s)(%s*%d)", disp, wp, ws, v)
	}
	a.f("MOVQ last+80(FP), CX")
	a.f("MOVL $1, AX")
	a.f("SHLL CX, AX")
	a.f("DECL AX")
	a.f("KMOVW AX, K1")
	a.f("MOVQ init+56(FP), AX")
	for v := range width {
		a.f("VMOVDQU32 %s, %s", mem(64*v, "AX"), acc(0, v))
		for r := 1; r < rows; r++ {
			a.f("VMOVDQA64 %s, %s", acc(0, v), acc(r, v))
		}
	}
	a.f("MOVQ x+16(FP), %s", xp)
	if rows > 1 {
		a.f("MOVQ xStride+24(FP), %s", xs)
	}
	if rows > 3 {
		a.f("LEAQ (%s)(%s*2), %s", xp, xs, xp3)
		a.f("ADDQ %s, %s", xs, xp3)
	}
	a.f("MOVQ w+40(FP), %s", wp)
	if width > 1 {
		a.f("MOVQ wStride+48(FP), %s", ws)
		a.f("LEAQ (%s)(%s*2), %s", ws, ws, ws3)
	}
	a.f("MOVQ quads+32(FP), CX")
	step := func(i int) {
		for v := range width {
			a.f("VMOVDQU32 %s, %s", wAt(v, 64*i), b(v))
		}
		for r := range rows {
			a.f("VPBROADCASTD %s, %s", xAt(r, 4*i), value)
			for v := range width {
				a.f("VPDPBUSD %s, %s, %s", b(v), value, acc(r, v))
			}
		}
	}
	forward := func(n int) {
		a.f("ADDQ $%d, %s", 4*n, xp)
		if rows > 3 {
			a.f("ADDQ $%d, %s", 4*n, xp3)
		}
		a.f("ADDQ $%d, %s", 64*n, wp)
	}
	byFours(a, step, forward, "store")
	a.l("store")
	a.f("MOVQ dst+0(FP), AX")
	a.f("MOVQ dstStride+8(FP), R13")
	a.f("MOVQ scale+64(FP), BX")
	a.f("TESTQ BX, BX")
	a.f("JZ ints")
	a.f("MOVQ bias+72(FP), DX")
	for v := range width {
		a.f("VMOVUPS %s, %s", mem(64*v, "BX"), b(v))
		a.f("VMOVUPS %s, %s", mem(64*v, "DX"), value)
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
				a.f("VMOVDQU32 %s, K1, %s", acc(r, v), mem(64*v, "AX"))
			}
		}
		if r < rows-1 {
			a.f("ADDQ R13, AX")
		}
	}
	a.f("VZEROUPPER")
	a.f("RET")
}

func int8Range(a *file) {
	a.function("rangeAVX512", "x *float32, n int, lanes *float32", 24,
		"rangeAVX512 writes the smallest and the largest of x and zero by lanes. n is a multiple of 16; a NaN counts for nothing.")
	a.f("MOVQ x+0(FP), SI")
	a.f("MOVQ n+8(FP), CX")
	a.f("MOVQ lanes+16(FP), DI")
	a.f("VPXORD Z0, Z0, Z0")
	a.f("VPXORD Z1, Z1, Z1")
	a.l("loop")
	a.f("VMOVUPS (SI), Z2")
	// The second operand of Intel's order is what a NaN gives way to.
	a.f("VMINPS Z0, Z2, Z0")
	a.f("VMAXPS Z1, Z2, Z1")
	a.f("ADDQ $64, SI")
	a.f("SUBQ $16, CX")
	a.f("JNZ loop")
	a.f("VMOVUPS Z0, (DI)")
	a.f("VMOVUPS Z1, 64(DI)")
	a.f("VZEROUPPER")
	a.f("RET")
}

func int8Quantize(a *file) {
	a.function("quantizeAVX512", "dst *byte, x *float32, n int, scale float32, zero int32", 32,
		"quantizeAVX512 is QuantizeBytes. n is a multiple of 16.")
	c := a.bytes("quotients", func() []byte {
		b := make([]byte, 8)
		binary.LittleEndian.PutUint32(b, math.Float32bits(-1000))
		binary.LittleEndian.PutUint32(b[4:], math.Float32bits(1000))
		return b
	}())
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ n+16(FP), CX")
	a.f("VBROADCASTSS scale+24(FP), Z0")
	a.f("MOVL zero+28(FP), AX")
	a.f("VPBROADCASTD AX, Z1")
	a.f("VBROADCASTSS %s, Z2", sym(c, 0))
	a.f("VBROADCASTSS %s, Z3", sym(c, 4))
	a.f("VPXORD Z4, Z4, Z4")
	a.l("loop")
	a.f("VMOVUPS (SI), Z5")
	a.f("VDIVPS Z0, Z5, Z5")
	a.f("VMAXPS Z2, Z5, Z5") // a NaN becomes -1000
	a.f("VMINPS Z3, Z5, Z5")
	a.f("VCVTPS2DQ Z5, Z5")
	a.f("VPADDD Z1, Z5, Z5")
	a.f("VPMAXSD Z4, Z5, Z5")
	a.f("VPMOVUSDB Z5, X5")
	a.f("VMOVDQU X5, (DI)")
	a.f("ADDQ $64, SI")
	a.f("ADDQ $16, DI")
	a.f("SUBQ $16, CX")
	a.f("JNZ loop")
	a.f("VZEROUPPER")
	a.f("RET")
}
