package main

// mixRows is how many rows mix adds up: the points of kernels/conv/fastconv.go.
const mixRows = 7

// genMix writes the transforms of fast convolution (Winograd; Lavin & Gray, 2016): rows of a
// small matrix times seven rows of a large one, which stay in registers.
func genMix(a *file) {
	for _, v := range vecs {
		fn := "mix" + v.level
		a.function(fn, "dst *float32, dstStride int, init *float32, initStride int, src *float32, srcStride int, m *float32, rows, n int",
			fn+" is mixGo. n is a multiple of the vector, rows at least 1.")
		a.use(
			"dst", "DI",
			"dstStride", "R8", // in bytes
			"init", "R9", "initStride", "R10",
			"src", "SI", // of these columns
			"srcStride", "R11", "m", "DX", "mEnd", "R12",
			"n", "CX", // columns left
			"initRow", "BX", "mRow", "R13",
		)
		a.load("dst", "dstStride", "init", "initStride", "src", "srcStride", "m", "rows=mEnd", "n")
		for _, r := range []string{"{dstStride}", "{initStride}", "{srcStride}"} {
			a.f("SHLQ $2, %s", r) // bytes
		}
		a.f("IMULQ $%d, {mEnd}", 4*mixRows)
		a.f("ADDQ {m}, {mEnd}") // where m ends
		a.l("columns")
		a.f("MOVQ {src}, AX")
		for i := range mixRows {
			a.f("VMOVUPS (AX), %s", v.reg(i))
			if i < mixRows-1 {
				a.f("ADDQ {srcStride}, AX")
			}
		}
		a.f("MOVQ {dst}, AX")
		a.f("MOVQ {init}, {initRow}")
		a.f("MOVQ {m}, {mRow}")
		sum, by := v.reg(mixRows), v.reg(mixRows+1)
		a.l("rows")
		a.f("VMOVUPS ({initRow}), %s", sum)
		for i := range mixRows {
			if v.lanes == 16 {
				a.f("VFMADD231PS.BCST %s, %s, %s", mem(4*i, "{mRow}"), v.reg(i), sum)
			} else {
				a.f("VBROADCASTSS %s, %s", mem(4*i, "{mRow}"), by)
				a.f("VFMADD231PS %s, %s, %s", by, v.reg(i), sum)
			}
		}
		a.f("VMOVUPS %s, (AX)", sum)
		a.f("ADDQ {dstStride}, AX")
		a.f("ADDQ {initStride}, {initRow}")
		a.f("ADDQ $%d, {mRow}", 4*mixRows)
		a.f("CMPQ {mRow}, {mEnd}")
		a.f("JLT rows")
		for _, r := range []string{"{dst}", "{init}", "{src}"} {
			a.f("ADDQ $%d, %s", 4*v.lanes, r)
		}
		a.f("SUBQ $%d, {n}", v.lanes)
		a.f("JNZ columns")
		a.f("VZEROUPPER")
		a.f("RET")
	}
}
