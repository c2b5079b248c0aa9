package main

import "fmt"

// A tile kernel computes rows of a product in registers; see product in
// kernels/gemm.go.
//
//	func name(dst *float32, dstStride int, init *float32, initStride int,
//		x *float32, xStride, taps, tapStride, k int, w *float32, wStride, last int)
//
// Strides count bytes; last is how many columns of the last panel there are.
// Each sum is one register lane, multiplied and added in ascending order.
const tileParams = "dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32, wStride, last int"

// A tile takes rows of x and panels of 16 columns: 24 sums of the 32 AVX-512
// registers, four weight vectors and one value of x; with AVX2 12, two and one
// of 16. Smaller tiles do what is left over.
var tiles = []struct {
	level        string
	rows, panels []int
}{
	{"AVX512", []int{6, 4, 2, 1}, []int{4, 2, 1}},
	{"AVX2", []int{6, 4, 2, 1}, []int{1}},
}

func genTiles(a *file) {
	for _, t := range tiles {
		for _, rows := range t.rows {
			for _, panels := range t.panels {
				if t.level == "AVX512" {
					gemmTile(a, t.level, rows, panels, 1, z)
				} else {
					gemmTile(a, t.level, rows, panels, 2, y)
				}
			}
		}
	}
}

// gemmTile emits a kernel whose panels are vecs registers each.
func gemmTile(a *file, level string, rows, panels, vecs int, reg func(int) string) {
	fn := fmt.Sprintf("gemm%dx%d%s", rows, panels*16, level)
	a.function(fn, tileParams, 96, fmt.Sprintf("%s multiplies %d rows with %d columns.", fn, rows, 16*panels))
	width := panels * vecs
	bytes := 64 / vecs
	acc := func(r, v int) string { return reg(r*width + v) }
	b := func(v int) string { return reg(rows*width + v) }
	value := reg(rows*width + width)
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
		p := v / vecs
		disp += v % vecs * bytes
		switch p {
		case 0:
			return mem(disp, wp)
		case 3:
			return fmt.Sprintf("%d(%s)(%s*1)", disp, wp, ws3)
		}
		return fmt.Sprintf("%d(%s)(%s*%d)", disp, wp, ws, p)
	}

	a.f("MOVQ last+88(FP), CX")
	if vecs == 1 {
		a.f("MOVL $1, AX")
		a.f("SHLL CX, AX")
		a.f("DECL AX")
		a.f("KMOVW AX, K1")
	}
	// each walks over the vectors of rows at AX, R13 apart, whole or masked.
	each := func(what string, whole, masked func(r, v int, m string)) {
		walk := func(f func(r, v int, m string)) {
			for r := range rows {
				for v := range width {
					f(r, v, mem(v*bytes, "AX"))
				}
				if r < rows-1 {
					a.f("ADDQ R13, AX")
				}
			}
		}
		if vecs == 1 {
			walk(func(r, v int, m string) {
				if v < width-1 {
					whole(r, v, m)
				} else {
					masked(r, v, m)
				}
			})
			return
		}
		a.f("CMPQ CX, $16")
		a.f("JNE %sPart", what)
		walk(whole)
		a.f("JMP %sDone", what)
		a.l(what + "Part")
		walk(masked)
		a.l(what + "Done")
	}
	// loadMasks makes the masks of a part of a panel in b(0) and b(1).
	loadMasks := func() {
		c := a.bytes("tileMasks", dwords(32, func(i int) uint32 {
			if i < 16 {
				return 1<<32 - 1
			}
			return 0
		}))
		a.f("LEAQ %s, R12", sym(c, 64))
		a.f("MOVQ CX, BX")
		a.f("SHLQ $2, BX")
		a.f("SUBQ BX, R12")
		a.f("VMOVUPS (R12), %s", b(0))
		a.f("VMOVUPS 32(R12), %s", b(1))
	}

	a.f("MOVQ init+16(FP), AX")
	a.f("MOVQ initStride+24(FP), R13")
	a.f("TESTQ AX, AX")
	a.f("JZ zero")
	if vecs == 2 {
		loadMasks()
	}
	each("init", func(r, v int, m string) { a.f("VMOVUPS %s, %s", m, acc(r, v)) },
		func(r, v int, m string) {
			if vecs == 1 {
				a.f("VMOVUPS.Z %s, K1, %s", m, acc(r, v))
			} else {
				a.f("VMASKMOVPS %s, %s, %s", m, b(v), acc(r, v))
			}
		})
	a.f("JMP start")
	a.l("zero")
	for i := range rows * width {
		a.f("VXORPS %s, %s, %s", reg(i), reg(i), reg(i))
	}
	a.l("start")
	a.f("MOVQ taps+48(FP), DX")
	a.f("TESTQ DX, DX")
	a.f("JZ store")
	a.f("MOVQ x+32(FP), %s", xp)
	if rows > 1 {
		a.f("MOVQ xStride+40(FP), %s", xs)
	}
	if rows > 3 {
		a.f("LEAQ (%s)(%s*2), %s", xp, xs, xp3)
		a.f("ADDQ %s, %s", xs, xp3)
	}
	a.f("MOVQ k+64(FP), R12")
	a.f("MOVQ tapStride+56(FP), BX")
	a.f("MOVQ R12, AX")
	a.f("SHLQ $2, AX")
	a.f("SUBQ AX, BX")
	a.f("MOVQ w+72(FP), %s", wp)
	if panels > 1 {
		a.f("MOVQ wStride+80(FP), %s", ws)
		a.f("LEAQ (%s)(%s*2), %s", ws, ws, ws3)
	}
	step := func(i int) {
		for v := range width {
			a.f("VMOVUPS %s, %s", wAt(v, 64*i), b(v))
		}
		for r := range rows {
			a.f("VBROADCASTSS %s, %s", xAt(r, 4*i), value)
			for v := range width {
				a.f("VFMADD231PS %s, %s, %s", b(v), value, acc(r, v))
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
	a.l("tap")
	a.f("MOVQ R12, CX")
	byFours(a, step, forward, "next")
	a.l("next")
	a.f("ADDQ BX, %s", xp)
	if rows > 3 {
		a.f("ADDQ BX, %s", xp3)
	}
	a.f("DECQ DX")
	a.f("JNZ tap")
	a.l("store")
	a.f("MOVQ dst+0(FP), AX")
	a.f("MOVQ dstStride+8(FP), R13")
	if vecs == 2 {
		a.f("MOVQ last+88(FP), CX")
		loadMasks()
	}
	each("store", func(r, v int, m string) { a.f("VMOVUPS %s, %s", acc(r, v), m) },
		func(r, v int, m string) {
			if vecs == 1 {
				a.f("VMOVUPS %s, K1, %s", acc(r, v), m)
			} else {
				a.f("VMASKMOVPS %s, %s, %s", acc(r, v), b(v), m)
			}
		})
	a.f("VZEROUPPER")
	a.f("RET")
}
