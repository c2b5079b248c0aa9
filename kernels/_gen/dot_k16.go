package main

import "bytes"

// Q6_K, Q3_K and Q2_K: sixteen sub-blocks of 16 weights.

// k16Idx: dword l of vector p takes the word of scale 4p+l/4, in its low half.
func k16Idx(a *file) string {
	var d []byte
	for p := range 4 {
		d = append(d, words(32, func(i int) uint16 { return uint16(4*p + i/8) })...)
	}
	return a.bytes("q6kIdx", d)
}

// A k16 lays out registers for the three: Z0–3 scale indices, Z4–Z7 the type's
// constants, Y8 scale words, X9 d, Z12 and Z16–Z18 weights, Z10, Z11 and Z13
// scratch; X14 sum of the row, Z15 this block.
type k16 struct{ a *file }

func (k k16) start() {
	a := k.a
	idx := k16Idx(a)
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.f("MOVL $0x55555555, AX")
	a.f("KMOVD AX, K1")
}

func (k k16) row() {
	k.a.l("row")
	startRow(k.a, 1)
	k.a.f("VPXOR X14, X14, X14")
}

// offset starts each block with minus the weights' offset, 1<<shift, times
// Σ scale·x, through the sums of 16 activations.
func (k k16) offset(shift int) {
	a := k.a
	a.f("VPXOR Y11, Y11, Y11")
	a.f("VPMADDWD %s, Y8, Y15", xmem(0, 256))
	a.f("VPSLLD $%d, Y15, Y15", shift)
	a.f("VPSUBD Z15, Z11, Z15")
}

// dot multiplies the weights in register v, vector p of the block. VPDPBUSD
// sums of four products fit the words VPDPWSSD multiplies with the scales: at
// most 4·63·127 = 32,004.
func (k k16) dot(p, v int) {
	a := k.a
	a.f("VPERMW.Z Z8, %s, K1, Z13", z(p))
	a.f("VPXORQ Z10, Z10, Z10")
	a.f("VPDPBUSD %s, %s, Z10", xmem(0, 64*p), z(v))
	a.f("VPDPWSSD Z10, Z13, Z15")
}

func (k k16) end(bytes int) {
	a := k.a
	nextBlock(a, 1, bytes, 320)
	a.f("JNZ block")
	store(a, 0, "X14")
	nextRow(a)
}

func q6kAVX512(a *file, t superblock) {
	a.function(name(t.name, "AVX512", 1), dotParams, 56, doc(t.name, "AVX512", 1))
	prologue(a, 1, 8)
	k := k16{a}
	shl := a.bytes("shl42", words(32, func(i int) uint16 { return uint16(4 - i/16*2) }))
	shr := a.bytes("shr02", words(32, func(i int) uint16 { return uint16(i / 16 * 2) }))
	k.start()
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Z4")
	a.f("MOVQ $0x3030303030303030, AX")
	a.f("VPBROADCASTQ AX, Z5")
	a.f("VMOVDQU64 %s, Z6", sym(shl, 0))
	a.f("VMOVDQU64 %s, Z7", sym(shr, 0))
	k.row()
	a.l("block")
	prefetch(a, 1536, 256)
	a.f("VPMOVSXBW 192(%s), Y8", rW)
	k.offset(5)
	for h := range 2 {
		a.f("VMOVDQU64 %d(%s), Z11", 64*h, rW)
		a.f("VBROADCASTI32X8 %d(%s), Z12", 128+32*h, rW)
		a.f("VPANDD Z4, Z11, Z16")
		a.f("VPSRLW $4, Z11, Z17")
		a.f("VPANDD Z4, Z17, Z17")
		a.f("VPSLLVW Z6, Z12, Z11")
		a.f("VPSRLVW Z7, Z12, Z12")
		a.f("VPTERNLOGD $0xF8, Z5, Z11, Z16")
		a.f("VPTERNLOGD $0xF8, Z5, Z12, Z17")
		k.dot(2*h, 16)
		k.dot(2*h+1, 17)
	}
	loadHalf(a, 208)
	plainZ(a)
	k.end(t.bytes)
}

// twoBits is the shifts that bring the two bits of vector j (0 or 1) of a half
// to the bottom: 4j for the first 32 weights, 4j+2 for the others.
func twoBits(a *file) string {
	var d []byte
	for j := range 2 {
		d = append(d, words(32, func(i int) uint16 { return uint16(4*j + i/16*2) })...)
	}
	return a.bytes("twoBits", d)
}

// q3kScales unpacks the 12 bytes at disp into 16 scale bytes in X8, less 32.
// X4 holds 0x0f, X11 and X12 are scratch.
func q3kScales(a *file, disp int) {
	shifts := a.bytes("q3kShifts", dwords(4, func(i int) uint32 { return uint32(2 * i) }))
	k03 := a.bytes("k03", bytes.Repeat([]byte{3}, 16))
	k32 := a.bytes("k32", bytes.Repeat([]byte{32}, 16))
	a.f("VMOVQ %d(%s), X8", disp, rW)
	a.f("VPSRLW $4, X8, X11")
	a.f("VPUNPCKLQDQ X11, X8, X8")
	a.f("VPAND X4, X8, X8")
	a.f("VPBROADCASTD %d(%s), X12", disp+8, rW)
	a.f("VPSRLVD %s, X12, X12", sym(shifts, 0))
	a.f("VPAND %s, X12, X12", sym(k03, 0))
	a.f("VPSLLW $4, X12, X12")
	a.f("VPOR X12, X8, X8")
	a.f("VPSUBB %s, X8, X8", sym(k32, 0))
}

func q3kAVX512(a *file, t superblock) {
	a.function(name(t.name, "AVX512", 1), dotParams, 56, doc(t.name, "AVX512", 1))
	prologue(a, 1, 8)
	k := k16{a}
	shifts, high := twoBits(a), highBits(a)
	four := a.bytes("four", bytes.Repeat([]byte{4}, 64))
	k.start()
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Z4")
	a.f("MOVQ $0x0303030303030303, AX")
	a.f("VPBROADCASTQ AX, Z5")
	a.f("VMOVDQU64 %s, Z6", sym(four, 0))
	k.row()
	a.l("block")
	prefetch(a, 2048, 128)
	q3kScales(a, 96)
	a.f("VPMOVSXBW X8, Y8")
	k.offset(2)
	a.f("VBROADCASTI32X8 (%s), Z7", rW) // third bits
	for h := range 2 {
		a.f("VBROADCASTI32X8 %d(%s), Z12", 32+32*h, rW)
		for j := range 2 {
			p := 2*h + j
			a.f("VPSRLVW %s, Z12, Z16", sym(shifts, 64*j))
			a.f("VPANDD Z5, Z16, Z16")
			a.f("VPTESTMB %s, Z7, K2", sym(high, 64*p))
			a.f("VPADDB Z6, Z16, K2, Z16")
			k.dot(p, 16)
		}
	}
	loadHalf(a, 108)
	plainZ(a)
	k.end(t.bytes)
}

func q2kAVX512(a *file, t superblock) {
	a.function(name(t.name, "AVX512", 1), dotParams, 56, doc(t.name, "AVX512", 1))
	prologue(a, 1, 8)
	k := k16{a}
	shifts := twoBits(a)
	k.start()
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VPBROADCASTQ AX, Z4")
	a.f("MOVQ $0x0303030303030303, AX")
	a.f("VPBROADCASTQ AX, Z5")
	k.row()
	a.l("block")
	prefetch(a, 2048, 128)
	a.f("VMOVDQU (%s), X7", rW)
	a.f("VPAND X4, X7, X8")
	a.f("VPSRLW $4, X7, X7")
	a.f("VPAND X4, X7, X7")
	a.f("VPMOVZXBW X8, Y8") // scales
	a.f("VPMOVZXBW X7, Y7") // minimums
	a.f("VPXOR Y15, Y15, Y15")
	for h := range 2 {
		a.f("VBROADCASTI32X8 %d(%s), Z12", 16+32*h, rW)
		for j := range 2 {
			a.f("VPSRLVW %s, Z12, Z16", sym(shifts, 64*j))
			a.f("VPANDD Z5, Z16, Z16")
			k.dot(2*h+j, 16)
		}
	}
	sums16(a, 7, 11)
	a.f("VCVTPH2PS 76(%s), X9", rW) // d and dmin are the block's last
	a.f("VPSHUFD $0x4e, X9, X9")
	termZ(a)
	k.end(t.bytes)
}

// k16AVX2 makes the AVX2 forms of the three, one activation row at a time.
func k16AVX2(a *file) {
	d := make([]byte, 128) // bytes of vector v: scale 2v eight times, then 2v+1
	for v := range 8 {
		for l := range 16 {
			d[16*v+l] = byte(2*v + l/8)
		}
	}
	// X0 sum, Y1 low nibbles, Y2 threes, X3 scale bytes, Y4 block, Y5 Y6 Y7 Y8
	// Y10 Y11 scratch, Y9 third bits, then X9 d, Y12 minimums, Y13 fours.
	for _, t := range superblocks[2:] {
		a.function(name(t.name, "AVX2", 1), dotParams, 56, doc(t.name, "AVX2", 1))
		prologue(a, 1, 8)
		idx := a.bytes("q6kIdx8", d)
		a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
		a.f("VMOVQ AX, X1")
		a.f("VPBROADCASTQ X1, Y1")
		a.f("MOVQ $0x0303030303030303, AX")
		a.f("VMOVQ AX, X2")
		a.f("VPBROADCASTQ X2, Y2")
		a.f("MOVQ $0x0404040404040404, AX")
		a.f("VMOVQ AX, X13")
		a.f("VPBROADCASTQ X13, Y13")
		a.l("row")
		startRow(a, 1)
		a.f("VPXOR X0, X0, X0")
		a.l("block")
		prefetch(a, 1536, (t.bytes+63)/64*64)
		offset := 0
		switch t.name {
		case "Q6K":
			a.f("VMOVDQU 192(%s), X3", rW)
			offset = 5
		case "Q3K":
			a.f("VMOVDQA X1, X4")
			q3kScales(a, 96)
			a.f("VMOVDQA X8, X3")
			a.f("VMOVDQU (%s), Y9", rW)
			offset = 2
		case "Q2K":
			a.f("VMOVDQU (%s), X3", rW)
			a.f("VPSRLW $4, X3, X12")
			a.f("VPAND X1, X12, X12")
			a.f("VPMOVZXBW X12, Y12")
			a.f("VPAND X1, X3, X3")
		}
		a.f("VPXOR Y4, Y4, Y4")
		if offset > 0 {
			a.f("VPMOVSXBW X3, Y6")
			a.f("VPMADDWD %s, Y6, Y6", xmem(0, 256))
			a.f("VPSLLD $%d, Y6, Y6", offset)
			a.f("VPSUBD Y6, Y4, Y4")
		}
		for v := range 8 { // 32 weights each
			h, g := v/4, v%4
			switch t.name {
			case "Q6K":
				a.f("VMOVDQU %d(%s), Y6", 64*h+32*(g&1), rW)
				if g >= 2 {
					a.f("VPSRLW $4, Y6, Y6")
				}
				a.f("VPAND Y1, Y6, Y6")
				a.f("VMOVDQU %d(%s), Y7", 128+32*h, rW)
				if g > 0 {
					a.f("VPSRLW $%d, Y7, Y7", 2*g)
				}
				a.f("VPAND Y2, Y7, Y7")
				a.f("VPSLLW $4, Y7, Y7")
				a.f("VPOR Y7, Y6, Y6")
			default:
				at := 16 + 32*h
				if t.name == "Q3K" {
					at = 32 + 32*h
				}
				a.f("VMOVDQU %d(%s), Y6", at, rW)
				if g > 0 {
					a.f("VPSRLW $%d, Y6, Y6", 2*g)
				}
				a.f("VPAND Y2, Y6, Y6")
				if t.name == "Q3K" { // bit v of the third bits to bit 2
					if v < 2 {
						a.f("VPSLLW $%d, Y9, Y7", 2-v)
					} else {
						a.f("VPSRLW $%d, Y9, Y7", v-2)
					}
					a.f("VPAND Y13, Y7, Y7")
					a.f("VPOR Y7, Y6, Y6")
				}
			}
			a.f("VPMADDUBSW %s, Y6, Y6", xmem(0, 32*v))
			a.f("VPSHUFB %s, X3, X8", sym(idx, 16*v))
			a.f("VPMOVSXBW X8, Y8")
			a.f("VPMADDWD Y8, Y6, Y6")
			a.f("VPADDD Y6, Y4, Y4")
		}
		switch t.name {
		case "Q2K":
			sums16(a, 12, 11)
			a.f("VCVTPH2PS 76(%s), X9", rW) // d and dmin are the block's last
			a.f("VPSHUFD $0x4e, X9, X9")
			termY(a, 4, 0)
		default:
			loadHalf(a, map[string]int{"Q6K": 208, "Q3K": 108}[t.name])
			plainY(a, 4, 0)
		}
		nextBlock(a, 1, t.bytes, 320)
		a.f("JNZ block")
		store(a, 0, "X0")
		nextRow(a)
	}
}

// sums16 multiplies the sixteen words of ymm m with the sums of 16 activations,
// to four dwords of xmm d. X10 is scratch.
func sums16(a *file, m, d int) {
	a.f("VPMADDWD %s, %s, %s", xmem(0, 256), y(m), y(d))
	a.f("VEXTRACTI128 $1, %s, X10", y(d))
	a.f("VPADDD X10, %s, %s", x(d), x(d))
}
