package main

import "fmt"

// A value tile is a sum tile (see sumTile) for what caches hold, with enough
// results at once to share what is loaded among the queries of a head:
//
//	dst[b][i] += Σ_r p[b][r] · w[r][i]
//
// A score tile begins with none instead of dst: keys that lie by dimension are
// rows w, and p the queries. The rows are added in ascending order, so bits do
// not depend on the tile.
//
// Q8_0 is made d·q first, which is exact. AVX-512 takes factors from memory: Zen 4
// broadcasts to a register with the units that widen F16, at 12 % of all cycles.

// valueStrips is how many vectors of columns are held in registers, by the
// number of results: enough sums to hide the latency of FMA. A block of Q8_0 is
// two vectors of AVX-512, four of AVX2.
func valueStrips(t string, v vec, batch int) []int {
	switch {
	case t == "Q8_0":
		return []int{2}
	case v.lanes == 8 && batch > 3, batch == 8:
		return []int{2, 1}
	}
	return []int{4, 2, 1}
}

// attendParams are those of a sum tile, and how far away the bytes lie that will be
// read next and lie as those of w do. They are asked for line by line as w is read:
// a processor has few places for lines under way, and who asks for more waits.
const attendParams = "dst *float32, dstStride, n int, w *byte, rows, stride int, p *float32, pStride, ahead int"

func genAttend(a *file) {
	genSoftmax(a)
	genScoresQ80(a)
	for _, t := range []string{"F16", "F32", "Q8_0"} {
		for _, v := range vecs {
			most := 8
			if v.lanes == 8 {
				most = 6
			}
			for b := most; b > 0; b-- {
				valueTile(a, t, v, b, false)
				if t != "Q8_0" {
					valueTile(a, t, v, b, true)
				}
			}
		}
	}
}

func valueTile(a *file, t string, v vec, batch int, scores bool) {
	typ := t
	if t == "Q8_0" {
		typ = "Q80"
	}
	kind, doc := "values", "adds rows of %s to %d results"
	if scores {
		kind, doc = "scores", "sums rows of %s to %d results"
	}
	fn := fmt.Sprintf("%s%s%sx%d", kind, typ, v.level, batch)
	a.function(fn, attendParams, 72, fmt.Sprintf("%s "+doc+", each times its factors in p. n is a multiple of the vector; strides count bytes.", fn, t, batch))
	const (
		dst, ds        = "DI", "R12"
		w, stride      = "R9", "R8"
		p, p4, ps, ps3 = "BX", "R13", "R10", "R14"
		row, half      = "SI", "R15"
		ahead          = "DX"
	)
	left := "n+16(FP)"
	a.f("MOVQ dst+0(FP), %s", dst)
	a.f("MOVQ dstStride+8(FP), %s", ds)
	a.f("MOVQ ahead+64(FP), %s", ahead)
	a.f("MOVQ w+24(FP), %s", w)
	a.f("MOVQ stride+40(FP), %s", stride)
	a.f("MOVQ p+48(FP), R11")
	a.f("MOVQ pStride+56(FP), %s", ps)
	a.f("LEAQ (%s)(%s*2), %s", ps, ps, ps3)
	halves := t == "Q8_0" && v.lanes == 8
	if halves {
		a.f("XORL %s, %s", half, half)
	}
	for _, strip := range valueStrips(t, v, batch) {
		top, next, done := fmt.Sprintf("strip%d", strip), fmt.Sprintf("row%d", strip), fmt.Sprintf("done%d", strip)
		acc := func(b, i int) string { return v.reg(b*strip + i) }
		each := func(do func(b, i int, m string)) {
			a.f("MOVQ %s, AX", dst)
			for b := range batch {
				for i := range strip {
					do(b, i, mem(4*i*v.lanes, "AX"))
				}
				if b < batch-1 {
					a.f("ADDQ %s, AX", ds)
				}
			}
		}
		a.l(top)
		a.f("CMPQ %s, $%d", left, strip*v.lanes)
		a.f("JLT %s", done)
		if scores {
			for i := range batch * strip {
				a.f("VXORPS %s, %s, %s", v.reg(i), v.reg(i), v.reg(i))
			}
		} else {
			each(func(b, i int, m string) { a.f("VMOVUPS %s, %s", m, acc(b, i)) })
		}
		a.f("MOVQ %s, %s", w, row)
		a.f("MOVQ R11, %s", p)
		if batch > 4 {
			a.f("LEAQ (R11)(%s*4), %s", ps, p4)
		}
		a.f("MOVQ rows+32(FP), CX")
		a.l(next)
		bytes := strip * v.lanes
		if t != "Q8_0" {
			bytes *= elem(t)
		}
		for i := 0; i < bytes; i += 64 {
			a.f("PREFETCHT1 %d(%s)(%s*1)", i, row, ahead)
		}
		factor := func(b int) string { return strided(b, 0, p, p4, ps, ps3) }
		load := func(i, r int) { loadFloats(a, t, mem(i*v.lanes*elem(t), row), v.reg(r)) }
		if t == "Q8_0" {
			load = loadQ80(a, v, row, half, batch*strip+strip)
		}
		valueRow(a, v, batch, strip, load, factor)
		a.f("ADDQ %s, %s", stride, row)
		a.f("ADDQ $4, %s", p)
		if batch > 4 {
			a.f("ADDQ $4, %s", p4)
		}
		a.f("DECQ CX")
		a.f("JNZ %s", next)
		each(func(b, i int, m string) { a.f("VMOVUPS %s, %s", acc(b, i), m) })
		a.f("ADDQ $%d, %s", 4*strip*v.lanes, dst)
		switch {
		case halves: // the second half of a block, or the next block
			a.f("XORL $16, %s", half)
			a.f("JNZ %sHalf", top)
			a.f("ADDQ $34, %s", w)
			a.l(top + "Half")
		case t == "Q8_0":
			a.f("ADDQ $34, %s", w)
		default:
			a.f("ADDQ $%d, %s", strip*v.lanes*elem(t), w)
		}
		a.f("SUBQ $%d, %s", strip*v.lanes, left)
		a.f("JMP %s", top)
		a.l(done)
	}
	a.f("VZEROUPPER")
	a.f("RET")
}

// valueRow adds one row to the sums, which are the first batch·strip registers:
// load reads vector i of it into a register, factor is where that of a result is.
func valueRow(a *file, v vec, batch, strip int, load func(i, r int), factor func(b int) string) {
	acc := func(b, i int) string { return v.reg(b*strip + i) }
	free := batch * strip
	if v.lanes == 8 && strip > 2 {
		// Few results have sums enough under way only with four vectors of columns,
		// beside which there is no room for as many weights.
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
	for b := range batch {
		if v.lanes == 8 {
			a.f("VBROADCASTSS %s, %s", factor(b), v.reg(free+strip))
		}
		for i := range strip {
			if v.lanes == 8 {
				a.f("VFMADD231PS %s, %s, %s", v.reg(free+i), v.reg(free+strip), acc(b, i))
			} else {
				a.f("VFMADD231PS.BCST %s, %s, %s", factor(b), v.reg(free+i), acc(b, i))
			}
		}
	}
}

// loadQ80 reads the scale of the block at row into d and returns what reads a
// vector of it. Register half is where in the block to begin, for AVX2.
func loadQ80(a *file, v vec, row, half string, d int) func(i, r int) {
	narrow := x(d)
	if v.lanes == 16 {
		narrow = y(d)
	}
	a.f("VPBROADCASTW (%s), %s", row, narrow)
	a.f("VCVTPH2PS %s, %s", narrow, v.reg(d))
	return func(i, r int) {
		at := mem(2+i*v.lanes, row)
		if v.lanes == 8 {
			at = fmt.Sprintf("%d(%s)(%s*1)", 2+i*v.lanes, row, half)
		}
		w := v.reg(r)
		a.f("VPMOVSXBD %s, %s", at, w)
		a.f("VCVTDQ2PS %s, %s", w, w)
		a.f("VMULPS %s, %s, %s", v.reg(d), w, w)
	}
}

// strided addresses row i of up to eight: base and, from the fourth on, base4
// lie four strides apart; stride3 is three strides.
func strided(i, disp int, base, base4, stride, stride3 string) string {
	if i >= 4 {
		base, i = base4, i-4
	}
	switch i {
	case 0:
		return mem(disp, base)
	case 3:
		return fmt.Sprintf("%d(%s)(%s*1)", disp, base, stride3)
	}
	return fmt.Sprintf("%d(%s)(%s*%d)", disp, base, stride, i)
}
