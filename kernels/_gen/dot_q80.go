package main

// q80AVX512 takes eight blocks (272 bytes) a step. VPDPBUSD wants unsigned
// weights, so 128 is added to them and 128·dw·(d·Σq) taken off at the end.
// Rows that are no multiple of 256 end with single blocks.
func q80AVX512(a *file, batch int) {
	a.function(name("Q80", "AVX512", batch), dotParams, 56, doc("Q80", "AVX512", batch))
	prologue(a, batch, 5)
	gather := a.bytes("q80Gather", dwords(8, func(i int) uint32 { return uint32(34 * i) }))
	var d []byte // dword l of vector p takes scale 2p+l/8
	for p := range 4 {
		d = append(d, dwords(16, func(i int) uint32 { return uint32(2*p + i/8) })...)
	}
	idx := a.bytes("q80Idx", d)
	m128 := a.bytes("minus128", dwords(1, func(int) uint32 { return 0xc3000000 })) // -128.0
	// Z0–3 scale indices, Z4 0x80s, Y5 gather offsets, Y6 weight scales,
	// Z7 weights, Z8 scratch; Z9+4b sum, Y10+4b correction, Y11+4b scales,
	// Z12+4b scratch.
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.f("MOVQ $0x8080808080808080, AX")
	a.f("VPBROADCASTQ AX, Z4")
	a.f("VMOVDQU %s, Y5", sym(gather, 0))
	a.f("MOVQ %s, R14", rN)
	a.f("ANDQ $7, R14") // single blocks
	a.f("SHRQ $3, %s", rN)
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	for b := range batch {
		a.f("VPXORQ %s, %s, %s", z(9+4*b), z(9+4*b), z(9+4*b))
		a.f("VPXORQ %s, %s, %s", z(10+4*b), z(10+4*b), z(10+4*b))
	}
	a.f("MOVQ %s, %s", rN, rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ single")
	a.l("block")
	prefetch(a, 2048, 272)
	a.f("KXNORB K1, K1, K1")
	a.f("VPXOR Y6, Y6, Y6")
	a.f("VPGATHERDD (%s)(Y5*1), K1, Y6", rW)
	a.f("VPMOVDW Y6, X6")
	a.f("VCVTPH2PS X6, Y6")
	for b := range batch {
		a.f("VFMADD231PS %s, Y6, %s", xmem(b, 288), y(10+4*b))
		a.f("VMULPS %s, Y6, %s", xmem(b, 256), y(11+4*b))
	}
	for p := range 4 {
		a.f("VMOVDQU %d(%s), Y7", 2+68*p, rW)
		a.f("VINSERTI64X4 $1, %d(%s), Z7, Z7", 36+68*p, rW)
		a.f("VPXORD Z4, Z7, Z7")
		for b := range batch {
			t := z(12 + 4*b)
			a.f("VPXORQ %s, %s, %s", t, t, t)
			a.f("VPDPBUSD %s, Z7, %s", xmem(b, 64*p), t)
			a.f("VCVTDQ2PS %s, %s", t, t)
			a.f("VPERMPS %s, %s, Z8", z(11+4*b), z(p))
			a.f("VFMADD231PS %s, Z8, %s", t, z(9+4*b))
		}
	}
	a.f("ADDQ $272, %s", rW)
	a.f("ADDQ $320, %s", rXP)
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	a.l("single")
	a.f("MOVQ R14, %s", rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ fold")
	a.f("MOVQ %s, R15", rXP) // quants advance by 32, scales by 4
	a.l("one")
	a.f("MOVWLZX (%s), AX", rW)
	a.f("VMOVD AX, X6")
	a.f("VCVTPH2PS X6, X6")
	a.f("VMOVDQU 2(%s), Y7", rW)
	a.f("VPXOR Y4, Y7, Y7")
	for b := range batch {
		t := 12 + 4*b
		a.f("VMOVSS %s, X8", xmem(b, 288))
		a.f("VMULSS X8, X6, X8")
		a.f("VADDPS Y8, %s, %s", y(10+4*b), y(10+4*b))
		a.f("VMULSS %s, X6, X8", xmem(b, 256))
		a.f("VBROADCASTSS X8, Y8")
		a.f("VPXORQ %s, %s, %s", z(t), z(t), z(t))
		a.f("XCHGQ %s, R15", rXP)
		a.f("VPDPBUSD %s, Y7, %s", xmem(b, 0), y(t))
		a.f("XCHGQ %s, R15", rXP)
		a.f("VCVTDQ2PS %s, %s", y(t), y(t))
		a.f("VMULPS %s, Y8, %s", y(t), y(t))
		a.f("VADDPS %s, %s, %s", z(t), z(9+4*b), z(9+4*b))
	}
	a.f("ADDQ $34, %s", rW)
	a.f("ADDQ $4, %s", rXP)
	a.f("ADDQ $32, R15")
	a.f("DECQ %s", rC)
	a.f("JNZ one")
	a.l("fold")
	for b := range batch {
		sum, corr := 9+4*b, 10+4*b
		a.f("VBROADCASTSS %s, Y7", sym(m128, 0))
		a.f("VMULPS Y7, %s, %s", y(corr), y(corr)) // clears the upper half
		a.f("VADDPS %s, %s, %s", z(corr), z(sum), z(sum))
		sumZ(a, sum, 8)
		store(a, b, x(sum))
	}
	a.f("ADDQ $4, %s", rOut)
	a.f("DECQ %s", rRows)
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}

// q80AVX2 multiplies |w| with sign(w)·x: VPMADDUBSW wants one unsigned side.
// |q| ≤ 127 on the activation side, so the sign flip cannot overflow.
func q80AVX2(a *file) {
	a.function(name("Q80", "AVX2", 1), dotParams, 56, doc("Q80", "AVX2", 1))
	prologue(a, 1, 5)
	// Y0 sum, Y1 ones, Y2–5 scratch; R15 walks the quants, R13 the scales.
	a.f("VPCMPEQW Y1, Y1, Y1")
	a.f("VPSRLW $15, Y1, Y1")
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	a.f("MOVQ %s, R15", rX)
	a.f("MOVQ %s, %s", rN, rC)
	a.f("XORQ BX, BX") // block within its group
	a.f("VPXOR Y0, Y0, Y0")
	a.l("block")
	a.f("PREFETCHT0 2048(%s)", rW)
	a.f("VMOVDQU 2(%s), Y2", rW)
	a.f("VPSIGNB Y2, Y2, Y3")
	a.f("VMOVDQU (R15), Y4")
	a.f("VPSIGNB Y2, Y4, Y4")
	a.f("VPMADDUBSW Y4, Y3, Y3")
	a.f("VPMADDWD Y1, Y3, Y3")
	a.f("VCVTDQ2PS Y3, Y3")
	a.f("MOVWLZX (%s), AX", rW)
	a.f("VMOVD AX, X5")
	a.f("VCVTPH2PS X5, X5")
	a.f("VMULSS 256(%s), X5, X5", rXP)
	a.f("VBROADCASTSS X5, Y5")
	a.f("VFMADD231PS Y3, Y5, Y0")
	a.f("ADDQ $34, %s", rW)
	a.f("ADDQ $4, %s", rXP)
	a.f("ADDQ $32, R15")
	a.f("INCQ BX")
	a.f("CMPQ BX, $8")
	a.f("JNE next")
	a.f("XORQ BX, BX")
	a.f("ADDQ $288, %s", rXP) // to the next group of 320
	a.f("ADDQ $64, R15")
	a.l("next")
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	sumY(a, 0, 7)
	store(a, 0, "X0")
	a.f("ADDQ $4, %s", rOut)
	a.f("DECQ %s", rRows)
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}
