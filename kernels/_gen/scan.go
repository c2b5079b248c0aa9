package main

// genScans writes the inner loops of the recurrences in kernels/recurrent/scan.go.
func genScans(a *file) {
	for _, v := range vecs {
		genDecay(a, v)
		genLearn(a, v)
		genTap(a, v)
		genStep(a, v)
		genWKV(a, v)
	}
}

// genDecay writes row ← row·decay; sum ← sum + row·x.
func genDecay(a *file, v vec) {
	a.function("decay"+v.level, "row, sum *float32, n int, by, x float32", "decay"+v.level+" is decay for n floats, n a multiple of the vector.")
	a.use(
		"row", "DI", "sum", "SI",
		"n", "CX", // left
		"y", v.reg(0), "total", v.reg(1), "by", v.reg(4), "x", v.reg(5),
	)
	a.load("row", "sum", "n")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	a.f("VBROADCASTSS %s, {x}", a.arg("x"))
	pointwise(a, v, []string{"{row}", "{sum}"}, func() {
		a.f("VMULPS ({row}), {by}, {y}")
		a.f("VMOVUPS {y}, ({row})")
		a.f("VMOVUPS ({sum}), {total}")
		a.f("VFMADD231PS {y}, {x}, {total}")
		a.f("VMOVUPS {total}, ({sum})")
	})
	finish(a)
}

// genLearn writes row ← row + x·delta; sum ← sum + row·y.
func genLearn(a *file, v vec) {
	a.function("learn"+v.level, "row, delta, sum *float32, n int, x, y float32", "learn"+v.level+" is learn for n floats, n a multiple of the vector.")
	a.use(
		"row", "DI", "delta", "SI", "sum", "DX",
		"n", "CX", // left
		"value", v.reg(0), "total", v.reg(1), "x", v.reg(4), "y", v.reg(5),
	)
	a.load("row", "delta", "sum", "n")
	a.f("VBROADCASTSS %s, {x}", a.arg("x"))
	a.f("VBROADCASTSS %s, {y}", a.arg("y"))
	pointwise(a, v, []string{"{row}", "{delta}", "{sum}"}, func() {
		a.f("VMOVUPS ({row}), {value}")
		a.f("VFMADD231PS ({delta}), {x}, {value}")
		a.f("VMOVUPS {value}, ({row})")
		a.f("VMOVUPS ({sum}), {total}")
		a.f("VFMADD231PS {value}, {y}, {total}")
		a.f("VMOVUPS {total}, ({sum})")
	})
	finish(a)
}

// genTap writes dst ← dst + w·x, value by value.
func genTap(a *file, v vec) {
	a.function("tap"+v.level, "dst, w, x *float32, n int", "tap"+v.level+" is tap for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "w", "SI", "x", "DX",
		"n", "CX", // left
		"sum", v.reg(0), "value", v.reg(1),
	)
	a.load("dst", "w", "x", "n")
	pointwise(a, v, []string{"{dst}", "{w}", "{x}"}, func() {
		a.f("VMOVUPS ({dst}), {sum}")
		a.f("VMOVUPS ({w}), {value}")
		a.f("VFMADD231PS ({x}), {value}, {sum}")
		a.f("VMOVUPS {sum}, ({dst})")
	})
	finish(a)
}

// genStep writes row ← row·by + b·x and returns Σ row·c.
func genStep(a *file, v vec) {
	a.returning("step"+v.level, "row, b, c *float32, n int, by, x float32", "sum float32", "step"+v.level+" is step for n floats, n a multiple of the vector.")
	a.use(
		"row", "DI", "b", "SI", "c", "DX",
		"n", "CX", // left
		"value", v.reg(1), "by", v.reg(4), "x", v.reg(5), "sum", v.reg(6),
	)
	a.load("row", "b", "c", "n")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	a.f("VBROADCASTSS %s, {x}", a.arg("x"))
	a.f("VXORPS {sum}, {sum}, {sum}")
	pointwise(a, v, []string{"{row}", "{b}", "{c}"}, func() {
		a.f("VMULPS ({row}), {by}, {value}")
		a.f("VFMADD231PS ({b}), {x}, {value}")
		a.f("VMOVUPS {value}, ({row})")
		a.f("VFMADD231PS ({c}), {value}, {sum}")
	})
	if v.lanes == 16 {
		sumZ(a, a.num("sum"), 0)
	} else {
		sumY(a, a.num("sum"), 0)
	}
	a.f("VMOVSS {sum.x}, %s", a.arg("sum"))
	finish(a)
}

// genWKV writes WKV for whole groups of four vectors of columns, which it keeps sums of in
// registers: first κᵀS, then the new S and Sᵀr.
func genWKV(a *file, v vec) {
	const group = 4
	a.function("wkv"+v.level, "o, r, w, k, v, key, back, state *float32, keys, n, columns int",
		"wkv"+v.level+" is WKV for that many columns of n, a multiple of four vectors.")
	a.use(
		"o", "DX", "r", "R8", "w", "R9", "k", "R10", "v", "R11", "key", "R12", "back", "R13",
		"state", "DI", // first row of these columns
		"row", "SI", // row of these columns
		"i", "AX", // of the row, in bytes of key
		"keys", "CX", // where that ends
		"stride", "BX", // bytes of a row
		"left", "R15", // columns
		"by", v.reg(8), "x", v.reg(9), "z", v.reg(10), "y", v.reg(11), "value", v.reg(12),
	)
	a.useRow("old", v.reg, 0, group)
	a.useRow("sum", v.reg, 4, group)
	a.load("o", "r", "w", "k", "v", "key", "back", "state", "keys", "n=stride", "columns=left")
	a.f("SHLQ $2, {keys}")
	a.f("SHLQ $2, {stride}")
	step := 4 * v.lanes
	a.l("columns")
	for g := range group {
		a.f("VXORPS {old%d}, {old%d}, {old%d}", g, g, g)
		a.f("VXORPS {sum%d}, {sum%d}, {sum%d}", g, g, g)
	}
	a.f("MOVQ {state}, {row}")
	a.f("XORL {i}, {i}")
	a.l("look")
	a.f("VBROADCASTSS ({key})({i}*1), {x}")
	for g := range group {
		a.f("VFMADD231PS %d({row}), {x}, {old%d}", g*step, g)
	}
	a.f("ADDQ {stride}, {row}")
	a.f("ADDQ $4, {i}")
	a.f("CMPQ {i}, {keys}")
	a.f("JLT look")
	a.f("MOVQ {state}, {row}")
	a.f("XORL {i}, {i}")
	a.l("renew")
	for _, p := range [][2]string{{"w", "by"}, {"k", "x"}, {"back", "z"}, {"r", "y"}} {
		a.f("VBROADCASTSS ({%s})({i}*1), {%s}", p[0], p[1])
	}
	for g := range group {
		a.f("VMULPS %d({row}), {by}, {value}", g*step)
		a.f("VFMADD231PS %d({v}), {x}, {value}", g*step)
		a.f("VFMADD231PS {old%d}, {z}, {value}", g)
		a.f("VMOVUPS {value}, %d({row})", g*step)
		a.f("VFMADD231PS {value}, {y}, {sum%d}", g)
	}
	a.f("ADDQ {stride}, {row}")
	a.f("ADDQ $4, {i}")
	a.f("CMPQ {i}, {keys}")
	a.f("JLT renew")
	for g := range group {
		a.f("VMOVUPS {sum%d}, %d({o})", g, g*step)
	}
	for _, p := range []string{"o", "v", "state"} {
		a.f("ADDQ $%d, {%s}", group*step, p)
	}
	a.f("SUBQ $%d, {left}", group*v.lanes)
	a.f("JG columns")
	finish(a)
}
