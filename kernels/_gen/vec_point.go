package main

import "math"

// Pointwise kernels and sums over rows: what norms, activations and attention
// do to every value. n is a multiple of the vector; Go does what is left.

// points are the constants of the kernels here, each repeated over 64 bytes.
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

func point(a *file, i int) string { return sym(a.bytes("pointConst", f32s(pointConsts...)), 64*i) }

// pointwise emits a loop over n values in CX. Each pointer register goes on by
// a vector per turn.
func pointwise(a *file, v vec, pointers []string, body func()) {
	label := a.fresh("loop")
	a.f("SUBQ $%d, CX", v.lanes)
	a.f("JLT %sDone", label)
	a.l(label)
	body()
	for _, p := range pointers {
		a.f("ADDQ $%d, %s", 4*v.lanes, p)
	}
	a.f("SUBQ $%d, CX", v.lanes)
	a.f("JGE %s", label)
	a.l(label + "Done")
}

func finish(a *file) {
	a.f("VZEROUPPER")
	a.f("RET")
}

// logic emits a bitwise instruction, which AVX-512 spells by element.
func (v vec) logic(a *file, op, x, y, to string) {
	if v.lanes == 16 {
		op += "D"
	}
	a.f("%s %s, %s, %s", op, x, y, to)
}

// sinOf emits v0 = sin(v0), or ± that where only its square is wanted; v1 and
// v2 are scratch. x = k·π + r with |r| ≤ π/2 and sin r by its Taylor polynomial
// of degree 11, whose remainder there is below 6·10⁻⁸.
func sinOf(a *file, v vec, v0, v1, v2 int, sign bool) {
	r := v.reg
	a.f("VMOVUPS %s, %s", point(a, pShift), r(v1))
	a.f("VFMADD231PS %s, %s, %s", point(a, pInvPi), r(v0), r(v1)) // k in the low bits
	a.f("VSUBPS %s, %s, %s", point(a, pShift), r(v1), r(v2))
	a.f("VFNMADD231PS %s, %s, %s", point(a, pPiHi), r(v2), r(v0))
	a.f("VFNMADD231PS %s, %s, %s", point(a, pPiLo), r(v2), r(v0))
	if sign { // odd k: the other half of the circle
		a.f("VPSLLD $31, %s, %s", r(v1), r(v1))
		v.logic(a, "VPXOR", r(v1), r(v0), r(v0))
	}
	a.f("VMULPS %s, %s, %s", r(v0), r(v0), r(v1))
	a.f("VMOVUPS %s, %s", point(a, pS11), r(v2))
	for c := pS9; c <= pS3; c++ {
		a.f("VFMADD213PS %s, %s, %s", point(a, c), r(v1), r(v2))
	}
	a.f("VMULPS %s, %s, %s", r(v1), r(v2), r(v2))
	a.f("VFMADD213PS %s, %s, %s", r(v0), r(v0), r(v2)) // r·(r²·p) + r
	a.f("VMOVAPS %s, %s", r(v2), r(v0))
}

func genPoints(a *file) {
	genPrefetch(a)
	for _, v := range vecs {
		genSin(a, v)
		genSigmoid(a, v)
		genTanh(a, v)
		genGELU(a, v)
		genGELUTanh(a, v)
		genLeaky(a, v)
		genSnake(a, v)
		genColumns(a, v)
		genSums(a, v)
		genNormal(a, v)
		genScaleMax(a, v)
		genArith(a, v)
	}
}

// genPrefetch: what is asked for goes to the second-level cache; the first is
// too small for what attention asks for at a time.
func genPrefetch(a *file) {
	a.function("prefetchLines", "p *byte, n int", 16, "prefetchLines asks for the n bytes at p, n at least 1.")
	a.f("MOVQ p+0(FP), SI")
	a.f("MOVQ n+8(FP), CX")
	a.l("line")
	a.f("PREFETCHT1 (SI)")
	a.f("ADDQ $64, SI")
	a.f("SUBQ $64, CX")
	a.f("JG line")
	a.f("RET")
}

func genSin(a *file, v vec) {
	a.function("sin"+v.level, "dst, x *float32, n int", 24, "sin"+v.level+" is Sin for n floats, n a multiple of the vector.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ n+16(FP), CX")
	pointwise(a, v, []string{"DI", "SI"}, func() {
		a.f("VMOVUPS (SI), %s", v.reg(0))
		sinOf(a, v, 0, 1, 2, true)
		a.f("VMOVUPS %s, (DI)", v.reg(0))
	})
	finish(a)
}

func genSigmoid(a *file, v vec) {
	r := v.reg
	a.function("sigmoid"+v.level, "dst, x *float32, n int", 24, "sigmoid"+v.level+" is Sigmoid for n floats, n a multiple of the vector.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ n+16(FP), CX")
	a.f("VMOVUPS %s, %s", point(a, pOne), r(6))
	pointwise(a, v, []string{"DI", "SI"}, func() {
		a.f("VXORPS %s, %s, %s", r(0), r(0), r(0))
		a.f("VSUBPS (SI), %s, %s", r(0), r(0))
		expOf(a, v, 0, 1, 2, 3)
		a.f("VADDPS %s, %s, %s", r(6), r(0), r(0))
		a.f("VDIVPS %s, %s, %s", r(0), r(6), r(0))
		a.f("VMOVUPS %s, (DI)", r(0))
	})
	finish(a)
}

// genTanh: tanh x = 1 - 2 / (1 + e²ˣ).
func genTanh(a *file, v vec) {
	r := v.reg
	a.function("tanh"+v.level, "dst, x *float32, n int", 24, "tanh"+v.level+" is Tanh for n floats, n a multiple of the vector.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ n+16(FP), CX")
	a.f("VMOVUPS %s, %s", point(a, pOne), r(6))
	a.f("VMOVUPS %s, %s", point(a, pTwo), r(5))
	pointwise(a, v, []string{"DI", "SI"}, func() {
		a.f("VMULPS (SI), %s, %s", r(5), r(0))
		expOf(a, v, 0, 1, 2, 3)
		a.f("VADDPS %s, %s, %s", r(6), r(0), r(0))
		a.f("VDIVPS %s, %s, %s", r(0), r(5), r(0))
		a.f("VSUBPS %s, %s, %s", r(0), r(6), r(0))
		a.f("VMOVUPS %s, (DI)", r(0))
	})
	finish(a)
}

// gateEnd multiplies v0 by the values at DX, where there are some, and stores.
func gateEnd(a *file, v vec) {
	label := a.fresh("alone")
	a.f("TESTQ DX, DX")
	a.f("JZ %s", label)
	a.f("VMULPS (DX), %s, %s", v.reg(0), v.reg(0))
	a.f("ADDQ $%d, DX", 4*v.lanes)
	a.l(label)
	a.f("VMOVUPS %s, (DI)", v.reg(0))
}

func gateStart(a *file, name string, v vec, of string) {
	fn := name + v.level
	a.function(fn, "dst, x, up *float32, n int", 32, fn+" is "+of+" for n floats, n a multiple of the vector; up may be nil.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ up+16(FP), DX")
	a.f("MOVQ n+24(FP), CX")
}

// genGELU: x·Φ(x) = max(x, 0) - |x|·Φ(-|x|); see GELU in kernels/act.go.
func genGELU(a *file, v vec) {
	r := v.reg
	sign := a.bytes("signBit", dwords(16, func(int) uint32 { return 1 << 31 }))
	gateStart(a, "gelu", v, "GELU")
	a.f("VMOVUPS %s, %s", sym(sign, 0), r(6))
	pointwise(a, v, []string{"DI", "SI"}, func() {
		a.f("VMOVUPS (SI), %s", r(4))
		a.f("VMULPS %s, %s, %s", r(4), r(4), r(0))
		a.f("VMULPS %s, %s, %s", point(a, pMinusHalf), r(0), r(0))
		expOf(a, v, 0, 1, 2, 3)
		v.logic(a, "VPANDN", r(4), r(6), r(5)) // |x|
		a.f("VMOVUPS %s, %s", point(a, pOne), r(1))
		a.f("VMOVAPS %s, %s", r(1), r(2))
		a.f("VFMADD231PS %s, %s, %s", point(a, pErfP), r(5), r(2))
		a.f("VDIVPS %s, %s, %s", r(2), r(1), r(1)) // t
		a.f("VMOVUPS %s, %s", point(a, pErf5), r(2))
		for c := pErf4; c <= pErf1; c++ {
			a.f("VFMADD213PS %s, %s, %s", point(a, c), r(1), r(2))
		}
		a.f("VMULPS %s, %s, %s", r(1), r(2), r(2))
		a.f("VMULPS %s, %s, %s", r(0), r(2), r(2))
		a.f("VMULPS %s, %s, %s", point(a, pHalf), r(2), r(2)) // Φ(-|x|)
		a.f("VXORPS %s, %s, %s", r(3), r(3), r(3))
		a.f("VMAXPS %s, %s, %s", r(4), r(3), r(0)) // the last source, a NaN as well
		a.f("VFNMADD231PS %s, %s, %s", r(5), r(2), r(0))
		gateEnd(a, v)
	})
	finish(a)
}

// genGELUTanh: x / (1 + e⁻²ᵘ), u = √(2/π)·(x + 0.044715x³).
func genGELUTanh(a *file, v vec) {
	r := v.reg
	gateStart(a, "geluTanh", v, "GELUTanh")
	a.f("VMOVUPS %s, %s", point(a, pOne), r(6))
	pointwise(a, v, []string{"DI", "SI"}, func() {
		a.f("VMOVUPS (SI), %s", r(4))
		a.f("VMULPS %s, %s, %s", r(4), r(4), r(0))
		a.f("VFMADD132PS %s, %s, %s", point(a, pCubic), r(6), r(0))
		a.f("VMULPS %s, %s, %s", r(4), r(0), r(0))
		a.f("VMULPS %s, %s, %s", point(a, pGELU), r(0), r(0))
		expOf(a, v, 0, 1, 2, 3)
		a.f("VADDPS %s, %s, %s", r(6), r(0), r(0))
		a.f("VDIVPS %s, %s, %s", r(0), r(4), r(0))
		gateEnd(a, v)
	})
	finish(a)
}

func genLeaky(a *file, v vec) {
	r := v.reg
	fn := "leaky" + v.level
	a.function(fn, "dst, x, scale, shift *float32, n int, slope float32", 44, fn+" writes t = x·scale + shift, or slope·t where t is negative, for n floats, n a multiple of the vector.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ scale+16(FP), DX")
	a.f("MOVQ shift+24(FP), R8")
	a.f("MOVQ n+32(FP), CX")
	a.f("VBROADCASTSS slope+40(FP), %s", r(5))
	a.f("VXORPS %s, %s, %s", r(4), r(4), r(4))
	pointwise(a, v, []string{"DI", "SI", "DX", "R8"}, func() {
		a.f("VMOVUPS (DX), %s", r(1))
		a.f("VMOVUPS (R8), %s", r(0))
		a.f("VFMADD231PS (SI), %s, %s", r(1), r(0))
		a.f("VMINPS %s, %s, %s", r(4), r(0), r(1))
		a.f("VMAXPS %s, %s, %s", r(0), r(4), r(0)) // the last source, a NaN as well
		a.f("VFMADD231PS %s, %s, %s", r(5), r(1), r(0))
		a.f("VMOVUPS %s, (DI)", r(0))
	})
	finish(a)
}

func genSnake(a *file, v vec) {
	r := v.reg
	fn := "snake" + v.level
	a.function(fn, "dst, x, scale, shift, alpha, inverse *float32, n int", 56, fn+" writes t + sin²(alpha·t)·inverse, t = x·scale + shift, for n floats, n a multiple of the vector.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ scale+16(FP), DX")
	a.f("MOVQ shift+24(FP), R8")
	a.f("MOVQ alpha+32(FP), R9")
	a.f("MOVQ inverse+40(FP), R10")
	a.f("MOVQ n+48(FP), CX")
	pointwise(a, v, []string{"DI", "SI", "DX", "R8", "R9", "R10"}, func() {
		a.f("VMOVUPS (DX), %s", r(1))
		a.f("VMOVUPS (R8), %s", r(4))
		a.f("VFMADD231PS (SI), %s, %s", r(1), r(4))
		a.f("VMULPS (R9), %s, %s", r(4), r(0))
		sinOf(a, v, 0, 1, 2, false)
		a.f("VMULPS %s, %s, %s", r(0), r(0), r(0))
		a.f("VFMADD231PS (R10), %s, %s", r(0), r(4))
		a.f("VMOVUPS %s, (DI)", r(4))
	})
	finish(a)
}

// genColumns: sums down columns, rows in ascending order.
func genColumns(a *file, v vec) {
	for _, squares := range []bool{false, true} {
		fn, params, bytes, doc := "columnSums"+v.level, "sum, x *float32, stride, rows, n int", 40, " writes the sums of n columns of x, n a multiple of the vector; rows are stride floats apart."
		if squares {
			fn, params, bytes, doc = "columnSquares"+v.level, "sum, x, mean *float32, stride, rows, n int", 48, " writes the sums of (x - mean)² of n columns of x, n a multiple of the vector; rows are stride floats apart."
		}
		a.function(fn, params, bytes, fn+doc)
		a.f("MOVQ sum+0(FP), DI")
		a.f("MOVQ x+8(FP), SI")
		o := 16
		pointers := []string{"DI", "SI"}
		if squares {
			a.f("MOVQ mean+16(FP), R9")
			o, pointers = 24, append(pointers, "R9")
		}
		a.f("MOVQ stride+%d(FP), R8", o)
		a.f("SHLQ $2, R8")
		a.f("MOVQ rows+%d(FP), R10", o+8)
		a.f("MOVQ n+%d(FP), CX", o+16)
		strip := v
		strip.lanes *= 4
		down := func(vecs int) func() {
			return func() {
				for i := range vecs {
					a.f("VXORPS %s, %s, %s", v.reg(i), v.reg(i), v.reg(i))
					if squares {
						a.f("VMOVUPS %d(R9), %s", 4*v.lanes*i, v.reg(4+i))
					}
				}
				a.f("MOVQ SI, BX")
				a.f("MOVQ R10, DX")
				label := a.fresh("down")
				a.l(label)
				for i := range vecs {
					m := mem(4*v.lanes*i, "BX")
					if !squares {
						a.f("VADDPS %s, %s, %s", m, v.reg(i), v.reg(i))
						continue
					}
					a.f("VMOVUPS %s, %s", m, v.reg(8+i))
					a.f("VSUBPS %s, %s, %s", v.reg(4+i), v.reg(8+i), v.reg(8+i))
					a.f("VFMADD231PS %s, %s, %s", v.reg(8+i), v.reg(8+i), v.reg(i))
				}
				a.f("ADDQ R8, BX")
				a.f("DECQ DX")
				a.f("JNZ %s", label)
				for i := range vecs {
					a.f("VMOVUPS %s, %d(DI)", v.reg(i), 4*v.lanes*i)
				}
			}
		}
		pointwise(a, strip, pointers, down(4))
		a.f("ADDQ $%d, CX", strip.lanes)
		pointwise(a, v, pointers, down(1))
		finish(a)
	}
}

// sum folds v0 into X0.
func (v vec) sum(a *file, v0, t int) {
	if v.lanes == 16 {
		sumZ(a, v0, t)
	} else {
		sumY(a, v0, t)
	}
}

// genSums: one running sum per lane and, where there are enough, two of those.
func genSums(a *file, v vec) {
	r := v.reg
	for _, squares := range []bool{false, true} {
		fn, params, bytes, ret, doc := "sum"+v.level, "x *float32, n int) (sum float32", 20, "sum+16(FP)", " returns the sum of n floats, n a multiple of the vector."
		if squares {
			fn, params, bytes, ret, doc = "squares"+v.level, "x *float32, n int, less float32) (sum float32", 28, "sum+24(FP)", " returns the sum of (x - less)² of n floats, n a multiple of the vector."
		}
		a.function(fn, params, bytes, fn+doc)
		a.f("MOVQ x+0(FP), SI")
		a.f("MOVQ n+8(FP), CX")
		if squares {
			a.f("VBROADCASTSS less+16(FP), %s", r(4))
		}
		a.f("VXORPS %s, %s, %s", r(0), r(0), r(0))
		a.f("VXORPS %s, %s, %s", r(1), r(1), r(1))
		strip := v
		strip.lanes *= 2
		add := func(vecs int) func() {
			return func() {
				for i := range vecs {
					m := mem(4*v.lanes*i, "SI")
					if !squares {
						a.f("VADDPS %s, %s, %s", m, r(i), r(i))
						continue
					}
					a.f("VMOVUPS %s, %s", m, r(2+i))
					a.f("VSUBPS %s, %s, %s", r(4), r(2+i), r(2+i))
					a.f("VFMADD231PS %s, %s, %s", r(2+i), r(2+i), r(i))
				}
			}
		}
		pointwise(a, strip, []string{"SI"}, add(2))
		a.f("ADDQ $%d, CX", strip.lanes)
		pointwise(a, v, []string{"SI"}, add(1))
		a.f("VADDPS %s, %s, %s", r(1), r(0), r(0))
		v.sum(a, 0, 1)
		a.f("VMOVSS X0, %s", ret)
		finish(a)
	}
}

func genNormal(a *file, v vec) {
	r := v.reg
	fn := "normal" + v.level
	a.function(fn, "dst, x, w, bias *float32, n int, less, by float32", 48, fn+" writes (x - less)·by·w + bias for n floats, n a multiple of the vector; bias may be nil.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ w+16(FP), DX")
	a.f("MOVQ bias+24(FP), R8")
	a.f("MOVQ n+32(FP), CX")
	a.f("VBROADCASTSS less+40(FP), %s", r(4))
	a.f("VBROADCASTSS by+44(FP), %s", r(5))
	pointwise(a, v, []string{"DI", "SI", "DX"}, func() {
		label := a.fresh("plain")
		a.f("VMOVUPS (SI), %s", r(0))
		a.f("VSUBPS %s, %s, %s", r(4), r(0), r(0))
		a.f("VMULPS %s, %s, %s", r(5), r(0), r(0))
		a.f("VMULPS (DX), %s, %s", r(0), r(0))
		a.f("TESTQ R8, R8")
		a.f("JZ %s", label)
		a.f("VADDPS (R8), %s, %s", r(0), r(0))
		a.f("ADDQ $%d, R8", 4*v.lanes)
		a.l(label)
		a.f("VMOVUPS %s, (DI)", r(0))
	})
	finish(a)
}

// maxX leaves the largest of the floats of v0 in X0's first.
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

func genScaleMax(a *file, v vec) {
	r := v.reg
	fn := "scaleMax" + v.level
	a.function(fn, "x *float32, n int, by float32) (top float32", 28, fn+" multiplies n floats by by and returns the largest, n a multiple of the vector. A NaN is passed over.")
	a.f("MOVQ x+0(FP), DI")
	a.f("MOVQ n+8(FP), CX")
	a.f("VBROADCASTSS by+16(FP), %s", r(5))
	a.f("VMOVUPS %s, %s", point(a, pMinusInf), r(6))
	pointwise(a, v, []string{"DI"}, func() {
		a.f("VMULPS (DI), %s, %s", r(5), r(0))
		a.f("VMOVUPS %s, (DI)", r(0))
		a.f("VMAXPS %s, %s, %s", r(6), r(0), r(6)) // the last source is the old one
	})
	v.max(a, 6, 0)
	a.f("VMOVSS X6, top+24(FP)")
	finish(a)
}

func genArith(a *file, v vec) {
	r := v.reg
	a.function("scale"+v.level, "dst, x *float32, n int, by float32", 28, "scale"+v.level+" is Scale for n floats, n a multiple of the vector.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ n+16(FP), CX")
	a.f("VBROADCASTSS by+24(FP), %s", r(5))
	pointwise(a, v, []string{"DI", "SI"}, func() {
		a.f("VMULPS (SI), %s, %s", r(5), r(0))
		a.f("VMOVUPS %s, (DI)", r(0))
	})
	finish(a)
	a.function("add"+v.level, "dst, x, y *float32, n int", 32, "add"+v.level+" is Add for n floats, n a multiple of the vector.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ y+16(FP), DX")
	a.f("MOVQ n+24(FP), CX")
	pointwise(a, v, []string{"DI", "SI", "DX"}, func() {
		a.f("VMOVUPS (SI), %s", r(0))
		a.f("VADDPS (DX), %s, %s", r(0), r(0))
		a.f("VMOVUPS %s, (DI)", r(0))
	})
	finish(a)
}
