package main

import "fmt"

// A dot kernel multiplies rows of weights with one activation row, or with
// four or eight at once, sharing the unpacked weights. What it does for one of
// several rows is what it does for one alone, so bits do not depend on that.
//
//	func name(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
//
// w holds rows·(bytes of n weights); n counts weights. Activation row b starts
// at x+b·xStride bytes, its results at out+b·outStride floats.
const dotParams = "w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int"

const (
	rW    = "SI" // next weights
	rRows = "DX"
	rX    = "DI" // activation row 0
	rXS   = "R8" // stride between activation rows in bytes
	rXS3  = "R9" // three times that
	rOut  = "R10"
	rOS   = "R11" // stride between output rows in bytes
	rN    = "R12" // blocks per row
	rC    = "CX"  // block counter
	rXP   = "R13" // activations of this block, row 0
	rXP4  = "BX"  // and row 4
)

// prologue loads the arguments; shift turns n into a count of blocks.
func prologue(a *file, batch, shift int) {
	a.f("MOVQ w+0(FP), %s", rW)
	a.f("MOVQ n+8(FP), %s", rN)
	a.f("MOVQ rows+16(FP), %s", rRows)
	a.f("MOVQ x+24(FP), %s", rX)
	a.f("MOVQ out+40(FP), %s", rOut)
	if batch > 1 {
		a.f("MOVQ xStride+32(FP), %s", rXS)
		a.f("LEAQ (%s)(%s*2), %s", rXS, rXS, rXS3)
		a.f("MOVQ outStride+48(FP), %s", rOS)
		a.f("SHLQ $2, %s", rOS)
	}
	if shift > 0 {
		a.f("SHRQ $%d, %s", shift, rN)
	}
}

// startRow points at the first activations and counts the row's blocks.
func startRow(a *file, batch int) {
	a.f("MOVQ %s, %s", rX, rXP)
	if batch > 4 {
		a.f("LEAQ (%s)(%s*4), %s", rXP, rXS, rXP4)
	}
	a.f("MOVQ %s, %s", rN, rC)
}

// nextBlock goes on by a block of weights and bytes of activations.
func nextBlock(a *file, batch, weights, act int) {
	a.f("ADDQ $%d, %s", weights, rW)
	advance(a, batch, act)
	a.f("DECQ %s", rC)
}

func advance(a *file, batch, act int) {
	a.f("ADDQ $%d, %s", act, rXP)
	if batch > 4 {
		a.f("ADDQ $%d, %s", act, rXP4)
	}
}

// nextRow goes on to the next weight row, or returns.
func nextRow(a *file) {
	a.f("ADDQ $4, %s", rOut)
	a.f("DECQ %s", rRows)
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}

// xmem addresses disp bytes into activation row b of this block.
func xmem(b, disp int) string {
	base := rXP
	if b >= 4 {
		base, b = rXP4, b-4
	}
	switch b {
	case 0:
		return mem(disp, base)
	case 1:
		return fmt.Sprintf("%d(%s)(%s*1)", disp, base, rXS)
	case 2:
		return fmt.Sprintf("%d(%s)(%s*2)", disp, base, rXS)
	}
	return fmt.Sprintf("%d(%s)(%s*1)", disp, base, rXS3)
}

// store writes scalar xmm s of activation row b to its output. Rows are stored
// in ascending order; AX walks over them.
func store(a *file, b int, s string) {
	if b == 0 {
		a.f("VMOVSS %s, (%s)", s, rOut)
		a.f("MOVQ %s, AX", rOut)
		return
	}
	a.f("ADDQ %s, AX", rOS)
	a.f("VMOVSS %s, (AX)", s)
}

// sumZ adds the 16 floats of zmm v into the low float of xmm v; t is scratch.
func sumZ(a *file, v, t int) {
	a.f("VEXTRACTF64X4 $1, %s, %s", z(v), y(t))
	a.f("VADDPS %s, %s, %s", y(t), y(v), y(v))
	a.f("VEXTRACTF32X4 $1, %s, %s", y(v), x(t))
	a.f("VADDPS %s, %s, %s", x(t), x(v), x(v))
	sumX(a, v, t)
}

// sumY adds the 8 floats of ymm v into the low float of xmm v.
func sumY(a *file, v, t int) {
	a.f("VEXTRACTF128 $1, %s, %s", y(v), x(t))
	a.f("VADDPS %s, %s, %s", x(t), x(v), x(v))
	sumX(a, v, t)
}

func sumX(a *file, v, t int) {
	a.f("VPSHUFD $0x4e, %s, %s", x(v), x(t))
	a.f("VADDPS %s, %s, %s", x(t), x(v), x(v))
	a.f("VPSHUFD $0xb1, %s, %s", x(v), x(t))
	a.f("VADDPS %s, %s, %s", x(t), x(v), x(v))
}

// prefetch reads ahead by dist bytes over the lines of one step.
func prefetch(a *file, dist, bytes int) {
	for i := 0; i < bytes; i += 64 {
		a.f("PREFETCHT0 %d(%s)", dist+i, rW)
	}
}

func genDots(a *file) {
	for _, k := range superblocks {
		k.gen(a, k)
	}
	for _, b := range blocks32 {
		b.avx512(a)
	}
	iq4xsAVX512(a)
	for _, batch := range []int{1, 4} {
		for _, t := range floatTypes {
			floatsAVX512(a, t, batch)
			floatsAVX2(a, t, batch)
		}
	}
	q4kAVX2(a, 0)
	q4kAVX2(a, 1)
	k16AVX2(a)
	for _, b := range blocks32 {
		b.avx2(a)
	}
	iq4xsAVX2(a)
	for _, t := range floatTypes {
		sumRowsAVX512(a, t)
		sumRowsAVX2(a, t)
	}
}

func name(t string, level string, batch int) string {
	if batch == 1 {
		return "dot" + t + level
	}
	return fmt.Sprintf("dot%s%sx%d", t, level, batch)
}

func doc(t, level string, batch int) string {
	if batch == 1 {
		return fmt.Sprintf("%s multiplies %s weight rows with one activation row.", name(t, level, batch), t)
	}
	return fmt.Sprintf("%s multiplies %s weight rows with %d activation rows.", name(t, level, batch), t, batch)
}
