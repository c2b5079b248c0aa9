package main

import "fmt"

// A sum tile is a sum kernel (see sumRows) for several results at once, which
// share the weights that are loaded:
//
//	dst[b][i] += Σ_r p[b][r] · w[r][i]
//
// The rows are added in ascending order, as sumRows does it.
const sumTileParams = "dst *float32, dstStride, n int, w *byte, rows, stride int, p *float32, pStride int"

// genSumTiles writes the sum tiles.
func genSumTiles(a *file) {
	for _, t := range floatTypes {
		for _, b := range []int{6, 4, 2} {
			sumTile(a, t, "AVX512", b, 16, []int{4, 1}, z)
			sumTile(a, t, "AVX2", b, 8, []int{2, 1}, y)
		}
	}
}

// sumTile writes a sum tile: columns in strips of vectors held in registers, as sumRows.
func sumTile(a *file, t, level string, batch, lanes int, strips []int, v func(int) string) {
	fn := fmt.Sprintf("sumTile%s%sx%d", t, level, batch)
	a.function(fn, sumTileParams, fmt.Sprintf("%s adds rows of %s to %d results, each times its factors in p. n is a multiple of the vector; strides count bytes.", fn, t, batch))
	a.use(
		"dst", "DI", // of these columns
		"dstStride", "R12",
		"n", "DX", // columns left
		"columns", "R9", // w of these columns
		"stride", "R8", "p", "R11", "pStride", "R10",
		"w", "SI", // next row of these columns
		"factors", "BX", // of the row, result 0
		"factors3", "R13", // result 3
		"rows", "CX", // left
	)
	size := elem(t)
	a.load("dst", "dstStride", "n", "w=columns", "stride", "p", "pStride")
	factor := func(b int) string {
		base := "{factors}"
		if b >= 3 {
			base, b = "{factors3}", b-3
		}
		if b == 0 {
			return mem(0, base)
		}
		return fmt.Sprintf("(%s)({pStride}*%d)", base, b)
	}
	for _, strip := range strips {
		top, row, done := fmt.Sprintf("strip%d", strip), fmt.Sprintf("row%d", strip), fmt.Sprintf("done%d", strip)
		acc := func(b, i int) string { return v(b*strip + i) }
		w := func(i int) string { return v(batch*strip + i) }
		f := v(batch*strip + strip)
		each := func(do func(b, i int, m string)) {
			a.f("MOVQ {dst}, AX")
			for b := range batch {
				for i := range strip {
					do(b, i, mem(4*i*lanes, "AX"))
				}
				if b < batch-1 {
					a.f("ADDQ {dstStride}, AX")
				}
			}
		}
		a.l(top)
		a.f("CMPQ {n}, $%d", strip*lanes)
		a.f("JLT %s", done)
		each(func(b, i int, m string) { a.f("VMOVUPS %s, %s", m, acc(b, i)) })
		a.f("MOVQ {columns}, {w}")
		a.f("MOVQ {p}, {factors}")
		if batch > 3 {
			a.f("LEAQ ({p})({pStride}*2), {factors3}")
			a.f("ADDQ {pStride}, {factors3}")
		}
		a.load("rows")
		a.l(row)
		for i := range strip {
			loadFloats(a, t, mem(i*lanes*size, "{w}"), w(i))
		}
		for b := range batch {
			a.f("VBROADCASTSS %s, %s", factor(b), f)
			for i := range strip {
				a.f("VFMADD231PS %s, %s, %s", w(i), f, acc(b, i))
			}
		}
		a.f("ADDQ {stride}, {w}")
		a.f("ADDQ $4, {factors}")
		if batch > 3 {
			a.f("ADDQ $4, {factors3}")
		}
		a.f("DECQ {rows}")
		a.f("JNZ %s", row)
		each(func(b, i int, m string) { a.f("VMOVUPS %s, %s", acc(b, i), m) })
		a.f("ADDQ $%d, {dst}", 4*strip*lanes)
		a.f("ADDQ $%d, {columns}", strip*lanes*size)
		a.f("SUBQ $%d, {n}", strip*lanes)
		a.f("JMP %s", top)
		a.l(done)
	}
	finish(a)
}
