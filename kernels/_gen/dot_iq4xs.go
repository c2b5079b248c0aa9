package main

// IQ4_XS: eight sub-blocks of 32 weights from a table, with 6-bit scales less
// 32. Table values plus 128 reach 241, too large for the words VPDPWSSD would
// want, so sub-blocks are scaled as floats.

// iq4Scales makes eight float scales d·(scale − 32) in Y6; X8, X9, X12 scratch.
func iq4Scales(a *file) {
	low := a.bytes("iq4Low", dwords(8, func(i int) uint32 { return uint32(4 * i) }))
	high := a.bytes("iq4High", dwords(8, func(i int) uint32 { return uint32(2 * i) }))
	k0f := a.bytes("dword15", dwords(8, func(int) uint32 { return 15 }))
	k03 := a.bytes("dword3", dwords(8, func(int) uint32 { return 3 }))
	k32 := a.bytes("dword32", dwords(8, func(int) uint32 { return 32 }))
	a.f("VPBROADCASTD 4(%s), Y6", rW)
	a.f("VPSRLVD %s, Y6, Y6", sym(low, 0))
	a.f("VPAND %s, Y6, Y6", sym(k0f, 0))
	a.f("MOVWLZX 2(%s), AX", rW)
	a.f("VMOVD AX, X8")
	a.f("VPBROADCASTD X8, Y8")
	a.f("VPSRLVD %s, Y8, Y8", sym(high, 0))
	a.f("VPAND %s, Y8, Y8", sym(k03, 0))
	a.f("VPSLLD $4, Y8, Y8")
	a.f("VPOR Y8, Y6, Y6")
	a.f("VPSUBD %s, Y6, Y6", sym(k32, 0))
	a.f("VCVTDQ2PS Y6, Y6")
	a.f("MOVWLZX (%s), AX", rW)
	a.f("VMOVD AX, X8")
	a.f("VCVTPH2PS X8, X8")
	a.f("VBROADCASTSS X8, Y8")
	a.f("VMULPS Y8, Y6, Y6")
}

func iq4xsAVX512(a *file, batch int) {
	a.function(name("IQ4XS", "AVX512", batch), dotParams, 56, doc("IQ4XS", "AVX512", batch))
	prologue(a, batch, 8)
	var d []byte // dword l of vector p takes scale 2p+l/8
	for p := range 4 {
		d = append(d, dwords(16, func(i int) uint32 { return uint32(2*p + i/8) })...)
	}
	idx := a.bytes("b32Idx", d)
	minus := a.bytes("minus128", f32s(-128)[:4])
	// Z0–3 scale indices, Z4 low nibbles, Y5 -128, Y6 scales, Z7 weights, Z8
	// scratch, Z9 scales of a vector, Z10 nibble shifts, Z11 table, Y12 -128·scales;
	// Z13+3b sum of row b, Z14+3b scratch, Z15+3b block.
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Z4")
	a.f("VBROADCASTSS %s, Y5", sym(minus, 0))
	a.f("VMOVDQU64 %s, Z10", sym(a.bytes("nibbles", words(32, func(i int) uint16 { return uint16(i / 8 % 2 * 4) })), 0))
	a.f("VMOVDQU64 %s, Z11", sym(block32{name: "IQ4NL", table: iq4Values}.unsigned(a), 0))
	a.l("row")
	startRow(a, batch)
	for b := range batch {
		a.f("VPXORQ %s, %s, %s", z(13+3*b), z(13+3*b), z(13+3*b))
	}
	a.l("block")
	prefetch(a, 2048, 136)
	iq4Scales(a)
	a.f("VMULPS Y5, Y6, Y12")
	for b := range batch { // -128·scale·Σq of each sub-block
		a.f("VPMOVSXWD %s, %s", xmem(b, 288), y(15+3*b))
		a.f("VCVTDQ2PS %s, %s", y(15+3*b), y(15+3*b))
		a.f("VMULPS %s, Y12, %s", y(15+3*b), y(15+3*b)) // clears the rest
	}
	for p := range 4 {
		a.f("VMOVDQU %d(%s), Y7", 8+32*p, rW)
		a.f("VSHUFI32X4 $0x50, Z7, Z7, Z7") // each sub-block's 16 bytes twice
		a.f("VPSRLVW Z10, Z7, Z7")
		a.f("VPANDD Z4, Z7, Z7")
		a.f("VPSHUFB Z7, Z11, Z7")
		a.f("VPERMPS Z6, %s, Z9", z(p))
		for b := range batch {
			s := z(14 + 3*b)
			a.f("VPXORQ %s, %s, %s", s, s, s)
			a.f("VPDPBUSD %s, Z7, %s", xmem(b, 64*p), s)
			a.f("VCVTDQ2PS %s, %s", s, s)
			a.f("VFMADD231PS %s, Z9, %s", s, z(15+3*b))
		}
	}
	for b := range batch {
		a.f("VBROADCASTSS %s, %s", xmem(b, 304), z(14+3*b))
		a.f("VFMADD231PS %s, %s, %s", z(15+3*b), z(14+3*b), z(13+3*b))
	}
	nextBlock(a, batch, 136, 320)
	a.f("JNZ block")
	for b := range batch {
		sumZ(a, 13+3*b, 8)
		store(a, b, x(13+3*b))
	}
	nextRow(a)
}

func iq4xsAVX2(a *file) {
	a.function(name("IQ4XS", "AVX2", 1), dotParams, 56, doc("IQ4XS", "AVX2", 1))
	prologue(a, 1, 8)
	// Y0 sum, Y1 ones, Y2–5 scratch, Y6 scales, Y7 table, Y8 scratch, Y9 block,
	// Y10 low nibbles.
	var b []byte
	for range 2 {
		for _, v := range iq4Values {
			b = append(b, byte(v))
		}
	}
	a.f("VPCMPEQW Y1, Y1, Y1")
	a.f("VPSRLW $15, Y1, Y1")
	a.f("VMOVDQU %s, Y7", sym(a.bytes("signedIQ4NL", b), 0))
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VMOVQ AX, X10")
	a.f("VPBROADCASTQ X10, Y10")
	a.l("row")
	startRow(a, 1)
	a.f("VPXOR Y0, Y0, Y0")
	a.l("block")
	prefetch(a, 2048, 136)
	iq4Scales(a)
	a.f("VPXOR Y9, Y9, Y9")
	for j := range 8 {
		a.f("VMOVDQU %d(%s), X2", 8+16*j, rW)
		a.f("VPSRLW $4, X2, X3")
		a.f("VINSERTI128 $1, X3, Y2, Y2")
		a.f("VPAND Y10, Y2, Y2")
		a.f("VPSHUFB Y2, Y7, Y2")
		a.f("VMOVDQU %s, Y4", xmem(0, 32*j))
		a.f("VPSIGNB Y2, Y2, Y3")
		a.f("VPSIGNB Y2, Y4, Y4")
		a.f("VPMADDUBSW Y4, Y3, Y3")
		a.f("VPMADDWD Y1, Y3, Y3")
		a.f("VCVTDQ2PS Y3, Y3")
		a.f("VBROADCASTSS X6, Y5") // this sub-block's scale, then the next to the front
		a.f("VFMADD231PS Y3, Y5, Y9")
		if j < 7 {
			rot := a.bytes("rotate", dwords(8, func(i int) uint32 { return uint32((i + 1) % 8) }))
			a.f("VMOVDQU %s, Y8", sym(rot, 0))
			a.f("VPERMD Y6, Y8, Y6")
		}
	}
	a.f("VBROADCASTSS %s, Y5", xmem(0, 304))
	a.f("VFMADD231PS Y9, Y5, Y0")
	nextBlock(a, 1, 136, 320)
	a.f("JNZ block")
	sumY(a, 0, 5)
	store(a, 0, "X0")
	nextRow(a)
}
