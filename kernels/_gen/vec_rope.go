package main

// Rotations of pairs (a, b) to (a·cos − b·sin, a·sin + b·cos), each product rounded, as in
// kernels/vec/rope.go; {n} pairs, a multiple of 8. AVX2 serves every level: a head is short.

// genRope writes them for pairs that are adjacent, and for pairs half a head apart.
func genRope(a *file) {
	genRopeAdjacent(a)
	genRopeHalves(a)
}

func genRopeAdjacent(a *file) {
	a.function("ropeAdjacentAVX2", "dst, x, cos, sin *float32, n int", "ropeAdjacentAVX2 rotates n pairs of adjacent floats, n a positive multiple of 4.")
	a.use(
		"dst", "DI", "x", "SI", "cos", "AX", "sin", "BX", // next
		"n", "CX", // pairs left
		"pairs", y(0), "swapped", y(1), "cosines", y(2), "sines", y(3),
	)
	a.load("dst", "x", "cos", "sin", "n")
	a.l("next")
	a.f("VPMOVZXDQ ({cos}), {cosines}") // each to the lower half of a pair's place, then to both
	a.f("VPMOVZXDQ ({sin}), {sines}")
	a.f("VMOVSLDUP {cosines}, {cosines}")
	a.f("VMOVSLDUP {sines}, {sines}")
	a.f("VMOVUPS ({x}), {pairs}")
	a.f("VPERMILPS $0xb1, {pairs}, {swapped}")
	a.f("VMULPS {cosines}, {pairs}, {pairs}")
	a.f("VMULPS {sines}, {swapped}, {swapped}")
	a.f("VADDSUBPS {swapped}, {pairs}, {pairs}") // even places less, odd places more
	a.f("VMOVUPS {pairs}, ({dst})")
	for _, p := range []string{"{dst}", "{x}"} {
		a.f("ADDQ $32, %s", p)
	}
	for _, p := range []string{"{cos}", "{sin}"} {
		a.f("ADDQ $16, %s", p)
	}
	a.f("SUBQ $4, {n}")
	a.f("JNZ next")
	finish(a)
}

func genRopeHalves(a *file) {
	a.function("ropeHalvesAVX2", "dst, x, cos, sin *float32, half, n int", "ropeHalvesAVX2 rotates n pairs of floats that are half floats apart, n a positive multiple of 8.")
	a.use(
		"dst", "DI", "x", "SI", "cos", "AX", "sin", "BX", // next
		"half", "DX", "n", "CX", // pairs left
		"first", y(0), "second", y(1), "cosines", y(2), "sines", y(3), "low", y(4), "high", y(5),
	)
	a.load("dst", "x", "cos", "sin", "half", "n")
	a.l("next")
	a.f("VMOVUPS ({x}), {first}")
	a.f("VMOVUPS ({x})({half}*4), {second}")
	a.f("VMOVUPS ({cos}), {cosines}")
	a.f("VMOVUPS ({sin}), {sines}")
	a.f("VMULPS {cosines}, {first}, {low}")
	a.f("VMULPS {sines}, {first}, {high}")
	a.f("VMULPS {sines}, {second}, {first}")
	a.f("VMULPS {cosines}, {second}, {second}")
	a.f("VSUBPS {first}, {low}, {low}")
	a.f("VADDPS {second}, {high}, {high}")
	a.f("VMOVUPS {low}, ({dst})")
	a.f("VMOVUPS {high}, ({dst})({half}*4)")
	for _, p := range []string{"{dst}", "{x}", "{cos}", "{sin}"} {
		a.f("ADDQ $32, %s", p)
	}
	a.f("SUBQ $8, {n}")
	a.f("JNZ next")
	finish(a)
}
