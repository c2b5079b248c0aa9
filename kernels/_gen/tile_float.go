package main

import "fmt"

// A float tile multiplies four weight rows with several activation rows. Every
// result has one running sum of a vector, folded as sumZ and sumY do it, so its
// bits are those of floatDot's.
//
//	func name(w *byte, wStride, steps int, x *byte, xStride int, out *float32, outStride int)
//
// Strides count bytes; a step is a vector of weights. The results of activation
// row b for the four weight rows are the four floats at out + b·outStride.
const floatTileParams = "w *byte, wStride, steps int, x *byte, xStride int, out *float32, outStride int"

// The activation rows of a tile: as many as leave registers for the weights.
var floatTileRows = map[string][]int{"AVX512": {6, 4, 2, 1}, "AVX2": {3, 2, 1}}

func genFloatTiles(a *file) {
	for _, t := range floatTypes {
		for _, b := range floatTileRows["AVX512"] {
			floatTile(a, t, "AVX512", b, 16, z)
		}
		for _, b := range floatTileRows["AVX2"] {
			floatTile(a, t, "AVX2", b, 8, y)
		}
	}
	genSumTiles(a)
}

func floatTile(a *file, t, level string, batch, lanes int, v func(int) string) {
	const quad = 4
	fn := fmt.Sprintf("tile%s%sx%d", t, level, batch)
	a.function(fn, floatTileParams, 56, fmt.Sprintf("%s multiplies four %s weight rows with %d activation rows.", fn, t, batch))
	const (
		xp, xs, xp3 = "SI", "R8", "R9"
		wp, ws, ws3 = "DI", "R10", "R11"
	)
	size := elem(t)
	at := func(base, stride string, i, disp int) string {
		if i == 0 {
			return mem(disp, base)
		}
		return fmt.Sprintf("%d(%s)(%s*%d)", disp, base, stride, i)
	}
	wAt := func(r, disp int) string {
		if r == 3 {
			return at(wp, ws3, 1, disp)
		}
		return at(wp, ws, r, disp)
	}
	xAt := func(b, disp int) string {
		if b >= 3 {
			return at(xp3, xs, b-3, disp)
		}
		return at(xp, xs, b, disp)
	}
	acc := func(b, r int) int { return b*quad + r }
	free := batch * quad
	a.f("MOVQ w+0(FP), %s", wp)
	a.f("MOVQ wStride+8(FP), %s", ws)
	a.f("LEAQ (%s)(%s*2), %s", ws, ws, ws3)
	a.f("MOVQ steps+16(FP), CX")
	a.f("MOVQ x+24(FP), %s", xp)
	a.f("MOVQ xStride+32(FP), %s", xs)
	if batch > 3 {
		a.f("LEAQ (%s)(%s*2), %s", xp, xs, xp3)
		a.f("ADDQ %s, %s", xs, xp3)
	}
	a.f("MOVQ out+40(FP), AX")
	a.f("MOVQ outStride+48(FP), BX")
	for i := range free {
		a.f("VXORPS %s, %s, %s", v(i), v(i), v(i))
	}
	step := func(i int) {
		if lanes == 16 { // the weights of a step in registers, activations pass
			for r := range quad {
				loadFloats(a, t, wAt(r, i*lanes*size), v(free+r))
			}
			for b := range batch {
				a.f("VMOVUPS %s, %s", xAt(b, 4*i*lanes), v(free+quad))
				for r := range quad {
					a.f("VFMADD231PS %s, %s, %s", v(free+quad), v(free+r), v(acc(b, r)))
				}
			}
			return
		}
		for b := range batch {
			a.f("VMOVUPS %s, %s", xAt(b, 4*i*lanes), v(free+b))
		}
		for r := range quad {
			loadFloats(a, t, wAt(r, i*lanes*size), v(free+batch))
			for b := range batch {
				a.f("VFMADD231PS %s, %s, %s", v(free+b), v(free+batch), v(acc(b, r)))
			}
		}
	}
	forward := func(n int) {
		a.f("ADDQ $%d, %s", n*lanes*size, wp)
		a.f("ADDQ $%d, %s", 4*n*lanes, xp)
		if batch > 3 {
			a.f("ADDQ $%d, %s", 4*n*lanes, xp3)
		}
	}
	a.f("SUBQ $2, CX")
	a.f("JLT rest")
	a.l("two")
	step(0)
	step(1)
	forward(2)
	a.f("SUBQ $2, CX")
	a.f("JGE two")
	a.l("rest")
	a.f("ADDQ $2, CX")
	a.f("JZ fold")
	step(0)
	a.l("fold")
	if lanes == 16 {
		foldQuads(a, batch, func(b int) int { return acc(b, 0) }, free)
	} else {
		for b := range batch {
			for r := range quad {
				sumY(a, acc(b, r), free)
				a.f("VMOVSS %s, %d(AX)", x(acc(b, r)), 4*r)
			}
			if b < batch-1 {
				a.f("ADDQ BX, AX")
			}
		}
	}
	a.f("VZEROUPPER")
	a.f("RET")
}

// foldQuads adds the 16 floats of four zmm at a time, from first(b) on, in the
// order of sumZ, and stores the four sums at AX, BX bytes further for each b.
// Registers from t on are scratch.
func foldQuads(a *file, batch int, first func(b int) int, t int) {
	// The first float of every four.
	pick := a.bytes("everyFourth", dwords(16, func(i int) uint32 { return uint32(4 * i % 16) }))
	a.f("VMOVDQU32 %s, %s", sym(pick, 0), z(t+2))
	for b := range batch {
		v := first(b)
		for p := 0; p < 4; p += 2 { // halves of two
			a.f("VSHUFF64X2 $0x44, %s, %s, %s", z(v+p+1), z(v+p), z(t))
			a.f("VSHUFF64X2 $0xee, %s, %s, %s", z(v+p+1), z(v+p), z(t+1))
			a.f("VADDPS %s, %s, %s", z(t+1), z(t), z(v+p))
		}
		// Quarters of four: 128-bit lanes 0 and 2, 1 and 3.
		a.f("VSHUFF64X2 $0x88, %s, %s, %s", z(v+2), z(v), z(t))
		a.f("VSHUFF64X2 $0xdd, %s, %s, %s", z(v+2), z(v), z(t+1))
		a.f("VADDPS %s, %s, %s", z(t+1), z(t), z(v))
		a.f("VPSHUFD $0x4e, %s, %s", z(v), z(t))
		a.f("VADDPS %s, %s, %s", z(t), z(v), z(v))
		a.f("VPSHUFD $0xb1, %s, %s", z(v), z(t))
		a.f("VADDPS %s, %s, %s", z(t), z(v), z(v))
		a.f("VPERMPS %s, %s, %s", z(v), z(t+2), z(v))
		a.f("VMOVUPS %s, (AX)", x(v))
		if b < batch-1 {
			a.f("ADDQ BX, AX")
		}
	}
}
