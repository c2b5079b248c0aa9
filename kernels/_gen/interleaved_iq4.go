package main

// interleavedIQ4XS writes the kernel of IQ4_XS for rows that are interleaved: for each row
// Σ d·dx·(Σ scale·Σ (table[w]+128)·x - 128·Σ scale·Σx), rounded in Go's order.
func interleavedIQ4XS(a *file) {
	const block = 136
	a.function("interleavedIQ4XSAVX512", dotParams, "interleavedIQ4XSAVX512 multiplies sixteens of interleaved IQ4_XS rows with one activation row.")
	prologue(a, 1, 8)
	a.use(
		"mask", "Z0", // 0x0f in every byte
		"rowSum", "Z1",
		"blockSum", "Z2",
		"raised", "Z3", // Σ scale·Σx
		"sum", "Z4", "upper", "Z5", // of the low and the high nibbles of a sub-block
		"w0", "Z6", "w1", "Z7",
		"t0", "Z8",
		"heads", "Z9", // d, and the scales' upper two bits
		"lows", "Z10", // the scales' lower four bits
		"table", "Z11", // of weights, plus 128
		"even", "Z12", "odd", "Z13", // scales of two sub-blocks
	)
	p := &pack{a: a, lanes: 16, v: z}
	a.f("VMOVDQU64 %s, {mask}", p.fill(0x0f))
	a.f("VMOVDQU64 %s, {table}", sym(block32{name: "IQ4NL", table: iq4Values}.unsigned(a), 0))
	a.l("row")
	startRow(a)
	a.f("VPXORD {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 16*block)
	a.f("VMOVDQU64 ({w}), {heads}")
	a.f("VMOVDQU64 64({w}), {lows}")
	a.f("VPXORD {blockSum}, {blockSum}, {blockSum}")
	a.f("VPXORD {raised}, {raised}, {raised}")
	for j := range 8 {
		scale := []string{"{even}", "{odd}"}[j%2]
		a.f("VPSRLD $%d, {lows}, %s", 4*j, scale)
		a.f("VPANDD %s, %s, %s", p.dfill(15), scale, scale)
		a.f("VPSRLD $%d, {heads}, {t0}", 12+2*j) // the two bits come to 4 and 5
		a.f("VPTERNLOGD $0xf8, %s, {t0}, %s", p.dfill(0x30), scale)
		a.f("VPSUBD %s, %s, %s", p.dfill(32), scale, scale)
		a.f("VPXORD {sum}, {sum}, {sum}")
		a.f("VPXORD {upper}, {upper}, {upper}")
		for c := range 4 {
			a.f("VMOVDQU64 %s, {w1}", mem(64*(2+4*j+c), "{w}"))
			a.f("VPANDD {mask}, {w1}, {w0}")
			a.f("VPSRLD $4, {w1}, {w1}")
			a.f("VPANDD {mask}, {w1}, {w1}")
			a.f("VPSHUFB {w0}, {table}, {w0}")
			a.f("VPSHUFB {w1}, {table}, {w1}")
			a.f("VPDPBUSD.BCST %s, {w0}, {sum}", xmem(0, 32*j+4*c))
			a.f("VPDPBUSD.BCST %s, {w1}, {upper}", xmem(0, 32*j+16+4*c))
		}
		a.f("VPADDD {upper}, {sum}, {sum}")
		a.f("VPMULLD %s, {sum}, {sum}", scale)
		a.f("VPADDD {sum}, {blockSum}, {blockSum}")
		if j%2 == 1 { // as words
			a.f("VPSLLD $16, {odd}, {odd}")
			a.f("VPTERNLOGD $0xf8, %s, {even}, {odd}", p.dfill(0xffff))
			a.f("VPDPWSSD.BCST %s, {odd}, {raised}", xmem(0, 288+2*(j-1)))
		}
	}
	a.f("VPSLLD $7, {raised}, {raised}")
	a.f("VPSUBD {raised}, {blockSum}, {blockSum}")
	a.f("VPMOVDW {heads}, {t0.y}")
	a.f("VCVTPH2PS {t0.y}, {t0}")
	a.f("VCVTDQ2PS {blockSum}, {blockSum}")
	a.f("VMULPS {t0}, {blockSum}, {blockSum}")
	a.f("VMULPS.BCST %s, {blockSum}, {blockSum}", xmem(0, 304))
	a.f("VADDPS {blockSum}, {rowSum}, {rowSum}")
	nextBlock(a, 16*block, 320)
	a.f("JNZ block")
	a.f("VMOVUPS {rowSum}, ({out})")
	a.f("ADDQ $64, {out}")
	a.f("DECQ {rows}")
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}
