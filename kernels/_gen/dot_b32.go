package main

import (
	"bytes"
	"fmt"
	"math/bits"
)

// A block32 is a type of blocks of 32 weights with one scale. Weights are made
// unsigned for VPDPBUSD; the sums -128·Σq that ActQ8_32 activations carry correct for
// that and multiply a type's own minimum.
type block32 struct {
	name   string
	bytes  int
	quants int    // offset of the quants
	high   int    // offset of the fifth bits, 0 when there are none
	add    int    // what is added to weights to make them unsigned
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

// unsigned declares the type's values plus 128, once for each 16-byte lane of a vector.
func (t block32) unsigned(a *file) string {
	var b []byte
	for range 4 {
		for _, v := range t.table {
			b = append(b, byte(int(v)+128))
		}
	}
	return a.bytes("table"+t.name, b)
}

// avx512 writes rowSum = Σ over blocks of d·dx·Σ w·x, eight blocks a step, so that scales
// are read and sums are folded as vectors. VPDPBUSD multiplies unsigned weights with signed
// activations; term takes off what made them unsigned.
func (t block32) avx512(a *file) {
	a.function(name(t.name, "AVX512", 1), dotParams, doc(t.name, "AVX512", 1))
	prologue(a, 1, 5)
	a.use(
		"mask", "Y4", // 0x0f in every byte, 0x80 for whole bytes
		"scale", "Y6", // d of the step's blocks
		"weights", "Y7", // 32 unsigned bytes
		"min", "Y9", // -m/128 of the step's blocks
		"shifts", "Y10", // 0 for low nibbles, 4 for high ones
		"table", "Y11", // or sixteens
		"rowSum", "X14",
		"singles", "R14", // blocks that are no step of eight
		"quants", "R15", // of activations, while acts has their scales
		"t0", "Y8", "t1", "Y12", "t2", "Y13",
		"high", "K2", // which weights have their fifth bit
	)
	a.useRow("sum", y, 0, 4)    // of blocks 0 to 3
	a.useRow("upper", y, 16, 4) // of blocks 4 to 7
	if t.whole {
		a.everyByte(0x80, "mask")
	} else {
		a.everyByte(0x0f, "mask")
		// Lanes of 16 bytes: low nibbles, high nibbles.
		a.f("VMOVDQU %s, {shifts}", sym(a.bytes("nibbles", words(32, func(i int) uint16 { return uint16(i / 8 % 2 * 4) })), 0))
	}
	switch {
	case t.table != nil:
		a.f("VMOVDQU %s, {table}", sym(t.unsigned(a), 0))
	case t.high > 0:
		a.f("VMOVDQU %s, {table}", sym(a.bytes("sixteen", bytes.Repeat([]byte{16}, 64)), 0))
	}
	a.f("MOVQ {blocks}, {singles}")
	a.f("ANDQ $7, {singles}") // single blocks
	a.f("SHRQ $3, {blocks}")
	a.l("row")
	a.f("MOVQ {x}, {acts}")
	a.f("VPXOR {rowSum}, {rowSum}, {rowSum}")
	a.f("MOVQ {blocks}, {left}")
	a.f("TESTQ {left}, {left}")
	a.f("JZ single")
	a.l("block")
	prefetch(a, 2048, 8*t.bytes)
	t.scales8(a)
	for half, stem := range []string{"sum", "upper"} {
		for j := range 4 {
			block, sum := 4*half+j, fmt.Sprintf("{%s%d}", stem, j)
			t.unpack(a, block*t.bytes)
			a.f("VPXORD %s, %s, %s", sum, sum, sum)
			a.f("VPDPBUSD %s, {weights}, %s", xmem(0, 32*block), sum)
		}
		turnAdd(a, y, a.num(stem+"0"), a.num("t0"), a.num("t1"), a.num("t2"))
	}
	a.f("VSHUFI32X4 $0, {upper0}, {sum0}, {sum1}")
	a.f("VSHUFI32X4 $3, {upper0}, {sum0}, {sum0}")
	a.f("VPADDD {sum1}, {sum0}, {sum0}")
	t.term(a, y)
	addInOrder(a, 8)
	nextBlock(a, 1, 8*t.bytes, 320)
	a.f("JNZ block")
	a.l("single")
	a.f("MOVQ {singles}, {left}")
	a.f("TESTQ {left}, {left}")
	a.f("JZ done")
	a.f("MOVQ {acts}, {quants}") // quants advance by 32, scales by 4
	a.l("one")
	t.scale1(a)
	t.unpack(a, 0)
	a.f("VPXOR {sum0}, {sum0}, {sum0}")
	a.f("VPDPBUSD ({quants}), {weights}, {sum0}")
	t.one(a)
	a.l("done")
	store(a, 0, "{rowSum}")
	nextRow(a)
}

// one adds a single block to {rowSum} and goes on to the next, at the label one; the
// block's sum is that of the dwords of {sum0.y}.
func (t block32) one(a *file) {
	a.f("VEXTRACTI128 $1, {sum0}, {sum1.x}")
	a.f("VPADDD {sum1.x}, {sum0.x}, {sum0.x}")
	a.f("VPSHUFD $0x4e, {sum0.x}, {sum1.x}")
	a.f("VPADDD {sum1.x}, {sum0.x}, {sum0.x}")
	a.f("VPSHUFD $0xb1, {sum0.x}, {sum1.x}")
	a.f("VPADDD {sum1.x}, {sum0.x}, {sum0.x}")
	t.term(a, x)
	a.f("VADDSS {sum0.x}, {rowSum}, {rowSum}")
	a.f("ADDQ $%d, {w}", t.bytes)
	a.f("ADDQ $4, {acts}")
	a.f("ADDQ $32, {quants}")
	a.f("DECQ {left}")
	a.f("JNZ one")
}

// term makes each block's term, in place, of its sum in {sum0}: d·dx·(sum - add·Σq), or
// with a minimum dx·(d·sum + m·Σq), rounded as Go's reference does. d is in {scale}, -m/128
// in {min}, dx and -128·Σq with {acts}; v says how many blocks. {sum1} is scratch.
func (t block32) term(a *file, v func(int) string) {
	sum, tmp, scale := v(a.num("sum0")), v(a.num("sum1")), v(a.num("scale"))
	if t.min {
		min := v(a.num("min"))
		a.f("VCVTDQ2PS %s, %s", sum, sum)
		a.f("VMULPS %s, %s, %s", scale, sum, sum)
		a.f("VCVTDQ2PS %s, %s", xmem(0, 288), tmp)
		a.f("VMULPS %s, %s, %s", min, tmp, tmp)
		a.f("VADDPS %s, %s, %s", tmp, sum, sum)
		a.f("VMULPS %s, %s, %s", xmem(0, 256), sum, sum)
		return
	}
	if raised := t.add; raised == 128 {
		a.f("VPADDD %s, %s, %s", xmem(0, 288), sum, sum)
	} else if raised > 0 {
		a.f("VMOVDQU %s, %s", xmem(0, 288), tmp)
		a.f("VPSRAD $%d, %s, %s", 7-bits.TrailingZeros(uint(raised)), tmp, tmp)
		a.f("VPADDD %s, %s, %s", tmp, sum, sum)
	}
	a.f("VCVTDQ2PS %s, %s", sum, sum)
	a.f("VMULPS %s, %s, %s", xmem(0, 256), scale, tmp)
	a.f("VMULPS %s, %s, %s", tmp, sum, sum)
}

// minus128th is the operand of a vector of -1/128.
func minus128th(a *file) string { return sym(a.bytes("minus128th", f32s(16, -1.0/128)), 0) }

// turnAdd adds up the four dwords of each 128-bit lane of registers r to r+3, to dwords 0
// to 3 of that lane of register r: a transposition in which unpacked halves are added.
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

// addInOrder adds the first n floats of {sum0} to {rowSum}, one after the other, as Go's
// reference does. {sum1} is scratch.
func addInOrder(a *file, n int) {
	for i := range n {
		switch {
		case i == 4:
			a.f("VEXTRACTF128 $1, {sum0.y}, {sum0.x}")
			fallthrough
		case i == 0:
			a.f("VADDSS {sum0.x}, {rowSum.x}, {rowSum.x}")
		default:
			a.f("VPSHUFD $%d, {sum0.x}, {sum1.x}", i%4)
			a.f("VADDSS {sum1.x}, {rowSum.x}, {rowSum.x}")
		}
	}
}

// scales8 reads the scales of eight blocks to floats in {scale} and their minimums, times
// -1/128, to {min}. {t0} and {t1} are scratch.
func (t block32) scales8(a *file) {
	if !t.min && !t.e8 {
		a.f("VPXOR {scale.x}, {scale.x}, {scale.x}")
		for j := range 8 {
			a.f("VPINSRW $%d, %d({w}), {scale.x}, {scale.x}", j, j*t.bytes)
		}
		a.f("VCVTPH2PS {scale.x}, {scale}")
		return
	}
	for i, v := range []string{"{scale.x}", "{t0.x}"} {
		a.f("VMOVD %d({w}), %s", 4*i*t.bytes, v)
		for j := 1; j < 4; j++ {
			a.f("VPINSRD $%d, %d({w}), %s, %s", j, (4*i+j)*t.bytes, v, v)
		}
	}
	a.f("VINSERTI128 $1, {t0.x}, {scale}, {scale}")
	if t.e8 {
		a.f("VPAND %s, {scale}, {scale}", sym(a.bytes("kff", dwords(8, func(int) uint32 { return 0xff })), 0))
		e8m0(a, y, a.num("scale"), a.num("t0"), a.num("t1"))
		return
	}
	a.f("VPSRLD $16, {scale}, {min}") // d low, m high
	a.f("VPMOVDW {min}, {min.x}")
	a.f("VCVTPH2PS {min.x}, {min}")
	a.f("VMULPS %s, {min}, {min}", minus128th(a))
	a.f("VPMOVDW {scale}, {scale.x}")
	a.f("VCVTPH2PS {scale.x}, {scale}")
}

// e8m0 turns each dword e below 256 of register r into 2^(e-128): e-1 is the exponent's
// bits, but for the least two, which are subnormal. t and u are scratch.
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

// scale1 is scales8 for one block, to the low floats of {scale} and {min}.
func (t block32) scale1(a *file) {
	if t.e8 {
		a.f("MOVBLZX ({w}), AX")
		a.f("VMOVD AX, {scale.x}")
		e8m0(a, x, a.num("scale"), a.num("t0"), a.num("t1"))
		return
	}
	half := func(disp int, v string) {
		a.f("MOVWLZX %d({w}), AX", disp)
		a.f("VMOVD AX, %s", v)
		a.f("VCVTPH2PS %s, %s", v, v)
	}
	half(0, "{scale.x}")
	if t.min {
		half(2, "{min.x}")
		a.f("VMULSS %s, {min.x}, {min.x}", minus128th(a))
	}
}

// unpack makes the block at {w}+disp 32 unsigned bytes in {weights}: low and high nibbles by
// one variable shift, then the fifth bits by masked addition or the table by VPSHUFB.
func (t block32) unpack(a *file, disp int) {
	if t.whole {
		a.f("VPXOR %d({w}), {mask}, {weights}", disp+t.quants)
		return
	}
	a.f("VBROADCASTI128 %d({w}), {weights}", disp+t.quants)
	a.f("VPSRLVW {shifts}, {weights}, {weights}")
	a.f("VPAND {mask}, {weights}, {weights}")
	switch {
	case t.table != nil:
		a.f("VPSHUFB {weights}, {table}, {weights}")
	case t.high > 0:
		a.f("KMOVD %d({w}), {high}", disp+t.high)
		a.f("VPADDB {table}, {weights}, {high}, {weights}")
	}
}

// avx2 writes what avx512 does, four blocks a step. VPMADDUBSW wants one unsigned side, so
// signed weights enter as |w| with their sign moved to x (VPSIGNB; |x| ≤ 127, so that
// cannot overflow). Types with a minimum have unsigned weights as they are.
func (t block32) avx2(a *file) {
	signed := t
	signed.add = 0
	a.function(name(t.name, "AVX2", 1), dotParams, doc(t.name, "AVX2", 1))
	prologue(a, 1, 5)
	a.use(
		"scale", "X6", // d of the step's blocks
		"table", "Y7", // of values, or what to subtract from the weights
		"min", "X9", // -m/128 of the step's blocks
		"spread", "Y10", // byte i takes byte i/8
		"bits", "Y11", // bit i%8 of byte i
		"sixteens", "Y12",
		"mask", "Y13", // 0x0f in every byte
		"rowSum", "X14",
		"ones", "Y15", // words of one
		"singles", "R14", // blocks that are no step of four
		"quants", "R15", // of activations, while acts has their scales
		"half", "BX", // of the group of 256 activations: 0 or 1
		"weights", "Y4", // 32 bytes
		"t0", "Y5", "t1", "Y8",
	)
	a.useRow("sum", y, 0, 4) // of blocks 0 to 3
	a.f("VPCMPEQW {ones}, {ones}, {ones}")
	a.f("VPSRLW $15, {ones}, {ones}")
	a.everyByteAVX2(0x0f, "mask")
	switch {
	case t.table != nil:
		var b []byte
		for range 2 {
			for _, v := range t.table {
				b = append(b, byte(v))
			}
		}
		a.f("VMOVDQU %s, {table}", sym(a.bytes("signed"+t.name, b), 0))
	case t.add > 0 && !t.whole:
		a.f("VMOVDQU %s, {table}", sym(a.bytes(fmt.Sprintf("bytes%d", t.add), bytes.Repeat([]byte{byte(t.add)}, 32)), 0))
	}
	if t.high > 0 {
		spread := make([]byte, 32) // byte i of the result is byte i/8
		bit := make([]byte, 32)
		for i := range 32 {
			spread[i], bit[i] = byte(i/8), 1<<(i%8)
		}
		a.f("VMOVDQU %s, {spread}", sym(a.bytes("spread", spread), 0))
		a.f("VMOVDQU %s, {bits}", sym(a.bytes("bits", bit), 0))
		a.f("VMOVDQU %s, {sixteens}", sym(a.bytes("sixteen", bytes.Repeat([]byte{16}, 64)), 0))
	}
	a.f("MOVQ {blocks}, {singles}")
	a.f("ANDQ $3, {singles}")
	a.f("SHRQ $2, {blocks}")
	a.l("row")
	a.f("MOVQ {x}, {acts}")
	a.f("MOVQ {x}, {quants}")
	a.f("XORQ {half}, {half}")
	a.f("VPXOR {rowSum}, {rowSum}, {rowSum}")
	a.f("MOVQ {blocks}, {left}")
	a.f("TESTQ {left}, {left}")
	a.f("JZ single")
	a.l("block")
	prefetch(a, 2048, 4*t.bytes)
	for j := range 4 {
		t.block(a, j)
	}
	turnAdd(a, y, a.num("sum0"), a.num("weights"), a.num("t0"), a.num("t1"))
	a.f("VEXTRACTI128 $1, {sum0}, {sum1.x}")
	a.f("VPADDD {sum1.x}, {sum0.x}, {sum0.x}")
	insert := func(v, op string, disp, step int) {
		a.f("VPXOR %s, %s, %s", v, v, v)
		for j := range 4 {
			a.f("%s $%d, %d({w}), %s, %s", op, step*j, disp+j*t.bytes, v, v)
		}
	}
	if t.e8 {
		insert("{scale}", "VPINSRB", 0, 4)
		e8m0(a, x, a.num("scale"), a.num("weights"), a.num("t0"))
	} else {
		insert("{scale}", "VPINSRW", 0, 1)
		a.f("VCVTPH2PS {scale}, {scale}")
	}
	if t.min {
		insert("{min}", "VPINSRW", 2, 1)
		a.f("VCVTPH2PS {min}, {min}")
		a.f("VMULPS %s, {min}, {min}", minus128th(a))
	}
	signed.term(a, x)
	addInOrder(a, 4)
	a.f("ADDQ $%d, {w}", 4*t.bytes)
	a.f("ADDQ $16, {acts}")
	a.f("SUBQ $-128, {quants}")
	a.f("XORQ $1, {half}")
	a.f("JNZ next")
	a.f("ADDQ $288, {acts}") // to the next group of 320
	a.f("ADDQ $64, {quants}")
	a.l("next")
	a.f("DECQ {left}")
	a.f("JNZ block")
	a.l("single")
	a.f("MOVQ {singles}, {left}")
	a.f("TESTQ {left}, {left}")
	a.f("JZ done")
	a.l("one")
	t.block(a, 0)
	if t.e8 {
		a.f("MOVBLZX ({w}), AX")
		a.f("VMOVD AX, {scale}")
		e8m0(a, x, a.num("scale"), a.num("weights"), a.num("t0"))
	} else {
		t.scale1(a)
	}
	signed.one(a)
	a.l("done")
	store(a, 0, "{rowSum}")
	nextRow(a)
}

// block sums the products of block j of a step to the dwords of {sum j}.
func (t block32) block(a *file, j int) {
	w, quants := j*t.bytes, j*t.bytes+t.quants
	if t.whole {
		a.f("VMOVDQU %d({w}), {weights}", quants)
	} else {
		a.f("VMOVDQU %d({w}), {weights.x}", quants)
		a.f("VPSRLW $4, {weights.x}, {t0.x}")
		a.f("VINSERTI128 $1, {t0.x}, {weights}, {weights}")
		a.f("VPAND {mask}, {weights}, {weights}")
	}
	if t.high > 0 {
		a.f("VPBROADCASTD %d({w}), {t0}", w+t.high)
		a.f("VPSHUFB {spread}, {t0}, {t0}")
		a.f("VPAND {bits}, {t0}, {t0}")
		a.f("VPCMPEQB {bits}, {t0}, {t0}")
		a.f("VPAND {sixteens}, {t0}, {t0}")
		a.f("VPOR {t0}, {weights}, {weights}")
	}
	switch {
	case t.table != nil:
		a.f("VPSHUFB {weights}, {table}, {weights}")
	case t.add > 0 && !t.whole:
		a.f("VPSUBB {table}, {weights}, {weights}")
	}
	if t.min {
		a.f("VPMADDUBSW %d({quants}), {weights}, %s", 32*j, y(j))
	} else {
		a.f("VMOVDQU %d({quants}), {t0}", 32*j)
		a.f("VPSIGNB {weights}, {weights}, {t1}")
		a.f("VPSIGNB {weights}, {t0}, {t0}")
		a.f("VPMADDUBSW {t0}, {t1}, %s", y(j))
	}
	a.f("VPMADDWD {ones}, %s, %s", fmt.Sprintf("{sum%d}", j), fmt.Sprintf("{sum%d}", j))
}
