package main

// iq4xs writes the kernel of IQ4_XS for rows that are interleaved: for each row
// Σ d·dx·(Σ scale·Σ (table[w]+128)·x - 128·Σ scale·Σx), rounded in Go's order.
func (k interleaved) iq4xs() {
	const block = 136
	a := k.a
	k.begin("IQ4XS", 8)
	a.use(
		"mask", "Z0", // 0x0f in every byte
		"w0", "Z1", "w1", "Z2",
		"t0", "Z3",
		"heads", "Z4", // d, and the scales' upper two bits
		"lows", "Z5", // the scales' lower four bits
		"table", "Z6", // of weights, plus 128
		"even", "Z7", "odd", "Z8", // scales of two sub-blocks
	)
	// raised is Σ scale·Σx, sum and upper are of the low and the high nibbles of a sub-block.
	k.useEach(9, "rowSum", "blockSum", "raised", "sum", "upper")
	p := &pack{a: a, lanes: 16, v: z}
	a.f("VMOVDQU64 %s, {mask}", p.fill(0x0f))
	a.f("VMOVDQU64 %s, {table}", sym(block32{name: "IQ4NL", table: iq4Values}.unsigned(a), 0))
	k.rows(block, func() {
		a.f("VMOVDQU64 ({w}), {heads}")
		a.f("VMOVDQU64 64({w}), {lows}")
		k.zero("blockSum", "raised")
		for j := range 8 {
			scale := []string{"{even}", "{odd}"}[j%2]
			a.f("VPSRLD $%d, {lows}, %s", 4*j, scale)
			a.f("VPANDD %s, %s, %s", p.dfill(15), scale, scale)
			a.f("VPSRLD $%d, {heads}, {t0}", 12+2*j) // the two bits come to 4 and 5
			a.f("VPTERNLOGD $0xf8, %s, {t0}, %s", p.dfill(0x30), scale)
			a.f("VPSUBD %s, %s, %s", p.dfill(32), scale, scale)
			k.zero("sum", "upper")
			for c := range 4 {
				a.f("VMOVDQU64 %s, {w1}", mem(64*(2+4*j+c), "{w}"))
				a.f("VPANDD {mask}, {w1}, {w0}")
				a.f("VPSRLD $4, {w1}, {w1}")
				a.f("VPANDD {mask}, {w1}, {w1}")
				a.f("VPSHUFB {w0}, {table}, {w0}")
				a.f("VPSHUFB {w1}, {table}, {w1}")
				k.eachX(32*j+4*c, "VPDPBUSD.BCST %s, {w0}, {sum#}")
				k.eachX(32*j+16+4*c, "VPDPBUSD.BCST %s, {w1}, {upper#}")
			}
			k.each("VPADDD {upper#}, {sum#}, {sum#}")
			k.each("VPMULLD %s, {sum#}, {sum#}", scale)
			k.each("VPADDD {sum#}, {blockSum#}, {blockSum#}")
			if j%2 == 1 { // as words
				a.f("VPSLLD $16, {odd}, {odd}")
				a.f("VPTERNLOGD $0xf8, %s, {even}, {odd}", p.dfill(0xffff))
				k.eachX(288+2*(j-1), "VPDPWSSD.BCST %s, {odd}, {raised#}")
			}
		}
		k.each("VPSLLD $7, {raised#}, {raised#}")
		k.each("VPSUBD {raised#}, {blockSum#}, {blockSum#}")
		a.f("VPMOVDW {heads}, {t0.y}")
		a.f("VCVTPH2PS {t0.y}, {t0}")
		k.dTerm()
	})
}
