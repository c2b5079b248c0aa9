package main

import "fmt"

// Sixteen weight rows are interleaved when the dwords of each block lie side by side: the one
// at byte i of row r is 16·i + 4·r bytes into the block of the sixteen. Where a block begins or ends
// with a half that makes its bytes no whole dwords, the halves come first, side by side, and
// the rest follows by the same rule. A vector then holds the same
// four bytes of every row, so that nothing is transposed, sums are not folded, and scales
// and terms are those of sixteen rows at once.
//
//	func name(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
//
// is a dot kernel whose rows are sixteens, for one activation row.

// An interleaved emits the kernels of Q4_K and Q5_K for rows that are interleaved.
type interleaved struct {
	a *file
	superblock
}

// genInterleaved writes the kernels of every type whose rows may be interleaved, and what
// makes panels of them.
func genInterleaved(a *file) {
	for _, t := range superblocks[:2] {
		interleaved{a, t}.dot()
		p := pack{a: a, level: "AVX512", lanes: 16, v: z, interleaved: true}
		p.begin(t.name)
		packQ45K(&p, t.high)
	}
	for _, t := range []struct {
		name string
		dot  func(*file)
		pack func(*pack)
	}{{"IQ4XS", interleavedIQ4XS, packIQ4XS}, {"Q2K", interleavedQ2K, packQ2K}, {"Q3K", interleavedQ3K, packQ3K}, {"Q6K", interleavedQ6K, packQ6K}} {
		t.dot(a)
		p := pack{a: a, level: "AVX512", lanes: 16, v: z, interleaved: true}
		p.begin(t.name)
		t.pack(&p)
	}
	for _, t := range blocks32 {
		if t.e8 { // a block is no whole halves
			continue
		}
		interleaved32{a, t}.dot()
		p := pack{a: a, level: "AVX512", lanes: 16, v: z, interleaved: true}
		p.begin(t.name)
		t.pack(&p)
	}
}

// dot writes, for each row, Σ dx·(d·Σ scale·w·x - dmin·Σ min·Σx), rounded in Go's order.
func (k interleaved) dot() {
	a := k.a
	fn := "interleaved" + k.name + "AVX512"
	a.function(fn, dotParams, fmt.Sprintf("%s multiplies sixteens of interleaved %s rows with one activation row.", fn, k.name))
	prologue(a, 1, 8)
	a.use(
		"mask", "Z0", // 0x0f in every byte
		"rowSum", "Z1",
		"blockSum", "Z2", // Σ scale·w·x of even sub-blocks
		"oddSum", "Z3", // of odd ones, times 16 where high nibbles stay where they are
		"minSum", "Z4",
		"even", "Z5", "odd", "Z6", // sums of a sub-block
		"w0", "Z7", "w1", "Z8", // 64 weights
		"t0", "Z9", "t1", "Z10",
		"sixteens", "Z11", // 0x10 in every byte
		"highs", "Z12", // 0xf0 in every byte
	)
	a.useRow("scales", z, 16, 2)   // bytes of sub-blocks 0 to 3, 4 to 7
	a.useRow("minimums", z, 18, 2) // likewise
	if k.high {
		a.useRow("fifths", z, 20, 8) // the fifth bits of a block's weights
	}
	p := &pack{a: a, lanes: 16, v: z}
	for _, c := range []struct {
		register string
		fill     byte
	}{{"mask", 0x0f}, {"sixteens", 0x10}, {"highs", 0xf0}} {
		a.f("VMOVDQU64 %s, {%s}", p.fill(c.fill), c.register)
	}
	a.l("row")
	startRow(a)
	a.f("VPXORD {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 16*k.bytes)
	k.scales(p)
	k.minimums(p)
	if k.high {
		// All before the rest, in order: read by turns with that they are fetched late.
		for c := range 8 {
			a.f("VMOVDQU64 %s, {fifths%d}", k.column(4+c), c)
		}
	}
	a.f("VPXORD {blockSum}, {blockSum}, {blockSum}")
	a.f("VPXORD {oddSum}, {oddSum}, {oddSum}")
	for pair := range 4 {
		k.pair(p, pair)
	}
	k.term()
	nextBlock(a, 16*k.bytes, 320)
	a.f("JNZ block")
	a.f("VMOVUPS {rowSum}, ({out})")
	a.f("ADDQ $64, {out}")
	a.f("DECQ {rows}")
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}

// column is dword c of the block of each row.
func (k interleaved) column(c int) string { return mem(64*c, "{w}") }

// scales unpacks dwords 1 to 3, the 6-bit scales and minimums.
func (k interleaved) scales(p *pack) {
	a := k.a
	six, two := p.fill(0x3f), p.fill(0x30)
	a.f("VMOVDQU64 %s, {t0}", k.column(1))
	a.f("VMOVDQU64 %s, {t1}", k.column(2))
	a.f("VMOVDQU64 %s, {w0}", k.column(3))
	a.f("VPANDD %s, {t0}, {scales0}", six)
	a.f("VPANDD %s, {t1}, {minimums0}", six)
	a.f("VPANDD {mask}, {w0}, {scales1}")
	a.f("VPSRLD $4, {w0}, {w0}")
	a.f("VPANDD {mask}, {w0}, {minimums1}")
	// Their upper two bits are those of the first ones' bytes.
	a.f("VPSRLD $2, {t0}, {t0}")
	a.f("VPTERNLOGD $0xf8, %s, {t0}, {scales1}", two)
	a.f("VPSRLD $2, {t1}, {t1}")
	a.f("VPTERNLOGD $0xf8, %s, {t1}, {minimums1}", two)
}

// minimums writes Σ min·Σx to {minSum}: two sub-blocks at a time, as words.
func (k interleaved) minimums(p *pack) {
	a := k.a
	a.f("VPXORD {minSum}, {minSum}, {minSum}")
	for pair := range 4 {
		b := 2 * pair % 4
		a.f("VPSHUFB %s, {minimums%d}, {t0}", p.shuffle(b, -1, b+1, -1), pair/2)
		a.f("VPDPWSSD.BCST %s, {t0}, {minSum}", xmem(0, 288+4*pair))
	}
}

// pair adds sub-blocks 2·pair, the low nibbles of eight dwords, and 2·pair+1, the high ones.
func (k interleaved) pair(p *pack, pair int) {
	a := k.a
	quants := 4
	if k.high {
		quants = 12
	}
	a.f("VPXORD {even}, {even}, {even}")
	a.f("VPXORD {odd}, {odd}, {odd}")
	for c := range 8 {
		a.f("VMOVDQU64 %s, {w1}", k.column(quants+8*pair+c))
		a.f("VPANDD {mask}, {w1}, {w0}")
		if k.high {
			a.f("VPSRLD $4, {w1}, {w1}")
			a.f("VPANDD {mask}, {w1}, {w1}")
			for j := range 2 { // bit n of the byte to bit 4
				if n := 2*pair + j; n < 4 {
					a.f("VPSLLD $%d, {fifths%d}, {t0}", 4-n, c)
				} else {
					a.f("VPSRLD $%d, {fifths%d}, {t0}", n-4, c)
				}
				a.f("VPTERNLOGD $0xf8, {sixteens}, {t0}, {w%d}", j)
			}
		} else {
			a.f("VPANDD {highs}, {w1}, {w1}") // 16 times the weights
		}
		a.f("VPDPBUSD.BCST %s, {w0}, {even}", xmem(0, 64*pair+4*c))
		a.f("VPDPBUSD.BCST %s, {w1}, {odd}", xmem(0, 64*pair+32+4*c))
	}
	for j, s := range []struct{ sum, to string }{{"{even}", "{blockSum}"}, {"{odd}", "{oddSum}"}} {
		a.f("VPSHUFB %s, {scales%d}, {t0}", p.shuffle((2*pair+j)%4, -1, -1, -1), pair/2)
		a.f("VPMULLD {t0}, %s, %s", s.sum, s.sum)
		a.f("VPADDD %s, %s, %s", s.sum, s.to, s.to)
	}
}

// term adds the block's terms to {rowSum}.
func (k interleaved) term() {
	a := k.a
	if !k.high {
		a.f("VPSRAD $4, {oddSum}, {oddSum}") // a multiple of 16
	}
	a.f("VPADDD {oddSum}, {blockSum}, {blockSum}")
	interleavedMinTerm(a, k.column(0))
}

// interleavedMinTerm adds {blockSum}, {minSum} and a block's d and dmin, the low and high halves of the dwords at heads, to
// {rowSum}. {t0} and {t1} are scratch.
func interleavedMinTerm(a *file, heads string) {
	a.f("VMOVDQU64 %s, {t1}", heads)
	a.f("VPMOVDW {t1}, {t0.y}")
	a.f("VCVTPH2PS {t0.y}, {t0}")
	a.f("VPSRLD $16, {t1}, {t1}")
	a.f("VPMOVDW {t1}, {t1.y}")
	a.f("VCVTPH2PS {t1.y}, {t1}")
	a.f("VCVTDQ2PS {blockSum}, {blockSum}")
	a.f("VMULPS {t0}, {blockSum}, {blockSum}")
	a.f("VCVTDQ2PS {minSum}, {minSum}")
	a.f("VMULPS {t1}, {minSum}, {minSum}")
	a.f("VSUBPS {minSum}, {blockSum}, {blockSum}")
	a.f("VMULPS.BCST %s, {blockSum}, {blockSum}", xmem(0, 304))
	a.f("VADDPS {blockSum}, {rowSum}, {rowSum}")
}
