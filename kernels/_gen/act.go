package main

// genActs writes what turns floats into activations, see kernels/quant/act.go. AVX2
// serves every level: a group is 1 KB and its floats come from the cache.
func genActs(a *file) {
	genTop(a)
	genRound(a, "roundQ8_256AVX2", ", id float32", "roundQ8_256AVX2 writes 256 floats times id as quants, and their sums over 16 and 32.", 20,
		func(int) string { return "id+16(FP)" },
		func(j int) {
			a.f("MOVW AX, %s", mem(256+4*j, "DI"))
			a.f("MOVW BX, %s", mem(256+4*j+2, "DI"))
			a.f("ADDL BX, AX")
			a.f("MOVW AX, %s", mem(288+2*j, "DI"))
		})
	genRound(a, "roundQ8_32AVX2", "", "roundQ8_32AVX2 writes 256 floats as quants, each 32 times the float it finds where -128 times their sum goes.", 16,
		func(j int) string { return mem(288+4*j, "DI") },
		func(j int) {
			a.f("ADDL BX, AX")
			a.f("SHLL $7, AX")
			a.f("NEGL AX")
			a.f("MOVL AX, %s", mem(288+4*j, "DI"))
		})
}

// genTop: magnitudes order as their bits do.
func genTop(a *file) {
	a.returning("topAVX2", "v *float32, n int", "top uint32", 20, "topAVX2 returns the bits of the largest magnitude of n floats, n a multiple of 32.")
	a.f("MOVQ v+0(FP), SI")
	a.f("MOVQ n+8(FP), CX")
	a.f("VPCMPEQD Y7, Y7, Y7")
	a.f("VPSRLD $1, Y7, Y7")
	for i := range 4 {
		a.f("VPXOR %s, %s, %s", y(i), y(i), y(i))
	}
	a.l("next")
	for i := range 4 {
		a.f("VPAND %s, Y7, %s", mem(32*i, "SI"), y(4))
		a.f("VPMAXUD %s, %s, %s", y(4), y(i), y(i))
	}
	a.f("ADDQ $128, SI")
	a.f("SUBQ $32, CX")
	a.f("JNZ next")
	a.f("VPMAXUD Y1, Y0, Y0")
	a.f("VPMAXUD Y3, Y2, Y2")
	a.f("VPMAXUD Y2, Y0, Y0")
	a.f("VEXTRACTI128 $1, Y0, X1")
	a.f("VPMAXUD X1, X0, X0")
	a.f("VPSHUFD $0x4e, X0, X1")
	a.f("VPMAXUD X1, X0, X0")
	a.f("VPSHUFD $0xb1, X0, X1")
	a.f("VPMAXUD X1, X0, X0")
	a.f("VMOVD X0, AX")
	a.f("MOVL AX, top+16(FP)")
	a.f("VZEROUPPER")
	a.f("RET")
}

// genRound: AX and BX have the sums of the two halves of 32 quants when put is
// called. The conversion rounds to nearest even, as Go's reference does.
func genRound(a *file, fn, param, doc string, args int, id func(j int) string, put func(j int)) {
	a.function(fn, "dst *byte, v *float32"+param, args, doc)
	order := a.bytes("unpackOrder", dwords(8, func(i int) uint32 { return uint32(i/2 + i%2*4) }))
	ones := a.bytes("oneBytes", words(16, func(int) uint16 { return 0x0101 }))
	onesW := a.bytes("oneWords", words(16, func(int) uint16 { return 1 }))
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ v+8(FP), SI")
	a.f("VMOVDQU %s, Y6", sym(order, 0))
	a.f("VMOVDQU %s, Y7", sym(ones, 0))
	a.f("VMOVDQU %s, Y8", sym(onesW, 0))
	for j := range 8 {
		a.f("VBROADCASTSS %s, Y5", id(j))
		for i := range 4 {
			a.f("VMULPS %s, Y5, %s", mem(128*j+32*i, "SI"), y(i))
			a.f("VCVTPS2DQ %s, %s", y(i), y(i))
		}
		a.f("VPACKSSDW Y1, Y0, Y0")
		a.f("VPACKSSDW Y3, Y2, Y2")
		a.f("VPACKSSWB Y2, Y0, Y0")
		a.f("VPERMD Y0, Y6, Y0")
		a.f("VMOVDQU Y0, %s", mem(32*j, "DI"))
		a.f("VPMADDUBSW Y0, Y7, Y0")
		a.f("VPMADDWD Y8, Y0, Y0")
		a.f("VPHADDD Y0, Y0, Y0")
		a.f("VPHADDD Y0, Y0, Y0")
		a.f("VEXTRACTI128 $1, Y0, X1")
		a.f("VMOVD X0, AX")
		a.f("VMOVD X1, BX")
		put(j)
	}
	a.f("VZEROUPPER")
	a.f("RET")
}
