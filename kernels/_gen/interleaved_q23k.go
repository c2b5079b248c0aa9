package main

import (
	"fmt"
	"slices"
)

// q2k writes the kernel of Q2_K for rows that are interleaved: for each row
// Σ dx·(d·Σ scale·w·x - dmin·Σ min·Σx), rounded in Go's order.
func (k interleaved) q2k() {
	const block, quants, heads = 84, 4, 20 // dwords, but for the first
	a := k.a
	k.begin("Q2K", 8, 0)
	a.use(
		"nibbles", "Z0", // 0x0f in every byte
		"t0", "Z1", "t1", "Z2",
	)
	a.useRow("two", z, 3, 4)     // the g-th two bits of every byte
	a.useRow("column", z, 7, 4)  // 64 weights, 16 of each of four sub-blocks
	a.useRow("scales", z, 11, 4) // of sub-blocks 4c to 4c+3
	k.useEach(15, "rowSum", "blockSum", "minSum")
	sums := []string{"sum", "sum", "sum", "sum"} // of four sub-blocks, times 4^g
	if k.batch == 1 {                            // so that products do not wait for each other
		sums = []string{"sum", "second", "third", "fourth"}
	}
	k.useEach(15+3*k.batch, slices.Compact(slices.Clone(sums))...)
	p := &pack{a: a, lanes: 16, v: z}
	a.f("VMOVDQU64 %s, {nibbles}", p.fill(0x0f))
	for g := range 4 {
		a.f("VMOVDQU64 %s, {two%d}", p.fill(byte(3<<(2*g))), g)
	}
	at := func(dword int) string { return mem(64*dword, "{w}") }
	k.rows(block, func() {
		k.zero("blockSum", "minSum")
		for c := range 4 {
			a.f("VMOVDQU64 %s, {t0}", at(c))
			a.f("VPANDD {nibbles}, {t0}, {scales%d}", c)
			a.f("VPSRLD $4, {t0}, {t0}")
			a.f("VPANDD {nibbles}, {t0}, {t0}")
			for j := range 2 { // two minimums at a time, as words
				a.f("VPSHUFB %s, {t0}, {t1}", p.shuffle(2*j, -1, 2*j+1, -1))
				k.eachX(256+8*c+4*j, "VPDPWSSD.BCST %s, {t1}, {minSum#}")
			}
		}
		for h := range 2 {
			for l := range 2 {
				for c := range 4 {
					a.f("VMOVDQU64 %s, {column%d}", at(quants+8*h+4*l+c), c)
				}
				scaled := func(g int) {
					sum, sub := sums[g], 8*h+2*g+l
					if g > 0 {
						k.each("VPSRAD $%d, {%s#}, {%s#}", 2*g, sum, sum) // a multiple of 4^g
					}
					a.f("VPSHUFB %s, {scales%d}, {t0}", p.shuffle(sub%4, -1, -1, -1), sub/4)
					k.each("VPMULLD {t0}, {%s#}, {%s#}", sum, sum)
					k.each("VPADDD {%s#}, {blockSum#}, {blockSum#}", sum)
				}
				for g := range 4 {
					k.zero(sums[g])
					for c := range 4 {
						a.f("VPANDD {two%d}, {column%d}, {t%d}", g, c, c%2)
						k.eachX(128*h+32*g+16*l+4*c, "VPDPBUSD.BCST %s, {t%d}, {%s#}", c%2, sums[g])
					}
					if k.batch > 1 {
						scaled(g)
					}
				}
				for g := range 4 {
					if k.batch == 1 {
						scaled(g)
					}
				}
			}
		}
		k.minTerm(at(heads))
	})
}

// q3k writes the kernel of Q3_K for rows that are interleaved: for each row
// Σ d·dx·(Σ scale·w·x - 4·Σ scale·Σx), rounded in Go's order. d of every row comes first.
func (k interleaved) q3k() {
	const block, thirds, quants, packed = 110, 0, 8, 24 // dwords behind the halves, but for the first
	a := k.a
	k.begin("Q3K", 8, 0)
	a.use(
		"three", "Z0", // in every byte, and four
		"four", "Z1",
		"t0", "Z2", "t1", "Z3",
	)
	a.useRow("scales", z, 4, 4) // of sub-blocks 4c to 4c+3
	// blockSum begins with -4·Σ scale·Σx, sum is that of a sub-block.
	k.useEach(8, "rowSum", "blockSum", "sum")
	at := func(dword int) string { return mem(32+64*dword, "{w}") }
	// Third bits of weights, eight sub-blocks in four.
	third, readThirds := k.early("third", 11, 8, func(c int) string { return at(thirds + c) })
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
		readThirds()
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
