package main

import "fmt"

// An AMX tile function does what a tile function of panel_tile.go does, for the
// same panels and with the same bits: sums of integers are exact in any order, and
// the floats they become are made and added as there.
//
//	func name(panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more int, work *byte)
//
// It takes as many activation rows at a time as work's configuration says; tokens
// is a multiple of that. Tiles 0 to 3 are sums, a row for each activation row and
// a dword for each row of the panel; 4 and 5 are activations, 6 and 7 weights.
const amxParams = "panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more int, work *byte"

// Where work keeps things; see tileWork in kernels/dot/amx_amd64.go and int8Work
// in kernels/int8_tiles_amd64.go.
const (
	workRows4  = 48 + 4 // rows of tiles 4 and 5, in the configuration
	workRows5  = 48 + 5
	workSums   = 64
	workFolded = workSums + 4096
)

// A column of four weights of 16 rows is a row of a tile of weights, so what a
// panel holds of a block of 32 is half a tile as it stands. The scales of such a
// block are floats, therefore each of its sums leaves the tiles. Weights of 256
// have integer scales for every 16 or 32: folding multiplies them in, which makes
// numbers of at most 14 bits, and splits those into a signed high and an unsigned
// low byte. A block is then two sums over 256 weights, 256·high + low:
//
//	folded block: 4 · (tile of low bytes, tile of high bytes), 64 weights each
//
// Cycles for 16 weight rows, 256 weights and one activation row of 32 (of 16 with
// blocks of 32). They are estimated, for there was no machine with AMX to measure on:
// two vector instructions, two loads and one store start a cycle, a product of tiles
// takes 16 cycles, and a row of a tile is loaded or stored like a vector.
//
//	              vectors alone                   AMX: products, loads, stores, vectors
//	blocks of 256 32 for products, 12 or 24 for   8, 8 to 10, 3, 3 to 9
//	              scales, 3 to 9: 47 to 64        at best 10, one after the other 19
//	blocks of 32  32 for products, 16 or 28:      8, 19, 10, 20 or 28
//	              48 or 60                        at best 20 or 28, in turn 36 or 44
//
// At best all kinds overlap. Folding a block costs about 320 more, and a call, which
// has two blocks of 256 or 16 of 32, about 200 for its configuration. So blocks of 32
// gain from a full tile of 16 activation rows on, and blocks of 256 from 24 on, where
// folding is 13 of 38 cycles for each; tiles that are not full take as long as full
// ones and need a configuration, and are no slower than vectors from 12 rows on.
func genAMXPanels(a *file) {
	for _, subs := range []int{8, 16} {
		fold(a, subs)
	}
	amxTile256(a, "K8M", 8, true)
	amxTile256(a, "K8O", 8, false)
	amxTile256(a, "K16M", 16, true)
	amxTile256(a, "K16O", 16, false)
	amxTile32(a, "B", false)
	amxTile32(a, "BM", true)
}

// fold makes w = (q - offset) · scale of the weights of a panel. columns is what a
// block's panel has of them.
func fold(a *file, subs int) {
	fn := fmt.Sprintf("fold%dAVX512", subs)
	a.function(fn, "folded, panel *byte, blocks, columns, offset int", 40,
		fmt.Sprintf("%s makes tiles for AMX of panels with %d scales in 256 weights.", fn, subs))
	twice := make([]byte, 64) // the low word of each dword, twice
	for i := range twice {
		twice[i] = byte(i%16/4*4 + i%2)
	}
	a.f("MOVQ folded+0(FP), DI")
	a.f("MOVQ panel+8(FP), SI")
	a.f("MOVQ blocks+16(FP), CX")
	a.f("MOVQ columns+24(FP), R8")
	a.f("SUBQ $%d, R8", 64+subs)
	a.f("SHLQ $6, R8")
	a.f("MOVQ offset+32(FP), AX")
	a.f("VPBROADCASTW AX, Z16")
	a.f("MOVL $0x00ff00ff, AX")
	a.f("VPBROADCASTD AX, Z17")
	a.f("VPSLLW $8, Z17, Z18")
	a.f("VMOVDQU64 %s, Z19", sym(a.bytes("lowTwice", twice), 0))
	a.l("block")
	a.f("MOVL $4, DX")
	a.l("tile")
	per := 64 / subs // columns of a scale
	for c := range 16 {
		at := 64 * (c/per*(1+per) + 1 + c%per)
		if c%per == 0 {
			a.f("VMOVDQU64 %d(SI), Z3", at-64)
			a.f("VPSHUFB Z19, Z3, Z3")
		}
		even, odd, low := z(4+c%4*3), z(5+c%4*3), z(6+c%4*3)
		a.f("VMOVDQU64 %d(SI), %s", at, odd)
		a.f("VPANDD Z17, %s, %s", odd, even)
		a.f("VPSRLW $8, %s, %s", odd, odd)
		for _, r := range []string{even, odd} {
			a.f("VPSUBW Z16, %s, %s", r, r)
			a.f("VPMULLW Z3, %s, %s", r, r)
		}
		a.f("VPSLLW $8, %s, %s", odd, low)
		a.f("VPTERNLOGD $0xf8, Z17, %s, %s", even, low) // low | even & 0x00ff
		a.f("VPSRLW $8, %s, %s", even, even)
		a.f("VPTERNLOGD $0xf8, Z18, %s, %s", odd, even) // even | odd & 0xff00
		a.f("VMOVDQU64 %s, %d(DI)", low, 64*c)
		a.f("VMOVDQU64 %s, %d(DI)", even, 1024+64*c)
	}
	a.f("ADDQ $%d, SI", 64*(16+16/per))
	a.f("ADDQ $2048, DI")
	a.f("DECL DX")
	a.f("JNZ tile")
	a.f("ADDQ R8, SI")
	a.f("DECQ CX")
	a.f("JNZ block")
	a.f("VZEROUPPER")
	a.f("RET")
}

// amxBegin loads what all activation rows share: DI activations, R8 their stride,
// DX rows left, R9 64, R10 out, R11 its stride; and starts a group of rows: SI
// panel, CX blocks, R13 activations, K1 what is there of out.
func amxBegin(a *file, fn string) {
	a.function(fn, amxParams, 72, fmt.Sprintf("%s multiplies a panel with activation rows.", fn))
	a.f("MOVQ work+64(FP), BX")
	a.ldtilecfg("BX")
	a.f("MOVQ x+16(FP), DI")
	a.f("MOVQ xStride+24(FP), R8")
	a.f("MOVQ tokens+32(FP), DX")
	a.f("MOVQ out+40(FP), R10")
	a.f("MOVQ outStride+48(FP), R11")
	a.f("SHLQ $2, R11")
	a.f("MOVL $64, R9")
	a.l("group")
	a.f("MOVQ panel+0(FP), SI")
	a.f("MOVQ blocks+8(FP), CX")
	a.f("MOVQ DI, R13")
	a.f("XORL AX, AX")
	a.f("CMPQ more+56(FP), $0")
	a.f("SETNE AL")
	a.f("NEGL AX")
	a.f("KMOVW AX, K1")
}

// amxEnd goes on with the next group of rows, whose number is in AX.
func amxEnd(a *file) {
	a.f("SUBQ AX, DX")
	a.f("MOVQ AX, R12")
	a.f("IMULQ R8, R12")
	a.f("ADDQ R12, DI")
	a.f("IMULQ R11, AX")
	a.f("ADDQ AX, R10")
	a.f("TESTQ DX, DX")
	a.f("JNZ group")
	a.tilerelease()
	a.f("VZEROUPPER")
	a.f("RET")
}

// amxTile256: two groups of activation rows, of which tiles 4 and 5 say how many.
func amxTile256(a *file, t string, subs int, mins bool) {
	fn := "tile" + t + "AMX"
	amxBegin(a, fn)
	a.f("LEAQ %d(BX), R14", workFolded)
	a.l("block")
	a.f("MOVBQZX %d(BX), R12", workRows4)
	a.f("MOVQ R12, R15")
	a.f("IMULQ R8, R15")
	a.f("ADDQ R13, R15")
	a.f("SHLQ $6, R12")
	a.f("ADDQ BX, R12") // sums of the second rows
	for t := range 4 {
		a.tilezero(t)
	}
	for k := range 4 {
		a.tileload(64*k, "R13", "R8", 4)
		a.tileload(2048*k, "R14", "R9", 6)
		a.tdpbsud(4, 6, 0)
		a.tileload(2048*k+1024, "R14", "R9", 7)
		a.tdpbssd(4, 7, 1)
		a.tileload(64*k, "R15", "R8", 5)
		a.tdpbsud(5, 6, 2)
		a.tdpbssd(5, 7, 3)
	}
	a.tilestore(0, workSums, "BX", "R9")
	a.tilestore(1, workSums+2048, "BX", "R9")
	a.tilestore(2, workSums, "R12", "R9")
	a.tilestore(3, workSums+2048, "R12", "R9")
	d, dmin := z(24), z(25)
	sums := 256 // of activations: of 16, or from 288 on of 32
	if subs == 8 {
		sums = 288
	}
	cols := colD(subs) + 1
	a.f("VMOVUPS %d(SI), %s", 64*colD(subs), d)
	if mins {
		cols++
		a.f("VMOVUPS %d(SI), %s", 64*(colD(subs)+1), dmin)
		for k := range subs / 2 {
			a.f("VMOVDQU64 %d(SI), %s", 64*(colMins(subs, 0)+k), z(16+k))
		}
	}
	a.f("MOVBQZX %d(BX), AX", workRows4)
	a.f("MOVBQZX %d(BX), R12", workRows5)
	a.f("ADDQ R12, AX")
	a.f("LEAQ %d(BX), R12", workSums)
	a.f("MOVQ R13, R15")
	a.f("MOVQ R10, BX")
	a.l("row")
	a.f("VPSLLD $8, 2048(R12), Z0")
	a.f("VPADDD (R12), Z0, Z0")
	a.f("VCVTDQ2PS Z0, Z0")
	a.f("VMULPS %s, Z0, Z0", d)
	if mins {
		a.f("VPXORQ Z1, Z1, Z1")
		for k := range subs / 2 {
			a.f("VPDPWSSD.BCST %d(R15), %s, Z1", sums+4*k, z(16+k))
		}
		a.f("VCVTDQ2PS Z1, Z1")
		a.f("VMULPS %s, Z1, Z1", dmin)
		a.f("VSUBPS Z1, Z0, Z0")
	}
	a.f("VMULPS.BCST 304(R15), Z0, Z0")
	a.f("VMOVUPS.Z (BX), K1, Z2")
	a.f("VADDPS Z0, Z2, Z2")
	a.f("VMOVUPS Z2, (BX)")
	a.f("ADDQ $64, R12")
	a.f("ADDQ R8, R15")
	a.f("ADDQ R11, BX")
	a.f("DECQ AX")
	a.f("JNZ row")
	a.f("MOVQ work+64(FP), BX")
	a.f("KXNORW K1, K1, K1")
	a.f("ADDQ $%d, SI", 64*cols)
	a.f("ADDQ $8192, R14")
	a.f("ADDQ $320, R13")
	a.f("DECQ CX")
	a.f("JNZ block")
	a.f("MOVBQZX %d(BX), AX", workRows4)
	a.f("MOVBQZX %d(BX), R12", workRows5)
	a.f("ADDQ R12, AX")
	amxEnd(a)
}

// amxTile32: one group of activation rows; tiles 0 to 3 are the sums of four blocks
// in turn, so that products do not wait for each other.
func amxTile32(a *file, t string, mins bool) {
	fn := "tile" + t + "AMX"
	amxBegin(a, fn)
	cols := 9
	if mins {
		cols++
	}
	a.l("eight")
	a.f("CMPQ CX, $8")
	a.f("JLT rest")
	for _, j := range []int{0, 4} {
		amxBlocks32(a, 4, cols*j, cols, 32*j, "R13", 256+4*j, mins)
	}
	a.f("ADDQ $%d, SI", 8*64*cols)
	a.f("ADDQ $320, R13")
	a.f("SUBQ $8, CX")
	a.f("JMP eight")
	a.l("rest")
	a.f("LEAQ 256(R13), R14")
	a.l("next")
	a.f("DECQ CX")
	a.f("JLT done")
	amxBlocks32(a, 1, 0, cols, 0, "R14", 0, mins)
	a.f("ADDQ $%d, SI", 64*cols)
	a.f("ADDQ $32, R13")
	a.f("ADDQ $4, R14")
	a.f("JMP next")
	a.l("done")
	a.f("MOVBQZX %d(BX), AX", workRows4)
	amxEnd(a)
}

// amxBlocks32 does n blocks: weights from column col on, activations at disp(R13),
// their scales at scale(base).
func amxBlocks32(a *file, n, col, cols, disp int, base string, scale int, mins bool) {
	for b := range n {
		x, w := 4+b%2, 6+b%2
		a.tilezero(b)
		a.tileload(disp+32*b, "R13", "R8", x)
		a.tileload(64*(col+cols*b), "SI", "R9", w)
		a.tdpbsud(x, w, b)
	}
	d := func(b int) string { return z(16 + b) }
	m := func(b int) string { return z(20 + b) }
	for b := range n {
		a.tilestore(b, workSums+1024*b, "BX", "R9")
		a.f("VMOVUPS %d(SI), %s", 64*(col+cols*b+8), d(b))
		if mins {
			a.f("VMOVUPS %d(SI), %s", 64*(col+cols*b+9), m(b))
		}
	}
	a.f("MOVBQZX %d(BX), AX", workRows4)
	a.f("LEAQ %d(BX), R12", workSums)
	a.f("MOVQ %s, R15", base)
	a.f("MOVQ R10, BX")
	row := a.fresh("row")
	a.l(row)
	a.f("VMOVUPS.Z (BX), K1, Z31")
	for b := range n {
		s, u := z(2*b), z(2*b+1)
		at := scale + 4*b
		if mins {
			a.f("VCVTDQ2PS %d(R12), %s", 1024*b, s)
			a.f("VMULPS %s, %s, %s", d(b), s, s)
			a.f("VCVTDQ2PS.BCST %d(R15), %s", at+32, u)
			a.f("VMULPS %s, %s, %s", m(b), u, u)
			a.f("VADDPS %s, %s, %s", u, s, s)
			a.f("VMULPS.BCST %d(R15), %s, %s", at, s, s)
		} else {
			a.f("VMOVDQU32 %d(R12), %s", 1024*b, s)
			a.f("VPADDD.BCST %d(R15), %s, %s", at+32, s, s) // weights are too large by 128
			a.f("VCVTDQ2PS %s, %s", s, s)
			a.f("VMULPS.BCST %d(R15), %s, %s", at, d(b), u)
			a.f("VMULPS %s, %s, %s", u, s, s)
		}
		a.f("VADDPS %s, Z31, Z31", s)
	}
	a.f("VMOVUPS Z31, (BX)")
	a.f("ADDQ $64, R12")
	a.f("ADDQ R8, R15")
	a.f("ADDQ R11, BX")
	a.f("DECQ AX")
	a.f("JNZ %s", row)
	a.f("KXNORW K1, K1, K1")
	a.f("MOVQ work+64(FP), BX")
}
