package main

import "fmt"

// floatAhead is how many bytes ahead of {w} weights are prefetched.
const floatAhead = 2048

// Floating-point weights are multiplied with float32 activations. n is a multiple of the
// vector; the Go wrapper adds the rest.

var floatTypes = []string{"F16", "BF16", "F32"}

// elem is the bytes of a weight.
func elem(t string) int {
	if t == "F32" || t == bf16Pairs {
		return 4
	}
	return 2
}

// loadZ reads 16 weights from m into zmm r.
func loadZ(a *file, t, m string, r int) { loadFloats(a, t, m, z(r)) }

// loadY reads 8 weights from m into ymm r.
func loadY(a *file, t, m string, r int) { loadFloats(a, t, m, y(r)) }

// loadFloats reads a vector of weights from operand m into register r, as float32.
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

// floatsAVX512 writes floatDot in vectors of 16.
func floatsAVX512(a *file, t string, batch int) {
	floatDot(a, t, "AVX512", batch, 16, loadZ, z, sumZ)
}

// floatsAVX2 writes floatDot in vectors of 8.
func floatsAVX2(a *file, t string, batch int) {
	floatDot(a, t, "AVX2", batch, 8, loadY, y, sumY)
}

// floatDot writes Σ w·x with one running vector per result, so that a result's bits do not
// depend on the batch. Four results at once hide the latency of FMA: four activation rows
// with one weight row, or with AVX2 four weight rows with one activation row.
func floatDot(a *file, t, level string, batch, lanes int,
	load func(*file, string, string, int), v func(int) string, sum func(*file, int, int)) {
	a.function(name(t, level, batch), dotParams, doc(t, level, batch))
	shift := 3
	if lanes == 16 {
		shift = 4
	}
	prologue(a, batch, shift)
	size := elem(t)
	if batch == 4 {
		const weights, tmp = 4, 5 // sums are 0 to 3
		a.l("row")
		a.f("MOVQ {x}, {acts}")
		a.f("MOVQ {blocks}, {left}")
		for b := range batch {
			a.f("VXORPS %s, %s, %s", v(b), v(b), v(b))
		}
		a.l("block")
		a.f("PREFETCHT0 %d({w})", floatAhead)
		load(a, t, mem(0, "{w}"), weights)
		for b := range batch {
			a.f("VFMADD231PS %s, %s, %s", xmem(b, 0), v(weights), v(b))
		}
		a.f("ADDQ $%d, {w}", lanes*size)
		a.f("ADDQ $%d, {acts}", 4*lanes)
		a.f("DECQ {left}")
		a.f("JNZ block")
		for b := range batch {
			sum(a, b, tmp)
			store(a, b, x(b))
		}
		a.f("ADDQ $4, {out}")
		a.f("DECQ {rows}")
		a.f("JNZ row")
		finish(a)
		return
	}
	a.use(
		"wStride", "R8", // a weight row's bytes
		"wStride3", "R9", // three times that
		"ahead", "R11", // what to prefetch
	)
	a.f("MOVQ {blocks}, {wStride}")
	a.f("IMULQ $%d, {wStride}", lanes*size)
	a.f("LEAQ ({wStride})({wStride}*2), {wStride3}")
	const acts, weights, tmp = 4, 5, 5 // sums are 0 to 3
	// Row after row without prefetching is fastest from memory, and with vectors of
	// sixteen the latency of the chain of sums is hidden by loads.
	// Vectors of eight take four rows, which have to be prefetched.
	groups := []int{4, 1}
	if lanes == 16 {
		groups = []int{1}
	}
	ahead := len(groups) > 1
	for _, rows := range groups {
		row, block, done := fmt.Sprintf("row%d", rows), fmt.Sprintf("block%d", rows), fmt.Sprintf("done%d", rows)
		at := []string{mem(0, "{w}"), fmt.Sprintf("(%s)({wStride}*1)", "{w}"), fmt.Sprintf("(%s)({wStride}*2)", "{w}"), fmt.Sprintf("(%s)({wStride3}*1)", "{w}")}
		a.l(row)
		a.f("CMPQ {rows}, $%d", rows)
		a.f("JLT %s", done)
		if ahead {
			a.f("LEAQ %d({w})({wStride}*%d), {ahead}", floatAhead, rows)
		}
		a.f("MOVQ {x}, {acts}")
		a.f("MOVQ {blocks}, {left}")
		for r := range rows {
			a.f("VXORPS %s, %s, %s", v(r), v(r), v(r))
		}
		a.l(block)
		a.f("VMOVUPS ({acts}), %s", v(acts))
		for r := range rows {
			if ahead && r*lanes*size%64 == 0 {
				a.f("PREFETCHT0 %d({ahead})", r*lanes*size)
			}
			load(a, t, at[r], weights)
			a.f("VFMADD231PS %s, %s, %s", v(acts), v(weights), v(r))
		}
		a.f("ADDQ $%d, {w}", lanes*size)
		if ahead {
			a.f("ADDQ $%d, {ahead}", rows*lanes*size)
		}
		a.f("ADDQ $%d, {acts}", 4*lanes)
		a.f("DECQ {left}")
		a.f("JNZ %s", block)
		for r := range rows {
			sum(a, r, tmp)
			a.f("VMOVSS %s, %d({out})", x(r), 4*r)
		}
		if rows == 4 {
			a.f("ADDQ {wStride3}, {w}")
		}
		a.f("ADDQ $%d, {out}", 4*rows)
		a.f("SUBQ $%d, {rows}", rows)
		a.f("JMP %s", row)
		a.l(done)
	}
	finish(a)
}

// A sum kernel adds weighted rows: dst[i] += Σ p[r]·w[r][i].
//
//	func name(dst *float32, n int, w *byte, rows, stride int, p *float32)
//
// n is a multiple of the vector; stride is in bytes.
const sumParams = "dst *float32, n int, w *byte, rows, stride int, p *float32"

// sumRowsAVX512 and sumRowsAVX2 write sumRows in vectors of 16 and of 8.
func sumRowsAVX512(a *file, t string) { sumRows(a, t, "AVX512", 16, loadZ, z) }
func sumRowsAVX2(a *file, t string)   { sumRows(a, t, "AVX2", 8, loadY, y) }

// sumRows writes a sum kernel: columns in strips of vectors held in registers, to which the
// rows are added in ascending order.
func sumRows(a *file, t, level string, lanes int, load func(*file, string, string, int), v func(int) string) {
	fn := "sumRows" + t + level
	a.function(fn, sumParams, fmt.Sprintf("%s adds rows of %s to dst, each times its factor in p.", fn, t))
	a.use(
		"dst", "DI", "n", "DX",
		"columns", "R9", // the first row's weights of this strip
		"rows", "R10", "stride", "R8", "p", "R11",
		"w", "SI", // next weights
		"factor", "BX", // address of p of this row
		"left", "CX", // rows
	)
	const scale, weights = 4, 5 // sums are 0 to 3
	size := elem(t)
	a.load("dst", "n", "w=columns", "rows", "stride", "p")
	// Columns in strips of four vectors held in registers, then of one.
	for _, strip := range []int{4, 1} {
		top, row, done := fmt.Sprintf("strip%d", strip), fmt.Sprintf("row%d", strip), fmt.Sprintf("done%d", strip)
		a.l(top)
		a.f("CMPQ {n}, $%d", strip*lanes)
		a.f("JLT %s", done)
		for i := range strip {
			a.f("VMOVUPS %d({dst}), %s", 4*i*lanes, v(i))
		}
		a.f("MOVQ {columns}, {w}")
		a.f("MOVQ {p}, {factor}")
		a.f("MOVQ {rows}, {left}")
		a.l(row)
		a.f("VBROADCASTSS ({factor}), %s", v(scale))
		for i := range strip {
			load(a, t, mem(i*lanes*size, "{w}"), weights+i)
			a.f("VFMADD231PS %s, %s, %s", v(weights+i), v(scale), v(i))
		}
		a.f("ADDQ {stride}, {w}")
		a.f("ADDQ $4, {factor}")
		a.f("DECQ {left}")
		a.f("JNZ %s", row)
		for i := range strip {
			a.f("VMOVUPS %s, %d({dst})", v(i), 4*i*lanes)
		}
		a.f("ADDQ $%d, {dst}", 4*strip*lanes)
		a.f("ADDQ $%d, {columns}", strip*lanes*size)
		a.f("SUBQ $%d, {n}", strip*lanes)
		a.f("JMP %s", top)
		a.l(done)
	}
	finish(a)
}
