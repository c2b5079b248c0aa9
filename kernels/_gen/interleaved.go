package main

import (
	"fmt"
	"strings"
)

// Sixteen weight rows are interleaved when the dwords of each block lie side by side: the one
// at byte i of row r is 16·i + 4·r bytes into the block of the sixteen. Where a block begins or
// ends with a half that makes its bytes no whole dwords, the halves come first, side by side,
// and the rest follows by the same rule. A vector then holds the same four bytes of every row,
// so that nothing is transposed, sums are not folded, and scales and terms are those of sixteen
// rows at once.
//
//	func name(w *byte, n, rows, ahead int, x *byte, xStride int, out *float32, outStride int)
//
// is a dot kernel whose rows are sixteens, for one activation row, or for several, which share
// the unpacked weights: name ends with their number then. Four are as fast as registers allow
// where weights are soon unpacked, eight elsewhere. What lies ahead bytes beyond the weights in
// hand is fetched.
const interleavedParams = "w *byte, n, rows, ahead int, x *byte, xStride int, out *float32, outStride int"

// An interleaved emits a kernel for rows that are interleaved. Registers of an activation row
// are named by useEach.
type interleaved struct {
	a     *file
	batch int // activation rows
}

// interleave writes what interleaves rows: the dwords of pieces of 16 bytes of sixteen rows.
func interleave(a *file) {
	a.function("interleaveAVX512", "dst, w *byte, rowBytes, pieces int", "interleaveAVX512 writes the dwords of pieces of 16 bytes of sixteen rows side by side.")
	a.use("dst", "DI", "pieces", "CX")
	a.load("dst", "pieces")
	p := pack{a: a, lanes: 16, v: z}
	p.bases("w")
	a.l("piece")
	p.columns(0, col, tmp)
	for c := range 4 {
		a.f("VMOVDQU64 %s, %d({dst})", z(col+c), 64*c)
	}
	p.forward(16)
	a.f("ADDQ $256, {dst}")
	a.f("DECQ {pieces}")
	a.f("JNZ piece")
	finish(a)
}

// genInterleaved writes the kernels of every type whose rows may be interleaved, and what
// interleaves them.
func genInterleaved(a *file) {
	interleave(a)
	gen := func(most int, dot func(interleaved)) {
		for batch := 1; batch <= most; batch *= 2 {
			dot(interleaved{a, batch})
		}
	}
	for _, t := range superblocks[:2] {
		gen(8, func(k interleaved) { interleavedQ45K{k, t}.dot() })
	}
	gen(4, interleaved.iq4xs)
	gen(4, interleaved.q2k)
	gen(8, interleaved.q3k)
	gen(8, interleaved.q6k)
	for _, t := range blocks32 {
		most := 4
		if t.high > 0 {
			most = 8
		}
		if !t.e8 { // a block is no whole halves
			gen(most, func(k interleaved) { interleaved32{k, t}.dot() })
		}
	}
}

// begin starts the kernel of type t, whose blocks have 1<<shift weights, with a frame of so many bytes.
func (k interleaved) begin(t string, shift, frame int) {
	fn, with := "interleaved"+t+"AVX512", "one activation row"
	if k.batch > 1 {
		fn, with = fmt.Sprintf("%sx%d", fn, k.batch), fmt.Sprintf("%d activation rows", k.batch)
	}
	k.a.locals = frame
	k.a.function(fn, interleavedParams, fmt.Sprintf("%s multiplies sixteens of interleaved %s rows with %s.", fn, t, with))
	prologue(k.a, k.batch, shift)
	k.a.reuse("ahead", "DX") // rows that are left are counted in memory
	k.a.load("ahead")
	if k.batch > 4 {
		k.a.use("acts4", "BX")
	}
}

// useEach names registers from vector first on: for each stem one for each activation row.
func (k interleaved) useEach(first int, stems ...string) {
	for i, stem := range stems {
		k.a.useRow(stem, z, first+i*k.batch, k.batch)
	}
}

// each emits an instruction for each activation row, whose number takes the place of # in names.
func (k interleaved) each(format string, args ...any) {
	k.eachRow(func(int) string { return fmt.Sprintf(format, args...) })
}

// eachX is each with an operand in the place of the first %s: disp bytes into the activation row.
func (k interleaved) eachX(disp int, format string, args ...any) {
	k.eachRow(func(b int) string {
		return fmt.Sprintf(format, append([]any{xmem(b, disp)}, args...)...)
	})
}

// eachRow emits the instruction of each activation row, as each does.
func (k interleaved) eachRow(of func(b int) string) {
	for b := range k.batch {
		k.a.f("%s", strings.ReplaceAll(of(b), "#", fmt.Sprint(b)))
	}
}

// zero clears registers of each activation row.
func (k interleaved) zero(stems ...string) {
	for _, s := range stems {
		k.each("VPXORD {%s#}, {%s#}, {%s#}", s, s, s)
	}
}

// rows emits the loops over rows and over their blocks of 256 weights, of so many bytes a row;
// block adds one to {rowSum#}.
func (k interleaved) rows(bytes int, block func()) {
	a := k.a
	a.l("row")
	k.start()
	a.l("block")
	k.fetching(16*bytes, block)
	nextBlock(a, k.batch, 16*bytes, 320)
	a.f("JNZ block")
	k.end()
}

// fetching emits what step does, which reads so many bytes, with the lines as far as {ahead} beyond
// them fetched meanwhile, evenly: at once they are more than a core can have under way. If {ahead}
// is 0 they are those in hand.
func (k interleaved) fetching(bytes int, step func()) {
	k.a.among(step, (bytes+63)/64, func(i int) { k.a.f("PREFETCHT0 %d({w})({ahead}*1)", 64*i) })
}

// start begins a row, {rowSum#} at zero; without them sums are in the frame.
func (k interleaved) start() {
	startRow(k.a)
	if k.batch > 4 {
		k.a.f("LEAQ ({acts})({xStride}*4), {acts4}")
	}
	if k.kept() {
		k.zero("rowSum")
		return
	}
	k.a.f("VPXORD {t0}, {t0}, {t0}")
	for b := range k.batch {
		k.a.f("VMOVUPS {t0}, %d(SP)", 64*b)
	}
}

// kept says whether there are {rowSum#}.
func (k interleaved) kept() bool { return k.a.regs["rowSum0"] != "" }

// addTerm adds {blockSum#}, a block's term, to the row's.
func (k interleaved) addTerm() {
	if k.kept() {
		k.each("VADDPS {blockSum#}, {rowSum#}, {rowSum#}")
		return
	}
	for b := range k.batch {
		k.a.f("VADDPS %d(SP), {blockSum%d}, {blockSum%d}", 64*b, b, b)
		k.a.f("VMOVUPS {blockSum%d}, %d(SP)", b, 64*b)
	}
}

// end stores {rowSum#}, goes on at the label row, and returns behind the last row.
func (k interleaved) end() {
	a := k.a
	sum := func(b int) string { return fmt.Sprintf("{rowSum%d}", b) }
	if !k.kept() {
		sum = func(int) string { return "{t0}" }
	}
	for b := range k.batch {
		if !k.kept() {
			a.f("VMOVUPS %d(SP), {t0}", 64*b)
		}
		to := "(AX)"
		switch b {
		case 0:
			to = "({out})"
		case 1:
			a.f("MOVQ {out}, AX")
			fallthrough
		default:
			a.f("ADDQ {outStride}, AX")
		}
		a.f("VMOVUPS %s, %s", sum(b), to)
	}
	a.f("ADDQ $64, {out}")
	a.f("DECQ %s", a.arg("rows"))
	a.f("JNZ row")
	finish(a)
}

// dTerm adds {blockSum#}, times d of each row and dx, to the row's. Of blocks of 256 weights;
// {t0} holds d.
func (k interleaved) dTerm() {
	k.each("VCVTDQ2PS {blockSum#}, {blockSum#}")
	k.each("VMULPS {t0}, {blockSum#}, {blockSum#}")
	k.eachX(304, "VMULPS.BCST %s, {blockSum#}, {blockSum#}")
	k.addTerm()
}

// halves writes the low halves of the dwords at m to {t0}, the high ones to {t1}, as floats.
func (k interleaved) halves(m string) {
	a := k.a
	a.f("VMOVDQU64 %s, {t1}", m)
	a.f("VPMOVDW {t1}, {t0.y}")
	a.f("VCVTPH2PS {t0.y}, {t0}")
	a.f("VPSRLD $16, {t1}, {t1}")
	a.f("VPMOVDW {t1}, {t1.y}")
	a.f("VCVTPH2PS {t1.y}, {t1}")
}

// minTerm adds {blockSum#} and {minSum#}, times d and dmin of each row, the low and high halves
// of the dwords at heads, and dx, to the row's. {t0} and {t1} are scratch.
func (k interleaved) minTerm(heads string) {
	k.halves(heads)
	k.each("VCVTDQ2PS {blockSum#}, {blockSum#}")
	k.each("VMULPS {t0}, {blockSum#}, {blockSum#}")
	k.each("VCVTDQ2PS {minSum#}, {minSum#}")
	k.each("VMULPS {t1}, {minSum#}, {minSum#}")
	k.each("VSUBPS {minSum#}, {blockSum#}, {blockSum#}")
	k.eachX(304, "VMULPS.BCST %s, {blockSum#}, {blockSum#}")
	k.addTerm()
}

// early says where the columns of a block are that each of its others needs, n of them from at on,
// and gives what reads them first, in the order of memory: read by turns with the others they are
// fetched late. For one activation row they stay in registers from vector on, named by stem; for
// more, which leave none, they are read into {t0} and so are in the cache.
func (k interleaved) early(stem string, vector, n int, at func(c int) string) (where func(c int) string, read func()) {
	where, to := at, func(int) string { return "{t0}" }
	if k.batch == 1 {
		k.a.useRow(stem, z, vector, n)
		where = func(c int) string { return fmt.Sprintf("{%s%d}", stem, c) }
		to = where
	}
	return where, func() {
		for c := range n {
			k.a.f("VMOVDQU64 %s, %s", at(c), to(c))
		}
	}
}
