package main

// IQ4_XS: eight sub-blocks of 32 weights from a table, with 6-bit scales less
// 32. Sums of table values reach 4·241·127, too large for the words VPDPWSSD
// would want, so sub-blocks are scaled as dwords.

// iq4Scales makes eight scales less 32, dwords in Y6; X8 is scratch.
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
}

func iq4xsAVX512(a *file) {
	a.function(name("IQ4XS", "AVX512", 1), dotParams, 56, doc("IQ4XS", "AVX512", 1))
	prologue(a, 1, 8)
	var d []byte // dword l of vector p takes scale 2p+l/8
	for p := range 4 {
		d = append(d, dwords(16, func(i int) uint32 { return uint32(2*p + i/8) })...)
	}
	idx := a.bytes("b32Idx", d)
	// Z0-3 scale indices, Z4 low nibbles, Y6 scales, Z7 weights, X9 d, Z8, Z10,
	// Z12 and Z13 scratch, Z5 nibble shifts, Z11 scratch, X14 sum, Z15 block,
	// Z16 table.
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Z4")
	a.f("VMOVDQU64 %s, Z5", sym(a.bytes("nibbles", words(32, func(i int) uint16 { return uint16(i / 8 % 2 * 4) })), 0))
	a.f("VMOVDQU64 %s, Z16", sym(block32{name: "IQ4NL", table: iq4Values}.unsigned(a), 0))
	a.l("row")
	startRow(a, 1)
	a.f("VPXOR X14, X14, X14")
	a.l("block")
	prefetch(a, 2048, 136)
	iq4Scales(a)
	a.f("VPMOVSXWD %s, Y15", xmem(0, 288)) // -128·scale·Σq of each sub-block
	a.f("VPMULLD Y6, Y15, Y15")
	a.f("VPSLLD $7, Y15, Y15")
	a.f("VPXOR Y12, Y12, Y12")
	a.f("VPSUBD Y15, Y12, Y15")
	for p := range 4 {
		a.f("VMOVDQU %d(%s), Y7", 8+32*p, rW)
		a.f("VSHUFI32X4 $0x50, Z7, Z7, Z7") // each sub-block's 16 bytes twice
		a.f("VPSRLVW Z5, Z7, Z7")
		a.f("VPANDD Z4, Z7, Z7")
		a.f("VPSHUFB Z7, Z16, Z7")
		a.f("VPERMD Z6, %s, Z13", z(p))
		a.f("VPXOR Y10, Y10, Y10")
		a.f("VPDPBUSD %s, Z7, Z10", xmem(0, 64*p))
		a.f("VPMULLD Z13, Z10, Z10")
		a.f("VPADDD Z10, Z15, Z15")
	}
	loadHalf(a, 0)
	plainZ(a)
	nextBlock(a, 1, 136, 320)
	a.f("JNZ block")
	store(a, 0, "X14")
	nextRow(a)
}

func iq4xsAVX2(a *file) {
	a.function(name("IQ4XS", "AVX2", 1), dotParams, 56, doc("IQ4XS", "AVX2", 1))
	prologue(a, 1, 8)
	// X0 sum, Y1 ones, Y2–5 scratch, Y6 scales, Y7 table, Y8 scratch, X9 d, Y10
	// and Y11 scratch, Y12 low nibbles, Y13 block, Y14 rotation.
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
	a.f("VMOVQ AX, X12")
	a.f("VPBROADCASTQ X12, Y12")
	rot := a.bytes("rotate", dwords(8, func(i int) uint32 { return uint32((i + 1) % 8) }))
	a.f("VMOVDQU %s, Y14", sym(rot, 0))
	a.l("row")
	startRow(a, 1)
	a.f("VPXOR X0, X0, X0")
	a.l("block")
	prefetch(a, 2048, 136)
	iq4Scales(a)
	a.f("VPXOR Y13, Y13, Y13")
	for j := range 8 {
		a.f("VMOVDQU %d(%s), X2", 8+16*j, rW)
		a.f("VPSRLW $4, X2, X3")
		a.f("VINSERTI128 $1, X3, Y2, Y2")
		a.f("VPAND Y12, Y2, Y2")
		a.f("VPSHUFB Y2, Y7, Y2")
		a.f("VMOVDQU %s, Y4", xmem(0, 32*j))
		a.f("VPSIGNB Y2, Y2, Y3")
		a.f("VPSIGNB Y2, Y4, Y4")
		a.f("VPMADDUBSW Y4, Y3, Y3")
		a.f("VPMADDWD Y1, Y3, Y3")
		a.f("VPBROADCASTD X6, Y5") // this sub-block's scale, then the next to the front
		a.f("VPMULLD Y5, Y3, Y3")
		a.f("VPADDD Y3, Y13, Y13")
		if j < 7 {
			a.f("VPERMD Y6, Y14, Y6")
		}
	}
	loadHalf(a, 0)
	plainY(a, 13, 0)
	nextBlock(a, 1, 136, 320)
	a.f("JNZ block")
	store(a, 0, "X0")
	nextRow(a)
}
