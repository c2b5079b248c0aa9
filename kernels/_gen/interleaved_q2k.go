package main

// interleavedQ2K writes the kernel of Q2_K for rows that are interleaved: for each row
// Σ dx·(d·Σ scale·w·x - dmin·Σ min·Σx), rounded in Go's order.
func interleavedQ2K(a *file) {
	const block, quants, heads = 84, 4, 20 // dwords, but for the first
	a.function("interleavedQ2KAVX512", dotParams, "interleavedQ2KAVX512 multiplies sixteens of interleaved Q2_K rows with one activation row.")
	prologue(a, 1, 8)
	a.use(
		"nibbles", "Z0", // 0x0f in every byte
		"rowSum", "Z1", "blockSum", "Z2", "minSum", "Z3",
		"t0", "Z4", "t1", "Z5",
	)
	a.useRow("two", z, 8, 4)     // the g-th two bits of every byte
	a.useRow("column", z, 12, 4) // 64 weights, 16 of each of four sub-blocks
	a.useRow("sum", z, 16, 4)    // of these, times 4^g
	a.useRow("scales", z, 20, 4) // of sub-blocks 4c to 4c+3
	p := &pack{a: a, lanes: 16, v: z}
	a.f("VMOVDQU64 %s, {nibbles}", p.fill(0x0f))
	for g := range 4 {
		a.f("VMOVDQU64 %s, {two%d}", p.fill(byte(3<<(2*g))), g)
	}
	at := func(dword int) string { return mem(64*dword, "{w}") }
	a.l("row")
	startRow(a)
	a.f("VPXORD {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 16*block)
	a.f("VPXORD {blockSum}, {blockSum}, {blockSum}")
	a.f("VPXORD {minSum}, {minSum}, {minSum}")
	for c := range 4 {
		a.f("VMOVDQU64 %s, {t0}", at(c))
		a.f("VPANDD {nibbles}, {t0}, {scales%d}", c)
		a.f("VPSRLD $4, {t0}, {t0}")
		a.f("VPANDD {nibbles}, {t0}, {t0}")
		for j := range 2 { // two minimums at a time, as words
			a.f("VPSHUFB %s, {t0}, {t1}", p.shuffle(2*j, -1, 2*j+1, -1))
			a.f("VPDPWSSD.BCST %s, {t1}, {minSum}", xmem(0, 256+8*c+4*j))
		}
	}
	for h := range 2 {
		for l := range 2 {
			for c := range 4 {
				a.f("VMOVDQU64 %s, {column%d}", at(quants+8*h+4*l+c), c)
			}
			for g := range 4 {
				a.f("VPXORD {sum%d}, {sum%d}, {sum%d}", g, g, g)
				for c := range 4 {
					a.f("VPANDD {two%d}, {column%d}, {t%d}", g, c, c%2)
					a.f("VPDPBUSD.BCST %s, {t%d}, {sum%d}", xmem(0, 128*h+32*g+16*l+4*c), c%2, g)
				}
			}
			for g := range 4 {
				if g > 0 {
					a.f("VPSRAD $%d, {sum%d}, {sum%d}", 2*g, g, g) // a multiple of 4^g
				}
				sub := 8*h + 2*g + l
				a.f("VPSHUFB %s, {scales%d}, {t0}", p.shuffle(sub%4, -1, -1, -1), sub/4)
				a.f("VPMULLD {t0}, {sum%d}, {sum%d}", g, g)
				a.f("VPADDD {sum%d}, {blockSum}, {blockSum}", g)
			}
		}
	}
	interleavedMinTerm(a, at(heads))
	nextBlock(a, 16*block, 320)
	a.f("JNZ block")
	a.f("VMOVUPS {rowSum}, ({out})")
	a.f("ADDQ $64, {out}")
	a.f("DECQ {rows}")
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}
