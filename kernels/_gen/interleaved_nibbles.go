package main

import "fmt"

// An interleavedQ45K emits the kernels of Q4_K and Q5_K for rows that are interleaved.
type interleavedQ45K struct {
	interleaved
	superblock
}

// dot writes, for each row, Σ dx·(d·Σ scale·w·x - dmin·Σ min·Σx), rounded in Go's order.
func (k interleavedQ45K) dot() {
	a := k.a
	frame := 0
	if k.batch == 8 {
		frame = 8 * 64 // row sums, which no registers are left for
	}
	k.begin(k.name, 8, frame)
	a.use(
		"mask", "Z0", // 0x0f in every byte
		"w0", "Z1", "w1", "Z2", // 64 weights
		"t0", "Z3", "t1", "Z4",
	)
	if k.high {
		a.use("sixteens", "Z5") // 0x10 in every byte
	} else {
		a.use("highs", "Z5") // 0xf0 in every byte
	}
	a.useRow("scales", z, 6, 2) // bytes of sub-blocks 0 to 3, 4 to 7
	// blockSum is Σ scale·w·x, even and odd are sums of a sub-block.
	k.useEach(8, "blockSum", "even", "odd")
	if k.batch < 8 {
		k.useEach(8+3*k.batch, "rowSum")
	}
	for b := range k.batch {
		a.reuse(fmt.Sprint("minSum", b), z(a.num(fmt.Sprint("even", b))))
	}
	if k.batch == 1 {
		a.use("oddSum", "Z16") // of odd sub-blocks, times 16 where high nibbles stay where they are
	}
	var fifths func(c int) string // the fifth bits of a block's weights
	readFifths := func() {}
	if k.high {
		fifths, readFifths = k.early("fifths", 20, 8, func(c int) string { return k.column(4 + c) })
	}
	p := &pack{a: a, lanes: 16, v: z}
	a.f("VMOVDQU64 %s, {mask}", p.fill(0x0f))
	if k.high {
		a.f("VMOVDQU64 %s, {sixteens}", p.fill(0x10))
	} else {
		a.f("VMOVDQU64 %s, {highs}", p.fill(0xf0))
	}
	k.rows(k.bytes, func() {
		k.scales(p)
		readFifths()
		k.zero("blockSum")
		if k.batch == 1 {
			a.f("VPXORD {oddSum}, {oddSum}, {oddSum}")
		}
		for pair := range 4 {
			k.pair(p, pair, fifths)
		}
		if k.batch == 1 {
			if !k.high {
				a.f("VPSRAD $4, {oddSum}, {oddSum}") // a multiple of 16
			}
			a.f("VPADDD {oddSum}, {blockSum0}, {blockSum0}")
		}
		k.minimums(p)
		k.minTerm(k.column(0))
	})
}

// column is dword c of the block of each row.
func (k interleavedQ45K) column(c int) string { return mem(64*c, "{w}") }

// scales unpacks the 6-bit scales of dwords 1 to 3.
func (k interleavedQ45K) scales(p *pack) {
	a := k.a
	a.f("VMOVDQU64 %s, {t0}", k.column(1))
	a.f("VPANDD %s, {t0}, {scales0}", p.fill(0x3f))
	a.f("VPANDD %s, {mask}, {scales1}", k.column(3))
	// Their upper two bits are those of the first ones' bytes.
	a.f("VPSRLD $2, {t0}, {t0}")
	a.f("VPTERNLOGD $0xf8, %s, {t0}, {scales1}", p.fill(0x30))
}

// minimums writes Σ min·Σx to {minSum#}, which are in {even#}: two sub-blocks at a time, as words.
func (k interleavedQ45K) minimums(p *pack) {
	a := k.a
	a.f("VMOVDQU64 %s, {w0}", k.column(2)) // minimums 0 to 3, and the upper bits of the others
	a.f("VMOVDQU64 %s, {w1}", k.column(3))
	a.f("VPSRLD $4, {w1}, {w1}")
	a.f("VPANDD {mask}, {w1}, {w1}")
	a.f("VPSRLD $2, {w0}, {t0}")
	a.f("VPTERNLOGD $0xf8, %s, {t0}, {w1}", p.fill(0x30))
	a.f("VPANDD %s, {w0}, {w0}", p.fill(0x3f))
	k.zero("minSum")
	for pair := range 4 {
		b := 2 * pair % 4
		a.f("VPSHUFB %s, {w%d}, {t0}", p.shuffle(b, -1, b+1, -1), pair/2)
		k.eachX(288+4*pair, "VPDPWSSD.BCST %s, {t0}, {minSum#}")
	}
}

// pair adds sub-blocks 2·pair, the low nibbles of eight dwords, and 2·pair+1, the high ones.
func (k interleavedQ45K) pair(p *pack, pair int, fifths func(c int) string) {
	a := k.a
	quants := 4
	if k.high {
		quants = 12
	}
	k.zero("even", "odd")
	for c := range 8 {
		a.f("VMOVDQU64 %s, {w1}", k.column(quants+8*pair+c))
		a.f("VPANDD {mask}, {w1}, {w0}")
		if k.high {
			a.f("VPSRLD $4, {w1}, {w1}")
			a.f("VPANDD {mask}, {w1}, {w1}")
			for j := range 2 { // bit n of the byte to bit 4
				if n := 2*pair + j; n < 4 {
					a.f("VPSLLD $%d, %s, {t0}", 4-n, fifths(c))
				} else {
					a.f("VPSRLD $%d, %s, {t0}", n-4, fifths(c))
				}
				a.f("VPTERNLOGD $0xf8, {sixteens}, {t0}, {w%d}", j)
			}
		} else {
			a.f("VPANDD {highs}, {w1}, {w1}") // 16 times the weights
		}
		k.eachX(64*pair+4*c, "VPDPBUSD.BCST %s, {w0}, {even#}")
		k.eachX(64*pair+32+4*c, "VPDPBUSD.BCST %s, {w1}, {odd#}")
	}
	if !k.high && k.batch > 1 {
		k.each("VPSRAD $4, {odd#}, {odd#}") // a multiple of 16
	}
	for j, sum := range []string{"even", "odd"} {
		a.f("VPSHUFB %s, {scales%d}, {t0}", p.shuffle((2*pair+j)%4, -1, -1, -1), pair/2)
		k.each("VPMULLD {t0}, {%s#}, {%s#}", sum, sum)
		if j == 1 && k.batch == 1 {
			a.f("VPADDD {odd0}, {oddSum}, {oddSum}")
		} else {
			k.each("VPADDD {%s#}, {blockSum#}, {blockSum#}", sum)
		}
	}
}

// iq4xs writes the kernel of IQ4_XS for rows that are interleaved: for each row
// Σ d·dx·(Σ scale·Σ (table[w]+128)·x - 128·Σ scale·Σx), rounded in Go's order.
func (k interleaved) iq4xs() {
	const block = 136
	a := k.a
	k.begin("IQ4XS", 8, 0)
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
