package main

import "bytes"

// Q4_K and Q5_K: eight sub-blocks of 32 weights with 6-bit scales and minimums.

// A superblock is a type of 256 weights with integer scales.
type superblock struct {
	name  string // in function names
	bytes int
	high  bool // Q5_K: a fifth bit per weight
	gen   func(*file, superblock, int)
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

// q4kScales unpacks the 12 bytes of 6-bit scales and minimums of the block at
// rW into xmm s: scales 0–3, minimums 0–3, scales 4–7, minimums 4–7. nib is a
// register of 0x0f; t and u are scratch.
func q4kScales(a *file, s, nib, t, u int) {
	k3f := a.bytes("k3f", bytes.Repeat([]byte{0x3f}, 16))
	k30 := a.bytes("k30", bytes.Repeat([]byte{0x30}, 16))
	a.f("VMOVQ 4(%s), %s", rW, x(s))
	a.f("VMOVD 12(%s), %s", rW, x(t))
	a.f("VPSRLD $4, %s, %s", x(t), x(u))
	a.f("VPUNPCKLDQ %s, %s, %s", x(u), x(t), x(t))
	a.f("VPAND %s, %s, %s", x(nib), x(t), x(t))
	a.f("VPSRLW $2, %s, %s", x(s), x(u))
	a.f("VPAND %s, %s, %s", sym(k30, 0), x(u), x(u))
	a.f("VPOR %s, %s, %s", x(u), x(t), x(t))
	a.f("VPAND %s, %s, %s", sym(k3f, 0), x(s), x(s))
	a.f("VPUNPCKLQDQ %s, %s, %s", x(t), x(s), x(s))
}

// q4kMin shuffles the minimums of scaleByte's order into eight words.
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

// q45kAVX512: VPDPBUSD sums of four products are at most 4·31·127 = 15,748, so
// they fit the words VPDPWSSD multiplies with the sub-block scales.
func q45kAVX512(a *file, k superblock, batch int) {
	a.function(name(k.name, "AVX512", batch), dotParams, 56, doc(k.name, "AVX512", batch))
	prologue(a, batch, 8)
	idxData := make([]byte, 256) // dword l of vector p takes the scale of sub-block 2p+l/8
	for p := range 4 {
		for l := range 16 {
			idxData[64*p+4*l] = scaleByte(2*p + l/8)
		}
	}
	idx := a.bytes("q4kIdx", idxData)
	shift := a.bytes("shift04", words(32, func(i int) uint16 { return uint16(i / 16 * 4) }))
	min := q4kMin(a)
	high := highBits(a)
	sixteen := a.bytes("sixteen", bytes.Repeat([]byte{16}, 64))
	qs := 16
	if k.high {
		qs = 48
	}
	// Z0–3 scale indices, Z4 shifts, Z5 low nibbles, X6 minimum shuffle, Z7
	// scales, Z8 weights, Z9 scale words, Z10 and Z11 scratch, Z12 high bits,
	// Z13 sixteens; Z14+2b sum of row b, Z15+2b this block.
	sum, blk := func(b int) int { return 14 + 2*b }, func(b int) int { return 15 + 2*b }
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.f("VMOVDQU64 %s, Z4", sym(shift, 0))
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Z5")
	a.f("VMOVDQU %s, X6", sym(min, 0))
	a.f("MOVQ $0x1111111111111111, AX")
	a.f("KMOVQ AX, K1")
	if k.high {
		a.f("VMOVDQU64 %s, Z13", sym(sixteen, 0))
	}
	a.l("row")
	startRow(a, batch)
	for b := range batch {
		a.f("VPXORQ %s, %s, %s", z(sum(b)), z(sum(b)), z(sum(b)))
	}
	a.l("block")
	prefetch(a, 2048, 192)
	q4kScales(a, 7, 5, 8, 9)
	if k.high {
		a.f("VBROADCASTI32X8 16(%s), Z12", rW)
	}
	for b := range batch {
		a.f("VPXORQ %s, %s, %s", z(blk(b)), z(blk(b)), z(blk(b)))
	}
	for p := range 4 {
		a.f("VBROADCASTI32X8 %d(%s), Z8", qs+32*p, rW)
		a.f("VPSRLVW Z4, Z8, Z8")
		a.f("VPANDD Z5, Z8, Z8")
		if k.high {
			a.f("VPTESTMB %s, Z12, K2", sym(high, 64*p))
			a.f("VPADDB Z13, Z8, K2, Z8")
		}
		a.f("VPERMB.Z Z7, %s, K1, Z9", z(p))
		for b := range batch {
			a.f("VPXORQ Z10, Z10, Z10")
			a.f("VPDPBUSD %s, Z8, Z10", xmem(b, 64*p))
			a.f("VPDPWSSD Z10, Z9, %s", z(blk(b)))
		}
	}
	a.f("VPSHUFB X6, X7, X8")      // minimums
	a.f("VCVTPH2PS (%s), X9", rW)  // d, dmin
	a.f("VPERMILPS $0x55, X9, X7") // dmin
	for b := range batch {
		a.f("VCVTDQ2PS %s, %s", z(blk(b)), z(blk(b)))
		a.f("VMULSS %s, X9, X10", xmem(b, 304))
		a.f("VBROADCASTSS X10, Z10")
		a.f("VFMADD231PS %s, Z10, %s", z(blk(b)), z(sum(b)))
		a.f("VPMADDWD %s, X8, X11", xmem(b, 288)) // clears the rest of Z11
		a.f("VCVTDQ2PS X11, X11")
		a.f("VMULSS %s, X7, X10", xmem(b, 304))
		a.f("VBROADCASTSS X10, Z10")
		a.f("VFNMADD231PS Z11, Z10, %s", z(sum(b)))
	}
	nextBlock(a, batch, k.bytes, 320)
	a.f("JNZ block")
	for b := range batch {
		sumZ(a, sum(b), 10)
		store(a, b, x(sum(b)))
	}
	nextRow(a)
}

// q4kAVX2: VPMADDUBSW sums of two products are at most 2·31·127 = 7,874,
// VPMADDWD applies the sub-block scales. high 1 is Q5_K.
func q4kAVX2(a *file, high int) {
	k := superblocks[high]
	a.function(name(k.name, "AVX2", 1), dotParams, 56, doc(k.name, "AVX2", 1))
	prologue(a, 1, 8)
	d := make([]byte, 256) // words of vector p all take the scale of sub-block p
	for p := range 8 {
		for l := range 16 {
			d[32*p+2*l], d[32*p+2*l+1] = scaleByte(p), 0x80
		}
	}
	idx := a.bytes("q4kIdx16", d)
	min := q4kMin(a)
	qs := 16 + 32*high
	// Y0 sum, X1 minimums, Y2 low nibbles, X3 minimum shuffle, Y4 scales,
	// Y5 block, Y6–9 scratch, Y10 high bits, Y11 sixteens.
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VMOVQ AX, X2")
	a.f("VPBROADCASTQ X2, Y2")
	a.f("VMOVDQU %s, X3", sym(min, 0))
	a.f("MOVQ $0x1010101010101010, AX")
	a.f("VMOVQ AX, X11")
	a.f("VPBROADCASTQ X11, Y11")
	a.l("row")
	startRow(a, 1)
	a.f("VPXOR Y0, Y0, Y0")
	a.f("VPXOR X1, X1, X1")
	a.l("block")
	prefetch(a, 2048, 192)
	q4kScales(a, 4, 2, 6, 7)
	a.f("VINSERTI128 $1, X4, Y4, Y4")
	a.f("VPXOR Y5, Y5, Y5")
	if high == 1 {
		a.f("VMOVDQU 16(%s), Y10", rW)
	}
	for p := range 4 {
		a.f("VMOVDQU %d(%s), Y6", qs+32*p, rW)
		a.f("VPAND Y2, Y6, Y7")
		a.f("VPSRLW $4, Y6, Y8")
		a.f("VPAND Y2, Y8, Y8")
		if high == 1 {
			for j, v := range []string{"Y7", "Y8"} { // bit 2p+j to bit 4
				if n := 2*p + j; n < 4 {
					a.f("VPSLLW $%d, Y10, Y9", 4-n)
				} else {
					a.f("VPSRLW $%d, Y10, Y9", n-4)
				}
				a.f("VPAND Y11, Y9, Y9")
				a.f("VPOR Y9, %s, %s", v, v)
			}
		}
		a.f("VPMADDUBSW %s, Y7, Y7", xmem(0, 64*p))
		a.f("VPMADDUBSW %s, Y8, Y8", xmem(0, 64*p+32))
		a.f("VPSHUFB %s, Y4, Y6", sym(idx, 64*p))
		a.f("VPSHUFB %s, Y4, Y9", sym(idx, 64*p+32))
		a.f("VPMADDWD Y6, Y7, Y7")
		a.f("VPMADDWD Y9, Y8, Y8")
		a.f("VPADDD Y7, Y8, Y8")
		a.f("VPADDD Y8, Y5, Y5")
	}
	a.f("VCVTDQ2PS Y5, Y5")
	a.f("VCVTPH2PS (%s), X6", rW)
	a.f("VBROADCASTSS %s, X7", xmem(0, 304))
	a.f("VMULPS X7, X6, X6")
	a.f("VBROADCASTSS X6, Y7")
	a.f("VFMADD231PS Y5, Y7, Y0")
	a.f("VPSHUFB X3, X4, X8")
	a.f("VPMADDWD %s, X8, X8", xmem(0, 288))
	a.f("VCVTDQ2PS X8, X8")
	a.f("VPERMILPS $0x55, X6, X6")
	a.f("VFNMADD231PS X8, X6, X1")
	nextBlock(a, 1, k.bytes, 320)
	a.f("JNZ block")
	a.f("VMOVAPS X1, X8")
	a.f("VADDPS Y8, Y0, Y0")
	sumY(a, 0, 7)
	store(a, 0, "X0")
	nextRow(a)
}
