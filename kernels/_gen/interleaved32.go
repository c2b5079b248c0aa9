package main

import "fmt"

// An interleaved32 emits the kernels of types of blocks of 32 for rows that are interleaved.
type interleaved32 struct {
	interleaved
	block32
}

// dot writes, for each row, Σ d·dx·(Σ w·x - add·Σx), or Σ dx·(d·Σ w·x + m·Σx), over its blocks, rounded in Go's order,
// block by block; for one activation row eight at once as long as there are so many.
func (k interleaved32) dot() {
	a := k.a
	k.begin(k.name, 5, 0)
	a.use(
		"scales", "R14", "scales4", "R15", // of activations, of this block
		"mask", "Z0", // 0x0f in every byte, 0x80 for whole bytes
		"w0", "Z1", "w1", "Z2", // 64 weights each
		"t0", "Z3", "t1", "Z4",
	)
	fifth := k.block32.high > 0
	if fifth {
		a.use("sixteens", "Z5", "fifths", "Z6") // 0x10 in every byte; a bit for each weight of a row
		a.useRow("place", z, 7, 8)
	} else {
		a.use("highs", "Z5", "table", "Z6") // 0xf0 in every byte; of weights, plus 128
	}
	// low and high are sums of low nibbles and of high ones; low is both for eight rows.
	k.useEach(15, "rowSum", "low")
	if k.batch < 8 {
		k.useEach(15+2*k.batch, "high")
	}
	p := &pack{a: a, lanes: 16, v: z}
	mask := byte(0x0f)
	if k.whole {
		mask = 0x80
	}
	a.f("VMOVDQU64 %s, {mask}", p.fill(mask))
	if fifth {
		a.f("VMOVDQU64 %s, {sixteens}", p.fill(0x10))
		for c := range 8 {
			// Where in 8 bytes those that weights 4c to 4c+3 take their bits from begin, less four:
			// byte j of a dword takes weight 4c+j's; 8 bytes are those of two rows.
			place := bytesOf(64, func(i int) byte { return byte(i%8/4*32+4*c+i%4-4) & 63 })
			a.f("VMOVDQU64 %s, {place%d}", sym(a.bytes(fmt.Sprint("fifthPlace", c), place), 0), c)
		}
	} else {
		a.f("VMOVDQU64 %s, {highs}", p.fill(0xf0))
	}
	if k.table != nil {
		a.f("VMOVDQU64 %s, {table}", sym(k.unsigned(a), 0))
	}
	if k.batch == 1 { // eight blocks are a step, which share a group of activations
		a.use("singles", "AX", "group", "R9") // blocks that are no step of eight
		a.f("MOVQ {blocks}, {singles}")
		a.f("ANDQ $7, {singles}")
		a.f("SHRQ $3, {blocks}")
	} else {
		a.use("group", "AX")
	}
	a.l("row")
	k.start()
	if k.batch == 1 {
		a.f("TESTQ {left}, {left}")
		a.f("JZ single")
		a.l("block")
		k.fetching(16*8*k.bytes, func() {
			for b := range 8 {
				k.block(16*k.bytes*b, func(r, disp int) string { return xmem(r, 256+4*b+disp) }, func(r, i int) string { return xmem(r, 32*b+i) })
			}
		})
		nextBlock(a, k.batch, 16*8*k.bytes, 320)
		a.f("JNZ block")
		a.l("single")
		a.f("MOVQ {singles}, {left}")
		a.f("TESTQ {left}, {left}")
		a.f("JZ done")
	}
	startGroup(a, k.batch, "{group}")
	a.l("one")
	k.fetching(16*k.bytes, func() { k.block(0, xscale, xmem) })
	a.f("ADDQ $%d, {w}", 16*k.bytes)
	nextOfGroup(a, k.batch, "{group}", "next")
	a.f("DECQ {left}")
	a.f("JNZ one")
	a.l("done")
	k.end()
}

// block adds the block at bytes at of {w} to {rowSum#}: scale is the operand of what is so many
// bytes behind the scale of an activation row's block, x that of four of its activations from i on.
func (k interleaved32) block(at int, scale, x func(row, i int) string) {
	a, fifth := k.a, k.block32.high > 0
	times := !fifth && k.table == nil // high nibbles stay where they are
	if k.min {
		k.zero("low")
	} else {
		for r := range k.batch {
			a.f("VPBROADCASTD %s, {low%d}", scale(r, 32), r) // -128·Σx
		}
		if k.add < 128 {
			k.each("VPSRAD $%d, {low#}, {low#}", map[int]int{8: 4, 16: 3}[k.add]) // -add·Σx
		}
	}
	if k.batch < 8 {
		k.zero("high")
	}
	products := func(i int, w, sum string) {
		for r := range k.batch {
			a.f("VPDPBUSD.BCST %s, %s, {%s%d}", x(r, i), w, sum, r)
		}
	}
	if k.whole {
		for c := range 8 { // line after line; two sums, so that products do not wait for each other
			w, sum := []string{"{w0}", "{w1}"}[c%2], []string{"low", "high"}[c%2]
			a.f("VPXORD %d({w}), {mask}, %s", at+16*k.quants+64*c, w)
			products(4*c, w, sum)
		}
		k.sumTerm(at, scale)
		return
	}
	if fifth {
		a.f("VMOVDQU64 %d({w}), {fifths}", at+16*k.block32.high)
	}
	high := "high"
	if k.batch == 8 {
		high = "low"
	}
	for c := range 4 {
		a.f("VMOVDQU64 %d({w}), {w1}", at+16*k.quants+64*c)
		a.f("VPANDD {mask}, {w1}, {w0}")
		if times {
			a.f("VPANDD {highs}, {w1}, {w1}") // 16 times the weights
		} else {
			a.f("VPSRLD $4, {w1}, {w1}")
			a.f("VPANDD {mask}, {w1}, {w1}")
		}
		for j := range 2 {
			switch {
			case fifth:
				a.f("VPMULTISHIFTQB {fifths}, {place%d}, {t0}", 4*j+c)
				a.f("VPTERNLOGD $0xf8, {sixteens}, {t0}, {w%d}", j)
			case k.table != nil:
				a.f("VPSHUFB {w%d}, {table}, {w%d}", j, j)
			}
		}
		products(4*c, "{w0}", "low")
		products(16+4*c, "{w1}", high)
	}
	if times {
		k.each("VPSRAD $4, {high#}, {high#}") // a multiple of 16
	}
	if k.min {
		k.blockMinTerm(at, scale)
		return
	}
	k.sumTerm(at, scale)
}

// folded adds {high#} to {low#}.
func (k interleaved32) folded() {
	if k.batch < 8 {
		k.each("VPADDD {high#}, {low#}, {low#}")
	}
}

// sumTerm adds the block's term to {rowSum#}, where weights have no minimum.
func (k interleaved32) sumTerm(at int, scale func(row, disp int) string) {
	a := k.a
	a.f("VCVTPH2PS %d({w}), {t1}", at)
	k.folded()
	for r := range k.batch {
		low := fmt.Sprintf("{low%d}", r)
		a.f("VCVTDQ2PS %s, %s", low, low)
		a.f("VMULPS.BCST %s, {t1}, {t0}", scale(r, 0))
		a.f("VMULPS {t0}, %s, %s", low, low)
	}
	k.each("VADDPS {low#}, {rowSum#}, {rowSum#}")
}

// blockMinTerm adds the block's term to {rowSum#}, where weights have a minimum m.
func (k interleaved32) blockMinTerm(at int, scale func(row, disp int) string) {
	a := k.a
	k.halves(mem(at, "{w}")) // d and m
	a.f("VMULPS %s, {t1}, {t1}", minus128th(a))
	k.folded()
	k.each("VCVTDQ2PS {low#}, {low#}")
	k.each("VMULPS {t0}, {low#}, {low#}")
	for r := range k.batch {
		low := fmt.Sprintf("{low%d}", r)
		a.f("VCVTDQ2PS.BCST %s, {w1}", scale(r, 32))
		a.f("VMULPS {w1}, {t1}, {w1}")
		a.f("VADDPS {w1}, %s, %s", low, low)
		a.f("VMULPS.BCST %s, %s, %s", scale(r, 0), low, low)
	}
	k.each("VADDPS {low#}, {rowSum#}, {rowSum#}")
}
