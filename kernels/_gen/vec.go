package main

import (
	"encoding/binary"
	"math"
)

// Vector forms of kernels/act.go: the same range reduction and polynomial as
// exp there, so the same error bound. n is a multiple of the vector.

// f32s is float32 constants, each repeated over a vector of 64 bytes.
func f32s(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		for range 16 {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

const ln2Hi = 0x1.62e4p-1

// expConsts are in the order the offsets below name.
var expConsts = []float32{
	-87.33, 88.72, 1 / math.Ln2, 0x1.8p23, ln2Hi, math.Ln2 - ln2Hi,
	1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1,
}

const (
	cLow = iota
	cHigh
	cLog2e
	cShift
	cLn2Hi
	cLn2Lo
	cPoly0
	cOne = 12
)

// vec is one instruction set's vectors.
type vec struct {
	level string
	lanes int
	reg   func(int) string
}

var vecs = []vec{{"AVX512", 16, z}, {"AVX2", 8, y}}

func genVec(a *file) {
	for _, v := range vecs {
		siluGate(a, v)
		expSum(a, v)
	}
}

// expOf emits reg v0 = exp(v0); v1–v3 are scratch. NaN stays NaN: the clamp
// takes it as MAX and MIN take their last source.
func expOf(a *file, v vec, v0, v1, v2, v3 int) {
	c := a.bytes("expConst", f32s(expConsts...))
	k := func(i int) string { return sym(c, 64*i) }
	r := v.reg
	// In Go's order the last source is the first operand.
	a.f("VMOVUPS %s, %s", k(cLow), r(v1))
	a.f("VMAXPS %s, %s, %s", r(v0), r(v1), r(v0))
	a.f("VMOVUPS %s, %s", k(cHigh), r(v1))
	a.f("VMINPS %s, %s, %s", r(v0), r(v1), r(v0))
	a.f("VMOVUPS %s, %s", k(cLog2e), r(v1))
	a.f("VMOVUPS %s, %s", k(cShift), r(v3))
	a.f("VMULPS %s, %s, %s", r(v1), r(v0), r(v1))
	a.f("VADDPS %s, %s, %s", r(v3), r(v1), r(v1)) // k in the low bits
	a.f("VSUBPS %s, %s, %s", r(v3), r(v1), r(v2)) // k as a float
	a.f("VFNMADD231PS %s, %s, %s", k(cLn2Hi), r(v2), r(v0))
	a.f("VFNMADD231PS %s, %s, %s", k(cLn2Lo), r(v2), r(v0)) // r
	a.f("VPSLLD $23, %s, %s", r(v1), r(v1))                 // k as an exponent, the shift falls off
	a.f("VMOVUPS %s, %s", k(cPoly0), r(v2))
	for i := cPoly0 + 1; i <= cOne; i++ {
		a.f("VFMADD213PS %s, %s, %s", k(i), r(v0), r(v2))
	}
	a.f("VFMADD213PS %s, %s, %s", k(cOne), r(v0), r(v2))
	// 2ᵏ is put on by adding to the exponent. k reaches 128 while eʳ may be
	// below one, so only the sum has to be an exponent.
	a.f("VPADDD %s, %s, %s", r(v1), r(v2), r(v2))
	// The integer sum may have made a number of a NaN; r·0 brings it back.
	a.f("VXORPS %s, %s, %s", r(v3), r(v3), r(v3))
	a.f("VFMADD213PS %s, %s, %s", r(v2), r(v3), r(v0))
}

func siluGate(a *file, v vec) {
	fn := "siluGate" + v.level
	a.function(fn, "dst, gate, up *float32, n int", 32, fn+" is SiLUGate for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI",
		"gate", "SI",
		"up", "DX",
		"n", "CX", // left
		"x", v.reg(4),
		"e", v.reg(0),
	)
	c := a.bytes("expConst", f32s(expConsts...))
	sign := a.bytes("signBit", dwords(16, func(int) uint32 { return 1 << 31 }))
	a.f("MOVQ dst+0(FP), {dst}")
	a.f("MOVQ gate+8(FP), {gate}")
	a.f("MOVQ up+16(FP), {up}")
	a.f("MOVQ n+24(FP), {n}")
	a.l("loop")
	a.f("CMPQ {n}, $%d", v.lanes)
	a.f("JLT done")
	a.f("VMOVUPS ({gate}), {x}")
	if v.lanes == 16 {
		a.f("VPXORD %s, {x}, {e}", sym(sign, 0))
	} else {
		a.f("VPXOR %s, {x}, {e}", sym(sign, 0))
	}
	expOf(a, v, 0, 1, 2, 3)
	a.f("VADDPS %s, {e}, {e}", sym(c, 64*cOne))
	a.f("VDIVPS {e}, {x}, {e}")
	a.f("VMULPS ({up}), {e}, {e}")
	a.f("VMOVUPS {e}, ({dst})")
	a.f("ADDQ $%d, {gate}", 4*v.lanes)
	a.f("ADDQ $%d, {up}", 4*v.lanes)
	a.f("ADDQ $%d, {dst}", 4*v.lanes)
	a.f("SUBQ $%d, {n}", v.lanes)
	a.f("JMP loop")
	a.l("done")
	a.f("VZEROUPPER")
	a.f("RET")
}

func expSum(a *file, v vec) {
	fn := "expSum" + v.level
	a.function(fn, "x *float32, n int, top float32) (sum float32", 28, fn+" replaces n floats by exp(x - top) and returns their sum, n a multiple of the vector.")
	a.use(
		"x", "DI",
		"n", "CX", // left
		"top", v.reg(5),
		"sum", v.reg(6),
		"e", v.reg(0),
	)
	a.f("MOVQ x+0(FP), {x}")
	a.f("MOVQ n+8(FP), {n}")
	a.f("VBROADCASTSS top+16(FP), {top}")
	a.f("VXORPS {sum}, {sum}, {sum}")
	a.l("loop")
	a.f("CMPQ {n}, $%d", v.lanes)
	a.f("JLT done")
	a.f("VMOVUPS ({x}), {e}")
	a.f("VSUBPS {top}, {e}, {e}")
	expOf(a, v, 0, 1, 2, 3)
	a.f("VMOVUPS {e}, ({x})")
	a.f("VADDPS {e}, {sum}, {sum}")
	a.f("ADDQ $%d, {x}", 4*v.lanes)
	a.f("SUBQ $%d, {n}", v.lanes)
	a.f("JMP loop")
	a.l("done")
	if v.lanes == 16 {
		sumZ(a, 6, 0)
	} else {
		sumY(a, 6, 0)
	}
	a.f("VMOVSS {sum.x}, sum+24(FP)")
	a.f("VZEROUPPER")
	a.f("RET")
}
