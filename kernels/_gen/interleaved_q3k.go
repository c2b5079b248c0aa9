package main

import "fmt"

// q3k writes the kernel of Q3_K for rows that are interleaved: for each row
// Σ d·dx·(Σ scale·w·x - 4·Σ scale·Σx), rounded in Go's order. d of every row comes first.
func (k interleaved) q3k() {
	const block, thirds, quants, packed = 110, 0, 8, 24 // dwords behind the halves, but for the first
	a := k.a
	k.begin("Q3K", 8)
	a.use(
		"three", "Z0", // in every byte, and four
		"four", "Z1",
		"t0", "Z2", "t1", "Z3",
	)
	a.useRow("scales", z, 4, 4) // of sub-blocks 4c to 4c+3
	// blockSum begins with -4·Σ scale·Σx, sum is that of a sub-block.
	k.useEach(8, "rowSum", "blockSum", "sum")
	at := func(dword int) string { return mem(32+64*dword, "{w}") }
	third := func(c int) string { return at(thirds + c) } // third bits of weights, eight sub-blocks in four
	if k.batch == 1 {
		a.useRow("third", z, 11, 8)
		third = func(c int) string { return fmt.Sprintf("{third%d}", c) }
	}
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
	k.rows(block, func() {
		if k.batch > 1 {
			k.touch(at, thirds, 8)
		} else {
			for c := range 8 { // in order, as memory is read fastest
				a.f("VMOVDQU64 %s, %s", at(thirds+c), third(c))
			}
		}
		a.f("VMOVDQU64 %s, {scales0}", at(packed))
		a.f("VMOVDQU64 %s, {scales1}", at(packed+1))
		a.f("VMOVDQU64 %s, {t1}", at(packed+2))
		a.f("VPSRLD $4, {scales0}, {scales2}")
		a.f("VPSRLD $4, {scales1}, {scales3}")
		for g := range 4 { // less 32
			a.f("VPANDD %s, {scales%d}, {scales%d}", p.fill(0x0f), g, g)
			a.f("VPTERNLOGD $0xf8, %s, %s, {scales%d}", p.fill(0x30), shift(2*g, 4, "{t1}", "{t0}"), g)
			a.f("VPSUBB %s, {scales%d}, {scales%d}", p.fill(32), g, g)
		}
		k.offset(p, 2, func(g int) string { return fmt.Sprintf("{scales%d}", g) })
		for h := range 2 {
			for l := range 2 {
				for g := range 4 {
					k.zero("sum")
					for c := range 4 {
						column := at(quants + 8*h + 4*l + c) // two bits of 64 weights, 16 of each of four sub-blocks
						a.f("VPANDD %s, {three}, {t0}", shift(2*g, 0, column, "{t0}"))
						a.f("VPTERNLOGD $0xf8, %s, {four}, {t0}", shift(4*h+g, 2, third(4*l+c), "{t1}"))
						k.eachX(128*h+32*g+16*l+4*c, "VPDPBUSD.BCST %s, {t0}, {sum#}")
					}
					k.scaled(p, fmt.Sprintf("{scales%d}", 2*h+g/2), (2*g+l)%4)
				}
			}
		}
		a.f("VCVTPH2PS ({w}), {t0}")
		k.dTerm()
	})
}
