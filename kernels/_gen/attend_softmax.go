package main

import "math"

// Exponentials of a softmax: arguments are at most 0, so 2ᵏ is a normal float, made from
// k + 127 in the exponent's bits, and multiplied in; a NaN stays one.
//
// eʳ is 1 + r + r²·p(r) with p of degree 4, fitted to |r| ≤ ln 2 / 2: its relative
// error is below 2⁻²⁸ there, and that of the whole in float32 below 2⁻²³.
var expTopConsts = []float32{
	tLow: -87.33, tLog2e: 1 / math.Ln2, tShift: 0x1.8p23 + 127, tLn2Hi: ln2Hi, tLn2Lo: math.Ln2 - ln2Hi,
	t6: 0x1.6a23cep-10, t5: 0x1.123a2p-7, t4: 0x1.5558f2p-5, t3: 0x1.555492p-3, t2: 0x1.fffffcp-2, tOne: 1,
}

const (
	tLow = iota
	tLog2e
	tShift // adding it leaves k + 127 in the low bits
	tLn2Hi
	tLn2Lo
	t6
	t5
	t4
	t3
	t2
	tOne
)

// genSoftmax writes both passes of a softmax over one row of scores.
func genSoftmax(a *file) {
	for _, v := range vecs {
		genLargest(a, v)
		genExpTop(a, v)
	}
}

// genLargest writes the maximum of {n} floats, in four running maxima. VMAXPS returns its
// last source where a number is NaN, here the maximum so far.
func genLargest(a *file, v vec) {
	r := v.reg
	fn := "largest" + v.level
	a.returning(fn, "x *float32, n int", "top float32", fn+" returns the largest of n floats, n a multiple of the vector. NaN is ignored.")
	a.use("x", "DI", "n", "CX")
	a.load("x", "n")
	a.useRow("top", r, 0, 4)
	a.useRow("value", r, 4, 4)
	for i := range 4 {
		v.fill(a, point(pMinusInf), r(i))
	}
	loop := func(label string, unroll int) {
		a.f("SUBQ $%d, {n}", unroll*v.lanes)
		a.f("JLT %sDone", label)
		a.l(label)
		for i := range unroll {
			a.f("VMOVUPS %s, {value%d}", mem(4*i*v.lanes, "{x}"), i)
			a.f("VMAXPS {top%d}, {value%d}, {top%d}", i, i, i) // the last source is the old one
		}
		a.f("ADDQ $%d, {x}", 4*unroll*v.lanes)
		a.f("SUBQ $%d, {n}", unroll*v.lanes)
		a.f("JGE %s", label)
		a.l(label + "Done")
		a.f("ADDQ $%d, {n}", unroll*v.lanes)
	}
	loop("fours", 4)
	loop("ones", 1)
	a.f("VMAXPS {top1}, {top0}, {top0}")
	a.f("VMAXPS {top3}, {top2}, {top2}")
	a.f("VMAXPS {top2}, {top0}, {top0}")
	v.max(a, 0, 1)
	a.f("VMOVSS {top0.x}, %s", a.arg("top"))
	finish(a)
}

func expTop(i int) constant { return constant{"expTopConst", expTopConsts, i} }

// genExpTop writes x[i] = exp(x[i] - top) and their sum. Several vectors are computed side
// by side, which hides the latency of the chain of multiplications.
func genExpTop(a *file, v vec) {
	r := v.reg
	fn := "expTop" + v.level
	a.returning(fn, "x *float32, n int, top float32", "sum float32",
		fn+" replaces n floats, of which top is the largest, by exp(x - top) and returns their sum, n a multiple of the vector.")
	a.use(
		"x", "DI",
		"n", "CX", // left
	)
	a.load("x", "n")
	// With 32 registers those from 18 on hold the constants.
	k := func(i int) string {
		if v.lanes == 16 {
			return r(18 + i)
		}
		return expTop(i).at(a)
	}
	if v.lanes == 16 {
		for i := range expTopConsts {
			v.fill(a, expTop(i), k(i))
		}
	}
	side := 4 // vectors side by side
	if v.lanes == 16 {
		a.use("top", r(16), "sum", r(17))
	} else {
		side = 3
		a.use("top", r(14), "sum", r(15))
	}
	a.f("VBROADCASTSS %s, {top}", a.arg("top"))
	a.f("VXORPS {sum}, {sum}, {sum}")
	loop := func(label string, side int) {
		x := func(i int) string { return r(i) }          // x - top, then the remainder of k·ln2
		n := func(i int) string { return r(side + i) }   // k, then 2ᵏ
		p := func(i int) string { return r(2*side + i) } // the polynomial
		each := func(f func(i int)) {
			for i := range side {
				f(i)
			}
		}
		a.f("SUBQ $%d, {n}", side*v.lanes)
		a.f("JLT %sDone", label)
		a.l(label)
		each(func(i int) { a.f("VMOVUPS %s, %s", mem(4*i*v.lanes, "{x}"), x(i)) })
		each(func(i int) { a.f("VSUBPS {top}, %s, %s", x(i), x(i)) })
		// A NaN is kept: it is the last source.
		if v.lanes == 16 {
			each(func(i int) { a.f("VMAXPS %s, %s, %s", x(i), k(tLow), x(i)) })
			each(func(i int) { a.f("VMOVAPS %s, %s", k(tShift), n(i)) })
		} else {
			each(func(i int) { a.f("VMOVUPS %s, %s", k(tLow), n(i)) })
			each(func(i int) { a.f("VMAXPS %s, %s, %s", x(i), n(i), x(i)) })
			each(func(i int) { a.f("VMOVUPS %s, %s", k(tShift), n(i)) })
		}
		each(func(i int) { a.f("VFMADD231PS %s, %s, %s", k(tLog2e), x(i), n(i)) })
		each(func(i int) { a.f("VSUBPS %s, %s, %s", k(tShift), n(i), p(i)) })
		each(func(i int) { a.f("VFNMADD231PS %s, %s, %s", k(tLn2Hi), p(i), x(i)) })
		each(func(i int) { a.f("VFNMADD231PS %s, %s, %s", k(tLn2Lo), p(i), x(i)) })
		each(func(i int) { a.f("VPSLLD $23, %s, %s", n(i), n(i)) })
		each(func(i int) { a.f("VMOVUPS %s, %s", k(t6), p(i)) })
		for _, c := range []int{t5, t4, t3, t2, tOne, tOne} {
			each(func(i int) { a.f("VFMADD213PS %s, %s, %s", k(c), x(i), p(i)) })
		}
		each(func(i int) { a.f("VMULPS %s, %s, %s", n(i), p(i), p(i)) })
		each(func(i int) { a.f("VMOVUPS %s, %s", p(i), mem(4*i*v.lanes, "{x}")) })
		each(func(i int) { a.f("VADDPS %s, {sum}, {sum}", p(i)) })
		a.f("ADDQ $%d, {x}", 4*side*v.lanes)
		a.f("SUBQ $%d, {n}", side*v.lanes)
		a.f("JGE %s", label)
		a.l(label + "Done")
		a.f("ADDQ $%d, {n}", side*v.lanes)
	}
	loop("several", side)
	loop("one", 1)
	if v.lanes == 16 {
		a.f("VMOVAPS {sum}, Z0")
		sumZ(a, 0, 1)
	} else {
		a.f("VMOVAPS {sum}, Y0")
		sumY(a, 0, 1)
	}
	a.f("VMOVSS X0, %s", a.arg("sum"))
	a.f("VZEROUPPER")
	a.f("RET")
}
