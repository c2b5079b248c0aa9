package main

import "fmt"

// A dot kernel multiplies rows of weights with one activation row, or with four at once,
// which share the unpacked weights. Each row of four gets the operations that it gets
// alone, in the same order, so bits do not depend on the number.
//
//	func name(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
//
// w holds rows·(bytes of n weights); n counts weights. Activation row b starts
// at x+b·xStride bytes, its results at out+b·outStride floats.
const dotParams = "w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int"

// prologue names the registers of a dot kernel and loads its arguments: n weights
// are n>>shift blocks. Strides become bytes.
func prologue(a *file, batch, shift int) {
	a.use(
		"w", "SI", // next weights
		"rows", "DX", // left
		"x", "DI", // activation row 0
		"out", "R10", // result of this weight row and activation row 0
		"blocks", "R12", // of a row
		"left", "CX", // of them
		"acts", "R13", // of row 0 and this block
	)
	a.load("w", "n=blocks", "rows", "x", "out")
	if batch > 1 {
		a.use(
			"xStride", "R8",
			"xStride3", "R9", // three times that
			"outStride", "R11",
		)
		a.load("xStride")
		a.f("LEAQ ({xStride})({xStride}*2), {xStride3}")
		a.load("outStride")
		a.f("SHLQ $2, {outStride}")
	}
	if shift > 0 {
		a.f("SHRQ $%d, {blocks}", shift)
	}
}

// startRow starts a weight row: {acts} at its first activations, {left} its blocks.
func startRow(a *file) {
	a.f("MOVQ {x}, {acts}")
	a.f("MOVQ {blocks}, {left}")
}

// nextBlock moves on by one block: so many bytes of weights and of activations. The flags
// say whether {left} is zero.
func nextBlock(a *file, batch, weights, act int) {
	a.f("ADDQ $%d, {w}", weights)
	advance(a, batch, act)
	a.f("DECQ {left}")
}

// advance moves on by act bytes of activations.
func advance(a *file, batch, act int) {
	a.f("ADDQ $%d, {acts}", act)
	if batch > 4 {
		a.f("ADDQ $%d, {acts4}", act)
	}
}

// nextRow starts the next weight row at the label row, or returns.
func nextRow(a *file) {
	a.f("ADDQ $4, {out}")
	a.f("DECQ {rows}")
	a.f("JNZ row")
	finish(a)
}

// startGroup starts the blocks of 32 of a row: {scales} at the first one's scale, left the
// number of them that are left of their group of eight, which share 320 bytes of activations.
func startGroup(a *file, batch int, left string) {
	a.f("LEAQ 256({acts}), {scales}")
	if batch > 4 {
		a.f("LEAQ 256({acts4}), {scales4}")
	}
	a.f("MOVL $8, %s", left)
}

// nextOfGroup moves on by one block of 32 activations, and behind the last of a group to the
// next group. It sets the label next.
func nextOfGroup(a *file, batch int, left, next string) {
	advance(a, batch, 32)
	advanceScales(a, batch, 4)
	a.f("DECL %s", left)
	a.f("JNZ %s", next)
	a.f("MOVL $8, %s", left)
	advance(a, batch, 64)
	advanceScales(a, batch, 288)
	a.l(next)
}

// advanceScales moves on by n bytes of activations' scales.
func advanceScales(a *file, batch, n int) {
	a.f("ADDQ $%d, {scales}", n)
	if batch > 4 {
		a.f("ADDQ $%d, {scales4}", n)
	}
}

// xscale addresses disp bytes beyond the scale of this block in activation row b.
func xscale(b, disp int) string { return upTo8(b, disp, "scales", "xStride") }

// xmem addresses disp bytes into activation row b of this block.
func xmem(b, disp int) string { return upTo8(b, disp, "acts", "xStride") }

// store writes the float in xmm s to the output of activation row b. Calls come in
// ascending order of b; AX walks over the rows.
func store(a *file, b int, s string) {
	if b == 0 {
		a.f("VMOVSS %s, ({out})", s)
		a.f("MOVQ {out}, AX")
		return
	}
	a.f("ADDQ {outStride}, AX")
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

// sumX is sumY for the 4 floats of xmm v.
func sumX(a *file, v, t int) {
	a.f("VPSHUFD $0x4e, %s, %s", x(v), x(t))
	a.f("VADDPS %s, %s, %s", x(t), x(v), x(v))
	a.f("VPSHUFD $0xb1, %s, %s", x(v), x(t))
	a.f("VADDPS %s, %s, %s", x(t), x(v), x(v))
}

// prefetch prefetches the lines of one step of so many bytes, dist bytes beyond {w}, on CPUs
// that do not do so by themselves.
func prefetch(a *file, dist, bytes int) {
	by := a.fresh("fetched")
	a.f("CMPB ·fetchesAhead(SB), $0")
	a.f("JNE %s", by)
	for i := 0; i < bytes; i += 64 {
		a.f("PREFETCHT0 %d({w})", dist+i)
	}
	a.l(by)
}

// genDots writes the dot kernels, by level and type.
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

// name is the name of the kernel of type t that multiplies batch activation rows.
func name(t string, level string, batch int) string {
	if batch == 1 {
		return "dot" + t + level
	}
	return fmt.Sprintf("dot%s%sx%d", t, level, batch)
}

// doc is the comment of its declaration.
func doc(t, level string, batch int) string {
	if batch == 1 {
		return fmt.Sprintf("%s multiplies %s weight rows with one activation row.", name(t, level, batch), t)
	}
	return fmt.Sprintf("%s multiplies %s weight rows with %d activation rows.", name(t, level, batch), t, batch)
}
