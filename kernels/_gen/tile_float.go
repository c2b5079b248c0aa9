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

// genFloatTiles writes float tiles and sum tiles.
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

// floatTile writes out[b][r] = Σ w[r]·x[b] for four weight rows and batch activation rows,
// a running vector each. With 32 registers a step's weights are held and its activations
// loaded one by one, with 16 the reverse.
func floatTile(a *file, t, level string, batch, lanes int, v func(int) string) {
	const quad = 4
	fn := fmt.Sprintf("tile%s%sx%d", t, level, batch)
	a.function(fn, floatTileParams, fmt.Sprintf("%s multiplies four %s weight rows with %d activation rows.", fn, t, batch))
	a.use(
		"x", "SI", // next values of row 0
		"xStride", "R8",
		"x3", "R9", // of row 3
		"w", "DI", // next weights of row 0
		"wStride", "R10",
		"wStride3", "R11", // three times that
		"left", "CX", // steps
		"out", "AX", "outStride", "BX",
	)
	size, xSize := elem(t), 4
	multiply := func(x, w, sum int) { a.f("VFMADD231PS %s, %s, %s", v(x), v(w), v(sum)) }
	if t == rounded {
		xSize, multiply = 2, a.dpbf16
	}
	wAt := func(r, disp int) string { return upTo4(r, disp, "w", "wStride") }
	xAt := func(b, disp int) string { return upTo6(b, disp, "x", "xStride") }
	acc := func(b, r int) int { return b*quad + r }
	free := batch * quad
	a.load("w", "wStride")
	a.f("LEAQ ({wStride})({wStride}*2), {wStride3}")
	a.load("steps=left", "x", "xStride")
	thirdRow(a, batch)
	a.load("out", "outStride")
	for i := range free {
		a.f("VXORPS %s, %s, %s", v(i), v(i), v(i))
	}
	step := func(i int) {
		if lanes >= 16 { // hold the weights of the step
			for r := range quad {
				loadFloats(a, t, wAt(r, i*lanes*size), v(free+r))
			}
			for b := range batch {
				a.f("VMOVUPS %s, %s", xAt(b, xSize*i*lanes), v(free+quad))
				for r := range quad {
					multiply(free+quad, free+r, acc(b, r))
				}
			}
			return
		}
		for b := range batch {
			a.f("VMOVUPS %s, %s", xAt(b, xSize*i*lanes), v(free+b))
		}
		for r := range quad {
			loadFloats(a, t, wAt(r, i*lanes*size), v(free+batch))
			for b := range batch {
				multiply(free+b, free+batch, acc(b, r))
			}
		}
	}
	forward := func(n int) {
		a.f("ADDQ $%d, {w}", n*lanes*size)
		moveRows(a, batch, fmt.Sprintf("$%d", xSize*n*lanes))
	}
	a.f("SUBQ $2, {left}")
	a.f("JLT rest")
	a.l("two")
	step(0)
	step(1)
	forward(2)
	a.f("SUBQ $2, {left}")
	a.f("JGE two")
	a.l("rest")
	a.f("ADDQ $2, {left}")
	a.f("JZ fold")
	step(0)
	a.l("fold")
	if lanes >= 16 {
		foldQuads(a, batch, func(b int) int { return acc(b, 0) }, free)
	} else {
		for b := range batch {
			for r := range quad {
				sumY(a, acc(b, r), free)
				a.f("VMOVSS %s, %d({out})", x(acc(b, r)), 4*r)
			}
			if b < batch-1 {
				a.f("ADDQ {outStride}, {out}")
			}
		}
	}
	finish(a)
}

// foldQuads folds the 16 floats of four zmm at a time, from first(b) on, in the order of
// sumZ, by exchanging halves, quarters and so on; the four sums go to {out}, {outStride}
// further for each b. Registers from t on are scratch.
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
		a.f("VMOVUPS %s, ({out})", x(v))
		if b < batch-1 {
			a.f("ADDQ {outStride}, {out}")
		}
	}
}
