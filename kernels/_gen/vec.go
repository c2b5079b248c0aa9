package main

import (
	"encoding/binary"
	"math"
)

// Vector forms of kernels/vec/act.go: the same range reduction and polynomial as
// exp there, so the same error bound. n is a multiple of the vector.

// f32s is float32 constants, each repeated n times.
func f32s(n int, v ...float32) []byte {
	var b []byte
	for _, x := range v {
		for range n {
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

// A constant is one of a table in read-only memory, where each is repeated over 32 bytes.
type constant struct {
	table  string
	values []float32
	i      int
}

// at is where eight of it stand.
func (c constant) at(a *file) string {
	return sym(a.bytes(c.table, f32s(8, c.values...)), 32*c.i)
}

func exp(i int) constant { return constant{"expConst", expConsts, i} }

// with emits op with a constant as its first operand. AVX-512 reads the one number and
// repeats it, AVX2 reads 32 bytes, to which Go's linker aligns a table: no read crosses a
// cache line, wherever the table comes to lie.
func (v vec) with(a *file, op string, c constant, operands string) {
	if v.lanes == 16 {
		op += ".BCST"
	}
	a.f("%s %s, %s", op, c.at(a), operands)
}

// fill fills a register with a constant.
func (v vec) fill(a *file, c constant, to string) {
	a.f("VBROADCASTSS %s, %s", c.at(a), to)
}

// genVec writes the gated activation and the exponential of a softmax.
func genVec(a *file) {
	for _, v := range vecs {
		siluGate(a, v)
		expSum(a, v)
	}
}

// expOf makes {y} exp({y}): x = k·ln2 + r with ln2 in two parts (Cody & Waite, 1980), a
// polynomial in r, and k added to the exponent. MAX and MIN return their last source where
// one is NaN, so the clamp keeps a NaN. {t1} to {t3} are scratch.
func expOf(a *file, v vec) {
	// In Go's order the last source is the first operand.
	v.fill(a, exp(cLow), "{t1}")
	a.f("VMAXPS {y}, {t1}, {y}")
	v.fill(a, exp(cHigh), "{t1}")
	a.f("VMINPS {y}, {t1}, {y}")
	v.fill(a, exp(cLog2e), "{t1}")
	v.fill(a, exp(cShift), "{t3}")
	a.f("VMULPS {t1}, {y}, {t1}")
	a.f("VADDPS {t3}, {t1}, {t1}") // k in the low bits
	a.f("VSUBPS {t3}, {t1}, {t2}") // k as a float
	v.with(a, "VFNMADD231PS", exp(cLn2Hi), "{t2}, {y}")
	v.with(a, "VFNMADD231PS", exp(cLn2Lo), "{t2}, {y}") // r
	a.f("VPSLLD $23, {t1}, {t1}")                       // k as an exponent, the shift falls off
	v.fill(a, exp(cPoly0), "{t2}")
	for i := cPoly0 + 1; i <= cOne; i++ {
		v.with(a, "VFMADD213PS", exp(i), "{y}, {t2}")
	}
	v.with(a, "VFMADD213PS", exp(cOne), "{y}, {t2}")
	// 2ᵏ is put on by adding to the exponent. k reaches 128 while eʳ may be
	// below one, so only the sum has to be an exponent.
	a.f("VPADDD {t1}, {t2}, {t2}")
	// The integer sum may have made a number of a NaN; r·0 brings it back.
	a.f("VXORPS {t3}, {t3}, {t3}")
	a.f("VFMADD213PS {t2}, {t3}, {y}")
}

// siluGate writes gate / (1 + exp(-gate)) · up.
func siluGate(a *file, v vec) {
	fn := "siluGate" + v.level
	a.function(fn, "dst, gate, up *float32, n int", fn+" is SiLUGate for n floats, n a multiple of the vector.")
	a.use(
		"dst", "DI", "gate", "SI", "up", "DX",
		"n", "CX", // left
		"x", v.reg(4), "y", v.reg(0), "t1", v.reg(1), "t2", v.reg(2),
		"t3", v.reg(3),
	)
	sign := a.bytes("signBit", dwords(16, func(int) uint32 { return 1 << 31 }))
	a.load("dst", "gate", "up", "n")
	a.l("loop")
	a.f("CMPQ {n}, $%d", v.lanes)
	a.f("JLT done")
	a.f("VMOVUPS ({gate}), {x}")
	if v.lanes == 16 {
		a.f("VPXORD %s, {x}, {y}", sym(sign, 0))
	} else {
		a.f("VPXOR %s, {x}, {y}", sym(sign, 0))
	}
	expOf(a, v)
	v.with(a, "VADDPS", exp(cOne), "{y}, {y}")
	a.f("VDIVPS {y}, {x}, {y}")
	a.f("VMULPS ({up}), {y}, {y}")
	a.f("VMOVUPS {y}, ({dst})")
	a.f("ADDQ $%d, {gate}", 4*v.lanes)
	a.f("ADDQ $%d, {up}", 4*v.lanes)
	a.f("ADDQ $%d, {dst}", 4*v.lanes)
	a.f("SUBQ $%d, {n}", v.lanes)
	a.f("JMP loop")
	a.l("done")
	finish(a)
}

// expSum writes x[i] = exp(x[i] - top) and their sum.
func expSum(a *file, v vec) {
	fn := "expSum" + v.level
	a.returning(fn, "x *float32, n int, top float32", "sum float32", fn+" replaces n floats by exp(x - top) and returns their sum, n a multiple of the vector.")
	a.use(
		"x", "DI",
		"n", "CX", // left
		"top", v.reg(5), "sum", v.reg(6), "y", v.reg(0), "t1", v.reg(1),
		"t2", v.reg(2), "t3", v.reg(3),
	)
	a.load("x", "n")
	a.f("VBROADCASTSS %s, {top}", a.arg("top"))
	a.f("VXORPS {sum}, {sum}, {sum}")
	a.l("loop")
	a.f("CMPQ {n}, $%d", v.lanes)
	a.f("JLT done")
	a.f("VMOVUPS ({x}), {y}")
	a.f("VSUBPS {top}, {y}, {y}")
	expOf(a, v)
	a.f("VMOVUPS {y}, ({x})")
	a.f("VADDPS {y}, {sum}, {sum}")
	a.f("ADDQ $%d, {x}", 4*v.lanes)
	a.f("SUBQ $%d, {n}", v.lanes)
	a.f("JMP loop")
	a.l("done")
	if v.lanes == 16 {
		sumZ(a, a.num("sum"), 0)
	} else {
		sumY(a, a.num("sum"), 0)
	}
	a.f("VMOVSS {sum.x}, %s", a.arg("sum"))
	finish(a)
}
