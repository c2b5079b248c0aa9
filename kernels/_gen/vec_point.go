package main

import "math"

// Pointwise kernels and sums over rows: what norms, activations and attention
// do to every value. n is a multiple of the vector; Go does what is left.

// pointConsts are the constants of the kernels here.
var pointConsts = []float32{
	pInvPi: 1 / math.Pi, pShift: 0x1.8p23, pPiHi: piHi, pPiLo: math.Pi - piHi,
	pS11: -1.0 / 39916800, pS9: 1.0 / 362880, pS7: -1.0 / 5040, pS5: 1.0 / 120, pS3: -1.0 / 6,
	pOne: 1, pTwo: 2, pHalf: 0.5, pMinusHalf: -0.5,
	pErfP: 0.3275911 / math.Sqrt2, pErf5: 1.061405429, pErf4: -1.453152027, pErf3: 1.421413741, pErf2: -0.284496736, pErf1: 0.254829592,
	pGELU: -2 * 0.797884560802865355879892119868763737, pCubic: 0.044715,
	pMinusTwo: -2, pMinusInf: float32(math.Inf(-1)),
}

// piHi is π rounded to float32: with fused multiplication k·piHi is not rounded.
const piHi = 0x1.921fb6p1

const (
	pInvPi = iota
	pShift
	pPiHi
	pPiLo
	pS11
	pS9
	pS7
	pS5
	pS3
	pOne
	pTwo
	pHalf
	pMinusHalf
	pErfP
	pErf5
	pErf4
	pErf3
	pErf2
	pErf1
	pGELU
	pCubic
	pMinusTwo
	pMinusInf
)

func point(i int) constant { return constant{"pointConst", pointConsts, i} }

// pointwise emits a loop over the vectors of {n} values: body, then every pointer goes on
// by one. {n} ends up as what is left, less a vector.
func pointwise(a *file, v vec, pointers []string, body func()) {
	label := a.fresh("loop")
	a.f("SUBQ $%d, {n}", v.lanes)
	a.f("JLT %sDone", label)
	a.l(label)
	body()
	for _, p := range pointers {
		a.f("ADDQ $%d, %s", 4*v.lanes, p)
	}
	a.f("SUBQ $%d, {n}", v.lanes)
	a.f("JGE %s", label)
	a.l(label + "Done")
}

// logic emits a bitwise instruction, whose name AVX-512 ends with the size of elements.
func (v vec) logic(a *file, op, x, y, to string) {
	if v.lanes == 16 {
		op += "D"
	}
	a.f("%s %s, %s, %s", op, x, y, to)
}

// sinOf makes {y} ± sin({y}); where the sign is wanted, {t3} is the bit to turn it with:
// x = k·π + r with |r| ≤ π/2 (π in two parts, Cody & Waite, 1980), sin r by its Taylor
// polynomial of degree 11, whose remainder is below 6·10⁻⁸. {t1} and {t2} are scratch.
func sinOf(a *file, v vec, signed bool) {
	v.fill(a, point(pShift), "{t1}")
	v.with(a, "VFMADD231PS", point(pInvPi), "{y}, {t1}") // k in the low bits
	if signed {
		a.f("VPSLLD $31, {t1}, {t3}") // sin(k·π + r) is -sin r where k is odd
	}
	v.with(a, "VSUBPS", point(pShift), "{t1}, {t2}")
	v.with(a, "VFNMADD231PS", point(pPiHi), "{t2}, {y}")
	v.with(a, "VFNMADD231PS", point(pPiLo), "{t2}, {y}")
	a.f("VMULPS {y}, {y}, {t1}")
	v.fill(a, point(pS11), "{t2}")
	for c := pS9; c <= pS3; c++ {
		v.with(a, "VFMADD213PS", point(c), "{t1}, {t2}")
	}
	a.f("VMULPS {t1}, {t2}, {t2}")
	a.f("VFMADD213PS {y}, {y}, {t2}") // r·(r²·p) + r
	a.f("VMOVAPS {t2}, {y}")
}

// genPoints writes the functions of kernels/vec and kernels/conv for every level.
func genPoints(a *file) {
	genPrefetch(a)
	genRope(a)
	for _, v := range vecs {
		genSigmoid(a, v)
		genTanh(a, v)
		genGELU(a, v)
		genGELUTanh(a, v)
		genLeaky(a, v)
		genSin(a, v)
		genSnake(a, v)
		genColumns(a, v)
		genSums(a, v)
		genNormal(a, v)
		genScaleMax(a, v)
		genArith(a, v)
		genMax(a, v)
		genAffine(a, v)
		genBend(a, v)
	}
}

// genPrefetch writes the prefetch of n bytes to the second-level cache: the first is too
// small for what attention prefetches at a time.
func genPrefetch(a *file) {
	a.function("prefetchLines", "p *byte, n int", "prefetchLines asks for the n bytes at p, n at least 1.")
	a.use(
		"p", "SI", // next line
		"n", "CX", // bytes left
	)
	a.load("p", "n")
	a.l("line")
	a.f("PREFETCHT1 ({p})")
	a.f("ADDQ $64, {p}")
	a.f("SUBQ $64, {n}")
	a.f("JG line")
	a.f("RET")
}

// genSigmoid writes 1 / (1 + e⁻ˣ).
func genSigmoid(a *file, v vec) {
	r := v.reg
	a.function("sigmoid"+v.level, "dst, x *float32, n int", "sigmoid"+v.level+" is Sigmoid for n floats, n a multiple of the vector.")
	a.use(
		"t1", r(1), "t2", r(2), "t3", r(3), "dst", "DI", "x", "SI",
		"n", "CX", // left
		"one", r(6), "y", r(0),
	)
	a.load("dst", "x", "n")
	v.fill(a, point(pOne), "{one}")
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VXORPS {y}, {y}, {y}")
		a.f("VSUBPS ({x}), {y}, {y}")
		expOf(a, v)
		a.f("VADDPS {one}, {y}, {y}")
		a.f("VDIVPS {y}, {one}, {y}")
		a.f("VMOVUPS {y}, ({dst})")
	})
	finish(a)
}

// genTanh writes tanh x = 1 - 2 / (1 + e²ˣ).
func genTanh(a *file, v vec) {
	r := v.reg
	a.function("tanh"+v.level, "dst, x *float32, n int", "tanh"+v.level+" is Tanh for n floats, n a multiple of the vector.")
	a.use(
		"t1", r(1), "t2", r(2), "t3", r(3), "dst", "DI", "x", "SI",
		"n", "CX", // left
		"one", r(6), "two", r(5), "y", r(0),
	)
	a.load("dst", "x", "n")
	v.fill(a, point(pOne), "{one}")
	v.fill(a, point(pTwo), "{two}")
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VMULPS ({x}), {two}, {y}")
		expOf(a, v)
		a.f("VADDPS {one}, {y}, {y}")
		a.f("VDIVPS {y}, {two}, {y}")
		a.f("VSUBPS {y}, {one}, {y}")
		a.f("VMOVUPS {y}, ({dst})")
	})
	finish(a)
}

// gateEnd multiplies {y} by the values at {up}, unless that is nil, and stores it at {dst}.
func gateEnd(a *file, v vec) {
	label := a.fresh("alone")
	a.f("TESTQ {up}, {up}")
	a.f("JZ %s", label)
	a.f("VMULPS ({up}), {y}, {y}")
	a.f("ADDQ $%d, {up}", 4*v.lanes)
	a.l(label)
	a.f("VMOVUPS {y}, ({dst})")
}

// gateStart starts a function with a gate and loads its arguments.
func gateStart(a *file, name string, v vec, of string) {
	fn := name + v.level
	a.function(fn, "dst, x, up *float32, n int", fn+" is "+of+" for n floats, n a multiple of the vector; up may be nil.")
	a.use(
		"dst", "DI", "x", "SI",
		"up", "DX", // or nil
		"n", "CX", // left
	)
	a.load("dst", "x", "up", "n")
}

// genGELU writes x·Φ(x) = max(x, 0) - |x|·Φ(-|x|), Φ by Abramowitz & Stegun 7.1.26; see GELU
// in kernels/vec/act.go.
func genGELU(a *file, v vec) {
	r := v.reg
	sign := a.bytes("signBit", dwords(16, func(int) uint32 { return 1 << 31 }))
	gateStart(a, "gelu", v, "GELU")
	a.use(
		"y", r(0), "value", r(4), "magnitude", r(5), "sign", r(6), "t1", r(1),
		"t2", r(2), "t3", r(3),
	)
	a.f("VMOVUPS %s, {sign}", sym(sign, 0))
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VMOVUPS ({x}), {value}")
		a.f("VMULPS {value}, {value}, {y}")
		v.with(a, "VMULPS", point(pMinusHalf), "{y}, {y}")
		expOf(a, v)
		v.logic(a, "VPANDN", "{value}", "{sign}", "{magnitude}") // |x|
		v.fill(a, point(pOne), "{t1}")
		a.f("VMOVAPS {t1}, {t2}")
		v.with(a, "VFMADD231PS", point(pErfP), "{magnitude}, {t2}")
		a.f("VDIVPS {t2}, {t1}, {t1}") // t
		v.fill(a, point(pErf5), "{t2}")
		for c := pErf4; c <= pErf1; c++ {
			v.with(a, "VFMADD213PS", point(c), "{t1}, {t2}")
		}
		a.f("VMULPS {t1}, {t2}, {t2}")
		a.f("VMULPS {y}, {t2}, {t2}")
		v.with(a, "VMULPS", point(pHalf), "{t2}, {t2}") // Φ(-|x|)
		a.f("VXORPS {t3}, {t3}, {t3}")
		a.f("VMAXPS {value}, {t3}, {y}") // the last source, a NaN as well
		a.f("VFNMADD231PS {magnitude}, {t2}, {y}")
		gateEnd(a, v)
	})
	finish(a)
}

// genGELUTanh writes x / (1 + e⁻²ᵘ), u = √(2/π)·(x + 0.044715x³).
func genGELUTanh(a *file, v vec) {
	r := v.reg
	gateStart(a, "geluTanh", v, "GELUTanh")
	a.use(
		"t1", r(1), "t2", r(2), "t3", r(3), "y", r(0), "value", r(4),
		"one", r(6),
	)
	v.fill(a, point(pOne), "{one}")
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VMOVUPS ({x}), {value}")
		a.f("VMULPS {value}, {value}, {y}")
		v.with(a, "VFMADD132PS", point(pCubic), "{one}, {y}")
		a.f("VMULPS {value}, {y}, {y}")
		v.with(a, "VMULPS", point(pGELU), "{y}, {y}")
		expOf(a, v)
		a.f("VADDPS {one}, {y}, {y}")
		a.f("VDIVPS {y}, {value}, {y}")
		gateEnd(a, v)
	})
	finish(a)
}

// genLeaky writes a leaky ReLU of x·scale + shift: max(t, 0) + slope·min(t, 0).
func genLeaky(a *file, v vec) {
	r := v.reg
	fn := "leaky" + v.level
	a.function(fn, "dst, x, scale, shift *float32, n int, slope float32", fn+" writes t = x·scale + shift, or slope·t where t is negative, for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "x", "SI", "scale", "DX", "shift", "R8",
		"n", "CX", // left
		"y", r(0), "negative", r(1), "zero", r(4), "slope", r(5),
	)
	a.load("dst", "x", "scale", "shift", "n")
	a.f("VBROADCASTSS %s, {slope}", a.arg("slope"))
	a.f("VXORPS {zero}, {zero}, {zero}")
	pointwise(a, v, []string{"{dst}", "{x}", "{scale}", "{shift}"}, func() {
		a.f("VMOVUPS ({scale}), {negative}")
		a.f("VMOVUPS ({shift}), {y}")
		a.f("VFMADD231PS ({x}), {negative}, {y}")
		a.f("VMINPS {zero}, {y}, {negative}")
		a.f("VMAXPS {y}, {zero}, {y}") // the last source, a NaN as well
		a.f("VFMADD231PS {slope}, {negative}, {y}")
		a.f("VMOVUPS {y}, ({dst})")
	})
	finish(a)
}

// genSin writes sines.
func genSin(a *file, v vec) {
	r := v.reg
	a.function("sin"+v.level, "dst, x *float32, n int", "sin"+v.level+" is Sin for n floats of at most 2²², n a multiple of the vector.")
	a.use(
		"t1", r(1), "t2", r(2), "t3", r(3), "dst", "DI", "x", "SI",
		"n", "CX", // left
		"y", r(0),
	)
	a.load("dst", "x", "n")
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VMOVUPS ({x}), {y}")
		sinOf(a, v, true)
		a.f("VXORPS {t3}, {y}, {y}")
		a.f("VMOVUPS {y}, ({dst})")
	})
	finish(a)
}

// genSnake writes the activation snake, t + sin²(alpha·t)·inverse (Ziyin et al., 2020).
func genSnake(a *file, v vec) {
	r := v.reg
	fn := "snake" + v.level
	a.function(fn, "dst, x, scale, shift, alpha, inverse *float32, n int", fn+" writes t + sin²(alpha·t)·inverse, t = x·scale + shift, for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "x", "SI", "scale", "DX", "shift", "R8", "alpha", "R9",
		"inverse", "R10",
		"n", "CX", // left
		"y", r(0), "t1", r(1), "t2", r(2), "t", r(4),
	)
	a.load("dst", "x", "scale", "shift", "alpha", "inverse", "n")
	pointwise(a, v, []string{"{dst}", "{x}", "{scale}", "{shift}", "{alpha}", "{inverse}"}, func() {
		a.f("VMOVUPS ({scale}), {t1}")
		a.f("VMOVUPS ({shift}), {t}")
		a.f("VFMADD231PS ({x}), {t1}, {t}")
		a.f("VMULPS ({alpha}), {t}, {y}")
		sinOf(a, v, false)
		a.f("VMULPS {y}, {y}, {y}")
		a.f("VFMADD231PS ({inverse}), {y}, {t}")
		a.f("VMOVUPS {t}, ({dst})")
	})
	finish(a)
}

// genArith writes dst = x·by, x + y, x·y and dst + x·by.
func genArith(a *file, v vec) {
	a.function("scale"+v.level, "dst, x *float32, n int, by float32", "scale"+v.level+" is Scale for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "x", "SI",
		"n", "CX", // left
		"product", v.reg(0), "by", v.reg(5),
	)
	a.load("dst", "x", "n")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VMULPS ({x}), {by}, {product}")
		a.f("VMOVUPS {product}, ({dst})")
	})
	finish(a)
	for _, op := range []struct{ name, instruction, result string }{{"add", "VADDPS", "sum"}, {"mul", "VMULPS", "product"}} {
		fn := op.name + v.level
		a.function(fn, "dst, x, y *float32, n int", fn+" writes the "+op.result+" of x and y for n floats, n a multiple of the vector.")
		a.use(
			"dst", "DI", "x", "SI", "y", "DX",
			"n", "CX", // left
			"value", v.reg(0),
		)
		a.load("dst", "x", "y", "n")
		pointwise(a, v, []string{"{dst}", "{x}", "{y}"}, func() {
			a.f("VMOVUPS ({x}), {value}")
			a.f("%s ({y}), {value}, {value}", op.instruction)
			a.f("VMOVUPS {value}, ({dst})")
		})
		finish(a)
	}
	a.function("plus"+v.level, "dst, x *float32, n int, by float32", "plus"+v.level+" is Plus for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "x", "SI",
		"n", "CX", // left
		"sum", v.reg(0), "by", v.reg(5),
	)
	a.load("dst", "x", "n")
	a.f("VBROADCASTSS %s, {by}", a.arg("by"))
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VMOVUPS ({dst}), {sum}")
		a.f("VFMADD231PS ({x}), {by}, {sum}")
		a.f("VMOVUPS {sum}, ({dst})")
	})
	finish(a)
}

// genMax writes the larger of x and y, and what is not a number of either.
func genMax(a *file, v vec) {
	r := v.reg
	fn := "max" + v.level
	a.function(fn, "dst, x, y *float32, n int", fn+" is Max for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "x", "SI", "y", "DX",
		"n", "CX", // left
		"top", r(0), "value", r(1), "odd", r(2),
	)
	a.load("dst", "x", "y", "n")
	pointwise(a, v, []string{"{dst}", "{x}", "{y}"}, func() {
		a.f("VMOVUPS ({x}), {value}")
		a.f("VMOVUPS ({y}), {top}")
		a.f("VMAXPS {top}, {value}, {top}") // of y, where one is none
		if v.lanes == 16 {
			a.f("VCMPPS $3, {value}, {value}, K1")
			a.f("VMOVAPS {value}, K1, {top}")
		} else {
			a.f("VCMPPS $3, {value}, {value}, {odd}")
			a.f("VBLENDVPS {odd}, {value}, {top}, {top}")
		}
		a.f("VMOVUPS {top}, ({dst})")
	})
	finish(a)
}

// genAffine writes max(x·by + add, floor).
func genAffine(a *file, v vec) {
	r := v.reg
	fn := "affine" + v.level
	a.function(fn, "dst, x *float32, n int, by, add, floor float32", fn+" is Affine for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "x", "SI",
		"n", "CX", // left
		"y", r(0), "by", r(1), "add", r(2), "floor", r(3),
	)
	a.load("dst", "x", "n")
	for _, name := range []string{"by", "add", "floor"} {
		a.f("VBROADCASTSS %s, {%s}", a.arg(name), name)
	}
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VMOVAPS {add}, {y}")
		a.f("VFMADD231PS ({x}), {by}, {y}")
		a.f("VMAXPS {y}, {floor}, {y}") // the last source, a NaN as well
		a.f("VMOVUPS {y}, ({dst})")
	})
	finish(a)
}

// genBend writes t = x·by + add, times slope where it is negative.
func genBend(a *file, v vec) {
	r := v.reg
	fn := "bend" + v.level
	a.function(fn, "dst, x *float32, n int, by, add, slope float32", fn+" is Bend for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "x", "SI",
		"n", "CX", // left
		"y", r(0), "by", r(1), "add", r(2), "slope", r(3), "negative", r(4), "zero", r(5),
	)
	a.load("dst", "x", "n")
	for _, name := range []string{"by", "add", "slope"} {
		a.f("VBROADCASTSS %s, {%s}", a.arg(name), name)
	}
	a.f("VXORPS {zero}, {zero}, {zero}")
	pointwise(a, v, []string{"{dst}", "{x}"}, func() {
		a.f("VMOVAPS {add}, {y}")
		a.f("VFMADD231PS ({x}), {by}, {y}")
		a.f("VMINPS {zero}, {y}, {negative}")
		a.f("VMAXPS {y}, {zero}, {y}") // the last source, a NaN as well
		a.f("VFMADD231PS {slope}, {negative}, {y}")
		a.f("VMOVUPS {y}, ({dst})")
	})
	finish(a)
}
