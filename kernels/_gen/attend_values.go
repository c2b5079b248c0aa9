package main

import (
	"fmt"
	"strings"
)

// A value tile is a sum tile (see sumTile) over values of the cache, with as many results
// at once as registers allow, so that the queries of a head share each loaded vector:
//
//	dst[b][i] += Σ_r p[b][r] · w[r][i]
//
// A score tile starts from zero instead of dst: its rows w are keys stored by dimension,
// and p the queries. Rows are added in ascending order, so bits do not depend on the
// tile.
//
// Q8_0 and Q4_0 are first converted to d·q, which is exact. AVX-512 takes factors from memory: Zen 4
// broadcasts to a register with the units that widen F16, at 12 % of all cycles. Wide tiles, which
// widen less, broadcast: two loads a cycle are the limit of Zen 5 otherwise, at 10 %.
//
// Tiles of bf16 pairs take two numbers of each column where others take one, w[2r][i] beside
// w[2r+1][i], and two factors, and multiply them by VDPBF16PS: that of 2r+1 is added first.
// Their rows and strides are those of pairs.

// valueStrips is how many vectors of columns are held in registers, by the
// number of results: enough sums to hide the latency of FMA. A block of Q8_0 or Q4_0 is
// two vectors of AVX-512, four of AVX2.
func valueStrips(t string, v vec, batch int) []int {
	switch {
	case blocked(t):
		return []int{2}
	case v.lanes == 8 && batch > 3, batch >= 8, batch == 7 && t == bf16Pairs:
		return []int{2, 1}
	}
	return []int{4, 2, 1}
}

// attendParams are those of a sum tile, and the distance from w to the bytes that will be
// read next, which are laid out as w is. They are prefetched line by line as w is read: a
// core has few buffers for lines in flight, and stalls when all are taken.
const attendParams = "dst *float32, dstStride, n int, w *byte, rows, stride int, p *float32, pStride, ahead int"

// genAttend writes what attention does with one block of the cache.
func genAttend(a *file) {
	genSoftmax(a)
	genScores(a)
	for _, t := range []string{"F16", "F32", "Q8_0", "Q4_0"} {
		for _, v := range vecs {
			most := 8
			if v.lanes == 8 {
				most = 6
				if t == "Q4_0" { // registers of two constants
					most = 5
				}
			}
			for b := most; b > 0; b-- {
				valueTile(a, t, v, b, false)
				if !blocked(t) {
					valueTile(a, t, v, b, true)
				}
			}
		}
	}
	for _, t := range []string{"F16", "F32"} {
		valueTile(a, t, vecs[0], wideTile, false)
		valueTile(a, t, vecs[0], wideTile, true)
	}
	for b := 8; b > 0; b-- {
		valueTile(a, bf16Pairs, vecs[0], b, false)
		valueTile(a, bf16Pairs, vecs[0], b, true)
	}
}

// wideTile is the results of the widest tiles, of AVX-512.
const wideTile = 12

// bf16Pairs is the type of sum tiles that take two bf16 of each column at a time.
const bf16Pairs = "BF16 pairs"

// valueTile writes a value tile, or a score tile, of batch results: columns in strips of
// vectors in registers, to which every row is added. {ahead} prefetches as it goes.
func valueTile(a *file, t string, v vec, batch int, scores bool) {
	typ := strings.NewReplacer("_", "", " p", "P").Replace(t)
	kind, doc := "values", "adds rows of %s to %d results"
	if scores {
		kind, doc = "scores", "sums rows of %s to %d results"
	}
	fn := fmt.Sprintf("%s%s%sx%d", kind, typ, v.level, batch)
	a.function(fn, attendParams, fmt.Sprintf("%s "+doc+", each times its factors in p. n is a multiple of the vector; strides count bytes.", fn, t, batch))
	a.use(
		"dst", "DI", // of these columns
		"dstStride", "R12",
		"columns", "R9", // w of these columns
		"stride", "R8",
		"factors", "BX", // of this row for result 0
		"factors4", "R13", // and for result 4
		"pStride", "R10",
		"pStride3", "R14", // three times that
		"w", "SI", // next row of these columns
		"ahead", "DX", "p", "R11",
		"rows", "CX", // left
	)
	if batch > 8 {
		a.use("factors8", "R15") // and for result 8
	} else {
		a.use("half", "R15") // of a block for AVX2, 0 or 16
	}
	left := a.arg("n")
	a.load("dst", "dstStride", "ahead", "w=columns", "stride", "p", "pStride")
	a.f("LEAQ ({pStride})({pStride}*2), {pStride3}")
	halves := blocked(t) && v.lanes == 8
	if halves {
		a.f("XORL {half}, {half}")
	}
	for _, strip := range valueStrips(t, v, batch) {
		top, next, done := fmt.Sprintf("strip%d", strip), fmt.Sprintf("row%d", strip), fmt.Sprintf("done%d", strip)
		acc := func(b, i int) string { return v.reg(b*strip + i) }
		each := func(do func(b, i int, m string)) {
			a.f("MOVQ {dst}, AX")
			for b := range batch {
				for i := range strip {
					do(b, i, mem(4*i*v.lanes, "AX"))
				}
				if b < batch-1 {
					a.f("ADDQ {dstStride}, AX")
				}
			}
		}
		if t == "Q4_0" {
			a.f("MOVL $8, AX")
			a.f("VMOVD AX, %s", x(batch*strip+strip+1))
			a.f("VPBROADCASTD %s, %s", x(batch*strip+strip+1), v.reg(batch*strip+strip+1))
		}
		a.l(top)
		if t == "Q4_0" && halves { // moves the low or the high bits to the top
			a.f("MOVQ {half}, AX")
			a.f("SHRQ $2, AX")
			a.f("NEGQ AX")
			a.f("ADDQ $28, AX")
			a.f("VMOVQ AX, %s", x(batch*strip+strip+2))
		}
		a.f("CMPQ %s, $%d", left, strip*v.lanes)
		a.f("JLT %s", done)
		if scores {
			for i := range batch * strip {
				a.f("VXORPS %s, %s, %s", v.reg(i), v.reg(i), v.reg(i))
			}
		} else {
			each(func(b, i int, m string) { a.f("VMOVUPS %s, %s", m, acc(b, i)) })
		}
		a.f("MOVQ {columns}, {w}")
		a.f("MOVQ {p}, {factors}")
		if batch > 4 {
			a.f("LEAQ ({p})({pStride}*4), {factors4}")
		}
		if batch > 8 {
			a.f("LEAQ ({p})({pStride}*8), {factors8}")
		}
		a.load("rows")
		a.l(next)
		bytes := strip * v.lanes
		if !blocked(t) {
			bytes *= elem(t)
		}
		for i := 0; i < bytes; i += 64 {
			a.f("PREFETCHT1 %d({w})({ahead}*1)", i)
		}
		factor := func(b int) string {
			if b >= 8 {
				return upTo4(b-8, 0, "factors8", "pStride")
			}
			return upTo8(b, 0, "factors", "pStride")
		}
		load := func(i, r int) { loadFloats(a, t, mem(i*v.lanes*elem(t), "{w}"), v.reg(r)) }
		switch t {
		case "Q8_0":
			load = loadQ80(a, v, batch*strip+strip)
		case "Q4_0":
			load = loadQ40(a, v, batch*strip+strip)
		}
		if t == bf16Pairs {
			pairRow(a, batch, strip, factor)
		} else {
			valueRow(a, v, batch, strip, load, factor)
		}
		a.f("ADDQ {stride}, {w}")
		a.f("ADDQ $4, {factors}")
		if batch > 4 {
			a.f("ADDQ $4, {factors4}")
		}
		if batch > 8 {
			a.f("ADDQ $4, {factors8}")
		}
		a.f("DECQ {rows}")
		a.f("JNZ %s", next)
		each(func(b, i int, m string) { a.f("VMOVUPS %s, %s", acc(b, i), m) })
		a.f("ADDQ $%d, {dst}", 4*strip*v.lanes)
		switch {
		case halves: // the second half of a block, or the next block
			a.f("XORL $16, {half}")
			a.f("JNZ %sHalf", top)
			a.f("ADDQ $%d, {columns}", blockBytes[t])
			a.l(top + "Half")
		case blocked(t):
			a.f("ADDQ $%d, {columns}", blockBytes[t])
		default:
			a.f("ADDQ $%d, {columns}", strip*v.lanes*elem(t))
		}
		a.f("SUBQ $%d, %s", strip*v.lanes, left)
		a.f("JMP %s", top)
		a.l(done)
	}
	a.f("VZEROUPPER")
	a.f("RET")
}

// valueRow adds factor·w of one row to the sums in the first batch·strip registers: load
// reads vector i of the row into a register, factor(b) is the operand of result b's factor.
func valueRow(a *file, v vec, batch, strip int, load func(i, r int), factor func(b int) string) {
	acc := func(b, i int) string { return v.reg(b*strip + i) }
	free := batch * strip
	if v.lanes == 8 && strip > 2 {
		// Few results need four vectors of columns to have enough independent sums;
		// registers for as many vectors of weights are not left.
		for b := range batch {
			a.f("VBROADCASTSS %s, %s", factor(b), v.reg(free+b))
		}
		for i := range strip {
			load(i, free+batch)
			for b := range batch {
				a.f("VFMADD231PS %s, %s, %s", v.reg(free+batch), v.reg(free+b), acc(b, i))
			}
		}
		return
	}
	for i := range strip {
		load(i, free+i)
	}
	broadcast := v.lanes == 8 || batch == wideTile
	for b := range batch {
		if broadcast {
			a.f("VBROADCASTSS %s, %s", factor(b), v.reg(free+strip))
		}
		for i := range strip {
			if broadcast {
				a.f("VFMADD231PS %s, %s, %s", v.reg(free+i), v.reg(free+strip), acc(b, i))
			} else {
				a.f("VFMADD231PS.BCST %s, %s, %s", factor(b), v.reg(free+i), acc(b, i))
			}
		}
	}
}

// pairRow is valueRow for bf16 pairs.
func pairRow(a *file, batch, strip int, factor func(b int) string) {
	columns, pair := batch*strip, batch*strip+strip
	for i := range strip {
		a.f("VMOVDQU32 %s, %s", mem(64*i, "{w}"), z(columns+i))
	}
	for b := range batch {
		a.f("VPBROADCASTD %s, %s", factor(b), z(pair))
		for i := range strip {
			a.dpbf16(columns+i, pair, b*strip+i)
		}
	}
}

// blockBytes are those of a block of 32.
var blockBytes = map[string]int{"Q8_0": 34, "Q4_0": 18}

func blocked(t string) bool { return blockBytes[t] > 0 }

// loadQ40 is loadQ80 for Q4_0, whose first 16 values are low bits and whose others are high.
// Register d+1 has 8 in every lane, and with AVX2 d+2 how far bits are from the top.
func loadQ40(a *file, v vec, d int) func(i, r int) {
	loadScale(a, v, d)
	return func(i, r int) {
		w := v.reg(r)
		if v.lanes == 8 {
			a.f("VPMOVZXBD %s, %s", mem(2+i*v.lanes, "{w}"), w)
			a.f("VPSLLD %s, %s, %s", x(d+2), w, w)
			a.f("VPSRLD $28, %s, %s", w, w)
		} else {
			a.f("VPMOVZXBD %s, %s", mem(2, "{w}"), w)
			if i == 0 {
				a.f("VPSLLD $28, %s, %s", w, w)
				a.f("VPSRLD $28, %s, %s", w, w)
			} else {
				a.f("VPSRLD $4, %s, %s", w, w)
			}
		}
		a.f("VPSUBD %s, %s, %s", v.reg(d+1), w, w)
		a.f("VCVTDQ2PS %s, %s", w, w)
		a.f("VMULPS %s, %s, %s", v.reg(d), w, w)
	}
}

// loadScale reads the scale of the block at {w} to all lanes of register d.
func loadScale(a *file, v vec, d int) {
	narrow := x(d)
	if v.lanes == 16 {
		narrow = y(d)
	}
	a.f("VPBROADCASTW ({w}), %s", narrow)
	a.f("VCVTPH2PS %s, %s", narrow, v.reg(d))
}

// loadQ80 reads the scale of the block at {w} to register d and returns the function
// that reads vector i of the block, times the scale, to register r. With AVX2 {half}
// is where in the block vector 0 begins.
func loadQ80(a *file, v vec, d int) func(i, r int) {
	loadScale(a, v, d)
	return func(i, r int) {
		at := mem(2+i*v.lanes, "{w}")
		if v.lanes == 8 {
			at = fmt.Sprintf("%d({w})({half}*1)", 2+i*v.lanes)
		}
		w := v.reg(r)
		a.f("VPMOVSXBD %s, %s", at, w)
		a.f("VCVTDQ2PS %s, %s", w, w)
		a.f("VMULPS %s, %s, %s", v.reg(d), w, w)
	}
}
