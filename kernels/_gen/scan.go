package main

import "fmt"

// genScans writes the inner loops of the recurrences in kernels/recurrent.
func genScans(a *file) {
	for _, v := range vecs {
		genDecay(a, v)
		genLearn(a, v)
		genTap(a, v)
		genStep(a, v)
		genSteps(a, v)
		genDelta(a, v)
		genWKV(a, v)
		genCell(a, v)
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

// genSteps writes four rows of a state at a time by step, each to its own sum: b and c are read
// once for all of them.
func genSteps(a *file, v vec) {
	const group = 4
	a.function("steps"+v.level, "y, x, b, c, state *float32, rows, n int, by, dt, d float32",
		"steps"+v.level+" is SSD for that many rows of n floats, multiples of four and of the vector.")
	a.use(
		"y", "R8", "x", "R9", "b", "R10", "c", "R11",
		"row", "DI", // of four
		"at", "SI", // in it
		"i", "AX", // of b and c, in bytes
		"n", "CX", // where that ends, and bytes of a row
		"third", "BX", // bytes of three rows
		"left", "R15", // rows
		"bs", v.reg(12), "cs", v.reg(13), "by", v.reg(14), "dt", v.reg(15),
	)
	a.useRow("value", v.reg, 0, group)
	a.useRow("sum", v.reg, 4, group)
	a.useRow("x", v.reg, 8, group)
	a.load("y", "x", "b", "c", "state=row", "rows=left", "n")
	a.f("SHLQ $2, {n}")
	a.f("LEAQ ({n})({n}*2), {third}")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	a.f("VBROADCASTSS %s, {dt}", a.arg("dt"))
	a.l("rows")
	for g := range group {
		a.f("VBROADCASTSS %d({x}), {x%d}", 4*g, g)
		a.f("VMULPS {dt}, {x%d}, {x%d}", g, g)
		a.f("VXORPS {sum%d}, {sum%d}, {sum%d}", g, g, g)
	}
	a.f("MOVQ {row}, {at}")
	a.f("XORL {i}, {i}")
	a.l("columns")
	a.f("VMOVUPS ({b})({i}*1), {bs}")
	a.f("VMOVUPS ({c})({i}*1), {cs}")
	for g, at := range []string{"({at})", "({at})({n}*1)", "({at})({n}*2)", "({at})({third}*1)"} {
		a.f("VMULPS %s, {by}, {value%d}", at, g)
		a.f("VFMADD231PS {bs}, {x%d}, {value%d}", g, g)
		a.f("VMOVUPS {value%d}, %s", g, at)
		a.f("VFMADD231PS {cs}, {value%d}, {sum%d}", g, g)
	}
	a.f("ADDQ $%d, {at}", 4*v.lanes)
	a.f("ADDQ $%d, {i}", 4*v.lanes)
	a.f("CMPQ {i}, {n}")
	a.f("JLT columns")
	for g := range group {
		if v.lanes == 16 {
			sumZ(a, a.num(fmt.Sprint("sum", g)), a.num("value0"))
		} else {
			sumY(a, a.num(fmt.Sprint("sum", g)), a.num("value0"))
		}
		a.f("VMOVSS %s, {value0.x}", a.arg("d"))
		a.f("VMULSS %d({x}), {value0.x}, {value0.x}", 4*g)
		a.f("VADDSS {value0.x}, {sum%d.x}, {sum%d.x}", g, g)
		a.f("VMOVSS {sum%d.x}, %d({y})", g, 4*g)
	}
	a.f("LEAQ ({row})({n}*4), {row}")
	a.f("ADDQ $%d, {x}", 4*group)
	a.f("ADDQ $%d, {y}", 4*group)
	a.f("SUBQ $%d, {left}", group)
	a.f("JG rows")
	finish(a)
}

// genDelta writes Delta for whole groups of four vectors of columns, which it keeps sums of in
// registers: first Sᵀk, then the new S and its Sᵀq. by is e^g.
func genDelta(a *file, v vec) {
	const group = 4
	a.function("delta"+v.level, "o, q, k, v, state *float32, keys, n, columns int, by, beta float32",
		"delta"+v.level+" is Delta for that many columns of n, a multiple of four vectors.")
	a.use(
		"o", "DX", "q", "R9", "k", "R10", "v", "R11",
		"state", "DI", // first row of these columns
		"row", "SI", // row of these columns
		"i", "AX", // of the row, in bytes of k
		"keys", "CX", // where that ends
		"stride", "BX", // bytes of a row
		"left", "R15", // columns
		"by", v.reg(8), "x", v.reg(9), "y", v.reg(10), "beta", v.reg(11),
	)
	a.useRow("old", v.reg, 0, group)
	a.useRow("sum", v.reg, 4, group)
	a.useRow("value", v.reg, 12, group)
	a.load("o", "q", "k", "v", "state", "keys", "n=stride", "columns=left")
	a.f("SHLQ $2, {keys}")
	a.f("SHLQ $2, {stride}")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	a.f("VBROADCASTSS %s, {beta}", a.arg("beta"))
	step := 4 * v.lanes
	a.l("columns")
	for g := range group {
		a.f("VXORPS {old%d}, {old%d}, {old%d}", g, g, g)
		a.f("VXORPS {sum%d}, {sum%d}, {sum%d}", g, g, g)
	}
	a.f("MOVQ {state}, {row}")
	a.f("XORL {i}, {i}")
	a.l("look")
	a.f("VBROADCASTSS ({k})({i}*1), {x}")
	for g := range group {
		a.f("VFMADD231PS %d({row}), {x}, {old%d}", g*step, g)
	}
	a.f("ADDQ {stride}, {row}")
	a.f("ADDQ $4, {i}")
	a.f("CMPQ {i}, {keys}")
	a.f("JLT look")
	for g := range group {
		a.f("VMOVUPS %d({v}), {value%d}", g*step, g)
		a.f("VFNMADD213PS {value%d}, {by}, {old%d}", g, g) // v - e^g·Sᵀk
		a.f("VMULPS {beta}, {old%d}, {old%d}", g, g)
	}
	a.f("MOVQ {state}, {row}")
	a.f("XORL {i}, {i}")
	a.l("renew")
	a.f("VBROADCASTSS ({k})({i}*1), {x}")
	a.f("VBROADCASTSS ({q})({i}*1), {y}")
	for g := range group {
		a.f("VMULPS %d({row}), {by}, {value%d}", g*step, g)
		a.f("VFMADD231PS {old%d}, {x}, {value%d}", g, g)
		a.f("VMOVUPS {value%d}, %d({row})", g, g*step)
		a.f("VFMADD231PS {value%d}, {y}, {sum%d}", g, g)
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

// genCell writes a step of an LSTM: c ← σ(f)·c + σ(i)·tanh(g), h ← σ(o)·tanh(c), with the
// exponential of vec.go and each product rounded.
func genCell(a *file, v vec) {
	fn := "cell" + v.level
	a.function(fn, "h, c, i, f, cand, o *float32, n int", fn+" is Cell for n floats, n a multiple of the vector.")
	a.use(
		"h", "DI", "c", "SI", "i", "DX", "f", "R8", "cand", "R9", "o", "R10",
		"n", "CX", // left
		"y", v.reg(0), "t1", v.reg(1), "t2", v.reg(2), "t3", v.reg(3),
		"value", v.reg(4), "two", v.reg(5), "one", v.reg(6),
	)
	a.load("h", "c", "i", "f", "cand", "o", "n")
	v.fill(a, point(pOne), "{one}")
	v.fill(a, point(pTwo), "{two}")
	sigmoid := func(of string) {
		a.f("VXORPS {y}, {y}, {y}")
		a.f("VSUBPS ({%s}), {y}, {y}", of)
		expOf(a, v)
		a.f("VADDPS {one}, {y}, {y}")
		a.f("VDIVPS {y}, {one}, {y}")
	}
	tanh := func(of string) {
		a.f("VMULPS %s, {two}, {y}", of)
		expOf(a, v)
		a.f("VADDPS {one}, {y}, {y}")
		a.f("VDIVPS {y}, {two}, {y}")
		a.f("VSUBPS {y}, {one}, {y}")
	}
	pointwise(a, v, []string{"{h}", "{c}", "{i}", "{f}", "{cand}", "{o}"}, func() {
		sigmoid("i")
		a.f("VMOVAPS {y}, {value}")
		tanh("({cand})")
		a.f("VMULPS {y}, {value}, {value}")
		sigmoid("f")
		a.f("VMULPS ({c}), {y}, {y}")
		a.f("VADDPS {y}, {value}, {value}")
		a.f("VMOVUPS {value}, ({c})")
		tanh("{value}")
		a.f("VMOVAPS {y}, {value}")
		sigmoid("o")
		a.f("VMULPS {y}, {value}, {value}")
		a.f("VMOVUPS {value}, ({h})")
	})
	finish(a)
}
