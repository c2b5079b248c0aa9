package main

import (
	"bytes"
	"fmt"
)

// A block32 is a type of blocks of 32 weights with one scale. Weights are made
// unsigned for VPDPBUSD; what that adds, and a type's own minimum, is put right
// through the sums d·Σq that X32 activations carry.
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

// Registers of the AVX-512 form: Z0–3 scale indices, Z4 0x80s or low nibbles,
// Z5 gather offsets, Y6 weight scales, Z7 weights, Z8 scratch, Y9 minimums,
// Z10 nibble shifts, Z11 table or sixteens, Z12 scratch; Z13+4b sum of row b,
// Y14+4b its correction, Z15+4b scales, Z16+4b scratch.
func (t block32) avx512(a *file, batch int) {
	a.function(name(t.name, "AVX512", batch), dotParams, 56, doc(t.name, "AVX512", batch))
	prologue(a, batch, 5)
	gather := dwords(8, func(i int) uint32 { return uint32(t.bytes * i) })
	off := a.bytes("gather"+t.name, gather)
	var d []byte // dword l of vector p takes scale 2p+l/8
	for p := range 4 {
		d = append(d, dwords(16, func(i int) uint32 { return uint32(2*p + i/8) })...)
	}
	idx := a.bytes("b32Idx", d)
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	if t.whole {
		a.f("MOVQ $0x8080808080808080, AX")
	} else {
		a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	}
	a.f("VPBROADCASTQ AX, Z4")
	a.f("VMOVDQU %s, Y5", sym(off, 0))
	if !t.whole {
		// Lanes of 16 bytes: low nibbles, high nibbles, twice.
		a.f("VMOVDQU64 %s, Z10", sym(a.bytes("nibbles", words(32, func(i int) uint16 { return uint16(i / 8 % 2 * 4) })), 0))
		a.f("MOVL $0xff00, AX")
		a.f("KMOVW AX, K3") // the second block's dwords
	}
	switch {
	case t.table != nil:
		a.f("VMOVDQU64 %s, Z11", sym(t.unsigned(a), 0))
	case t.high > 0:
		a.f("VMOVDQU64 %s, Z11", sym(a.bytes("sixteen", bytes.Repeat([]byte{16}, 64)), 0))
	}
	a.f("MOVQ %s, R14", rN)
	a.f("ANDQ $7, R14") // single blocks
	a.f("SHRQ $3, %s", rN)
	a.l("row")
	a.f("MOVQ %s, %s", rX, rXP)
	for b := range batch {
		a.f("VPXORQ %s, %s, %s", z(13+4*b), z(13+4*b), z(13+4*b))
		a.f("VPXORQ %s, %s, %s", z(14+4*b), z(14+4*b), z(14+4*b))
	}
	a.f("MOVQ %s, %s", rN, rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ single")
	a.l("block")
	prefetch(a, 2048, 8*t.bytes)
	t.scales8(a)
	for b := range batch {
		a.f("VMULPS %s, Y6, %s", xmem(b, 256), y(15+4*b))
		corr := "Y6"
		if t.min {
			corr = "Y9"
		}
		a.f("VFMADD231PS %s, %s, %s", xmem(b, 288), corr, y(14+4*b))
	}
	for p := range 4 {
		t.pair(a, 2*p*t.bytes)
		for b := range batch {
			s := z(16 + 4*b)
			a.f("VPXORQ %s, %s, %s", s, s, s)
			a.f("VPDPBUSD %s, Z7, %s", xmem(b, 64*p), s)
			a.f("VCVTDQ2PS %s, %s", s, s)
			a.f("VPERMPS %s, %s, Z8", z(15+4*b), z(p))
			a.f("VFMADD231PS %s, Z8, %s", s, z(13+4*b))
		}
	}
	nextBlock(a, batch, 8*t.bytes, 320)
	a.f("JNZ block")
	a.l("single")
	a.f("MOVQ R14, %s", rC)
	a.f("TESTQ %s, %s", rC, rC)
	a.f("JZ fold")
	a.f("MOVQ %s, R15", rXP) // quants advance by 32, scales by 4
	a.l("one")
	t.scale1(a)
	t.lone(a)
	for b := range batch {
		s := 16 + 4*b
		corr := "X6"
		if t.min {
			corr = "X9"
		}
		a.f("VMOVSS %s, X8", xmem(b, 288))
		a.f("VMULSS X8, %s, X8", corr)
		a.f("VADDPS Y8, %s, %s", y(14+4*b), y(14+4*b))
		a.f("VMULSS %s, X6, X8", xmem(b, 256))
		a.f("VBROADCASTSS X8, Y8")
		a.f("VPXORQ %s, %s, %s", z(s), z(s), z(s))
		a.f("XCHGQ %s, R15", rXP)
		a.f("VPDPBUSD %s, Y7, %s", xmem(b, 0), y(s))
		a.f("XCHGQ %s, R15", rXP)
		a.f("VCVTDQ2PS %s, %s", y(s), y(s))
		a.f("VMULPS %s, Y8, %s", y(s), y(s))
		a.f("VADDPS %s, %s, %s", z(s), z(13+4*b), z(13+4*b))
	}
	a.f("ADDQ $%d, %s", t.bytes, rW)
	a.f("ADDQ $4, %s", rXP)
	a.f("ADDQ $32, R15")
	a.f("DECQ %s", rC)
	a.f("JNZ one")
	a.l("fold")
	for b := range batch {
		sum, corr := 13+4*b, 14+4*b
		if !t.min {
			minus := a.bytes(fmt.Sprintf("minus%d", t.add), f32s(float32(-t.add))[:4])
			a.f("VBROADCASTSS %s, Y7", sym(minus, 0))
			a.f("VMULPS Y7, %s, %s", y(corr), y(corr)) // clears the upper half
		} else {
			a.f("VMOVAPS %s, %s", y(corr), y(corr))
		}
		a.f("VADDPS %s, %s, %s", z(corr), z(sum), z(sum))
		sumZ(a, sum, 8)
		store(a, b, x(sum))
	}
	nextRow(a)
}

// scales8 gathers the scales of eight blocks to Y6 and their minimums to Y9.
func (t block32) scales8(a *file) {
	a.f("KXNORB K1, K1, K1")
	a.f("VPXOR Y6, Y6, Y6")
	a.f("VPGATHERDD (%s)(Y5*1), K1, Y6", rW)
	if t.e8 {
		e8m0(a, "Y6")
		return
	}
	if t.min { // d low, m high
		a.f("VPSRLD $16, Y6, Y9")
		a.f("VPMOVDW Y9, X9")
		a.f("VCVTPH2PS X9, Y9")
	}
	a.f("VPMOVDW Y6, X6")
	a.f("VCVTPH2PS X6, Y6")
}

// e8m0 turns the low byte of each dword of v into 2^(e−128). The two least
// scales, subnormal numbers, become zero.
func e8m0(a *file, v string) {
	ff := a.bytes("kff", dwords(8, func(int) uint32 { return 0xff }))
	one := a.bytes("kone", dwords(8, func(int) uint32 { return 1 }))
	a.f("VPAND %s, %s, %s", sym(ff, 0), v, v)
	a.f("VPMAXUD %s, %s, %s", sym(one, 0), v, v)
	a.f("VPSUBD %s, %s, %s", sym(one, 0), v, v)
	a.f("VPSLLD $23, %s, %s", v, v)
}

// scale1 is scales8 for one block, to the low floats of X6 and X9.
func (t block32) scale1(a *file) {
	if t.e8 {
		a.f("MOVBLZX (%s), AX", rW)
		a.f("VMOVD AX, X6")
		e8m0(a, "X6")
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
	}
}

// pair unpacks the blocks at disp and behind it to 64 unsigned bytes in Z7.
func (t block32) pair(a *file, disp int) {
	q0, q1 := disp+t.quants, disp+t.bytes+t.quants
	if t.whole {
		a.f("VMOVDQU %d(%s), Y7", q0, rW)
		a.f("VINSERTI64X4 $1, %d(%s), Z7, Z7", q1, rW)
		a.f("VPXORD Z4, Z7, Z7")
		return
	}
	a.f("VBROADCASTI32X4 %d(%s), Z7", q0, rW)
	a.f("VBROADCASTI32X4 %d(%s), K3, Z7", q1, rW)
	a.f("VPSRLVW Z10, Z7, Z7")
	a.f("VPANDD Z4, Z7, Z7")
	switch {
	case t.table != nil:
		a.f("VPSHUFB Z7, Z11, Z7")
	case t.high > 0:
		a.f("MOVL %d(%s), AX", disp+t.high, rW)
		a.f("MOVL %d(%s), R15", disp+t.bytes+t.high, rW)
		a.f("SHLQ $32, R15")
		a.f("ORQ R15, AX")
		a.f("KMOVQ AX, K2")
		a.f("VPADDB Z11, Z7, K2, Z7")
	}
}

// lone unpacks one block to 32 unsigned bytes in Y7.
func (t block32) lone(a *file) {
	if t.whole {
		a.f("VPXOR %d(%s), Y4, Y7", t.quants, rW)
		return
	}
	a.f("VBROADCASTI128 %d(%s), Y7", t.quants, rW)
	a.f("VPSRLVW Y10, Y7, Y7")
	a.f("VPAND Y4, Y7, Y7")
	switch {
	case t.table != nil:
		a.f("VPSHUFB Y7, Y11, Y7")
	case t.high > 0:
		a.f("MOVL %d(%s), AX", t.high, rW)
		a.f("KMOVD AX, K2")
		a.f("VPADDB Y11, Y7, K2, Y7")
	}
}

// avx2 takes one block a step. Signed weights: |w| times sign(w)·x, since
// VPMADDUBSW wants one unsigned side (|q| ≤ 127 on the activation side, so the
// sign flip cannot overflow). Types with a minimum have unsigned ones.
func (t block32) avx2(a *file) {
	a.function(name(t.name, "AVX2", 1), dotParams, 56, doc(t.name, "AVX2", 1))
	prologue(a, 1, 5)
	// Y0 sum, Y1 ones, Y2–5 scratch, Y6 low nibbles, Y7 offset or table, X8
	// minimums' sum, Y10 bit shuffle, Y11 bits; R15 walks the quants, R13 the
	// scales.
	a.f("VPCMPEQW Y1, Y1, Y1")
	a.f("VPSRLW $15, Y1, Y1")
	a.f("MOVQ $0x0f0f0f0f0f0f0f0f, AX")
	a.f("VMOVQ AX, X6")
	a.f("VPBROADCASTQ X6, Y6")
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
	a.l("row")
	startRow(a, 1)
	a.f("MOVQ %s, R15", rX)
	a.f("XORQ BX, BX") // block within its group
	a.f("VPXOR Y0, Y0, Y0")
	a.f("VPXOR X8, X8, X8")
	a.l("block")
	a.f("PREFETCHT0 2048(%s)", rW)
	if t.whole {
		a.f("VMOVDQU %d(%s), Y2", t.quants, rW)
	} else {
		a.f("VMOVDQU %d(%s), X2", t.quants, rW)
		a.f("VPSRLW $4, X2, X3")
		a.f("VINSERTI128 $1, X3, Y2, Y2")
		a.f("VPAND Y6, Y2, Y2")
	}
	if t.high > 0 {
		a.f("VPBROADCASTD %d(%s), Y3", t.high, rW)
		a.f("VPSHUFB Y10, Y3, Y3")
		a.f("VPAND Y11, Y3, Y3")
		a.f("VPCMPEQB Y11, Y3, Y3")
		a.f("VPAND Y12, Y3, Y3")
		a.f("VPOR Y3, Y2, Y2")
	}
	switch {
	case t.table != nil:
		a.f("VPSHUFB Y2, Y7, Y2")
	case t.add > 0 && !t.whole:
		a.f("VPSUBB Y7, Y2, Y2")
	}
	a.f("VMOVDQU (R15), Y4")
	if t.min {
		a.f("VPMADDUBSW Y4, Y2, Y3")
	} else {
		a.f("VPSIGNB Y2, Y2, Y3")
		a.f("VPSIGNB Y2, Y4, Y4")
		a.f("VPMADDUBSW Y4, Y3, Y3")
	}
	a.f("VPMADDWD Y1, Y3, Y3")
	a.f("VCVTDQ2PS Y3, Y3")
	if t.e8 {
		a.f("MOVBLZX (%s), AX", rW)
		a.f("VMOVD AX, X5")
		e8m0(a, "X5")
	} else {
		a.f("MOVWLZX (%s), AX", rW)
		a.f("VMOVD AX, X5")
		a.f("VCVTPH2PS X5, X5")
	}
	if t.min {
		a.f("MOVWLZX 2(%s), AX", rW)
		a.f("VMOVD AX, X9")
		a.f("VCVTPH2PS X9, X9")
		a.f("VFMADD231SS 288(%s), X9, X8", rXP)
	}
	a.f("VMULSS 256(%s), X5, X5", rXP)
	a.f("VBROADCASTSS X5, Y5")
	a.f("VFMADD231PS Y3, Y5, Y0")
	a.f("ADDQ $%d, %s", t.bytes, rW)
	a.f("ADDQ $4, %s", rXP)
	a.f("ADDQ $32, R15")
	a.f("INCQ BX")
	a.f("CMPQ BX, $8")
	a.f("JNE next")
	a.f("XORQ BX, BX")
	a.f("ADDQ $288, %s", rXP) // to the next group of 320
	a.f("ADDQ $64, R15")
	a.l("next")
	a.f("DECQ %s", rC)
	a.f("JNZ block")
	sumY(a, 0, 5)
	if t.min {
		a.f("VADDSS X8, X0, X0")
	}
	store(a, 0, "X0")
	nextRow(a)
}
