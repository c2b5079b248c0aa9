package main

import "bytes"

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

// q4kAVX512: VPDPBUSD sums of four products are at most 4·15·127 = 7,620, so
// they fit the words VPDPWSSD multiplies with the sub-block scales.
func q4kAVX512(a *file, batch int) {
	a.function(name("Q4K", "AVX512", batch), dotParams, 56, doc("Q4K", "AVX512", batch))
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
	// Z0–3 scale indices, Z4 shifts, Z5 low nibbles, X6 minimum shuffle,
	// Z7 scales, Z8 nibbles, Z9 scale words; Z10+4b sum of row b, X11+4b its
	// minimums, Z12+4b this block, Z13+4b scratch.
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.f("VMOVDQU64 %s, Z4", sym(shift, 0))
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Z5")
	a.f("VMOVDQU %s, X6", sym(min, 0))
	a.f("MOVQ $0x1111111111111111, AX")
	a.f("KMOVQ AX, K1")
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	a.f("MOVQ %s, %s", rN, rC)
	for b := range batch {
		a.f("VPXORQ %s, %s, %s", z(10+4*b), z(10+4*b), z(10+4*b))
		a.f("VPXORQ %s, %s, %s", x(11+4*b), x(11+4*b), x(11+4*b))
	}
	a.l("block")
	prefetch(a, 2048, 192)
	q4kScales(a, 7, 5, 8, 9)
	for b := range batch {
		a.f("VPXORQ %s, %s, %s", z(12+4*b), z(12+4*b), z(12+4*b))
	}
	for p := range 4 {
		a.f("VBROADCASTI32X8 %d(%s), Z8", 16+32*p, rW)
		a.f("VPSRLVW Z4, Z8, Z8")
		a.f("VPANDD Z5, Z8, Z8")
		a.f("VPERMB.Z Z7, %s, K1, Z9", z(p))
		for b := range batch {
			t := z(13 + 4*b)
			a.f("VPXORQ %s, %s, %s", t, t, t)
			a.f("VPDPBUSD %s, Z8, %s", xmem(b, 64*p), t)
			a.f("VPDPWSSD %s, Z9, %s", t, z(12+4*b))
		}
	}
	a.f("VPSHUFB X6, X7, X8")     // minimums
	a.f("VCVTPH2PS (%s), X9", rW) // d, dmin
	for b := range batch {
		sum, mins, blk, t := 10+4*b, 11+4*b, 12+4*b, 13+4*b
		a.f("VCVTDQ2PS %s, %s", z(blk), z(blk))
		a.f("VBROADCASTSS %s, %s", xmem(b, 304), x(t))
		a.f("VMULPS %s, X9, %s", x(t), x(t)) // d·dx, dmin·dx
		a.f("VBROADCASTSS %s, Z7", x(t))
		a.f("VFMADD231PS %s, Z7, %s", z(blk), z(sum))
		a.f("VPMADDWD %s, X8, %s", xmem(b, 288), x(blk))
		a.f("VCVTDQ2PS %s, %s", x(blk), x(blk))
		a.f("VPERMILPS $0x55, %s, %s", x(t), x(t))
		a.f("VFNMADD231PS %s, %s, %s", x(blk), x(t), x(mins))
	}
	a.f("ADDQ $144, %s", rW)
	a.f("ADDQ $320, %s", rXP)
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	for b := range batch {
		sum, mins := 10+4*b, 11+4*b
		a.f("VMOVAPS %s, %s", x(mins), x(8)) // clears the rest of Z8
		a.f("VADDPS Z8, %s, %s", z(sum), z(sum))
		sumZ(a, sum, 7)
		store(a, b, x(sum))
	}
	a.f("ADDQ $4, %s", rOut)
	a.f("DECQ %s", rRows)
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}

// q4kAVX2: VPMADDUBSW sums of two products are at most 3,810, VPMADDWD applies
// the sub-block scales.
func q4kAVX2(a *file) {
	a.function(name("Q4K", "AVX2", 1), dotParams, 56, doc("Q4K", "AVX2", 1))
	prologue(a, 1, 8)
	d := make([]byte, 256) // words of vector p all take the scale of sub-block p
	for p := range 8 {
		for l := range 16 {
			d[32*p+2*l], d[32*p+2*l+1] = scaleByte(p), 0x80
		}
	}
	idx := a.bytes("q4kIdx16", d)
	min := q4kMin(a)
	// Y0 sum, X1 minimums, Y2 low nibbles, X3 minimum shuffle, Y4 scales,
	// Y5 block, Y6–9 scratch.
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VMOVQ AX, X2")
	a.f("VPBROADCASTQ X2, Y2")
	a.f("VMOVDQU %s, X3", sym(min, 0))
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	a.f("MOVQ %s, %s", rN, rC)
	a.f("VPXOR Y0, Y0, Y0")
	a.f("VPXOR X1, X1, X1")
	a.l("block")
	prefetch(a, 2048, 192)
	q4kScales(a, 4, 2, 6, 7)
	a.f("VINSERTI128 $1, X4, Y4, Y4")
	a.f("VPXOR Y5, Y5, Y5")
	for p := range 4 {
		a.f("VMOVDQU %d(%s), Y6", 16+32*p, rW)
		a.f("VPAND Y2, Y6, Y7")
		a.f("VPSRLW $4, Y6, Y8")
		a.f("VPAND Y2, Y8, Y8")
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
	a.f("ADDQ $144, %s", rW)
	a.f("ADDQ $320, %s", rXP)
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	a.f("VMOVAPS X1, X8")
	a.f("VADDPS Y8, Y0, Y0")
	sumY(a, 0, 7)
	store(a, 0, "X0")
	a.f("ADDQ $4, %s", rOut)
	a.f("DECQ %s", rRows)
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}
