package main

import "fmt"

// F16 and BF16 weights meet float32 activations in tiles of bf16 numbers. Each number
// is a sum of two pieces of one bf16 each:
//
//	activation  hi = bf16(a), lo = bf16(a - hi), rounded to nearest even
//	F16         hi = w rounded to 8 bits, lo = w - hi, which is exact: 11 bits are 8 and 3
//	BF16        is one piece
//
// and a step of 32 weights adds to a sum, in this order,
//
//	F16         lo·hi, hi·hi, hi·lo   (of the weight, of the activation)
//	BF16        w·hi, w·lo
//
// each with one TDPBF16PS, whatever the number of rows on either side, so that a
// result depends on its two rows alone. Weights are the rows of a product (tiles 4 and
// 5), activations its columns (6 and 7); sums of row group r with column group c are
// tile 2r+c. All tiles of weights have the 16 words of a dword's low halves from
// weights 0 to 15 of a step, and those of the high halves from weights 16 to 31, as
// activations have: numbers that are converted come in that order without a shuffle.

// genSplit writes what kernels/dot/split_amd64.go calls.
//
// Cycles of a core for a KB of F16 weights (BF16 in brackets), estimated as in
// panel_amx.go, with 52 cycles from one product to the next of the same sum:
//
//	converting    16 lines of 12 (4) vector instructions, two a cycle: 96 (32)
//	16 rows more  3 (2) products of 16: 48 (32)
//	their tiles   of 32 weight rows with 32 activation rows 16 (12) lines in, two a
//	              cycle, for 4·3 (4·2) products: 64 of 192 (48 of 128), twice that
//	              where they all come from the second-level cache
//	one row       two sums at a time, so 3 (2) products wait for each other for 156
//	              (104) per 2 KB: 78 (52), while vectors convert
//	a call        configuration, sums and a call: 300, for 32 rows of all weights or,
//	              of more than 16 activation rows, for 16 KB: 2 to 20
//
// So one row takes 100 to 120 (60 to 80) where memory at 16 GB/s and 3 GHz takes 190,
// and a prompt of 512 rows 32·48 + 116 (32·32 + 52) for 32 products of 16·16·32 a KB:
// 320 (490) flops a cycle, of 1024 that bf16 tiles can do and 64 of AVX-512. What is
// not tiles was measured on a Zen 4: a fifth of that for 512 rows and weights from
// memory, two to three times the tiles' time for one row.
func genSplit(a *file) {
	splitPack(a, "F16", 2)
	splitPack(a, "BF16", 1)
	splitActs(a)
	splitTile(a, "F16", 2)
	splitTile(a, "BF16", 1)
	splitStream(a, "F16", 2)
	splitStream(a, "BF16", 1)
	splitTurn(a)
}

// splitShort is how many weights of a row are a panel where there are few activations;
// see kernels/dot/split_amd64.go.
const splitShort = 64

// A panel is up to 32 weight rows: for every step a KB of tile for each piece and
// group of 16 rows,
//
//	step · (hi of group 0, hi of group 1, lo of group 0, lo of group 1)
//
// so that a row of a tile is 64 bytes from that of the row before.
const splitGroups = 2

func splitPiece(pieces, piece, group int) int { return (piece*splitGroups + group) * 1024 }

// splitPack makes a panel of n weights of each row.
func splitPack(a *file, t string, pieces int) {
	fn := "packSplit" + t
	a.function(fn, "panel, w *byte, rowBytes, rows, n int, fetch uintptr", 48,
		fmt.Sprintf("%s makes tiles of rows of n %s weights.", fn, t))
	a.f("MOVQ panel+0(FP), DI")
	a.f("MOVQ w+8(FP), SI")
	a.f("MOVQ rowBytes+16(FP), R8")
	a.f("MOVQ rows+24(FP), DX")
	a.f("MOVQ n+32(FP), R9")
	a.f("MOVQ fetch+40(FP), R10")
	splitConsts(a, 28, 0xffff0000, 0x8000)
	a.f("MOVQ R9, R12")
	a.f("SHRQ $5, R12")
	a.f("ANDQ $31, R9")
	splitMasks(a, "R9")
	a.l("row")
	a.f("MOVQ SI, BX")
	a.f("MOVQ DI, R11")
	a.f("MOVQ R12, CX")
	a.f("TESTQ CX, CX")
	a.f("JZ rest")
	a.l("step")
	splitConvert(a, t, "BX", "R11", false)
	a.f("ADDQ $64, BX")
	a.f("ADDQ $%d, R11", splitPiece(pieces, pieces, 0))
	a.f("DECQ CX")
	a.f("JNZ step")
	a.l("rest")
	a.f("TESTQ R9, R9")
	a.f("JZ next")
	splitConvert(a, t, "BX", "R11", true)
	a.l("next")
	a.f("ADDQ R8, SI")
	a.f("ADDQ $64, DI")
	a.f("DECQ DX")
	a.f("JNZ row")
	a.f("VZEROUPPER")
	a.f("RET")
}

// splitConvert makes a row of the tiles of one step from 32 weights, of K1 and K2 if
// masked, and fetches as much from R10 on to the second-level cache. Z28 and Z29 are
// constants.
func splitConvert(a *file, t, src, dst string, masked bool) {
	zero, k1, k2 := "", "", ""
	if masked {
		zero, k1, k2 = ".Z", "K1, ", "K2, "
	}
	a.f("PREFETCHT1 (R10)")
	a.f("ADDQ $64, R10")
	if t == "BF16" {
		a.f("VPMOVZXWD%s (%s), %sZ0", zero, src, k1)
		a.f("VPMOVZXWD%s 32(%s), %sZ1", zero, src, k2)
		a.f("VPSLLD $16, Z1, Z1")
		a.f("VPORD Z0, Z1, Z1")
		a.f("VMOVDQU64 Z1, (%s)", dst)
		return
	}
	a.f("VCVTPH2PS%s (%s), %sZ0", zero, src, k1)
	a.f("VCVTPH2PS%s 32(%s), %sZ1", zero, src, k2)
	for i := range 2 {
		// Half of what goes is added: 11 bits round to 8, a tie away from zero.
		a.f("VPADDD Z29, %s, %s", z(i), z(2+i))
		a.f("VPANDD Z28, %s, %s", z(2+i), z(2+i))
		a.f("VSUBPS %s, %s, %s", z(2+i), z(i), z(i))
	}
	for i := range 2 {
		even, odd := z(2-2*i), z(3-2*i) // hi, lo
		a.f("VPSRLD $16, %s, %s", even, even)
		a.f("VPORD %s, %s, %s", even, odd, odd)
		a.f("VMOVDQU64 %s, %d(%s)", odd, splitPiece(2, i, 0), dst)
	}
}

// splitConsts fills vectors from r on.
func splitConsts(a *file, r int, values ...uint32) {
	for i, v := range values {
		a.f("MOVL $%#x, AX", v)
		a.f("VPBROADCASTD AX, %s", z(r+i))
	}
}

// splitMasks sets K1 and K2 to the first n of 32, n below 32. It uses AX and CX.
func splitMasks(a *file, n string) {
	a.f("MOVL $1, AX")
	a.f("MOVQ %s, CX", n)
	a.f("SHLQ CX, AX")
	a.f("DECQ AX")
	a.f("KMOVW AX, K1")
	a.f("SHRQ $16, AX")
	a.f("KMOVW AX, K2")
}

// splitActs splits up to 16 rows of n activations, of which every step becomes a tile
// of hi and one of lo, each 16 rows of a dword for each activation row:
//
//	step · (hi: 16 · rows dwords, lo: the same)
//
// What n leaves of the last step is zero.
func splitActs(a *file) {
	const fn = "splitActs"
	a.function(fn, "dst, x *byte, xStride, rows, n int", 40, fn+" splits rows of n float32 into tiles.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ x+8(FP), SI")
	a.f("MOVQ xStride+16(FP), R8")
	a.f("MOVQ rows+24(FP), DX")
	a.f("MOVQ n+32(FP), R9")
	a.f("MOVL $1, AX")
	a.f("MOVQ DX, CX")
	a.f("SHLQ CX, AX")
	a.f("DECQ AX")
	a.f("KMOVW AX, K3")
	a.f("LEAQ (DX*4), R11") // bytes of a row of a tile
	a.l("step")
	a.f("KXNORW K1, K1, K1")
	a.f("KXNORW K2, K2, K2")
	a.f("CMPQ R9, $32")
	a.f("JGE whole")
	splitMasks(a, "R9")
	a.l("whole")
	a.f("CMPQ DX, $1")
	a.f("JEQ one")
	for piece := range 2 {
		turn := fmt.Sprintf("turn%d", piece)
		splitConsts(a, 28, splitRound...)
		a.f("MOVQ SI, BX")
		for r := range 16 {
			if r > 0 {
				a.f("CMPQ DX, $%d", r)
				a.f("JEQ %s", turn) // what other registers hold is not stored
				a.f("ADDQ R8, BX")
			}
			splitRow(a, "BX", z(r), piece)
		}
		a.l(turn)
		turn16(a)
		for i := range 16 {
			a.f("VMOVDQU32 %s, K3, (DI)", z(i))
			a.f("ADDQ R11, DI")
		}
	}
	a.l("next")
	a.f("ADDQ $128, SI")
	a.f("SUBQ $32, R9")
	a.f("JG step")
	a.f("VZEROUPPER")
	a.f("RET")
	a.l("one") // a column is a row of dwords
	splitConsts(a, 28, splitRound...)
	for piece := range 2 {
		splitRow(a, "SI", z(piece), piece)
		a.f("VMOVDQU64 %s, %d(DI)", z(piece), 64*piece)
	}
	a.f("ADDQ $128, DI")
	a.f("JMP next")
}

// splitRound: a mask of what remains, what is nearly half of the rest, and the bit
// that makes it half or more.
var splitRound = []uint32{0xffff0000, 0x7fff, 1}

// splitRow makes dwords of hi (piece 0) or lo of 32 activations at base, those of K1
// and K2. Of an infinity or a NaN one of the two is no number either, which the result
// shows. It uses Z20 to Z25.
func splitRow(a *file, base, dst string, piece int) {
	round := func(v, to string) { // to the upper half, garbage below
		a.f("VPSRLD $16, %s, Z25", v)
		a.f("VPANDD Z30, Z25, Z25")
		a.f("VPADDD Z29, Z25, Z25")
		a.f("VCMPPS $3, %s, %s, K4", v, v)
		a.f("VPADDD %s, Z25, %s", v, to)
		a.f("VMOVDQU32 %s, K4, %s", v, to) // a NaN would wrap to zero
	}
	for i := range 2 {
		v, hi := z(20+i), z(22+i)
		a.f("VMOVUPS.Z %d(%s), K%d, %s", 64*i, base, 1+i, v)
		round(v, hi)
		if piece == 1 {
			a.f("VPANDD Z28, %s, %s", hi, hi)
			a.f("VSUBPS %s, %s, %s", hi, v, v)
			round(v, hi)
		}
	}
	a.f("VPSRLD $16, Z22, Z22")
	a.f("VPANDD Z28, Z23, Z23")
	a.f("VPORD Z22, Z23, %s", dst)
}

// turn16 transposes the dwords of Z0 to Z15; it uses Z16 to Z19.
func turn16(a *file) {
	for r := 0; r < 16; r += 4 {
		a.f("VPUNPCKLDQ %s, %s, Z16", z(r+1), z(r))
		a.f("VPUNPCKHDQ %s, %s, Z17", z(r+1), z(r))
		a.f("VPUNPCKLDQ %s, %s, Z18", z(r+3), z(r+2))
		a.f("VPUNPCKHDQ %s, %s, Z19", z(r+3), z(r+2))
		a.f("VPUNPCKLQDQ Z18, Z16, %s", z(r))
		a.f("VPUNPCKHQDQ Z18, Z16, %s", z(r+1))
		a.f("VPUNPCKLQDQ Z19, Z17, %s", z(r+2))
		a.f("VPUNPCKHQDQ Z19, Z17, %s", z(r+3))
	}
	for m := range 4 { // quarter l of register 4q+m is column 4l+m of rows 4q to 4q+3
		a.f("VSHUFI32X4 $0x44, %s, %s, Z16", z(4+m), z(m))
		a.f("VSHUFI32X4 $0xee, %s, %s, Z17", z(4+m), z(m))
		a.f("VSHUFI32X4 $0x44, %s, %s, Z18", z(12+m), z(8+m))
		a.f("VSHUFI32X4 $0xee, %s, %s, Z19", z(12+m), z(8+m))
		a.f("VSHUFI32X4 $0x88, Z18, Z16, %s", z(m))
		a.f("VSHUFI32X4 $0xdd, Z18, Z16, %s", z(4+m))
		a.f("VSHUFI32X4 $0x88, Z19, Z17, %s", z(8+m))
		a.f("VSHUFI32X4 $0xdd, Z19, Z17, %s", z(12+m))
	}
}

// splitTile multiplies a panel of one or two groups of rows with pairs of groups of
// columns; how many of each there are is in the configuration. Column groups are
// xGroup bytes apart. Sums of a pair are four tiles; more says that they are added to.
func splitTile(a *file, t string, pieces int) {
	fn := "tileSplit" + t
	a.function(fn, "panel *byte, steps int, x *byte, xGroup, pairs int, sums *byte, more int, config *byte", 64,
		fmt.Sprintf("%s multiplies tiles of %s weights with tiles of activations.", fn, t))
	a.f("MOVQ config+56(FP), BX")
	a.ldtilecfg("BX")
	a.f("MOVWQZX 28(BX), R11") // bytes of a row of tiles 6 and 7
	a.f("MOVWQZX 30(BX), R12")
	a.f("MOVL $64, R9")
	a.f("MOVQ x+16(FP), DI")
	a.f("MOVQ pairs+32(FP), DX")
	a.f("MOVQ sums+40(FP), R10")
	a.f("MOVQ R11, AX")
	a.f("SHLQ $5, AX")
	a.f("MOVBQZX 53(BX), BX") // rows of tile 5
	a.f("TESTQ BX, BX")
	a.f("JZ rows1")
	for _, rows := range []int{2, 1} {
		a.l(fmt.Sprintf("rows%d", rows))
		a.f("MOVQ R12, BX")
		a.f("SHLQ $5, BX")
		a.f("JZ pair%d1", rows)
		for _, columns := range []int{2, 1} {
			splitPair(a, rows, columns, pieces)
		}
	}
	a.l("done")
	a.tilerelease()
	a.f("RET")
}

// A splitSteps emits what a step of some groups of rows and columns takes: at SI
// weights; at R13 and R15, and for a second group at R14 and R8, the tiles of
// activations, with rows of R11 and R12 bytes, of which a step has AX and BX; R9 is 64.
type splitSteps struct {
	a                     *file
	rows, columns, pieces int
}

func (s splitSteps) each(do func(tile, at int)) {
	for r := range s.rows {
		for c := range s.columns {
			do(2*r+c, 1024*(2*r+c))
		}
	}
}

func (s splitSteps) weights(piece int) {
	for r := range s.rows {
		s.a.tileload(splitPiece(s.pieces, piece, r), "SI", "R9", 4+r)
	}
}

// Where a column group's tiles of hi and lo are, bytes of their rows and of a step.
var splitColumn = []struct {
	base          [2]string
	stride, bytes string
}{
	{[2]string{"R13", "R15"}, "R11", "AX"},
	{[2]string{"R14", "R8"}, "R12", "BX"},
}

func (s splitSteps) acts(piece int) {
	for c, x := range splitColumn[:s.columns] {
		s.a.tileload(0, x.base[piece], x.stride, 6+c)
	}
}

func (s splitSteps) multiply() {
	s.each(func(tile, _ int) { s.a.tdpbf16ps(4+tile/2, 6+tile%2, tile) })
}

// step leaves SI and the bases at the next. What tiles do is in one piece, which saves
// an emulator's traps.
func (s splitSteps) step() {
	if s.pieces == 2 {
		s.weights(1)
		s.acts(0)
		s.multiply()
		s.weights(0)
	} else {
		s.weights(0)
		s.acts(0)
	}
	s.multiply()
	s.acts(1)
	s.multiply()
	s.a.f("ADDQ $%d, SI", splitPiece(s.pieces, s.pieces, 0))
	for _, x := range splitColumn[:s.columns] {
		s.a.f("ADDQ %s, %s", x.bytes, x.base[0])
		s.a.f("ADDQ %s, %s", x.bytes, x.base[1])
	}
}

// begin zeroes the sums, or loads them from R10.
func (s splitSteps) begin(more, label string) {
	a := s.a
	a.f("CMPQ %s, $0", more)
	a.f("JNE more%s", label)
	s.each(func(tile, _ int) { a.tilezero(tile) })
	a.f("JMP step%s", label)
	a.l("more" + label)
	s.each(func(tile, at int) { a.tileload(at, "R10", "R9", tile) })
	a.l("step" + label)
}

func (s splitSteps) end() {
	s.each(func(tile, at int) { s.a.tilestore(tile, at, "R10", "R9") })
}

// splitPair: DX pairs of column groups left, CX steps, R10 sums.
func splitPair(a *file, rows, columns, pieces int) {
	s := splitSteps{a, rows, columns, pieces}
	label := fmt.Sprintf("%d%d", rows, columns)
	a.l("pair" + label)
	a.f("MOVQ panel+0(FP), SI")
	a.f("MOVQ steps+8(FP), CX")
	a.f("MOVQ DI, R13")
	a.f("MOVQ DI, R14")
	a.f("MOVQ R11, R15")
	a.f("SHLQ $4, R15")
	a.f("ADDQ R13, R15")
	a.f("ADDQ xGroup+24(FP), R14")
	a.f("MOVQ R12, R8")
	a.f("SHLQ $4, R8")
	a.f("ADDQ R14, R8")
	s.begin("more+48(FP)", label)
	s.step()
	a.f("DECQ CX")
	a.f("JNZ step%s", label)
	s.end()
	a.f("ADDQ $4096, R10")
	a.f("ADDQ xGroup+24(FP), DI")
	a.f("ADDQ xGroup+24(FP), DI")
	a.f("DECQ DX")
	a.f("JNZ pair%s", label)
	a.f("JMP done")
}

// splitStream multiplies a panel of two groups of rows with one group of columns, and
// meanwhile makes the next panel, of rows of so many whole steps: while tiles multiply,
// vectors convert, and memory is never left idle. After each step of the panel at hand
// come quota rows of tiles of the next, row by row, until there are none left. Then the
// panels change places, count times in all, and the weights that are read move on along
// their rows. What the first level of cache is to have next are those behind them.
func splitStream(a *file, t string, pieces int) {
	fn := "streamSplit" + t
	a.function(fn, "panel *byte, steps int, x, sums *byte, more int, config, next, w *byte, rowBytes, rows, nextSteps, quota, count int, fetch uintptr", 112,
		fmt.Sprintf("%s multiplies tiles of %s weights with tiles of activations and makes the next tiles of weights.", fn, t))
	const left = "more+32(FP)" // rows of tiles to make; more is not needed for long
	s := splitSteps{a, 2, 1, pieces}
	pitch := splitPiece(pieces, pieces, 0)
	a.f("MOVQ config+40(FP), BX")
	a.ldtilecfg("BX")
	a.f("MOVWQZX 28(BX), R11")
	a.f("MOVL $64, R9")
	a.f("MOVQ sums+24(FP), R10")
	s.begin("more+32(FP)", "")
	a.f("MOVQ x+16(FP), R13")
	a.f("MOVQ R11, R15")
	a.f("SHLQ $4, R15")
	a.f("ADDQ R13, R15")
	splitConsts(a, 28, 0xffff0000, 0x8000)
	a.f("MOVQ R11, AX")
	a.f("SHLQ $5, AX")
	a.f("MOVQ fetch+104(FP), R10")
	a.f("MOVQ nextSteps+80(FP), R12")
	a.f("MOVQ R12, R8") // from a row's end to the next
	a.f("SHLQ $6, R8")
	a.f("NEGQ R8")
	a.f("ADDQ rowBytes+64(FP), R8")
	a.f("IMUL3Q $%d, R12, R14", -pitch)
	a.f("ADDQ $64, R14")
	a.l("panel")
	a.f("MOVQ panel+0(FP), SI")
	a.f("MOVQ next+48(FP), DI")
	a.f("MOVQ w+56(FP), BX")
	a.f("MOVQ steps+8(FP), CX")
	a.f("MOVQ nextSteps+80(FP), R12") // left of a row
	a.f("MOVQ R12, DX")
	a.f("IMULQ rows+72(FP), DX")
	a.f("MOVQ DX, %s", left)
	a.l("round")
	s.step()
	a.f("MOVQ quota+88(FP), DX")
	a.f("CMPQ DX, %s", left)
	a.f("CMOVQGT %s, DX", left)
	a.f("SUBQ DX, %s", left)
	a.f("TESTQ DX, DX")
	a.f("JZ converted")
	a.l("line")
	a.f("PREFETCHT0 %d(BX)", 2*splitShort)
	splitConvert(a, t, "BX", "DI", false)
	a.f("ADDQ $64, BX")
	a.f("ADDQ $%d, DI", pitch)
	a.f("DECQ R12")
	a.f("JNZ same")
	a.f("ADDQ R8, BX")
	a.f("ADDQ R14, DI")
	a.f("MOVQ nextSteps+80(FP), R12")
	a.l("same")
	a.f("DECQ DX")
	a.f("JNZ line")
	a.l("converted")
	a.f("DECQ CX")
	a.f("JNZ round")
	a.f("MOVQ panel+0(FP), SI")
	a.f("MOVQ next+48(FP), DI")
	a.f("MOVQ DI, panel+0(FP)")
	a.f("MOVQ SI, next+48(FP)")
	a.f("MOVQ R12, DX") // a row's steps again
	a.f("SHLQ $6, DX")
	a.f("ADDQ DX, w+56(FP)")
	a.f("DECQ count+96(FP)")
	a.f("JNZ panel")
	a.f("MOVQ sums+24(FP), R10")
	s.end()
	a.tilerelease()
	a.f("VZEROUPPER")
	a.f("RET")
}

// splitTurn writes a tile of sums, a row for each weight row, to rows of dst, and
// says whether all are finite.
func splitTurn(a *file) {
	const fn = "turnSplit"
	a.returning(fn, "dst *float32, dstStride int, sums *byte, rows, columns int", "broken int", 48,
		fn+" transposes rows×columns sums into dst and returns 0 when all are finite.")
	a.f("MOVQ dst+0(FP), DI")
	a.f("MOVQ dstStride+8(FP), R8")
	a.f("SHLQ $2, R8")
	a.f("MOVQ sums+16(FP), SI")
	a.f("MOVQ rows+24(FP), CX")
	a.f("MOVQ columns+32(FP), DX")
	a.f("MOVL $1, AX")
	a.f("SHLQ CX, AX")
	a.f("DECQ AX")
	a.f("KMOVW AX, K1")
	a.f("KXORW K3, K3, K3")
	for r := range 16 {
		a.f("VMOVUPS %d(SI), %s", 64*r, z(r))
	}
	turn16(a)
	for c := range 16 {
		a.f("VMOVUPS %s, K1, (DI)", z(c))
		a.f("VFPCLASSPSZ $0x99, %s, K1, K2", z(c)) // NaN and infinity
		a.f("KORW K2, K3, K3")
		if c < 15 {
			a.f("ADDQ R8, DI")
			a.f("DECQ DX")
			a.f("JZ done")
		}
	}
	a.l("done")
	a.f("KMOVW K3, AX")
	a.f("MOVQ AX, broken+40(FP)")
	a.f("VZEROUPPER")
	a.f("RET")
}
