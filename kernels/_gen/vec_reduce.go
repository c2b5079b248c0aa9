package main

// Sums, maxima and norms over rows and columns.

// genColumns writes sums down columns, and sums of squares of x - mean, rows in ascending
// order: strips of four vectors, then single ones.
func genColumns(a *file, v vec) {
	for _, squares := range []bool{false, true} {
		fn, params, doc := "columnSums"+v.level, "sum, x *float32, stride, rows, n int", " writes the sums of n columns of x, n a multiple of the vector; rows are stride floats apart."
		if squares {
			fn, params, doc = "columnSquares"+v.level, "sum, x, mean *float32, stride, rows, n int", " writes the sums of (x - mean)² of n columns of x, n a multiple of the vector; rows are stride floats apart."
		}
		a.function(fn, params, fn+doc)
		a.use(
			"sum", "DI", "x", "SI", "mean", "R9",
			"stride", "R8", // in bytes
			"rows", "R10",
			"n", "CX", // columns left
			"row", "BX",
			"left", "DX", // rows
		)
		a.load("sum", "x")
		pointers := []string{"{sum}", "{x}"}
		if squares {
			a.load("mean")
			pointers = append(pointers, "{mean}")
		}
		a.load("stride")
		a.f("SHLQ $2, {stride}")
		a.load("rows", "n")
		sum := func(i int) string { return v.reg(i) }
		mean := func(i int) string { return v.reg(4 + i) }
		diff := func(i int) string { return v.reg(8 + i) }
		strip := v
		strip.lanes *= 4
		down := func(vecs int) func() {
			return func() {
				for i := range vecs {
					a.f("VXORPS %s, %s, %s", sum(i), sum(i), sum(i))
					if squares {
						a.f("VMOVUPS %d({mean}), %s", 4*v.lanes*i, mean(i))
					}
				}
				a.f("MOVQ {x}, {row}")
				a.f("MOVQ {rows}, {left}")
				label := a.fresh("down")
				a.l(label)
				for i := range vecs {
					m := mem(4*v.lanes*i, "{row}")
					if !squares {
						a.f("VADDPS %s, %s, %s", m, sum(i), sum(i))
						continue
					}
					a.f("VMOVUPS %s, %s", m, diff(i))
					a.f("VSUBPS %s, %s, %s", mean(i), diff(i), diff(i))
					a.f("VFMADD231PS %s, %s, %s", diff(i), diff(i), sum(i))
				}
				a.f("ADDQ {stride}, {row}")
				a.f("DECQ {left}")
				a.f("JNZ %s", label)
				for i := range vecs {
					a.f("VMOVUPS %s, %d({sum})", sum(i), 4*v.lanes*i)
				}
			}
		}
		pointwise(a, strip, pointers, down(4))
		a.f("ADDQ $%d, {n}", strip.lanes)
		pointwise(a, v, pointers, down(1))
		finish(a)
	}
}

// sum folds the floats of register v0 into the low float of its xmm; t is scratch.
func (v vec) sum(a *file, v0, t int) {
	if v.lanes == 16 {
		sumZ(a, v0, t)
	} else {
		sumY(a, v0, t)
	}
}

// genSums writes the sum of {n} floats, and that of (x - less)²: two running vectors while
// there are two to read, then one.
func genSums(a *file, v vec) {
	r := v.reg
	for _, squares := range []bool{false, true} {
		fn, params, doc := "sum"+v.level, "x *float32, n int", " returns the sum of n floats, n a multiple of the vector."
		if squares {
			fn, params, doc = "squares"+v.level, "x *float32, n int, less float32", " returns the sum of (x - less)² of n floats, n a multiple of the vector."
		}
		a.returning(fn, params, "sum float32", fn+doc)
		a.use(
			"x", "SI",
			"n", "CX", // left
			"sum0", r(0), "sum1", r(1), "diff0", r(2), "diff1", r(3), "less", r(4),
		)
		a.load("x", "n")
		if squares {
			a.f("VBROADCASTSS %s, {less}", a.arg("less"))
		}
		a.f("VXORPS {sum0}, {sum0}, {sum0}")
		a.f("VXORPS {sum1}, {sum1}, {sum1}")
		strip := v
		strip.lanes *= 2
		add := func(vecs int) func() {
			return func() {
				for i := range vecs {
					m := mem(4*v.lanes*i, "{x}")
					if !squares {
						a.f("VADDPS %s, {sum%d}, {sum%d}", m, i, i)
						continue
					}
					a.f("VMOVUPS %s, {diff%d}", m, i)
					a.f("VSUBPS {less}, {diff%d}, {diff%d}", i, i)
					a.f("VFMADD231PS {diff%d}, {diff%d}, {sum%d}", i, i, i)
				}
			}
		}
		pointwise(a, strip, []string{"{x}"}, add(2))
		a.f("ADDQ $%d, {n}", strip.lanes)
		pointwise(a, v, []string{"{x}"}, add(1))
		a.f("VADDPS {sum1}, {sum0}, {sum0}")
		v.sum(a, 0, 1)
		a.f("VMOVSS {sum0.x}, %s", a.arg("sum"))
		finish(a)
	}
}

// genNormal writes (x - less)·by·w + bias, what a norm does once its sums are known.
func genNormal(a *file, v vec) {
	r := v.reg
	fn := "normal" + v.level
	a.function(fn, "dst, x, w, bias *float32, n int, less, by float32", fn+" writes (x - less)·by·w + bias for n floats, n a multiple of the vector; bias may be nil.")
	a.use(
		"dst", "DI", "x", "SI", "w", "DX",
		"bias", "R8", // or nil
		"n", "CX", // left
		"y", r(0), "less", r(4), "by", r(5),
	)
	a.load("dst", "x", "w", "bias", "n")
	a.f("VBROADCASTSS %s, {less}", a.arg("less"))
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	pointwise(a, v, []string{"{dst}", "{x}", "{w}"}, func() {
		label := a.fresh("plain")
		a.f("VMOVUPS ({x}), {y}")
		a.f("VSUBPS {less}, {y}, {y}")
		a.f("VMULPS {by}, {y}, {y}")
		a.f("VMULPS ({w}), {y}, {y}")
		a.f("TESTQ {bias}, {bias}")
		a.f("JZ %s", label)
		a.f("VADDPS ({bias}), {y}, {y}")
		a.f("ADDQ $%d, {bias}", 4*v.lanes)
		a.l(label)
		a.f("VMOVUPS {y}, ({dst})")
	})
	finish(a)
}

// max leaves the largest float of register v0 in the low float of its xmm; t is scratch.
func (v vec) max(a *file, v0, t int) {
	if v.lanes == 16 {
		a.f("VEXTRACTF64X4 $1, %s, %s", z(v0), y(t))
		a.f("VMAXPS %s, %s, %s", y(t), y(v0), y(v0))
	}
	a.f("VEXTRACTF128 $1, %s, %s", y(v0), x(t))
	a.f("VMAXPS %s, %s, %s", x(t), x(v0), x(v0))
	for _, swap := range []string{"$0x4e", "$0xb1"} {
		a.f("VPSHUFD %s, %s, %s", swap, x(v0), x(t))
		a.f("VMAXPS %s, %s, %s", x(t), x(v0), x(v0))
	}
}

// genScaleMax writes x·by in place and the largest product.
func genScaleMax(a *file, v vec) {
	r := v.reg
	fn := "scaleMax" + v.level
	a.returning(fn, "x *float32, n int, by float32", "top float32", fn+" multiplies n floats by by and returns the largest, n a multiple of the vector. NaN is ignored.")
	a.use(
		"x", "DI",
		"n", "CX", // left
		"y", r(0), "by", r(5), "top", r(6),
	)
	a.load("x", "n")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	v.fill(a, point(pMinusInf), "{top}")
	pointwise(a, v, []string{"{x}"}, func() {
		a.f("VMULPS ({x}), {by}, {y}")
		a.f("VMOVUPS {y}, ({x})")
		a.f("VMAXPS {top}, {y}, {top}") // the last source is the old one
	})
	v.max(a, 6, 0)
	a.f("VMOVSS {top.x}, %s", a.arg("top"))
	finish(a)
}

// genMask writes the first pass of a softmax over masked scores: x·by + bias, and the largest.
func genMask(a *file) {
	a.returning("maskMaxAVX512", "x, bias *float32, n int, by float32", "top float32",
		"maskMaxAVX512 replaces x by x · by + bias and returns the largest, -Inf at least. n is a multiple of 16.")
	a.use(
		"x", "DI", // next scores
		"bias", "SI",
		"n", "CX", // left
		"by", "Z0", "top", "Z1", "score", "Z2",
	)
	a.load("x", "bias", "n")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	a.f("MOVL $0xff800000, AX")
	a.f("VPBROADCASTD AX, {top}")
	a.l("loop")
	a.f("VMULPS ({x}), {by}, {score}")
	a.f("VADDPS ({bias}), {score}, {score}")
	a.f("VMOVUPS {score}, ({x})")
	a.f("VMAXPS {top}, {score}, {top}") // NaN is ignored
	a.f("ADDQ $64, {x}")
	a.f("ADDQ $64, {bias}")
	a.f("SUBQ $16, {n}")
	a.f("JNZ loop")
	a.f("VEXTRACTF64X4 $1, {top}, {score.y}")
	a.f("VMAXPS {score.y}, {top.y}, {top.y}")
	a.f("VEXTRACTF128 $1, {top.y}, {score.x}")
	a.f("VMAXPS {score.x}, {top.x}, {top.x}")
	a.f("VPSHUFD $0x4e, {top.x}, {score.x}")
	a.f("VMAXPS {score.x}, {top.x}, {top.x}")
	a.f("VPSHUFD $0xb1, {top.x}, {score.x}")
	a.f("VMAXPS {score.x}, {top.x}, {top.x}")
	a.f("VMOVSS {top.x}, %s", a.arg("top"))
	finish(a)
}
