package main

// q6kAVX512: VPDPBUSD sums of four products are at most 4·63·127 = 32,004 and
// fit the words VPDPWSSD multiplies with the scales. The offset of 32 is taken
// off through the sums of 16 activations.
func q6kAVX512(a *file, batch int) {
	a.function(name("Q6K", "AVX512", batch), dotParams, 56, doc("Q6K", "AVX512", batch))
	prologue(a, batch, 8)
	var d []byte // dword l of vector p takes the word of scale 4p+l/4
	for p := range 4 {
		d = append(d, words(32, func(i int) uint16 { return uint16(4*p + i/8) })...)
	}
	idx := a.bytes("q6kIdx", d)
	shl := a.bytes("shl42", words(32, func(i int) uint16 { return uint16(4 - i/16*2) }))
	shr := a.bytes("shr02", words(32, func(i int) uint16 { return uint16(i / 16 * 2) }))
	// Z0–3 scale indices, Z4 low nibbles, Z5 0x30s, Z6/Z7 shifts, Y8 scales,
	// Z9 Z10 six-bit weights, Z11–13 scratch; Z14+4b sum, Z15+4b block,
	// Z16+4b scratch.
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Z4")
	a.f("MOVQ $0x3030303030303030, AX")
	a.f("VPBROADCASTQ AX, Z5")
	a.f("VMOVDQU64 %s, Z6", sym(shl, 0))
	a.f("VMOVDQU64 %s, Z7", sym(shr, 0))
	a.f("MOVL $0x55555555, AX")
	a.f("KMOVD AX, K1")
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	a.f("MOVQ %s, %s", rN, rC)
	for b := range batch {
		a.f("VPXORQ %s, %s, %s", z(14+4*b), z(14+4*b), z(14+4*b))
	}
	a.l("block")
	prefetch(a, 1536, 256)
	a.f("VPMOVSXBW 192(%s), Y8", rW)
	for b := range batch {
		blk := 15 + 4*b
		a.f("VPMADDWD %s, Y8, %s", xmem(b, 256), y(blk))
		a.f("VPSLLD $5, %s, %s", y(blk), y(blk))
		a.f("VPXORQ Z11, Z11, Z11")
		a.f("VPSUBD %s, Z11, %s", z(blk), z(blk))
	}
	for h := range 2 {
		a.f("VMOVDQU64 %d(%s), Z11", 64*h, rW)
		a.f("VBROADCASTI32X8 %d(%s), Z12", 128+32*h, rW)
		a.f("VPANDD Z4, Z11, Z9")
		a.f("VPSRLW $4, Z11, Z10")
		a.f("VPANDD Z4, Z10, Z10")
		a.f("VPSLLVW Z6, Z12, Z11")
		a.f("VPSRLVW Z7, Z12, Z12")
		a.f("VPTERNLOGD $0xF8, Z5, Z11, Z9")
		a.f("VPTERNLOGD $0xF8, Z5, Z12, Z10")
		for j := range 2 {
			a.f("VPERMW.Z Z8, %s, K1, Z13", z(2*h+j))
			for b := range batch {
				t := z(16 + 4*b)
				a.f("VPXORQ %s, %s, %s", t, t, t)
				a.f("VPDPBUSD %s, %s, %s", xmem(b, 128*h+64*j), z(9+j), t)
				a.f("VPDPWSSD %s, Z13, %s", t, z(15+4*b))
			}
		}
	}
	a.f("MOVWLZX 208(%s), AX", rW)
	a.f("VMOVD AX, X9")
	a.f("VCVTPH2PS X9, X9")
	for b := range batch {
		sum, blk, t := 14+4*b, 15+4*b, 16+4*b
		a.f("VCVTDQ2PS %s, %s", z(blk), z(blk))
		a.f("VMULSS %s, X9, %s", xmem(b, 304), x(t))
		a.f("VBROADCASTSS %s, %s", x(t), z(t))
		a.f("VFMADD231PS %s, %s, %s", z(blk), z(t), z(sum))
	}
	a.f("ADDQ $210, %s", rW)
	a.f("ADDQ $320, %s", rXP)
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	for b := range batch {
		sumZ(a, 14+4*b, 11)
		store(a, b, x(14+4*b))
	}
	a.f("ADDQ $4, %s", rOut)
	a.f("DECQ %s", rRows)
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}

func q6kAVX2(a *file) {
	a.function(name("Q6K", "AVX2", 1), dotParams, 56, doc("Q6K", "AVX2", 1))
	prologue(a, 1, 8)
	d := make([]byte, 128) // bytes of vector v: scale 2v eight times, then 2v+1
	for v := range 8 {
		for l := range 16 {
			d[16*v+l] = byte(2*v + l/8)
		}
	}
	idx := a.bytes("q6kIdx8", d)
	// Y0 sum, Y1 low nibbles, Y2 twos, X3 scales, Y4 block, Y5 qh, Y6–9 scratch.
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VMOVQ AX, X1")
	a.f("VPBROADCASTQ X1, Y1")
	a.f("MOVQ $0x0303030303030303, AX")
	a.f("VMOVQ AX, X2")
	a.f("VPBROADCASTQ X2, Y2")
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	a.f("MOVQ %s, %s", rN, rC)
	a.f("VPXOR Y0, Y0, Y0")
	a.l("block")
	prefetch(a, 1536, 256)
	a.f("VMOVDQU 192(%s), X3", rW)
	a.f("VPMOVSXBW X3, Y4")
	a.f("VPMADDWD %s, Y4, Y4", xmem(0, 256))
	a.f("VPSLLD $5, Y4, Y4")
	a.f("VPXOR Y6, Y6, Y6")
	a.f("VPSUBD Y4, Y6, Y4")
	for h := range 2 {
		a.f("VMOVDQU %d(%s), Y5", 128+32*h, rW)
		for g := range 4 {
			a.f("VMOVDQU %d(%s), Y6", 64*h+32*(g&1), rW)
			if g >= 2 {
				a.f("VPSRLW $4, Y6, Y6")
			}
			a.f("VPAND Y1, Y6, Y6")
			if g == 0 {
				a.f("VPAND Y2, Y5, Y7")
			} else {
				a.f("VPSRLW $%d, Y5, Y7", 2*g)
				a.f("VPAND Y2, Y7, Y7")
			}
			a.f("VPSLLW $4, Y7, Y7")
			a.f("VPOR Y7, Y6, Y6")
			a.f("VPMADDUBSW %s, Y6, Y6", xmem(0, 128*h+32*g))
			a.f("VPSHUFB %s, X3, X8", sym(idx, 16*(4*h+g)))
			a.f("VPMOVSXBW X8, Y8")
			a.f("VPMADDWD Y8, Y6, Y6")
			a.f("VPADDD Y6, Y4, Y4")
		}
	}
	a.f("VCVTDQ2PS Y4, Y4")
	a.f("MOVWLZX 208(%s), AX", rW)
	a.f("VMOVD AX, X6")
	a.f("VCVTPH2PS X6, X6")
	a.f("VMULSS %s, X6, X6", xmem(0, 304))
	a.f("VBROADCASTSS X6, Y6")
	a.f("VFMADD231PS Y4, Y6, Y0")
	a.f("ADDQ $210, %s", rW)
	a.f("ADDQ $320, %s", rXP)
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	sumY(a, 0, 7)
	store(a, 0, "X0")
	a.f("ADDQ $4, %s", rOut)
	a.f("DECQ %s", rRows)
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}
