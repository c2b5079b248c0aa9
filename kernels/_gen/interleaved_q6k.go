package main

import "fmt"

// interleavedQ6K writes the kernel of Q6_K for rows that are interleaved: for each row
// Σ d·dx·(Σ scale·w·x - 32·Σ scale·Σx), rounded in Go's order. d of every row comes first.
func interleavedQ6K(a *file) {
	const block, highs, packed, quants = 210, 0, 16, 20 // dwords behind the halves, but for the first
	a.function("interleavedQ6KAVX512", dotParams, "interleavedQ6KAVX512 multiplies sixteens of interleaved Q6_K rows with one activation row.")
	prologue(a, 1, 8)
	a.use(
		"mask", "Z0", // 0x0f in every byte, and 0x30
		"threes", "Z1",
		"rowSum", "Z2", "blockSum", "Z3",
		"offset", "Z4", // Σ scale·Σx
		"sum", "Z5", // of a sub-block
		"t0", "Z6", "t1", "Z7",
	)
	a.useRow("scales", z, 8, 4)  // of sub-blocks 4c to 4c+3
	a.useRow("high", z, 12, 16)  // two bits of 64 weights, 16 of each of four sub-blocks
	a.useRow("column", z, 28, 4) // four bits of 32 weights, 16 of each of two sub-blocks
	p := &pack{a: a, lanes: 16, v: z}
	a.f("VMOVDQU64 %s, {mask}", p.fill(0x0f))
	a.f("VMOVDQU64 %s, {threes}", p.fill(0x30))
	at := func(dword int) string { return mem(32+64*dword, "{w}") }
	a.l("row")
	startRow(a)
	a.f("VPXORD {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 16*block)
	a.f("VPXORD {blockSum}, {blockSum}, {blockSum}")
	a.f("VPXORD {offset}, {offset}, {offset}")
	for c := range 16 { // in order, as memory is read fastest
		a.f("VMOVDQU64 %s, {high%d}", at(highs+c), c)
	}
	for g := range 4 {
		a.f("VMOVDQU64 %s, {scales%d}", at(packed+g), g)
		for j := range 2 { // two at a time, as words
			a.f("VPSHUFB %s, {scales%d}, {t0}", p.shuffle(-1, 2*j, -1, 2*j+1), g)
			a.f("VPSRAW $8, {t0}, {t0}")
			a.f("VPDPWSSD.BCST %s, {t0}, {offset}", xmem(0, 256+8*g+4*j))
		}
	}
	for h := range 2 {
		for pair := range 4 { // of sub-blocks that have their low bits in the same bytes
			l, low := pair%2, pair/2
			for c := range 4 {
				a.f("VMOVDQU64 %s, {column%d}", at(quants+16*h+4*pair+c), c)
			}
			for nibble := range 2 {
				g := low + 2*nibble
				a.f("VPXORD {sum}, {sum}, {sum}")
				for c := range 4 {
					column, high := fmt.Sprintf("{column%d}", c), fmt.Sprintf("{high%d}", 8*h+4*l+c)
					if nibble == 1 {
						a.f("VPSRLD $4, %s, %s", column, column)
					}
					a.f("VPANDD {mask}, %s, {t0}", column)
					if from := 2 * g; from > 4 {
						a.f("VPSRLD $%d, %s, {t1}", from-4, high)
						high = "{t1}"
					} else if from < 4 {
						a.f("VPSLLD $%d, %s, {t1}", 4-from, high)
						high = "{t1}"
					}
					a.f("VPTERNLOGD $0xf8, {threes}, %s, {t0}", high)
					a.f("VPDPBUSD.BCST %s, {t0}, {sum}", xmem(0, 128*h+32*g+16*l+4*c))
				}
				sub := 8*h + 2*g + l
				a.f("VPSHUFB %s, {scales%d}, {t0}", p.shuffle(-1, -1, -1, sub%4), sub/4)
				a.f("VPSRAD $24, {t0}, {t0}")
				a.f("VPMULLD {t0}, {sum}, {sum}")
				a.f("VPADDD {sum}, {blockSum}, {blockSum}")
			}
		}
	}
	a.f("VPSLLD $5, {offset}, {offset}")
	a.f("VPSUBD {offset}, {blockSum}, {blockSum}")
	a.f("VCVTPH2PS ({w}), {t0}")
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
