package main

import (
	"bytes"
	"fmt"
	"math/bits"
)

// A block32 is a type of blocks of 32 weights with one scale. Weights are made
// unsigned for VPDPBUSD; what that adds, and a type's own minimum, is put right
// through the sums d·Σq that ActQ8_32 activations carry.
type block32 struct {
	name   string
	bytes  int
	quants int    // offset of the quants
	high   int    // offset of the fifth bits, 0 when there are none
	add    int    // what unsigned weights are too large by
	min    bool   // w = d·q + m with m a half at offset 2
	table  []int8 // signed values of nibbles, nil when they are numbers
	e8     bool   // the scale is a power of two in one byte
	whole  bool   // quants are signed bytes
}

var (
	iq4Values   = []int8{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	mxfp4Values = []int8{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}
)

var blocks32 = []block32{
	{name: "Q80", bytes: 34, quants: 2, add: 128, whole: true},
	{name: "Q40", bytes: 18, quants: 2, add: 8},
	{name: "Q41", bytes: 20, quants: 4, min: true},
	{name: "Q50", bytes: 22, quants: 6, high: 2, add: 16},
	{name: "Q51", bytes: 24, quants: 8, high: 4, min: true},
	{name: "IQ4NL", bytes: 18, quants: 2, add: 128, table: iq4Values},
	{name: "MXFP4", bytes: 17, quants: 1, add: 128, table: mxfp4Values, e8: true},
}

// unsigned is the type's table plus 128, four times over for each 16-byte lane.
func (t block32) unsigned(a *file) string {
	var b []byte
	for range 4 {
		for _, v := range t.table {
			b = append(b, byte(int(v)+128))
		}
	}
	return a.bytes("table"+t.name, b)
}

// avx512 takes eight blocks a step. Registers: Y0–3 and Y16–19 sums of a block
// each, Y4 0x80s or low nibbles, Y6 weight scales, Y7 weights, Y9 minimums, Y10
// nibble shifts, Y11 table or sixteens, X14 the row's sum; Y8, Y12 and Y13
// scratch.
func (t block32) avx512(a *file) {
	a.function(name(t.name, "AVX512", 1), dotParams, 56, doc(t.name, "AVX512", 1))
	prologue(a, 1, 5)
	if t.whole {
		a.f("MOVQ $0x8080808080808080, AX")
	} else {
		a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	}
	a.f("VPBROADCASTQ AX, Y4")
	if !t.whole {
		// Lanes of 16 bytes: low nibbles, high nibbles.
		a.f("VMOVDQU %s, Y10", sym(a.bytes("nibbles", words(32, func(i int) uint16 { return uint16(i / 8 % 2 * 4) })), 0))
	}
	switch {
	case t.table != nil:
		a.f("VMOVDQU %s, Y11", sym(t.unsigned(a), 0))
	case t.high > 0:
		a.f("VMOVDQU %s, Y11", sym(a.bytes("sixteen", bytes.Repeat([]byte{16}, 64)), 0))
	}
	a.f("MOVQ %s, R14", rN)
	a.f("ANDQ $7, R14") // single blocks
	a.f("SHRQ $3, %s", rN)
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	a.f("VPXOR X14, X14, X14")
	a.f("MOVQ %s, %s", rN, rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ single")
	a.l("block")
	prefetch(a, 2048, 8*t.bytes)
	t.scales8(a)
	for _, r := range []int{0, 16} { // sums of four blocks each
		for j := range 4 {
			b := r/4 + j
			t.unpack(a, b*t.bytes)
			a.f("VPXORD %s, %s, %s", y(r+j), y(r+j), y(r+j))
			a.f("VPDPBUSD %s, Y7, %s", xmem(0, 32*b), y(r+j))
		}
		turnAdd(a, y, r, 8, 12, 13)
	}
	a.f("VSHUFI32X4 $0, Y16, Y0, Y1")
	a.f("VSHUFI32X4 $3, Y16, Y0, Y0")
	a.f("VPADDD Y1, Y0, Y0")
	t.term(a, y, 0, 1)
	addInOrder(a, 8)
	nextBlock(a, 1, 8*t.bytes, 320)
	a.f("JNZ block")
	a.l("single")
	a.f("MOVQ R14, %s", rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ done")
	a.f("MOVQ %s, R15", rXP) // quants advance by 32, scales by 4
	a.l("one")
	t.scale1(a)
	t.unpack(a, 0)
	a.f("VPXOR Y0, Y0, Y0")
	a.f("VPDPBUSD (R15), Y7, Y0")
	t.one(a)
	a.l("done")
	store(a, 0, "X14")
	nextRow(a)
}

// one ends the step over a single block, whose sum is that of the dwords of Y0,
// and the loop of such steps.
func (t block32) one(a *file) {
	a.f("VEXTRACTI128 $1, Y0, X1")
	a.f("VPADDD X1, X0, X0")
	a.f("VPSHUFD $0x4e, X0, X1")
	a.f("VPADDD X1, X0, X0")
	a.f("VPSHUFD $0xb1, X0, X1")
	a.f("VPADDD X1, X0, X0")
	t.term(a, x, 0, 1)
	a.f("VADDSS X0, X14, X14")
	a.f("ADDQ $%d, %s", t.bytes, rW)
	a.f("ADDQ $4, %s", rXP)
	a.f("ADDQ $32, R15")
	a.f("DECQ %s", rC)
	a.f("JNZ one")
}

// term makes blocks' terms, floats in register r, of their sums there: as Go's
// reference does, d·dx·sum, or dx·(d·sum + m·Σq) with d in register 6 and -m/128
// in register 9. It reads as many scales as v's vectors hold; t is scratch.
func (t block32) term(a *file, v func(int) string, r, tmp int) {
	if t.min {
		a.f("VCVTDQ2PS %s, %s", v(r), v(r))
		a.f("VMULPS %s, %s, %s", v(6), v(r), v(r))
		a.f("VCVTDQ2PS %s, %s", xmem(0, 288), v(tmp))
		a.f("VMULPS %s, %s, %s", v(9), v(tmp), v(tmp))
		a.f("VADDPS %s, %s, %s", v(tmp), v(r), v(r))
		a.f("VMULPS %s, %s, %s", xmem(0, 256), v(r), v(r))
		return
	}
	if raised := t.add; raised == 128 {
		a.f("VPADDD %s, %s, %s", xmem(0, 288), v(r), v(r))
	} else if raised > 0 {
		a.f("VMOVDQU %s, %s", xmem(0, 288), v(tmp))
		a.f("VPSRAD $%d, %s, %s", 7-bits.TrailingZeros(uint(raised)), v(tmp), v(tmp))
		a.f("VPADDD %s, %s, %s", v(tmp), v(r), v(r))
	}
	a.f("VCVTDQ2PS %s, %s", v(r), v(r))
	a.f("VMULPS %s, %s, %s", xmem(0, 256), v(6), v(tmp))
	a.f("VMULPS %s, %s, %s", v(tmp), v(r), v(r))
}

// minus128th is eight times -1/128.
func minus128th(a *file) string { return sym(a.bytes("minus128th", f32s(-1.0/128)), 0) }

// turnAdd adds up each lane's four dwords of registers r to r+3, to the four
// dwords of that lane of register r. t, u and w are scratch.
func turnAdd(a *file, v func(int) string, r, t, u, w int) {
	pair := func(i, d, s int) {
		a.f("VPUNPCKLDQ %s, %s, %s", v(i+1), v(i), v(d))
		a.f("VPUNPCKHDQ %s, %s, %s", v(i+1), v(i), v(s))
		a.f("VPADDD %s, %s, %s", v(s), v(d), v(d))
	}
	pair(r, t, u)
	pair(r+2, u, w)
	a.f("VPUNPCKLQDQ %s, %s, %s", v(u), v(t), v(r))
	a.f("VPUNPCKHQDQ %s, %s, %s", v(u), v(t), v(r+1))
	a.f("VPADDD %s, %s, %s", v(r+1), v(r), v(r))
}

// addInOrder adds the first n floats of register 0 to X14, one after the other.
// X1 is scratch.
func addInOrder(a *file, n int) {
	for i := range n {
		switch {
		case i == 4:
			a.f("VEXTRACTF128 $1, Y0, X0")
			fallthrough
		case i == 0:
			a.f("VADDSS X0, X14, X14")
		default:
			a.f("VPSHUFD $%d, X0, X1", i%4)
			a.f("VADDSS X1, X14, X14")
		}
	}
}

// scales8 reads the scales of eight blocks to Y6 and their minimums,
// times -1/128, to Y9.
func (t block32) scales8(a *file) {
	if !t.min && !t.e8 {
		a.f("VPXOR X6, X6, X6")
		for j := range 8 {
			a.f("VPINSRW $%d, %d(%s), X6, X6", j, j*t.bytes, rW)
		}
		a.f("VCVTPH2PS X6, Y6")
		return
	}
	for i, v := range []string{"X6", "X8"} {
		a.f("VMOVD %d(%s), %s", 4*i*t.bytes, rW, v)
		for j := 1; j < 4; j++ {
			a.f("VPINSRD $%d, %d(%s), %s, %s", j, (4*i+j)*t.bytes, rW, v, v)
		}
	}
	a.f("VINSERTI128 $1, X8, Y6, Y6")
	if t.e8 {
		a.f("VPAND %s, Y6, Y6", sym(a.bytes("kff", dwords(8, func(int) uint32 { return 0xff })), 0))
		e8m0(a, y, 6, 8, 12)
		return
	}
	a.f("VPSRLD $16, Y6, Y9") // d low, m high
	a.f("VPMOVDW Y9, X9")
	a.f("VCVTPH2PS X9, Y9")
	a.f("VMULPS %s, Y9, Y9", minus128th(a))
	a.f("VPMOVDW Y6, X6")
	a.f("VCVTPH2PS X6, Y6")
}

// e8m0 turns each dword e below 256 of register r into 2^(e-128), the least two
// of which are subnormal numbers; t and u are scratch.
func e8m0(a *file, v func(int) string, r, t, u int) {
	one := a.bytes("kone", dwords(16, func(int) uint32 { return 1 }))
	least := a.bytes("kleast", dwords(16, func(int) uint32 { return 0x00200000 }))
	a.f("VPMINUD %s, %s, %s", sym(one, 0), v(r), v(t))
	a.f("VPSUBD %s, %s, %s", sym(one, 0), v(r), v(r))
	a.f("VPSLLD $23, %s, %s", v(r), v(r))
	a.f("%s %s, %s", map[byte]string{'Z': "VMOVDQU64", 'Y': "VMOVDQU", 'X': "VMOVDQU"}[v(0)[0]], sym(least, 0), v(u))
	a.f("VPSLLVD %s, %s, %s", v(t), v(u), v(t))
	a.f("VPMAXSD %s, %s, %s", v(t), v(r), v(r))
}

// scale1 is scales8 for one block, to the low floats of X6 and X9.
func (t block32) scale1(a *file) {
	if t.e8 {
		a.f("MOVBLZX (%s), AX", rW)
		a.f("VMOVD AX, X6")
		e8m0(a, x, 6, 8, 12)
		return
	}
	half := func(disp int, v string) {
		a.f("MOVWLZX %d(%s), AX", disp, rW)
		a.f("VMOVD AX, %s", v)
		a.f("VCVTPH2PS %s, %s", v, v)
	}
	half(0, "X6")
	if t.min {
		half(2, "X9")
		a.f("VMULSS %s, X9, X9", minus128th(a))
	}
}

// unpack unpacks the block at disp to 32 unsigned bytes in Y7.
func (t block32) unpack(a *file, disp int) {
	if t.whole {
		a.f("VPXOR %d(%s), Y4, Y7", disp+t.quants, rW)
		return
	}
	a.f("VBROADCASTI128 %d(%s), Y7", disp+t.quants, rW)
	a.f("VPSRLVW Y10, Y7, Y7")
	a.f("VPAND Y4, Y7, Y7")
	switch {
	case t.table != nil:
		a.f("VPSHUFB Y7, Y11, Y7")
	case t.high > 0:
		a.f("KMOVD %d(%s), K2", disp+t.high, rW)
		a.f("VPADDB Y11, Y7, K2, Y7")
	}
}

// avx2 takes four blocks a step. Signed weights: |w| times sign(w)·x, since
// VPMADDUBSW wants one unsigned side (|q| ≤ 127 on the activation side, so the
// sign flip cannot overflow). Types with a minimum have unsigned ones.
func (t block32) avx2(a *file) {
	signed := t
	signed.add = 0
	a.function(name(t.name, "AVX2", 1), dotParams, 56, doc(t.name, "AVX2", 1))
	prologue(a, 1, 5)
	// Y0–3 sums of four blocks, Y4, Y5 and Y8 scratch, X6 scales, Y7 offset or
	// table, X9 minimums, Y10 bit shuffle, Y11 bits, Y12 sixteens, Y13 low
	// nibbles, X14 the row's sum, Y15 ones; R13 walks the scales, R15 the quants,
	// R14 counts single blocks, BX is the half of a group.
	a.f("VPCMPEQW Y15, Y15, Y15")
	a.f("VPSRLW $15, Y15, Y15")
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VMOVQ AX, X13")
	a.f("VPBROADCASTQ X13, Y13")
	switch {
	case t.table != nil:
		var b []byte
		for range 2 {
			for _, v := range t.table {
				b = append(b, byte(v))
			}
		}
		a.f("VMOVDQU %s, Y7", sym(a.bytes("signed"+t.name, b), 0))
	case t.add > 0 && !t.whole:
		a.f("VMOVDQU %s, Y7", sym(a.bytes(fmt.Sprintf("bytes%d", t.add), bytes.Repeat([]byte{byte(t.add)}, 32)), 0))
	}
	if t.high > 0 {
		spread := make([]byte, 32) // byte i of the result looks at byte i/8
		bit := make([]byte, 32)
		for i := range 32 {
			spread[i], bit[i] = byte(i/8), 1<<(i%8)
		}
		a.f("VMOVDQU %s, Y10", sym(a.bytes("spread", spread), 0))
		a.f("VMOVDQU %s, Y11", sym(a.bytes("bits", bit), 0))
		a.f("VMOVDQU %s, Y12", sym(a.bytes("sixteen", bytes.Repeat([]byte{16}, 64)), 0))
	}
	a.f("MOVQ %s, R14", rN)
	a.f("ANDQ $3, R14")
	a.f("SHRQ $2, %s", rN)
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	a.f("MOVQ %s, R15", rX)
	a.f("XORQ BX, BX")
	a.f("VPXOR X14, X14, X14")
	a.f("MOVQ %s, %s", rN, rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ single")
	a.l("block")
	prefetch(a, 2048, 4*t.bytes)
	for j := range 4 {
		t.block(a, j)
	}
	turnAdd(a, y, 0, 4, 5, 8)
	a.f("VEXTRACTI128 $1, Y0, X1")
	a.f("VPADDD X1, X0, X0")
	insert := func(v, op string, disp, step int) {
		a.f("VPXOR %s, %s, %s", v, v, v)
		for j := range 4 {
			a.f("%s $%d, %d(%s), %s, %s", op, step*j, disp+j*t.bytes, rW, v, v)
		}
	}
	if t.e8 {
		insert("X6", "VPINSRB", 0, 4)
		e8m0(a, x, 6, 4, 5)
	} else {
		insert("X6", "VPINSRW", 0, 1)
		a.f("VCVTPH2PS X6, X6")
	}
	if t.min {
		insert("X9", "VPINSRW", 2, 1)
		a.f("VCVTPH2PS X9, X9")
		a.f("VMULPS %s, X9, X9", minus128th(a))
	}
	signed.term(a, x, 0, 1)
	addInOrder(a, 4)
	a.f("ADDQ $%d, %s", 4*t.bytes, rW)
	a.f("ADDQ $16, %s", rXP)
	a.f("SUBQ $-128, R15")
	a.f("XORQ $1, BX")
	a.f("JNZ next")
	a.f("ADDQ $288, %s", rXP) // to the next group of 320
	a.f("ADDQ $64, R15")
	a.l("next")
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	a.l("single")
	a.f("MOVQ R14, %s", rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ done")
	a.l("one")
	t.block(a, 0)
	if t.e8 {
		a.f("MOVBLZX (%s), AX", rW)
		a.f("VMOVD AX, X6")
		e8m0(a, x, 6, 4, 5)
	} else {
		t.scale1(a)
	}
	signed.one(a)
	a.l("done")
	store(a, 0, "X14")
	nextRow(a)
}

// block sums the products of block j of a step to the dwords of ymm j.
func (t block32) block(a *file, j int) {
	w, quants := j*t.bytes, j*t.bytes+t.quants
	if t.whole {
		a.f("VMOVDQU %d(%s), Y4", quants, rW)
	} else {
		a.f("VMOVDQU %d(%s), X4", quants, rW)
		a.f("VPSRLW $4, X4, X5")
		a.f("VINSERTI128 $1, X5, Y4, Y4")
		a.f("VPAND Y13, Y4, Y4")
	}
	if t.high > 0 {
		a.f("VPBROADCASTD %d(%s), Y5", w+t.high, rW)
		a.f("VPSHUFB Y10, Y5, Y5")
		a.f("VPAND Y11, Y5, Y5")
		a.f("VPCMPEQB Y11, Y5, Y5")
		a.f("VPAND Y12, Y5, Y5")
		a.f("VPOR Y5, Y4, Y4")
	}
	switch {
	case t.table != nil:
		a.f("VPSHUFB Y4, Y7, Y4")
	case t.add > 0 && !t.whole:
		a.f("VPSUBB Y7, Y4, Y4")
	}
	if t.min {
		a.f("VPMADDUBSW %d(R15), Y4, %s", 32*j, y(j))
	} else {
		a.f("VMOVDQU %d(R15), Y5", 32*j)
		a.f("VPSIGNB Y4, Y4, Y8")
		a.f("VPSIGNB Y4, Y5, Y5")
		a.f("VPMADDUBSW Y5, Y8, %s", y(j))
	}
	a.f("VPMADDWD Y15, %s, %s", y(j), y(j))
}
