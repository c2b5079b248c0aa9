package main

import "fmt"

// An interleaved32 emits the kernels of types of blocks of 32 for rows that are interleaved.
type interleaved32 struct {
	a *file
	block32
}

// dot writes, for each row, Σ d·dx·(Σ w·x - add·Σx), or Σ dx·(d·Σ w·x + m·Σx), over its blocks, rounded in Go's order,
// eight blocks a step, which share a group of activations, and then single ones.
func (k interleaved32) dot() {
	a := k.a
	fn := "interleaved" + k.name + "AVX512"
	a.function(fn, dotParams, fmt.Sprintf("%s multiplies sixteens of interleaved %s rows with one activation row.", fn, k.name))
	prologue(a, 1, 5)
	a.use(
		"singles", "R14", // blocks that are no step of eight
		"quants", "R15", // of activations, while acts has their scales
		"mask", "Z0", // 0x0f in every byte, 0x80 for whole bytes
		"rowSum", "Z1",
		"low", "Z2", "high", "Z3", // sums of low nibbles and of high ones
		"w0", "Z4", "w1", "Z5", // 64 weights each
		"t0", "Z6",
		"sixteens", "Z7", // 0x10 in every byte
		"highs", "Z8", // 0xf0 in every byte
		"fifths", "Z9", // a bit for each weight of a row
		"table", "Z10", // of weights, plus 128
	)
	a.useRow("place", z, 16, 8) // where in 8 bytes those of four weights begin, less four
	p := &pack{a: a, lanes: 16, v: z}
	mask := byte(0x0f)
	if k.whole {
		mask = 0x80
	}
	for _, c := range []struct {
		register string
		fill     byte
	}{{"mask", mask}, {"sixteens", 0x10}, {"highs", 0xf0}} {
		a.f("VMOVDQU64 %s, {%s}", p.fill(c.fill), c.register)
	}
	if k.block32.high > 0 {
		for c := range 8 {
			// Byte j of a dword takes weight 4c+j's bit; 8 bytes are those of two rows.
			place := bytesOf(64, func(i int) byte { return byte(i%8/4*32+4*c+i%4-4) & 63 })
			a.f("VMOVDQU64 %s, {place%d}", sym(a.bytes(fmt.Sprint("fifthPlace", c), place), 0), c)
		}
	}
	if k.table != nil {
		a.f("VMOVDQU64 %s, {table}", sym(k.unsigned(a), 0))
	}
	a.f("MOVQ {blocks}, {singles}")
	a.f("ANDQ $7, {singles}")
	a.f("SHRQ $3, {blocks}")
	a.l("row")
	a.f("MOVQ {x}, {acts}")
	a.f("VPXORD {rowSum}, {rowSum}, {rowSum}")
	a.f("MOVQ {blocks}, {left}")
	a.f("TESTQ {left}, {left}")
	a.f("JZ single")
	a.l("block")
	prefetch(a, 2048, 16*8*k.bytes)
	for b := range 8 {
		k.block(16*k.bytes*b, xmem(0, 256+4*b), xmem(0, 288+4*b), func(i int) string { return xmem(0, 32*b+i) })
	}
	nextBlock(a, 16*8*k.bytes, 320)
	a.f("JNZ block")
	a.l("single")
	a.f("MOVQ {singles}, {left}")
	a.f("TESTQ {left}, {left}")
	a.f("JZ done")
	a.f("MOVQ {acts}, {quants}") // quants advance by 32, scales by 4
	a.l("one")
	k.block(0, xmem(0, 256), xmem(0, 288), func(i int) string { return mem(i, "{quants}") })
	a.f("ADDQ $%d, {w}", 16*k.bytes)
	a.f("ADDQ $4, {acts}")
	a.f("ADDQ $32, {quants}")
	a.f("DECQ {left}")
	a.f("JNZ one")
	a.l("done")
	a.f("VMOVUPS {rowSum}, ({out})")
	a.f("ADDQ $64, {out}")
	a.f("DECQ {rows}")
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}

// block adds the block at bytes at of {w} to {rowSum}, given the operands of the activations'
// scale, of -128·Σx and of four activations from i on.
func (k interleaved32) block(at int, scale, sum string, x func(i int) string) {
	a, fifth := k.a, k.block32.high > 0
	times := !fifth && k.table == nil // high nibbles stay where they are
	a.f("VPXORD {low}, {low}, {low}")
	a.f("VPXORD {high}, {high}, {high}")
	if k.whole {
		for c := range 8 { // line after line; two sums, so that products do not wait for each other
			w, sums := []string{"{w0}", "{w1}"}[c%2], []string{"{low}", "{high}"}[c%2]
			a.f("VPXORD %d({w}), {mask}, %s", at+16*k.quants+64*c, w)
			a.f("VPDPBUSD.BCST %s, %s, %s", x(4*c), w, sums)
		}
		k.sumTerm(at, scale, sum)
		return
	}
	if fifth {
		a.f("VMOVDQU64 %d({w}), {fifths}", at+16*k.block32.high)
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
		a.f("VPDPBUSD.BCST %s, {w0}, {low}", x(4*c))
		a.f("VPDPBUSD.BCST %s, {w1}, {high}", x(16+4*c))
	}
	if times {
		a.f("VPSRAD $4, {high}, {high}") // a multiple of 16
	}
	if k.min {
		k.minTerm(at, scale, sum)
		return
	}
	k.sumTerm(at, scale, sum)
}

// sumTerm adds the block's term to {rowSum}, where weights have no minimum.
func (k interleaved32) sumTerm(at int, scale, sum string) {
	a := k.a
	a.f("VPADDD {high}, {low}, {low}")
	a.f("VPBROADCASTD %s, {t0}", sum)
	if k.add < 128 {
		a.f("VPSRAD $%d, {t0}, {t0}", map[int]int{8: 4, 16: 3}[k.add]) // -add·Σx
	}
	a.f("VPADDD {t0}, {low}, {low}")
	a.f("VCVTDQ2PS {low}, {low}")
	a.f("VCVTPH2PS %d({w}), {t0}", at)
	a.f("VMULPS.BCST %s, {t0}, {t0}", scale)
	a.f("VMULPS {t0}, {low}, {low}")
	a.f("VADDPS {low}, {rowSum}, {rowSum}")
}

// minTerm adds the block's term to {rowSum}, where weights have a minimum m.
func (k interleaved32) minTerm(at int, scale, sum string) {
	a := k.a
	a.f("VMOVDQU64 %d({w}), {w0}", at) // d low, m high
	a.f("VPADDD {high}, {low}, {low}")
	a.f("VCVTDQ2PS {low}, {low}")
	a.f("VPMOVDW {w0}, {t0.y}")
	a.f("VCVTPH2PS {t0.y}, {t0}")
	a.f("VMULPS {t0}, {low}, {low}")
	a.f("VPSRLD $16, {w0}, {w0}")
	a.f("VPMOVDW {w0}, {t0.y}")
	a.f("VCVTPH2PS {t0.y}, {t0}")
	a.f("VMULPS %s, {t0}, {t0}", minus128th(a))
	a.f("VPBROADCASTD %s, {w1}", sum)
	a.f("VCVTDQ2PS {w1}, {w1}")
	a.f("VMULPS {w1}, {t0}, {t0}")
	a.f("VADDPS {t0}, {low}, {low}")
	a.f("VMULPS.BCST %s, {low}, {low}", scale)
	a.f("VADDPS {low}, {rowSum}, {rowSum}")
}
