package main

import "fmt"

// F16 and BF16 weights are multiplied with float32 activations in tiles of bf16. Each
// number is a sum of pieces of one bf16 each (Markidis et al., "NVIDIA Tensor Core
// Programmability, Performance & Precision", 2018):
//
//	activation  hi = bf16(a), lo = bf16(a - hi), rounded to nearest even
//	F16         hi = w rounded to 8 bits, lo = w - hi, which is exact: 11 bits are 8 and 3
//	BF16        one piece
//
// and a step of 32 weights adds to a sum, in this order,
//
//	F16         lo·hi, hi·hi, hi·lo   (of the weight, of the activation)
//	BF16        w·hi, w·lo
//
// each with one TDPBF16PS, for any number of rows on either side, so that a result
// depends on its two rows alone. Weights are the rows of a product (tiles 4 and
// 5), activations its columns (6 and 7); sums of row group r with column group c are
// tile 2r+c. In weights and activations the low halves of a row's 16 dwords are numbers
// 0 to 15 of a step and the high halves numbers 16 to 31, the order in which conversion
// yields them without a shuffle.

// genSplit writes the functions that kernels/dot/split_amd64.go calls.
//
// Cycles of a core for a KB of F16 weights (BF16 in brackets), estimated as in
// panel_amx.go, with a latency of 52 cycles between products of the same sum:
//
//	conversion           16 lines of 12 (4) vector instructions, two a cycle: 96 (32)
//	products             for every 16 activation rows 3 (2) of 16 cycles: 48 (32)
//	loads                32 weight rows with 32 activation rows: 64 cycles (48), during
//	                     12 (8) products of 192 (128); twice that where all lines come
//	                     from the second-level cache
//	one activation row   two sums, so 3 (2) dependent products, 156 (104) for 2 KB: 78 (52),
//	                     while vectors convert
//	a call               300 for configuration and sums, per 32 rows of all weights or, with
//	                     more than 16 activation rows, per 16 KB: 2 to 20
//
// So one row takes 100 to 120 (60 to 80) where memory at 16 GB/s and 3 GHz takes 190,
// and a prompt of 512 rows 32·48 + 116 (32·32 + 52) for 32 products of 16·16·32 a KB:
// 320 (490) flops a cycle, of 1024 that bf16 tiles can do and 64 of AVX-512. The code
// without tile instructions was measured on a Zen 4: a fifth of the estimate for 512 rows
// with weights in memory, two to three times the tiles' time for one row.
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

// splitPiece is where, in a step of a panel, the tile of a piece and group of rows begins.
func splitPiece(pieces, piece, group int) int { return (piece*splitGroups + group) * 1024 }

// splitPack writes the conversion of n weights of up to 32 rows to a panel.
func splitPack(a *file, t string, pieces int) {
	fn := "packSplit" + t
	a.function(fn, "panel, w *byte, rowBytes, rows, n int, fetch uintptr",
		fmt.Sprintf("%s makes tiles of rows of n %s weights.", fn, t))
	a.use(
		"panel", "DI", // next row
		"w", "SI", // next row
		"rowBytes", "R8",
		"rows", "DX", // left
		"rest", "R9", // weights of a row that are no whole step
		"fetch", "R10",
		"steps", "R12", // of a row
		"src", "BX", // next weights of the row
		"dst", "R11", // next row of a tile
		"left", "CX", // steps
		"keep", "Z28", // 0xffff0000, what a bf16 has of a float32
		"half", "Z29", // 0x8000, half of the last place kept
		"first", "K1", // weights 0 to 15 of a last step
		"second", "K2", // 16 to 31
	)
	a.load("panel", "w", "rowBytes", "rows", "n=rest", "fetch")
	splitConsts(a, 28, 0xffff0000, 0x8000)
	a.f("MOVQ {rest}, {steps}")
	a.f("SHRQ $5, {steps}")
	a.f("ANDQ $31, {rest}")
	splitMasks(a, "rest")
	a.l("row")
	a.f("MOVQ {w}, {src}")
	a.f("MOVQ {panel}, {dst}")
	a.f("MOVQ {steps}, {left}")
	a.f("TESTQ {left}, {left}")
	a.f("JZ rest")
	a.l("step")
	splitConvert(a, t, false)
	a.f("ADDQ $64, {src}")
	a.f("ADDQ $%d, {dst}", splitPiece(pieces, pieces, 0))
	a.f("DECQ {left}")
	a.f("JNZ step")
	a.l("rest")
	a.f("TESTQ {rest}, {rest}")
	a.f("JZ next")
	splitConvert(a, t, true)
	a.l("next")
	a.f("ADDQ {rowBytes}, {w}")
	a.f("ADDQ $64, {panel}")
	a.f("DECQ {rows}")
	a.f("JNZ row")
	finish(a)
}

// splitConvert makes a row of the tiles of one step at {dst} from the 32 weights at
// {src}, or from those of {first} and {second} if masked, and fetches as many bytes
// from {fetch} on to the second-level cache. It uses Z0 to Z3.
func splitConvert(a *file, t string, masked bool) {
	zero, k1, k2 := "", "", ""
	if masked {
		zero, k1, k2 = ".Z", "{first}, ", "{second}, "
	}
	a.f("PREFETCHT1 ({fetch})")
	a.f("ADDQ $64, {fetch}")
	if t == "BF16" {
		a.f("VPMOVZXWD%s ({src}), %sZ0", zero, k1)
		a.f("VPMOVZXWD%s 32({src}), %sZ1", zero, k2)
		a.f("VPSLLD $16, Z1, Z1")
		a.f("VPORD Z0, Z1, Z1")
		a.f("VMOVDQU64 Z1, ({dst})")
		return
	}
	a.f("VCVTPH2PS%s ({src}), %sZ0", zero, k1)
	a.f("VCVTPH2PS%s 32({src}), %sZ1", zero, k2)
	for i := range 2 {
		// Half of the last place kept is added: 11 bits round to 8, a tie away from zero.
		w, hi := z(i), z(2+i) // w becomes lo
		a.f("VPADDD {half}, %s, %s", w, hi)
		a.f("VPANDD {keep}, %s, %s", hi, hi)
		a.f("VSUBPS %s, %s, %s", hi, w, w)
	}
	for i := range 2 {
		even, odd := z(2-2*i), z(3-2*i) // hi, lo
		a.f("VPSRLD $16, %s, %s", even, even)
		a.f("VPORD %s, %s, %s", even, odd, odd)
		a.f("VMOVDQU64 %s, %d({dst})", odd, splitPiece(2, i, 0))
	}
}

// splitConsts fills vectors from number r on, each with one dword.
func splitConsts(a *file, r int, values ...uint32) {
	for i, v := range values {
		a.f("MOVL $%#x, AX", v)
		a.f("VPBROADCASTD AX, %s", z(r+i))
	}
}

// splitMasks sets {first} and {second} to the first n of 32, where n is the name of a
// register with less than 32. It uses CX.
func splitMasks(a *file, n string) {
	a.f("MOVL $1, AX")
	a.f("MOVQ {%s}, CX", n)
	a.f("SHLQ CX, AX")
	a.f("DECQ AX")
	a.f("KMOVW AX, {first}")
	a.f("SHRQ $16, AX")
	a.f("KMOVW AX, {second}")
}

// splitActs writes the splitting of up to 16 rows of n activations. A step becomes a tile
// of hi and one of lo, each 16 rows of one dword (two bf16) for each activation row:
//
//	step · (hi: 16 · rows dwords, lo: the same)
//
// The last step is filled up with zeros.
func splitActs(a *file) {
	const fn = "splitActs"
	a.function(fn, "dst, x *byte, xStride, rows, n int", fn+" splits rows of n float32 into tiles.")
	a.use(
		"dst", "DI", // next row of a tile
		"x", "SI", // next 32 of row 0
		"xStride", "R8", "rows", "DX",
		"n", "R9", // left
		"lineBytes", "R11", // of a row of a tile
		"row", "BX",
		"keep", "Z28", // 0xffff0000, what a bf16 has of a float32
		"nearHalf", "Z29", // 0x7fff, just below half of the last place kept
		"one", "Z30",
		"first", "K1", // activations 0 to 15 of the step
		"second", "K2", // 16 to 31
		"present", "K3", // the rows there are
		"round", "Z25",
		"number", "K4", // neither operand a NaN
	)
	a.load("dst", "x", "xStride", "rows", "n")
	a.f("MOVL $1, AX")
	a.f("MOVQ {rows}, CX")
	a.f("SHLQ CX, AX")
	a.f("DECQ AX")
	a.f("KMOVW AX, {present}")
	a.f("LEAQ ({rows}*4), {lineBytes}") // bytes of a row of a tile
	a.l("step")
	a.f("KXNORW {first}, {first}, {first}")
	a.f("KXNORW {second}, {second}, {second}")
	a.f("CMPQ {n}, $32")
	a.f("JGE whole")
	splitMasks(a, "n")
	a.l("whole")
	a.f("CMPQ {rows}, $1")
	a.f("JEQ one")
	for piece := range 2 {
		turn := fmt.Sprintf("turn%d", piece)
		splitConsts(a, 28, splitRound...)
		a.f("MOVQ {x}, {row}")
		for r := range 16 {
			if r > 0 {
				a.f("CMPQ {rows}, $%d", r)
				a.f("JEQ %s", turn) // the other registers are not stored
				a.f("ADDQ {xStride}, {row}")
			}
			splitRow(a, "row", z(r), piece)
		}
		a.l(turn)
		turn16(a)
		for i := range 16 {
			a.f("VMOVDQU32 %s, {present}, ({dst})", z(i))
			a.f("ADDQ {lineBytes}, {dst}")
		}
	}
	a.l("next")
	a.f("ADDQ $128, {x}")
	a.f("SUBQ $32, {n}")
	a.f("JG step")
	finish(a)
	a.l("one") // a column is a row of dwords
	splitConsts(a, 28, splitRound...)
	for piece := range 2 {
		splitRow(a, "x", z(piece), piece)
		a.f("VMOVDQU64 %s, %d({dst})", z(piece), 64*piece)
	}
	a.f("ADDQ $128, {dst}")
	a.f("JMP next")
}

// splitRound are the constants of rounding to bf16, nearest even: the mask of the bits
// kept, just below half of the last of them, and the bit added to that for odd numbers.
var splitRound = []uint32{0xffff0000, 0x7fff, 1}

// splitRow makes dst the dwords of hi (piece 0) or lo of 32 activations at {base}, those of
// {first} and {second}. Where an activation is infinite or NaN, hi or lo is as well, so the
// result shows it. It uses Z20 to Z24.
func splitRow(a *file, base, dst string, piece int) {
	round := func(v, to string) { // to the upper half; the lower is undefined
		a.f("VPSRLD $16, %s, {round}", v)
		a.f("VPANDD {one}, {round}, {round}")
		a.f("VPADDD {nearHalf}, {round}, {round}")
		a.f("VCMPPS $3, %s, %s, {number}", v, v)
		a.f("VPADDD %s, {round}, %s", v, to)
		a.f("VMOVDQU32 %s, {number}, %s", v, to) // a NaN would wrap to zero
	}
	for i := range 2 {
		v, hi := z(20+i), z(22+i)
		a.f("VMOVUPS.Z %d({%s}), {%s}, %s", 64*i, base, []string{"first", "second"}[i], v)
		round(v, hi)
		if piece == 1 {
			a.f("VPANDD {keep}, %s, %s", hi, hi)
			a.f("VSUBPS %s, %s, %s", hi, v, v)
			round(v, hi)
		}
	}
	a.f("VPSRLD $16, Z22, Z22")
	a.f("VPANDD {keep}, Z23, Z23")
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

// splitTurn writes the transposition of a tile of sums, a row for each weight row, to rows
// of dst; {broken} collects the results that are infinite or NaN.
func splitTurn(a *file) {
	const fn = "turnSplit"
	a.returning(fn, "dst *float32, dstStride int, sums *byte, rows, columns int", "broken int",
		fn+" transposes rows×columns sums into dst and returns 0 when all are finite.")
	a.use(
		"dst", "DI",
		"dstStride", "R8", // in bytes
		"sums", "SI", "rows", "CX",
		"columns", "DX", // left
		"present", "K1", // the rows there are
		"odd", "K2", // NaN and infinity of this column
		"broken", "K3", // of any
	)
	a.load("dst", "dstStride")
	a.f("SHLQ $2, {dstStride}")
	a.load("sums", "rows", "columns")
	a.f("MOVL $1, AX")
	a.f("SHLQ {rows}, AX")
	a.f("DECQ AX")
	a.f("KMOVW AX, {present}")
	a.f("KXORW {broken}, {broken}, {broken}")
	for r := range 16 {
		a.f("VMOVUPS %d({sums}), %s", 64*r, z(r))
	}
	turn16(a)
	for c := range 16 {
		a.f("VMOVUPS %s, {present}, ({dst})", z(c))
		a.f("VFPCLASSPSZ $0x99, %s, {present}, {odd}", z(c)) // NaN and infinity
		a.f("KORW {odd}, {broken}, {broken}")
		if c < 15 {
			a.f("ADDQ {dstStride}, {dst}")
			a.f("DECQ {columns}")
			a.f("JZ done")
		}
	}
	a.l("done")
	a.f("KMOVW {broken}, AX")
	a.f("MOVQ AX, %s", a.arg("broken"))
	finish(a)
}
