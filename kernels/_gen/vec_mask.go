package main

// genMask emits the first pass of a softmax over scores with a mask.
func genMask(a *file) {
	a.function("maskMaxAVX512", "x, bias *float32, n int, by float32) (top float32", 36,
		"maskMaxAVX512 replaces x by x · by + bias and returns the largest, -Inf at least. n is a multiple of 16.")
	a.f("MOVQ x+0(FP), DI")
	a.f("MOVQ bias+8(FP), SI")
	a.f("MOVQ n+16(FP), CX")
	a.f("VBROADCASTSS by+24(FP), Z0")
	a.f("MOVL $0xff800000, AX")
	a.f("VPBROADCASTD AX, Z1")
	a.l("loop")
	a.f("VMULPS (DI), Z0, Z2")
	a.f("VADDPS (SI), Z2, Z2")
	a.f("VMOVUPS Z2, (DI)")
	a.f("VMAXPS Z1, Z2, Z1") // a NaN counts for nothing
	a.f("ADDQ $64, DI")
	a.f("ADDQ $64, SI")
	a.f("SUBQ $16, CX")
	a.f("JNZ loop")
	a.f("VEXTRACTF64X4 $1, Z1, Y2")
	a.f("VMAXPS Y2, Y1, Y1")
	a.f("VEXTRACTF128 $1, Y1, X2")
	a.f("VMAXPS X2, X1, X1")
	a.f("VPSHUFD $0x4e, X1, X2")
	a.f("VMAXPS X2, X1, X1")
	a.f("VPSHUFD $0xb1, X1, X2")
	a.f("VMAXPS X2, X1, X1")
	a.f("VMOVSS X1, top+32(FP)")
	a.f("VZEROUPPER")
	a.f("RET")
}
