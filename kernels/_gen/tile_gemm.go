package main

import "fmt"

// A tile kernel computes rows of a product in registers; see Product in
// kernels/gemm/product.go.
//
//	func name(dst *float32, dstStride int, init *float32, initStride int,
//		x *float32, xStride, taps, tapStride, k int, w *float32, wStride, last int)
//
// Strides count bytes; last is how many columns of the last panel there are.
// Each sum is one register lane, multiplied and added in ascending order.
const tileParams = "dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32, wStride, last int"

// A tile is rows of x times panels of 16 columns. The largest has 24 sums, four weight
// vectors and one value of x in the 32 AVX-512 registers, or 12, two and one in the 16
// of AVX2. Smaller tiles compute the rest.
var tiles = []struct {
	level        string
	rows, panels []int
}{
	{"AVX512", []int{6, 4, 2, 1}, []int{4, 2, 1}},
	{"AVX2", []int{6, 4, 2, 1}, []int{1}},
}

// genTiles writes the matrix product's tiles of every size.
func genTiles(a *file) {
	for _, t := range tiles {
		for _, rows := range t.rows {
			for _, panels := range t.panels {
				vecs, reg := 1, z
				if t.level == "AVX2" {
					vecs, reg = 2, y
				}
				gemmTile(a, t.level, rows, panels, vecs, reg)
				windowTile(a, t.level, rows, panels, vecs, reg)
			}
		}
	}
	for _, v := range vecs {
		genPack(a, v)
	}
}

// genPack writes max(x·by + add, floor) of {n} floats, sixteen of them at {dst} and the next
// {step} bytes further on.
func genPack(a *file, v vec) {
	r := v.reg
	fn := "pack" + v.level
	a.function(fn, "dst, x *float32, n, step int, by, add, floor float32", fn+" is PackAffine for n floats, n a multiple of 16; panels are step bytes apart.")
	a.use(
		"dst", "DI", "x", "SI", "step", "DX",
		"n", "CX", // left
		"y", r(0), "by", r(1), "add", r(2), "floor", r(3),
	)
	a.load("dst", "x", "n", "step")
	for _, name := range []string{"by", "add", "floor"} {
		a.f("VBROADCASTSS %s, {%s}", a.arg(name), name)
	}
	panel := v
	panel.lanes = 16
	pointwise(a, panel, []string{"{x}"}, func() {
		for at := 0; at < 64; at += 4 * v.lanes {
			a.f("VMOVAPS {add}, {y}")
			a.f("VFMADD231PS %d({x}), {by}, {y}", at)
			a.f("VMAXPS {y}, {floor}, {y}") // the last source, a NaN as well
			a.f("VMOVUPS {y}, %d({dst})", at)
		}
		a.f("ADDQ {step}, {dst}")
	})
	finish(a)
}

// An outer is the registers of a tile: sums of rows times width vectors, one vector of each column of
// vectors, and a value of a row in all lanes.
type outer struct {
	rows, width int
	reg         func(int) string
}

func (o outer) acc(r, v int) string { return o.reg(r*o.width + v) }
func (o outer) b(v int) string      { return o.reg(o.rows*o.width + v) }
func (o outer) value() string       { return o.reg(o.rows*o.width + o.width) }

// add adds to the sums the products of b and the values of {x} that stand disp bytes on.
func (o outer) add(a *file, broadcast, product string, disp int) {
	for r := range o.rows {
		a.f("%s %s, %s", broadcast, upTo6(r, disp, "x", "xStride"), o.value())
		for v := range o.width {
			a.f("%s %s, %s, %s", product, o.b(v), o.value(), o.acc(r, v))
		}
	}
}

// gemmTile writes dst = init + x·w for one tile, all of whose sums stay in registers: a
// vector of each panel times a broadcast value of x per step (outer products, as in Goto &
// van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008). A panel is vecs
// registers.
func gemmTile(a *file, level string, rows, panels, vecs int, reg func(int) string) {
	fn := fmt.Sprintf("gemm%dx%d%s", rows, panels*16, level)
	a.function(fn, tileParams, fmt.Sprintf("%s multiplies %d rows with %d columns.", fn, rows, 16*panels))
	a.use(
		"x", "SI", // next value of row 0
		"xStride", "R8",
		"x3", "R9", // of row 3
		"w", "DI", // next weights of panel 0
		"wStride", "R10",
		"wStride3", "R11", // three times that
		"taps", "DX", // left
		"left", "CX", // values of this tap
		"k", "R12", // values of a tap
		"nextTap", "BX", // from the end of a tap to the next
		"rowStride", "R13", // of init, then of dst
		"lastMask", "K1", // columns of the last panel
	)
	a.reuse("last", "CX", "maskBytes", "BX", "masks", "R12") // before and after the taps
	width := panels * vecs
	bytes := 64 / vecs
	o := outer{rows, width, reg}
	acc, b := o.acc, o.b
	wAt := func(v, disp int) string { return upTo4(v/vecs, disp+v%vecs*bytes, "w", "wStride") }

	a.load("last")
	if vecs == 1 {
		a.f("MOVL $1, AX")
		a.f("SHLL {last}, AX")
		a.f("DECL AX")
		a.f("KMOVW AX, {lastMask}")
	}
	// each does the vectors of rows at AX, {rowStride} apart: those of whole panels and,
	// of the last one, those that lastMask or masks say.
	each := func(what string, whole, masked func(r, v int, m string)) {
		walk := func(f func(r, v int, m string)) {
			for r := range rows {
				for v := range width {
					f(r, v, mem(v*bytes, "AX"))
				}
				if r < rows-1 {
					a.f("ADDQ {rowStride}, AX")
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
		a.f("CMPQ {last}, $16")
		a.f("JNE %sPart", what)
		walk(whole)
		a.f("JMP %sDone", what)
		a.l(what + "Part")
		walk(masked)
		a.l(what + "Done")
	}
	// loadMasks loads the masks of an incomplete panel into b(0) and b(1).
	loadMasks := func() {
		c := a.bytes("tileMasks", dwords(32, func(i int) uint32 {
			if i < 16 {
				return 1<<32 - 1
			}
			return 0
		}))
		a.f("LEAQ %s, {masks}", sym(c, 64))
		a.f("MOVQ {last}, {maskBytes}")
		a.f("SHLQ $2, {maskBytes}")
		a.f("SUBQ {maskBytes}, {masks}")
		a.f("VMOVUPS ({masks}), %s", b(0))
		a.f("VMOVUPS 32({masks}), %s", b(1))
	}

	a.f("MOVQ %s, AX", a.arg("init"))
	a.load("initStride=rowStride")
	a.f("TESTQ AX, AX")
	a.f("JZ zero")
	if vecs == 2 {
		loadMasks()
	}
	each("init", func(r, v int, m string) { a.f("VMOVUPS %s, %s", m, acc(r, v)) },
		func(r, v int, m string) {
			if vecs == 1 {
				a.f("VMOVUPS.Z %s, {lastMask}, %s", m, acc(r, v))
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
	a.load("taps")
	a.f("TESTQ {taps}, {taps}")
	a.f("JZ store")
	a.load("x")
	sixRows(a, rows)
	a.load("k", "tapStride=nextTap")
	a.f("MOVQ {k}, AX")
	a.f("SHLQ $2, AX")
	a.f("SUBQ AX, {nextTap}")
	a.load("w")
	if panels > 1 {
		a.load("wStride")
		a.f("LEAQ ({wStride})({wStride}*2), {wStride3}")
	}
	step := func(i int) {
		for v := range width {
			a.f("VMOVUPS %s, %s", wAt(v, 64*i), b(v))
		}
		o.add(a, "VBROADCASTSS", "VFMADD231PS", 4*i)
	}
	forward := func(n int) {
		moveRows(a, rows, fmt.Sprintf("$%d", 4*n))
		a.f("ADDQ $%d, {w}", 64*n)
	}
	a.l("tap")
	a.f("MOVQ {k}, {left}")
	byFours(a, step, forward, "next")
	a.l("next")
	moveRows(a, rows, "{nextTap}")
	a.f("DECQ {taps}")
	a.f("JNZ tap")
	a.l("store")
	a.f("MOVQ %s, AX", a.arg("dst"))
	a.load("dstStride=rowStride")
	if vecs == 2 {
		a.load("last")
		loadMasks()
	}
	each("store", func(r, v int, m string) { a.f("VMOVUPS %s, %s", acc(r, v), m) },
		func(r, v int, m string) {
			if vecs == 1 {
				a.f("VMOVUPS %s, {lastMask}, %s", acc(r, v), m)
			} else {
				a.f("VMASKMOVPS %s, %s, %s", acc(r, v), b(v), m)
			}
		})
	finish(a)
}

// windowTile writes gemmTile with columns that lie somewhere in memory, each its width of
// consecutive floats, and whole panels only; see Windows in kernels/gemm/windows.go. Columns of
// neighbouring taps of a filter are the same cache lines, read across their bounds.
func windowTile(a *file, level string, rows, panels, vecs int, reg func(int) string) {
	fn := fmt.Sprintf("window%dx%d%s", rows, panels*16, level)
	a.function(fn, "dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32",
		fmt.Sprintf("%s multiplies %d rows with %d columns of windows; strides count bytes.", fn, rows, 16*panels))
	a.use(
		"x", "SI", // next value of row 0
		"xStride", "R8",
		"x3", "R9", // of row 3
		"source", "DI",
		"at", "DX", // next place in it
		"left", "CX", // values
	)
	a.reuse("dst", "DI", "dstStride", "R8") // at the end
	width := panels * vecs
	bytes := 64 / vecs
	o := outer{rows, width, reg}
	acc, b := o.acc, o.b
	for i := range rows * width {
		a.f("VXORPS %s, %s, %s", reg(i), reg(i), reg(i))
	}
	a.load("x", "source", "at", "k=left")
	sixRows(a, rows)
	step := func(i int) {
		a.f("MOVL %d({at}), AX", 4*i)
		for v := range width {
			a.f("VMOVUPS %d({source})(AX*4), %s", v*bytes, b(v))
		}
		o.add(a, "VBROADCASTSS", "VFMADD231PS", 4*i)
	}
	forward := func(n int) {
		moveRows(a, rows, fmt.Sprintf("$%d", 4*n))
		a.f("ADDQ $%d, {at}", 4*n)
	}
	byFours(a, step, forward, "store")
	a.l("store")
	a.load("dst", "dstStride")
	for r := range rows {
		for v := range width {
			a.f("VMOVUPS %s, %d({dst})", acc(r, v), v*bytes)
		}
		if r < rows-1 {
			a.f("ADDQ {dstStride}, {dst}")
		}
	}
	finish(a)
}
