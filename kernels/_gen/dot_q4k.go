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

// termZ adds a block's term to X14, the row's sum: with I the sum of the dwords of
// Z15 and M that of X11, dx·(d·I - dmin·M), where X9 starts with d and dmin. Each
// step rounds as Go's reference does, so the bits are the reference's. Z10 is
// scratch.
func termZ(a *file) {
	a.f("VEXTRACTI64X4 $1, Z15, Y10")
	a.f("VPADDD Y10, Y15, Y15")
	termY(a, 15, 14)
}

// termY is termZ for the dwords of ymm i and the sum in xmm s.
func termY(a *file, i, s int) {
	a.f("VEXTRACTI128 $1, %s, X10", y(i))
	a.f("VPADDD X10, %s, %s", x(i), x(i))
	a.f("VPUNPCKLDQ X11, %s, X10", x(i))
	a.f("VPUNPCKHDQ X11, %s, X11", x(i))
	a.f("VPADDD X11, X10, X10")
	a.f("VPSHUFD $0x4e, X10, X11")
	a.f("VPADDD X11, X10, X10") // I, M
	a.f("VCVTDQ2PS X10, X10")
	a.f("VMULPS X9, X10, X10")
	a.f("VMOVSHDUP X10, X11")
	a.f("VSUBSS X11, X10, X10")
	a.f("VMULSS %s, X10, X10", xmem(0, 304))
	a.f("VADDSS X10, %s, %s", x(s), x(s))
}

// plainZ is termZ without minimums.
func plainZ(a *file) {
	a.f("VEXTRACTI64X4 $1, Z15, Y10")
	a.f("VPADDD Y10, Y15, Y15")
	plainY(a, 15, 14)
}

func plainY(a *file, i, s int) {
	a.f("VEXTRACTI128 $1, %s, X10", y(i))
	a.f("VPADDD X10, %s, %s", x(i), x(i))
	a.f("VPSHUFD $0x4e, %s, X10", x(i))
	a.f("VPADDD X10, %s, X10", x(i))
	a.f("VPSHUFD $0xb1, X10, X11")
	a.f("VPADDD X11, X10, X10")
	a.f("VCVTDQ2PS X10, X10")
	a.f("VMULSS X9, X10, X10")
	a.f("VMULSS %s, X10, X10", xmem(0, 304))
	a.f("VADDSS X10, %s, %s", x(s), x(s))
}

// loadHalf reads the half at disp to the low float of X9.
func loadHalf(a *file, disp int) {
	a.f("MOVWLZX %d(%s), AX", disp, rW)
	a.f("VMOVD AX, X9")
	a.f("VCVTPH2PS X9, X9")
}

// q45kAVX512: VPDPBUSD sums of four products are at most 4·31·127 = 15,748, so
// they fit the words VPDPWSSD multiplies with the sub-block scales. Vectors have
// 32 bytes: twice as long ones are no faster here and have more to fold.
func q45kAVX512(a *file, k superblock) {
	a.function(name(k.name, "AVX512", 1), dotParams, 56, doc(k.name, "AVX512", 1))
	prologue(a, 1, 8)
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
	// Y2 low nibbles, X3 minimum shuffle, Y4 scales, Y5 block, Y6-8 weights, X9 d
	// and dmin, Y10 to Y12 scratch, Y13 fifth bits, X14 sum, Y15 more of the
	// block, Y1 sixteens.
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Y2")
	a.f("MOVQ $0x1010101010101010, AX")
	a.f("VPBROADCASTQ AX, Y1")
	a.f("VMOVDQU %s, X3", sym(q4kMin(a), 0))
	a.l("row")
	startRow(a, 1)
	a.f("VPXOR X14, X14, X14")
	a.l("block")
	prefetch(a, 2048, 192)
	q4kScales(a, 4, 2, 6, 7)
	a.f("VINSERTI128 $1, X4, Y4, Y4")
	a.f("VPXOR Y5, Y5, Y5")
	a.f("VPXOR Y15, Y15, Y15")
	if k.high {
		a.f("VMOVDQU 16(%s), Y13", rW)
	}
	for p := range 4 {
		a.f("VMOVDQU %d(%s), Y6", qs+32*p, rW)
		a.f("VPAND Y2, Y6, Y7")
		a.f("VPSRLW $4, Y6, Y8")
		a.f("VPAND Y2, Y8, Y8")
		for j, v := range []string{"Y7", "Y8"} {
			n := 2*p + j
			if k.high { // bit n to bit 4
				if n < 4 {
					a.f("VPSLLW $%d, Y13, Y9", 4-n)
				} else {
					a.f("VPSRLW $%d, Y13, Y9", n-4)
				}
				a.f("VPTERNLOGD $0xf8, Y1, Y9, %s", v)
			}
			sum := []string{"Y5", "Y15"}[j]
			a.f("VPXOR Y10, Y10, Y10")
			a.f("VPDPBUSD %s, %s, Y10", xmem(0, 32*n), v)
			a.f("VPSHUFB %s, Y4, Y12", sym(idx, 32*n))
			a.f("VPDPWSSD Y10, Y12, %s", sum)
		}
	}
	a.f("VPADDD Y5, Y15, Y15")
	a.f("VPSHUFB X3, X4, X8")
	a.f("VPMADDWD %s, X8, X11", xmem(0, 288))
	a.f("VCVTPH2PS (%s), X9", rW)
	termY(a, 15, 14)
	nextBlock(a, 1, k.bytes, 320)
	a.f("JNZ block")
	store(a, 0, "X14")
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
	// X0 sum, Y1 sixteens, Y2 low nibbles, X3 minimum shuffle, Y4 scales,
	// Y5 block, Y6–11 scratch, Y12 high bits.
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VMOVQ AX, X2")
	a.f("VPBROADCASTQ X2, Y2")
	a.f("VMOVDQU %s, X3", sym(min, 0))
	a.f("MOVQ $0x1010101010101010, AX")
	a.f("VMOVQ AX, X1")
	a.f("VPBROADCASTQ X1, Y1")
	a.l("row")
	startRow(a, 1)
	a.f("VPXOR X0, X0, X0")
	a.l("block")
	prefetch(a, 2048, 192)
	q4kScales(a, 4, 2, 6, 7)
	a.f("VINSERTI128 $1, X4, Y4, Y4")
	a.f("VPXOR Y5, Y5, Y5")
	if high == 1 {
		a.f("VMOVDQU 16(%s), Y12", rW)
	}
	for p := range 4 {
		a.f("VMOVDQU %d(%s), Y6", qs+32*p, rW)
		a.f("VPAND Y2, Y6, Y7")
		a.f("VPSRLW $4, Y6, Y8")
		a.f("VPAND Y2, Y8, Y8")
		if high == 1 {
			for j, v := range []string{"Y7", "Y8"} { // bit 2p+j to bit 4
				if n := 2*p + j; n < 4 {
					a.f("VPSLLW $%d, Y12, Y9", 4-n)
				} else {
					a.f("VPSRLW $%d, Y12, Y9", n-4)
				}
				a.f("VPAND Y1, Y9, Y9")
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
	a.f("VPSHUFB X3, X4, X8")
	a.f("VPMADDWD %s, X8, X11", xmem(0, 288))
	a.f("VCVTPH2PS (%s), X9", rW)
	termY(a, 5, 0)
	nextBlock(a, 1, k.bytes, 320)
	a.f("JNZ block")
	store(a, 0, "X0")
	nextRow(a)
}
