package main

// q6k writes the kernel of Q6_K for rows that are interleaved: for each row
// Σ d·dx·(Σ scale·w·x - 32·Σ scale·Σx), rounded in Go's order. d of every row comes first.
func (k interleaved) q6k() {
	const block, highs, packed, quants = 210, 0, 16, 20 // dwords behind the halves, but for the first
	a := k.a
	k.begin("Q6K", 8, 0)
	a.use(
		"mask", "Z0", // 0x0f in every byte, and 0x30
		"threes", "Z1",
		"t0", "Z2", "t1", "Z3",
	)
	// blockSum begins with -32·Σ scale·Σx, sum is that of a sub-block.
	k.useEach(4, "rowSum", "blockSum", "sum")
	at := func(dword int) string { return mem(32+64*dword, "{w}") }
	scales := func(g int) string { // of sub-blocks 4g to 4g+3
		a.f("VMOVDQU64 %s, {t0}", at(packed+g))
		return "{t0}"
	}
	// Two bits of 64 weights, 16 of each of four sub-blocks.
	high, readHighs := k.early("high", 16, 16, func(c int) string { return at(highs + c) })
	p := &pack{a: a, lanes: 16, v: z}
	a.f("VMOVDQU64 %s, {mask}", p.fill(0x0f))
	a.f("VMOVDQU64 %s, {threes}", p.fill(0x30))
	k.rows(block, func() {
		readHighs()
		k.offset(p, 5, scales)
		for h := range 2 {
			for pair := range 4 { // of sub-blocks that have their low bits in the same bytes
				l, low := pair%2, pair/2
				for nibble := range 2 {
					g := low + 2*nibble
					k.zero("sum")
					for c := range 4 {
						column, high := at(quants+16*h+4*pair+c), high(8*h+4*l+c) // four bits of 32 weights, 16 of each of two sub-blocks
						if nibble == 1 {
							a.f("VPSRLD $4, %s, {t0}", column)
							column = "{t0}"
						}
						a.f("VPANDD %s, {mask}, {t0}", column)
						if from := 2 * g; from > 4 {
							a.f("VPSRLD $%d, %s, {t1}", from-4, high)
							high = "{t1}"
						} else if from < 4 {
							a.f("VPSLLD $%d, %s, {t1}", 4-from, high)
							high = "{t1}"
						}
						a.f("VPTERNLOGD $0xf8, %s, {threes}, {t0}", high)
						k.eachX(128*h+32*g+16*l+4*c, "VPDPBUSD.BCST %s, {t0}, {sum#}")
					}
					k.scaled(p, scales(2*h+g/2), (2*g+l)%4)
				}
			}
		}
		a.f("VCVTPH2PS ({w}), {t0}")
		k.dTerm()
	})
}

// offset begins {blockSum#} with -Σ scale·Σx<<shift, of sixteen sub-blocks whose signed scales
// are the bytes of scales(g), four a time, which may be {t0}. {t0} and {t1} are scratch.
func (k interleaved) offset(p *pack, shift int, scales func(g int) string) {
	k.zero("blockSum")
	for g := range 4 {
		s := scales(g)
		for j := range 2 { // two at a time, as words
			k.a.f("VPSHUFB %s, %s, {t1}", p.shuffle(-1, 2*j, -1, 2*j+1), s)
			k.a.f("VPSRAW $8, {t1}, {t1}")
			k.eachX(256+8*g+4*j, "VPDPWSSD.BCST %s, {t1}, {blockSum#}")
		}
	}
	k.each("VPSLLD $%d, {blockSum#}, {blockSum#}", shift)
	k.a.f("VPXORD {t0}, {t0}, {t0}")
	k.each("VPSUBD {blockSum#}, {t0}, {blockSum#}")
}

// scaled adds {sum#} times the signed scale that is byte i of scales to {blockSum#}. {t0} is
// scratch.
func (k interleaved) scaled(p *pack, scales string, i int) {
	k.a.f("VPSHUFB %s, %s, {t0}", p.shuffle(-1, -1, -1, i), scales)
	k.a.f("VPSRAD $24, {t0}, {t0}")
	k.each("VPMULLD {t0}, {sum#}, {sum#}")
	k.each("VPADDD {sum#}, {blockSum#}, {blockSum#}")
}
