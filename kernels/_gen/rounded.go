package main

import "fmt"

// Rounded products take weights and activations as bf16, by the instructions of
// AVX512_BF16: VDPBF16PS adds two products to each of 16 sums, the odd one first, each
// rounded to float32; what is below 2⁻¹²⁶ counts as zero. A result has one running vector
// of sums over steps of 32 numbers, folded as sumZ does it, in every kernel.

// The types whose weights are multiplied so.
var roundedTypes = []string{"F16", "BF16"}

const roundedStep = 32 // numbers of a vector

// genRounded writes the kernels of rounded products.
func genRounded(a *file) {
	for _, t := range []string{"F32", "F16"} {
		genRounding(a, t)
	}
	for _, t := range roundedTypes {
		roundedDot(a, t)
	}
	for _, b := range floatTileRows["AVX512"] {
		floatTile(a, rounded, "", b, roundedStep, z)
	}
}

// rounded is the weight type of a float tile that multiplies bf16 with bf16.
const rounded = "Rounded"

// evex emits an instruction of AVX512_BF16, which Go's assembler does not know, on zmm
// registers dst, v and rm:
//
//	62 · R̅X̅B̅R̅' 0010 · 0 v̅v̅v̅v̅ 1 pp · 010 0 V̅' 000 · opcode · ModRM
func (a *file) evex(what string, pp int, opcode byte, dst, v, rm int) {
	bit := func(n, i, to int) byte { return byte(^n>>i&1) << to }
	a.code(what, 0x62,
		bit(dst, 3, 7)|bit(rm, 4, 6)|bit(rm, 3, 5)|bit(dst, 4, 4)|2,
		byte(^v&15)<<3|4|byte(pp),
		0x40|bit(v, 4, 3),
		opcode, byte(0xc0|dst&7<<3|rm&7))
}

// dpbf16 adds the products of the bf16 pairs of zmm v and w to the float32 sums of zmm sum.
func (a *file) dpbf16(v, w, sum int) {
	a.evex(fmt.Sprintf("VDPBF16PS %s, %s, %s", z(v), z(w), z(sum)), xF3, 0x52, sum, w, v)
}

// tobf16 rounds the float32 of zmm low and then of zmm high to the bf16 of zmm to.
func (a *file) tobf16(low, high, to int) {
	a.evex(fmt.Sprintf("VCVTNE2PS2BF16 %s, %s, %s", z(low), z(high), z(to)), xF2, 0x72, to, high, low)
}

// loadRounded reads 32 weights from {w} into zmm to as bf16; to+1 is scratch.
func loadRounded(a *file, t string, to int) {
	if t == "BF16" {
		a.f("VMOVDQU32 ({w}), %s", z(to))
		return
	}
	loadZ(a, t, "({w})", to)
	loadZ(a, t, mem(16*elem(t), "{w}"), to+1)
	a.tobf16(to, to+1, to)
}

// genRounding writes the conversion of n numbers of type t, a multiple of 32 and not none.
func genRounding(a *file, t string) {
	fn := "round" + t
	a.function(fn, "dst, w *byte, n int", fmt.Sprintf("%s rounds n %s at w to bf16, ties to even; n is a multiple of 32.", fn, t))
	a.use("dst", "DI", "w", "SI", "n", "CX")
	a.load("dst", "w", "n")
	a.l("step")
	loadRounded(a, t, 0)
	a.f("VMOVDQU32 %s, ({dst})", z(0))
	a.f("ADDQ $%d, {w}", roundedStep*elem(t))
	a.f("ADDQ $%d, {dst}", roundedStep*2)
	a.f("SUBQ $%d, {n}", roundedStep)
	a.f("JNZ step")
	finish(a)
}

// roundedDot writes the product of weight rows of type t with one row of bf16 activations,
// in memory's order: the latency of the chain of sums is hidden by loads.
func roundedDot(a *file, t string) {
	fn := "dotRounded" + t
	a.function(fn, "w *byte, wStride, steps, rows int, x *byte, out *float32",
		fmt.Sprintf("%s multiplies %s weight rows, wStride bytes apart, with the bf16 at x, in steps of 32.", fn, t))
	a.use(
		"row", "R8", // the weight row's start
		"wStride", "R9",
		"steps", "R10",
		"rows", "DX", // left
		"x", "DI",
		"out", "R11",
		"w", "SI", // next weights
		"acts", "R13", // next activations
		"left", "CX", // steps
	)
	const sum, acts, weights = 0, 1, 2 // and 3 as scratch
	a.load("w=row", "wStride", "steps", "rows", "x", "out")
	a.l("next")
	a.f("MOVQ {row}, {w}")
	a.f("MOVQ {x}, {acts}")
	a.f("MOVQ {steps}, {left}")
	a.f("VXORPS %s, %s, %s", z(sum), z(sum), z(sum))
	a.l("step")
	loadRounded(a, t, weights)
	a.f("VMOVDQU32 ({acts}), %s", z(acts))
	a.dpbf16(acts, weights, sum)
	a.f("ADDQ $%d, {w}", roundedStep*elem(t))
	a.f("ADDQ $%d, {acts}", roundedStep*2)
	a.f("DECQ {left}")
	a.f("JNZ step")
	sumZ(a, sum, weights)
	a.f("VMOVSS %s, ({out})", x(sum))
	a.f("ADDQ $4, {out}")
	a.f("ADDQ {wStride}, {row}")
	a.f("DECQ {rows}")
	a.f("JNZ next")
	finish(a)
}
