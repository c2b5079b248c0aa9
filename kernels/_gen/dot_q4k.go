package main

import "bytes"

// Q4_K and Q5_K: eight sub-blocks of 32 weights with 6-bit scales and minimums.

// A superblock is a type of 256 weights with integer scales.
type superblock struct {
	name  string // in function names
	bytes int
	high  bool // Q5_K: a fifth bit per weight
	gen   func(*file, superblock)
}

var superblocks = []superblock{
	{"Q4K", 144, false, q45kAVX512},
	{"Q5K", 176, true, q45kAVX512},
	{"Q6K", 210, false, q6kAVX512},
	{"Q3K", 110, false, q3kAVX512},
	{"Q2K", 84, false, q2kAVX512},
}

// scaleByte is the place of sub-block j's scale in the 16 bytes q4kScales
// makes; its minimum is 4 bytes further.
func scaleByte(j int) byte {
	if j < 4 {
		return byte(j)
	}
	return byte(8 + j - 4)
}

// q4kScales unpacks the 12 bytes of 6-bit scales and minimums of the block at {w}
// into {scales.x}: scales 0–3, minimums 0–3, scales 4–7, minimums 4–7. {mask} is
// 0x0f in every byte; {pair} and {w0} are scratch.
func q4kScales(a *file) {
	k3f := sym(a.bytes("k3f", bytes.Repeat([]byte{0x3f}, 16)), 0)
	k30 := sym(a.bytes("k30", bytes.Repeat([]byte{0x30}, 16)), 0)
	a.f("VMOVQ 4({w}), {scales.x}")
	a.f("VMOVD 12({w}), {pair.x}")
	a.f("VPSRLD $4, {pair.x}, {w0.x}")
	a.f("VPUNPCKLDQ {w0.x}, {pair.x}, {pair.x}")
	a.f("VPAND {mask.x}, {pair.x}, {pair.x}")
	a.f("VPSRLW $2, {scales.x}, {w0.x}")
	a.f("VPAND %s, {w0.x}, {w0.x}", k30)
	a.f("VPOR {w0.x}, {pair.x}, {pair.x}")
	a.f("VPAND %s, {scales.x}, {scales.x}", k3f)
	a.f("VPUNPCKLQDQ {pair.x}, {scales.x}, {scales.x}")
}

// q4kMin declares the shuffle that takes the minimums, in scaleByte's order, to eight words.
func q4kMin(a *file) string {
	b := make([]byte, 16)
	for j := range 8 {
		b[2*j], b[2*j+1] = scaleByte(j)+4, 0x80
	}
	return a.bytes("q4kMin", b)
}

// highBits is, for vector p of 64 weights, the bit of each byte of qh that
// belongs to it: 2p for the first 32 weights, 2p+1 for the others.
func highBits(a *file) string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = 1 << (2*(i/64) + i%64/32)
	}
	return a.bytes("highBits", b)
}

// termZ adds a block's term to the low float of {rowSum}: dx·(d·I - dmin·M), with I
// the sum of {blockSum}'s dwords, M of {minSum.x}'s, d and dmin in {d}. Each step
// rounds as Go's reference does, so the bits are the reference's. {t1} is scratch.
func termZ(a *file) {
	a.f("VEXTRACTI64X4 $1, {blockSum.z}, {t1.y}")
	a.f("VPADDD {t1.y}, {blockSum.y}, {blockSum.y}")
	termY(a)
}

// termY is termZ for the dwords of {blockSum.y}.
func termY(a *file) {
	a.f("VEXTRACTI128 $1, {blockSum.y}, {t1.x}")
	a.f("VPADDD {t1.x}, {blockSum.x}, {blockSum.x}")
	a.f("VPUNPCKLDQ {minSum.x}, {blockSum.x}, {t1.x}")
	a.f("VPUNPCKHDQ {minSum.x}, {blockSum.x}, {minSum.x}")
	a.f("VPADDD {minSum.x}, {t1.x}, {t1.x}")
	a.f("VPSHUFD $0x4e, {t1.x}, {minSum.x}")
	a.f("VPADDD {minSum.x}, {t1.x}, {t1.x}") // I, M
	a.f("VCVTDQ2PS {t1.x}, {t1.x}")
	a.f("VMULPS {d.x}, {t1.x}, {t1.x}")
	a.f("VMOVSHDUP {t1.x}, {minSum.x}")
	a.f("VSUBSS {minSum.x}, {t1.x}, {t1.x}")
	a.f("VMULSS %s, {t1.x}, {t1.x}", xmem(0, 304))
	a.f("VADDSS {t1.x}, {rowSum.x}, {rowSum.x}")
}

// plainZ is termZ without minimums: dx·(d·I) with d in {d}. {t1} and {t2} are scratch.
func plainZ(a *file) {
	a.f("VEXTRACTI64X4 $1, {blockSum.z}, {t1.y}")
	a.f("VPADDD {t1.y}, {blockSum.y}, {blockSum.y}")
	plainY(a)
}

// plainY is plainZ for the dwords of {blockSum.y}.
func plainY(a *file) {
	a.f("VEXTRACTI128 $1, {blockSum.y}, {t1.x}")
	a.f("VPADDD {t1.x}, {blockSum.x}, {blockSum.x}")
	a.f("VPSHUFD $0x4e, {blockSum.x}, {t1.x}")
	a.f("VPADDD {t1.x}, {blockSum.x}, {t1.x}")
	a.f("VPSHUFD $0xb1, {t1.x}, {t2.x}")
	a.f("VPADDD {t2.x}, {t1.x}, {t1.x}")
	a.f("VCVTDQ2PS {t1.x}, {t1.x}")
	a.f("VMULSS {d.x}, {t1.x}, {t1.x}")
	a.f("VMULSS %s, {t1.x}, {t1.x}", xmem(0, 304))
	a.f("VADDSS {t1.x}, {rowSum.x}, {rowSum.x}")
}

// loadHalf reads the half at disp of the block at {w} to the low float of {d}.
func loadHalf(a *file, disp int) {
	a.f("MOVWLZX %d({w}), AX", disp)
	a.f("VMOVD AX, {d.x}")
	a.f("VCVTPH2PS {d.x}, {d.x}")
}

// q45kAVX512 writes rowSum = Σ dx·(d·Σ scale·w·x - dmin·Σ min·Σx). VPDPBUSD's sums of four
// products are at most 4·31·127 = 15,748, so VPDPWSSD can multiply them, as words, with the
// scales. Vectors have 32 bytes: 64 are no faster here and take longer to fold.
func q45kAVX512(a *file, k superblock) {
	a.function(name(k.name, "AVX512", 1), dotParams, doc(k.name, "AVX512", 1))
	prologue(a, 1, 8)
	a.use(
		"sixteens", "Y1", // 0x10 in every byte
		"mask", "Y2", // 0x0f in every byte
		"minShuffle", "X3",
		"scales", "Y4", // and minimums of the block, bytes
		"blockSum0", "Y5",
		"pair", "Y6", // 64 weights' low four bits
		"w0", "Y7", // the first 32 of them
		"w1", "Y8", // the others
		"d", "X9", // and dmin
		"t1", "Y10", "minSum", "X11",
		"scale", "Y12", // words of a sub-block's
		"fifth", "Y13", // bits of all weights
		"rowSum", "X14", "blockSum", "Y15",
	)
	a.reuse("t9", "Y9")                  // until {d} is read
	d := bytes.Repeat([]byte{0x80}, 256) // dwords of vector p all take the scale of sub-block p
	for p := range 8 {
		for l := range 8 {
			d[32*p+4*l] = scaleByte(p)
		}
	}
	idx := a.bytes("q4kIdx", d)
	qs := 16
	if k.high {
		qs = 48
	}
	a.everyByte(0x0f, "mask")
	a.everyByte(0x10, "sixteens")
	a.f("VMOVDQU %s, {minShuffle}", sym(q4kMin(a), 0))
	a.l("row")
	startRow(a)
	a.f("VPXOR {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 192)
	q4kScales(a)
	a.f("VINSERTI128 $1, {scales.x}, {scales}, {scales}")
	a.f("VPXOR {blockSum0}, {blockSum0}, {blockSum0}")
	a.f("VPXOR {blockSum}, {blockSum}, {blockSum}")
	if k.high {
		a.f("VMOVDQU 16({w}), {fifth}")
	}
	for p := range 4 {
		a.f("VMOVDQU %d({w}), {pair}", qs+32*p)
		a.f("VPAND {mask}, {pair}, {w0}")
		a.f("VPSRLW $4, {pair}, {w1}")
		a.f("VPAND {mask}, {w1}, {w1}")
		for j, v := range []string{"{w0}", "{w1}"} {
			n := 2*p + j
			if k.high { // bit n to bit 4
				if n < 4 {
					a.f("VPSLLW $%d, {fifth}, {t9}", 4-n)
				} else {
					a.f("VPSRLW $%d, {fifth}, {t9}", n-4)
				}
				a.f("VPTERNLOGD $0xf8, {sixteens}, {t9}, %s", v)
			}
			sum := []string{"{blockSum0}", "{blockSum}"}[j]
			a.f("VPXOR {t1}, {t1}, {t1}")
			a.f("VPDPBUSD %s, %s, {t1}", xmem(0, 32*n), v)
			a.f("VPSHUFB %s, {scales}, {scale}", sym(idx, 32*n))
			a.f("VPDPWSSD {t1}, {scale}, %s", sum)
		}
	}
	a.f("VPADDD {blockSum0}, {blockSum}, {blockSum}")
	a.f("VPSHUFB {minShuffle}, {scales.x}, {w1.x}")
	a.f("VPMADDWD %s, {w1.x}, {minSum}", xmem(0, 288))
	a.f("VCVTPH2PS ({w}), {d}")
	termY(a)
	nextBlock(a, 1, k.bytes, 320)
	a.f("JNZ block")
	store(a, 0, "{rowSum}")
	nextRow(a)
}

// q4kAVX2 is the same for AVX2: VPMADDUBSW's sums of two products are at most 2·31·127 =
// 7,874, VPMADDWD applies the scales. high is 1 for Q5_K, 0 for Q4_K.
func q4kAVX2(a *file, high int) {
	k := superblocks[high]
	a.function(name(k.name, "AVX2", 1), dotParams, doc(k.name, "AVX2", 1))
	prologue(a, 1, 8)
	a.use(
		"rowSum", "X0",
		"sixteens", "Y1", // 0x10 in every byte
		"mask", "Y2", // 0x0f in every byte
		"minShuffle", "X3",
		"scales", "Y4", // and minimums of the block, bytes
		"blockSum", "Y5",
		"pair", "Y6", // 64 weights' low four bits, then a scale
		"w0", "Y7", // the first 32 of them
		"w1", "Y8", // the others
		"d", "X9", // and dmin
		"t1", "X10", "minSum", "X11",
		"fifth", "Y12", // bits of all weights
	)
	a.reuse("t9", "Y9")    // until {d} is read
	d := make([]byte, 256) // words of vector p all take the scale of sub-block p
	for p := range 8 {
		for l := range 16 {
			d[32*p+2*l], d[32*p+2*l+1] = scaleByte(p), 0x80
		}
	}
	idx := a.bytes("q4kIdx16", d)
	min := q4kMin(a)
	qs := 16 + 32*high
	a.everyByteAVX2(0x0f, "mask")
	a.f("VMOVDQU %s, {minShuffle}", sym(min, 0))
	a.everyByteAVX2(0x10, "sixteens")
	a.l("row")
	startRow(a)
	a.f("VPXOR {rowSum}, {rowSum}, {rowSum}")
	a.l("block")
	prefetch(a, 2048, 192)
	q4kScales(a)
	a.f("VINSERTI128 $1, {scales.x}, {scales}, {scales}")
	a.f("VPXOR {blockSum}, {blockSum}, {blockSum}")
	if high == 1 {
		a.f("VMOVDQU 16({w}), {fifth}")
	}
	for p := range 4 {
		a.f("VMOVDQU %d({w}), {pair}", qs+32*p)
		a.f("VPAND {mask}, {pair}, {w0}")
		a.f("VPSRLW $4, {pair}, {w1}")
		a.f("VPAND {mask}, {w1}, {w1}")
		if high == 1 {
			for j, v := range []string{"{w0}", "{w1}"} { // bit 2p+j to bit 4
				if n := 2*p + j; n < 4 {
					a.f("VPSLLW $%d, {fifth}, {t9}", 4-n)
				} else {
					a.f("VPSRLW $%d, {fifth}, {t9}", n-4)
				}
				a.f("VPAND {sixteens}, {t9}, {t9}")
				a.f("VPOR {t9}, %s, %s", v, v)
			}
		}
		a.f("VPMADDUBSW %s, {w0}, {w0}", xmem(0, 64*p))
		a.f("VPMADDUBSW %s, {w1}, {w1}", xmem(0, 64*p+32))
		a.f("VPSHUFB %s, {scales}, {pair}", sym(idx, 64*p))
		a.f("VPSHUFB %s, {scales}, {t9}", sym(idx, 64*p+32))
		a.f("VPMADDWD {pair}, {w0}, {w0}")
		a.f("VPMADDWD {t9}, {w1}, {w1}")
		a.f("VPADDD {w0}, {w1}, {w1}")
		a.f("VPADDD {w1}, {blockSum}, {blockSum}")
	}
	a.f("VPSHUFB {minShuffle}, {scales.x}, {w1.x}")
	a.f("VPMADDWD %s, {w1.x}, {minSum}", xmem(0, 288))
	a.f("VCVTPH2PS ({w}), {d}")
	termY(a)
	nextBlock(a, 1, k.bytes, 320)
	a.f("JNZ block")
	store(a, 0, "{rowSum}")
	nextRow(a)
}
