package main

// IQ4_XS: eight sub-blocks of 32 weights from a table, with 6-bit scales less
// 32. Sums of table values reach 4·241·127, too large for the words VPDPWSSD
// would want, so sub-blocks are scaled as dwords.

// iq4Scales unpacks the scales of the block at {w}, less 32, to eight dwords in
// {scales.y}. {t0} is scratch.
func iq4Scales(a *file) {
	low := a.bytes("iq4Low", dwords(8, func(i int) uint32 { return uint32(4 * i) }))
	high := a.bytes("iq4High", dwords(8, func(i int) uint32 { return uint32(2 * i) }))
	k0f := a.bytes("dword15", dwords(8, func(int) uint32 { return 15 }))
	k03 := a.bytes("dword3", dwords(8, func(int) uint32 { return 3 }))
	k32 := a.bytes("dword32", dwords(8, func(int) uint32 { return 32 }))
	a.f("VPBROADCASTD 4({w}), {scales.y}")
	a.f("VPSRLVD %s, {scales.y}, {scales.y}", sym(low, 0))
	a.f("VPAND %s, {scales.y}, {scales.y}", sym(k0f, 0))
	a.f("MOVWLZX 2({w}), AX")
	a.f("VMOVD AX, {t0.x}")
	a.f("VPBROADCASTD {t0.x}, {t0.y}")
	a.f("VPSRLVD %s, {t0.y}, {t0.y}", sym(high, 0))
	a.f("VPAND %s, {t0.y}, {t0.y}", sym(k03, 0))
	a.f("VPSLLD $4, {t0.y}, {t0.y}")
	a.f("VPOR {t0.y}, {scales.y}, {scales.y}")
	a.f("VPSUBD %s, {scales.y}, {scales.y}", sym(k32, 0))
}

// iq4xsAVX512 writes rowSum = Σ d·dx·Σ scale·Σ (table[w]+128)·x, less 128·scale·Σx of each
// sub-block. VPSHUFB looks the weights up, 64 at a time; VPERMD spreads the scales.
func iq4xsAVX512(a *file) {
	a.function(name("IQ4XS", "AVX512", 1), dotParams, doc("IQ4XS", "AVX512", 1))
	prologue(a, 1, 8)
	a.use(
		"mask", "Z4", // 0x0f in every byte
		"shifts", "Z5", // 0 for low nibbles, 4 for high ones
		"scales", "Y6", // of eight sub-blocks
		"weights", "Z7", "rowSum", "X14", "blockSum", "Z15", "table", "Z16",
		"d", "X9", "t0", "Z8", "t1", "Z10", "t2", "Z11", "zero", "Z12",
		"scale", "Z13", // of each dword's sub-block
	)
	a.useRow("scaleIndex", z, 0, 4)
	var d []byte // dword l of vector p takes scale 2p+l/8
	for p := range 4 {
		d = append(d, dwords(16, func(i int) uint32 { return uint32(2*p + i/8) })...)
	}
	idx := a.bytes("b32Idx", d)
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.everyByte(0x0f, "mask")
	a.f("VMOVDQU64 %s, {shifts}", sym(a.bytes("nibbles", words(32, func(i int) uint16 { return uint16(i / 8 % 2 * 4) })), 0))
	a.f("VMOVDQU64 %s, {table}", sym(block32{name: "IQ4NL", table: iq4Values}.unsigned(a), 0))
	a.l("row")
	startRow(a)
	a.f("VPXOR {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 136)
	iq4Scales(a)
	a.f("VPMOVSXWD %s, {blockSum.y}", xmem(0, 288)) // -128·scale·Σq of each sub-block
	a.f("VPMULLD {scales}, {blockSum.y}, {blockSum.y}")
	a.f("VPSLLD $7, {blockSum.y}, {blockSum.y}")
	a.f("VPXOR {zero.y}, {zero.y}, {zero.y}")
	a.f("VPSUBD {blockSum.y}, {zero.y}, {blockSum.y}")
	for p := range 4 {
		a.f("VMOVDQU %d({w}), {weights.y}", 8+32*p)
		a.f("VSHUFI32X4 $0x50, {weights}, {weights}, {weights}") // each sub-block's 16 bytes twice
		a.f("VPSRLVW {shifts}, {weights}, {weights}")
		a.f("VPANDD {mask}, {weights}, {weights}")
		a.f("VPSHUFB {weights}, {table}, {weights}")
		a.f("VPERMD {scales.z}, %s, {scale}", z(p))
		a.f("VPXOR {t1.y}, {t1.y}, {t1.y}")
		a.f("VPDPBUSD %s, {weights}, {t1}", xmem(0, 64*p))
		a.f("VPMULLD {scale}, {t1}, {t1}")
		a.f("VPADDD {t1}, {blockSum}, {blockSum}")
	}
	loadHalf(a, 0)
	plainZ(a)
	nextBlock(a, 1, 136, 320)
	a.f("JNZ block")
	store(a, 0, "{rowSum}")
	nextRow(a)
}

// iq4xsAVX2 is the same with signed weights, 32 at a time, as block32's avx2 has them; the
// scales rotate so that the next one is always dword 0.
func iq4xsAVX2(a *file) {
	a.function(name("IQ4XS", "AVX2", 1), dotParams, doc("IQ4XS", "AVX2", 1))
	prologue(a, 1, 8)
	a.use(
		"rowSum", "X0",
		"ones", "Y1", // words of one
		"weights", "Y2",
		"magnitudes", "Y3", // |weight|, then products
		"signed", "Y4", // activations with the weight's sign
		"scale", "Y5", // of the sub-block
		"scales", "Y6", // of eight sub-blocks, rotated
		"table", "Y7", "t0", "Y8", "d", "X9", "t1", "Y10", "t2", "Y11",
		"mask", "Y12", // 0x0f in every byte
		"blockSum", "Y13", "rotation", "Y14",
	)
	var b []byte
	for range 2 {
		for _, v := range iq4Values {
			b = append(b, byte(v))
		}
	}
	a.f("VPCMPEQW {ones}, {ones}, {ones}")
	a.f("VPSRLW $15, {ones}, {ones}")
	a.f("VMOVDQU %s, {table}", sym(a.bytes("signedIQ4NL", b), 0))
	a.everyByteAVX2(0x0f, "mask")
	rot := a.bytes("rotate", dwords(8, func(i int) uint32 { return uint32((i + 1) % 8) }))
	a.f("VMOVDQU %s, {rotation}", sym(rot, 0))
	a.l("row")
	startRow(a)
	a.f("VPXOR {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 136)
	iq4Scales(a)
	a.f("VPXOR {blockSum}, {blockSum}, {blockSum}")
	for j := range 8 {
		a.f("VMOVDQU %d({w}), {weights.x}", 8+16*j)
		a.f("VPSRLW $4, {weights.x}, {magnitudes.x}")
		a.f("VINSERTI128 $1, {magnitudes.x}, {weights}, {weights}")
		a.f("VPAND {mask}, {weights}, {weights}")
		a.f("VPSHUFB {weights}, {table}, {weights}")
		a.f("VMOVDQU %s, {signed}", xmem(0, 32*j))
		a.f("VPSIGNB {weights}, {weights}, {magnitudes}")
		a.f("VPSIGNB {weights}, {signed}, {signed}")
		a.f("VPMADDUBSW {signed}, {magnitudes}, {magnitudes}")
		a.f("VPMADDWD {ones}, {magnitudes}, {magnitudes}")
		a.f("VPBROADCASTD {scales.x}, {scale}") // this sub-block's scale, then the next to the front
		a.f("VPMULLD {scale}, {magnitudes}, {magnitudes}")
		a.f("VPADDD {magnitudes}, {blockSum}, {blockSum}")
		if j < 7 {
			a.f("VPERMD {scales}, {rotation}, {scales}")
		}
	}
	loadHalf(a, 0)
	plainY(a)
	nextBlock(a, 1, 136, 320)
	a.f("JNZ block")
	store(a, 0, "{rowSum}")
	nextRow(a)
}
