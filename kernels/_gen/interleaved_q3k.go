package main

import "fmt"

// interleavedQ3K writes the kernel of Q3_K for rows that are interleaved: for each row
// Σ d·dx·(Σ scale·w·x - 4·Σ scale·Σx), rounded in Go's order. d of every row comes first.
func interleavedQ3K(a *file) {
	const block, thirds, quants, packed = 110, 0, 8, 24 // dwords behind the halves, but for the first
	a.function("interleavedQ3KAVX512", dotParams, "interleavedQ3KAVX512 multiplies sixteens of interleaved Q3_K rows with one activation row.")
	prologue(a, 1, 8)
	a.use(
		"three", "Z0", // in every byte, and four
		"four", "Z1",
		"rowSum", "Z2", "blockSum", "Z3",
		"offset", "Z4", // Σ scale·Σx
		"sum", "Z5", // of a sub-block
		"t0", "Z6", "t1", "Z7",
	)
	a.useRow("scales", z, 8, 4)  // of sub-blocks 4c to 4c+3
	a.useRow("third", z, 12, 8)  // third bits of weights, eight sub-blocks in four
	a.useRow("column", z, 20, 4) // two bits of 64 weights, 16 of each of four sub-blocks
	p := &pack{a: a, lanes: 16, v: z}
	a.f("VMOVDQU64 %s, {three}", p.fill(3))
	a.f("VMOVDQU64 %s, {four}", p.fill(4))
	shift := func(from, to int, src, dst string) string { // as a whole: other bits follow
		switch {
		case from > to:
			a.f("VPSRLD $%d, %s, %s", from-to, src, dst)
			return dst
		case to > from:
			a.f("VPSLLD $%d, %s, %s", to-from, src, dst)
			return dst
		}
		return src
	}
	at := func(dword int) string { return mem(32+64*dword, "{w}") }
	a.l("row")
	startRow(a)
	a.f("VPXORD {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 16*block)
	a.f("VPXORD {blockSum}, {blockSum}, {blockSum}")
	a.f("VPXORD {offset}, {offset}, {offset}")
	for c := range 8 { // in order, as memory is read fastest
		a.f("VMOVDQU64 %s, {third%d}", at(thirds+c), c)
	}
	k3scales(a, p, shift, at(packed), at(packed+1), at(packed+2))
	for h := range 2 {
		for l := range 2 {
			for c := range 4 {
				a.f("VMOVDQU64 %s, {column%d}", at(quants+8*h+4*l+c), c)
			}
			for g := range 4 {
				a.f("VPXORD {sum}, {sum}, {sum}")
				for c := range 4 {
					column, third := fmt.Sprintf("{column%d}", c), fmt.Sprintf("{third%d}", 4*l+c)
					a.f("VPANDD {three}, %s, {t0}", shift(2*g, 0, column, "{t0}"))
					a.f("VPTERNLOGD $0xf8, {four}, %s, {t0}", shift(4*h+g, 2, third, "{t1}"))
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
	a.f("VPSLLD $2, {offset}, {offset}")
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

// k3scales unpacks the scales, less 32, of the dwords s0 to s2, and adds what their offset makes to {offset}.
func k3scales(a *file, p *pack, shift func(from, to int, src, dst string) string, s0, s1, s2 string) {
	a.f("VMOVDQU64 %s, {scales0}", s0)
	a.f("VMOVDQU64 %s, {scales1}", s1)
	a.f("VMOVDQU64 %s, {t1}", s2)
	a.f("VPSRLD $4, {scales0}, {scales2}")
	a.f("VPSRLD $4, {scales1}, {scales3}")
	for g := range 4 {
		a.f("VPANDD %s, {scales%d}, {scales%d}", p.fill(0x0f), g, g)
		a.f("VPTERNLOGD $0xf8, %s, %s, {scales%d}", p.fill(0x30), shift(2*g, 4, "{t1}", "{t0}"), g)
		a.f("VPSUBB %s, {scales%d}, {scales%d}", p.fill(32), g, g)
		for j := range 2 { // two at a time, as words
			a.f("VPSHUFB %s, {scales%d}, {t0}", p.shuffle(-1, 2*j, -1, 2*j+1), g)
			a.f("VPSRAW $8, {t0}, {t0}")
			a.f("VPDPWSSD.BCST %s, {t0}, {offset}", xmem(0, 256+8*g+4*j))
		}
	}
}
