package main

// int8AMX computes rows of an int8Product as int8Tile does, by 2×2 tiles of sums:
// tiles 4 and 5 are rows of x, 6 and 7 two panels, 0 to 3 their products. The
// configuration in work says how many rows a group has; rows is a multiple of it. There
// are at least 16 quads; vectors add those that do not fill a tile after the sums are
// stored.
//
// Cycles for 32 rows, 32 columns and 64 k, estimated as in panel_amx.go: 64 for
// products, or 91 for 4 KB from the second-level cache at 45 bytes a cycle, against
// 512 of vectors. Storing the sums of a group takes about 200 cycles, with vectors
// 100, and loading the configuration 200 a call, so tiles are faster from 64 k on.
const int8AMXParams = "dst *byte, dstStride int, x *byte, xStride, quads int, w *int8, wStride int, init *int32, scale, bias *float32, last, rows int, work *byte"

func genInt8AMX(a *file) {
	a.function("int8AMX", int8AMXParams, "int8AMX multiplies rows of uint8 with 32 columns of int8.")
	a.use(
		"work", "BX",
		"lastMask", "K1", // columns of the second panel
		"init0", "Z16", // of the first panel's columns
		"init1", "Z17", // of the second's
		"scale0", "Z18", "scale1", "Z19", "bias0", "Z20", "bias1", "Z21",
		"dst", "R9", "dstStride", "R11",
		"x", "SI", // first row of this group
		"xStride", "R8",
		"rows", "R10", // left
		"x0", "R13", // next values of tile 4
		"x1", "R15", // and of tile 5
		"w0", "R12", // next weights of the first panel
		"w1", "R14", // and of the second
		"left", "CX", // steps, then rows
		"rest", "DI", // bytes of a row that are no whole step
		"stride", "DX", // between rows of a tile
		"sum0", "Z0", "sum1", "Z1", "value", "Z2",
	)
	a.reuse(
		"last", "CX",
		"sums", "R15", // of the row at hand, behind work
		"quad", "DX", // offset of four values in {x0}
		"column", "AX", // and of their weights in {w0} and {w1}
	)
	const ( // tiles: rows and panels of x·w, rows of x, panels of w
		sum00, sum01, sum10, sum11 = 0, 1, 2, 3
		rows0, rows1               = 4, 5
		panel0, panel1             = 6, 7
	)
	a.load("work")
	a.ldtilecfg("{work}")
	a.load("last")
	a.f("MOVL $1, AX")
	a.f("SHLL {last}, AX")
	a.f("DECL AX")
	a.f("KMOVW AX, {lastMask}")
	a.f("MOVQ %s, AX", a.arg("init"))
	a.f("VMOVDQU32 (AX), {init0}")
	a.f("VMOVDQU32 64(AX), {init1}")
	a.f("MOVQ %s, AX", a.arg("scale"))
	a.f("TESTQ AX, AX")
	a.f("JZ ready")
	a.f("VMOVUPS (AX), {scale0}")
	a.f("VMOVUPS 64(AX), {scale1}")
	a.f("MOVQ %s, AX", a.arg("bias"))
	a.f("VMOVUPS (AX), {bias0}")
	a.f("VMOVUPS 64(AX), {bias1}")
	a.l("ready")
	a.load("dst", "dstStride", "x", "xStride", "rows")

	a.l("group")
	a.f("MOVBQZX %d({work}), AX", workRows4)
	a.f("MOVQ {x}, {x0}")
	a.f("MOVQ AX, {x1}")
	a.f("IMULQ {xStride}, {x1}")
	a.f("ADDQ {x}, {x1}")
	a.load("w=w0")
	a.f("MOVQ {w0}, {w1}")
	a.f("ADDQ %s, {w1}", a.arg("wStride"))
	a.load("quads=left")
	a.f("MOVQ {left}, {rest}")
	a.f("ANDQ $15, {rest}")
	a.f("SHLQ $2, {rest}") // bytes of a row that are left over
	a.f("SHRQ $4, {left}")
	a.f("MOVL $64, {stride}")
	for _, t := range []int{sum00, sum01, sum10, sum11} {
		a.tilezero(t)
	}
	a.l("step")
	a.tileload(0, "{x0}", "{xStride}", rows0)
	a.tileload(0, "{w0}", "{stride}", panel0)
	a.tdpbusd(rows0, panel0, sum00)
	a.tileload(0, "{w1}", "{stride}", panel1)
	a.tdpbusd(rows0, panel1, sum01)
	a.tileload(0, "{x1}", "{xStride}", rows1)
	a.tdpbusd(rows1, panel0, sum10)
	a.tdpbusd(rows1, panel1, sum11)
	a.f("ADDQ $64, {x0}")
	a.f("ADDQ $64, {x1}")
	a.f("ADDQ $1024, {w0}")
	a.f("ADDQ $1024, {w1}")
	a.f("DECQ {left}")
	a.f("JNZ step")
	a.f("SHLQ $7, AX")
	a.f("ADDQ {work}, AX")
	a.f("MOVL $128, {stride}")
	a.tilestore(sum00, workSums, "{work}", "{stride}")
	a.tilestore(sum01, workSums+64, "{work}", "{stride}")
	a.tilestore(sum10, workSums, "AX", "{stride}")
	a.tilestore(sum11, workSums+64, "AX", "{stride}")

	a.f("MOVBQZX %d({work}), {left}", workRows4)
	a.f("MOVBQZX %d({work}), AX", workRows5)
	a.f("ADDQ AX, {left}")
	a.f("SUBQ {left}, {rows}")
	a.f("LEAQ %d({work}), {sums}", workSums)
	a.l("row")
	a.f("VPADDD ({sums}), {init0}, {sum0}")
	a.f("VPADDD 64({sums}), {init1}, {sum1}")
	a.f("XORL {column}, {column}")
	a.f("XORL {quad}, {quad}")
	a.f("JMP tail")
	a.l("quad")
	a.f("VPBROADCASTD ({x0})({quad}*1), {value}")
	a.f("VPDPBUSD ({w0})({column}*1), {value}, {sum0}")
	a.f("VPDPBUSD ({w1})({column}*1), {value}, {sum1}")
	a.f("ADDQ $64, {column}")
	a.f("ADDQ $4, {quad}")
	a.l("tail")
	a.f("CMPQ {quad}, {rest}")
	a.f("JLT quad")
	a.f("CMPQ %s, $0", a.arg("scale"))
	a.f("JEQ store")
	for i, acc := range []string{"{sum0}", "{sum1}"} {
		a.f("VCVTDQ2PS %s, %s", acc, acc)
		a.f("VMULPS {scale%d}, %s, %s", i, acc, acc)
		a.f("VADDPS {bias%d}, %s, %s", i, acc, acc)
	}
	a.l("store")
	a.f("VMOVDQU32 {sum0}, ({dst})")
	a.f("VMOVDQU32 {sum1}, {lastMask}, 64({dst})")
	a.f("ADDQ {dstStride}, {dst}")
	a.f("ADDQ {xStride}, {x0}")
	a.f("ADDQ {xStride}, {x}")
	a.f("ADDQ $128, {sums}")
	a.f("DECQ {left}")
	a.f("JNZ row")
	a.f("TESTQ {rows}, {rows}")
	a.f("JNZ group")
	a.tilerelease()
	finish(a)
}
