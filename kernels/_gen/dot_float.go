package main

import "fmt"

// Floating-point weights meet float32 activations. n is a multiple of the
// vector; the Go wrapper adds what is left over.

func elem(t string) int {
	if t == "F16" {
		return 2
	}
	return 4
}

// loadZ reads 16 weights at disp into zmm r.
func loadZ(a *file, t string, disp, r int) {
	if t == "F16" {
		a.f("VCVTPH2PS %d(%s), %s", disp, rW, z(r))
	} else {
		a.f("VMOVUPS %d(%s), %s", disp, rW, z(r))
	}
}

// loadY reads 8 weights at disp into ymm r.
func loadY(a *file, t string, disp, r int) {
	if t == "F16" {
		a.f("VCVTPH2PS %d(%s), %s", disp, rW, y(r))
	} else {
		a.f("VMOVUPS %d(%s), %s", disp, rW, y(r))
	}
}

func floatsAVX512(a *file, t string, batch int) {
	floatDot(a, t, "AVX512", batch, 16, loadZ, z, sumZ)
}

func floatsAVX2(a *file, t string, batch int) {
	floatDot(a, t, "AVX2", batch, 8, loadY, y, sumY)
}

// floatDot takes four vectors a step, then single ones. One row keeps four
// running sums to hide the latency of FMA; four rows keep one each.
func floatDot(a *file, t, level string, batch, lanes int,
	load func(*file, string, int, int), v func(int) string, sum func(*file, int, int)) {
	a.function(name(t, level, batch), dotParams, 56, doc(t, level, batch))
	shift := 3
	if lanes == 16 {
		shift = 4
	}
	prologue(a, batch, shift)
	size := elem(t)
	a.f("MOVQ %s, R14", rN)
	a.f("ANDQ $3, R14")
	a.f("SHRQ $2, %s", rN)
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	for r := range 4 {
		a.f("VXORPS %s, %s, %s", v(r), v(r), v(r))
	}
	a.f("MOVQ %s, %s", rN, rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ single")
	a.l("block")
	prefetch(a, 2048, 4*lanes*size)
	for i := range 4 {
		load(a, t, i*lanes*size, 4+i)
		for b := range batch {
			acc := b
			if batch == 1 {
				acc = i
			}
			a.f("VFMADD231PS %s, %s, %s", xmem(b, 4*i*lanes), v(4+i), v(acc))
		}
	}
	a.f("ADDQ $%d, %s", 4*lanes*size, rW)
	a.f("ADDQ $%d, %s", 16*lanes, rXP)
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	a.l("single")
	a.f("MOVQ R14, %s", rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ fold")
	a.l("one")
	load(a, t, 0, 4)
	for b := range batch {
		a.f("VFMADD231PS %s, %s, %s", xmem(b, 0), v(4), v(b))
	}
	a.f("ADDQ $%d, %s", lanes*size, rW)
	a.f("ADDQ $%d, %s", 4*lanes, rXP)
	a.f("DECQ %s", rC)
	a.f("JNZ one")
	a.l("fold")
	if batch == 1 {
		a.f("VADDPS %s, %s, %s", v(1), v(0), v(0))
		a.f("VADDPS %s, %s, %s", v(3), v(2), v(2))
		a.f("VADDPS %s, %s, %s", v(2), v(0), v(0))
	}
	for b := range batch {
		sum(a, b, 5)
		store(a, b, x(b))
	}
	a.f("ADDQ $4, %s", rOut)
	a.f("DECQ %s", rRows)
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}

// A sum kernel adds weighted rows: dst[i] += Σ p[r]·w[r][i].
//
//	func name(dst *float32, n int, w *byte, rows, stride int, p *float32)
//
// n is a multiple of the vector; stride is in bytes.
const sumParams = "dst *float32, n int, w *byte, rows, stride int, p *float32"

func sumRowsAVX512(a *file, t string) { sumRows(a, t, "AVX512", 16, loadZ, z) }
func sumRowsAVX2(a *file, t string)   { sumRows(a, t, "AVX2", 8, loadY, y) }

func sumRows(a *file, t, level string, lanes int, load func(*file, string, int, int), v func(int) string) {
	fn := "sumRows" + t + level
	a.function(fn, sumParams, 48, fmt.Sprintf("%s adds rows of %s to dst, each times its factor in p.", fn, t))
	size := elem(t)
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ n+8(FP), DX")
	a.f("MOVQ w+16(FP), R9")
	a.f("MOVQ rows+24(FP), R10")
	a.f("MOVQ stride+32(FP), R8")
	a.f("MOVQ p+40(FP), R11")
	// Columns in strips of four vectors held in registers, then of one.
	for _, strip := range []int{4, 1} {
		top, row, done := fmt.Sprintf("strip%d", strip), fmt.Sprintf("row%d", strip), fmt.Sprintf("done%d", strip)
		a.l(top)
		a.f("CMPQ DX, $%d", strip*lanes)
		a.f("JLT %s", done)
		for i := range strip {
			a.f("VMOVUPS %d(DI), %s", 4*i*lanes, v(i))
		}
		a.f("MOVQ R9, %s", rW)
		a.f("MOVQ R11, BX")
		a.f("MOVQ R10, CX")
		a.l(row)
		a.f("VBROADCASTSS (BX), %s", v(4))
		for i := range strip {
			load(a, t, i*lanes*size, 5+i)
			a.f("VFMADD231PS %s, %s, %s", v(5+i), v(4), v(i))
		}
		a.f("ADDQ R8, %s", rW)
		a.f("ADDQ $4, BX")
		a.f("DECQ CX")
		a.f("JNZ %s", row)
		for i := range strip {
			a.f("VMOVUPS %s, %d(DI)", v(i), 4*i*lanes)
		}
		a.f("ADDQ $%d, DI", 4*strip*lanes)
		a.f("ADDQ $%d, R9", strip*lanes*size)
		a.f("SUBQ $%d, DX", strip*lanes)
		a.f("JMP %s", top)
		a.l(done)
	}
	a.f("VZEROUPPER")
	a.f("RET")
}
