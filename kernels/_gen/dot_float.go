package main

import "fmt"

// floatAhead is how many bytes ahead of the rows at hand weights are fetched.
const floatAhead = 2048

// Floating-point weights meet float32 activations. n is a multiple of the
// vector; the Go wrapper adds what is left over.

var floatTypes = []string{"F16", "BF16", "F32"}

func elem(t string) int {
	if t == "F32" {
		return 4
	}
	return 2
}

// loadZ reads 16 weights from m into zmm r.
func loadZ(a *file, t, m string, r int) { loadFloats(a, t, m, z(r)) }

// loadY reads 8 weights from m into ymm r.
func loadY(a *file, t, m string, r int) { loadFloats(a, t, m, y(r)) }

func loadFloats(a *file, t, m, r string) {
	switch t {
	case "F16":
		a.f("VCVTPH2PS %s, %s", m, r)
	case "BF16": // the upper half of a float32
		a.f("VPMOVZXWD %s, %s", m, r)
		a.f("VPSLLD $16, %s, %s", r, r)
	default:
		a.f("VMOVUPS %s, %s", m, r)
	}
}

func floatsAVX512(a *file, t string, batch int) {
	floatDot(a, t, "AVX512", batch, 16, loadZ, z, sumZ)
}

func floatsAVX2(a *file, t string, batch int) {
	floatDot(a, t, "AVX2", batch, 8, loadY, y, sumY)
}

// floatDot keeps one running sum per result, whatever it does at a time, so a
// result's bits do not depend on the batch. The latency of FMA is hidden by
// doing four results at once: four activation rows with one weight row, or four
// weight rows with one activation row (what is left of them one by one).
func floatDot(a *file, t, level string, batch, lanes int,
	load func(*file, string, string, int), v func(int) string, sum func(*file, int, int)) {
	a.function(name(t, level, batch), dotParams, 56, doc(t, level, batch))
	shift := 3
	if lanes == 16 {
		shift = 4
	}
	prologue(a, batch, shift)
	size := elem(t)
	if batch == 4 {
		a.l("row")
		a.f("MOVQ %s, %s", rX, rXP)
		a.f("MOVQ %s, %s", rN, rC)
		for b := range batch {
			a.f("VXORPS %s, %s, %s", v(b), v(b), v(b))
		}
		a.l("block")
		a.f("PREFETCHT0 %d(%s)", floatAhead, rW)
		load(a, t, mem(0, rW), 4)
		for b := range batch {
			a.f("VFMADD231PS %s, %s, %s", xmem(b, 0), v(4), v(b))
		}
		a.f("ADDQ $%d, %s", lanes*size, rW)
		a.f("ADDQ $%d, %s", 4*lanes, rXP)
		a.f("DECQ %s", rC)
		a.f("JNZ block")
		for b := range batch {
			sum(a, b, 5)
			store(a, b, x(b))
		}
		a.f("ADDQ $4, %s", rOut)
		a.f("DECQ %s", rRows)
		a.f("JNZ row")
		a.f("VZEROUPPER")
		a.f("RET")
		return
	}
	// R8 is a weight row's bytes, R9 three times that.
	a.f("MOVQ %s, R8", rN)
	a.f("IMULQ $%d, R8", lanes*size)
	a.f("LEAQ (R8)(R8*2), R9")
	// Memory flows best row after row, without being asked ahead, and a vector of
	// sixteen is long enough for the chain of sums not to be what is waited for.
	// Vectors of eight take four rows, which have to be fetched ahead.
	groups := []int{4, 1}
	if lanes == 16 {
		groups = []int{1}
	}
	ahead := len(groups) > 1
	for _, rows := range groups {
		row, block, done := fmt.Sprintf("row%d", rows), fmt.Sprintf("block%d", rows), fmt.Sprintf("done%d", rows)
		at := []string{mem(0, rW), fmt.Sprintf("(%s)(R8*1)", rW), fmt.Sprintf("(%s)(R8*2)", rW), fmt.Sprintf("(%s)(R9*1)", rW)}
		a.l(row)
		a.f("CMPQ %s, $%d", rRows, rows)
		a.f("JLT %s", done)
		if ahead {
			a.f("LEAQ %d(%s)(R8*%d), R11", floatAhead, rW, rows)
		}
		a.f("MOVQ %s, %s", rX, rXP)
		a.f("MOVQ %s, %s", rN, rC)
		for r := range rows {
			a.f("VXORPS %s, %s, %s", v(r), v(r), v(r))
		}
		a.l(block)
		a.f("VMOVUPS (%s), %s", rXP, v(4))
		for r := range rows {
			if ahead && r*lanes*size%64 == 0 {
				a.f("PREFETCHT0 %d(R11)", r*lanes*size)
			}
			load(a, t, at[r], 5)
			a.f("VFMADD231PS %s, %s, %s", v(4), v(5), v(r))
		}
		a.f("ADDQ $%d, %s", lanes*size, rW)
		if ahead {
			a.f("ADDQ $%d, R11", rows*lanes*size)
		}
		a.f("ADDQ $%d, %s", 4*lanes, rXP)
		a.f("DECQ %s", rC)
		a.f("JNZ %s", block)
		for r := range rows {
			sum(a, r, 5)
			a.f("VMOVSS %s, %d(%s)", x(r), 4*r, rOut)
		}
		if rows == 4 {
			a.f("ADDQ R9, %s", rW)
		}
		a.f("ADDQ $%d, %s", 4*rows, rOut)
		a.f("SUBQ $%d, %s", rows, rRows)
		a.f("JMP %s", row)
		a.l(done)
	}
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

func sumRows(a *file, t, level string, lanes int, load func(*file, string, string, int), v func(int) string) {
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
			load(a, t, mem(i*lanes*size, rW), 5+i)
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
