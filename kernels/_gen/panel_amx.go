package main

import "fmt"

// An AMX tile function computes what a tile function of panel_tile.go does, from the same
// panels and with the same bits: sums of integers are exact in any order, and the floats
// they become are computed and added as there. Instructions: Intel SDM, volume 2.
//
//	func name(panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more int, work *byte)
//
// It takes as many activation rows at a time as the configuration in work says; tokens
// is a multiple of that. Tiles 0 to 3 are sums, a row for each activation row and
// a dword for each row of the panel; 4 and 5 are activations, 6 and 7 weights.
const amxParams = "panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more int, work *byte"

// Offsets in work; see tileWork in kernels/dot/amx_amd64.go and int8Work in
// kernels/gemm/int8_tiles_amd64.go.
const (
	workRows4  = 48 + 4 // rows of tiles 4 and 5, in the configuration
	workRows5  = 48 + 5
	workSums   = 64
	workFolded = workSums + 4096
)

// A panel's column, four weights of 16 rows, is a row of a tile of weights, so the eight
// columns of a block of 32 are half a tile. The scales of such a block are floats, so each
// of its sums has to be stored from the tile. Blocks of 256 have integer scales for every
// 16 or 32 weights: folding multiplies them into the weights, which gives numbers of at
// most 14 bits, and splits those into a signed high and an unsigned low byte. A block is
// then two sums over 256 weights, 256·high + low:
//
//	folded block: 4 · (tile of low bytes, tile of high bytes), 64 weights each
//
// Cycles for 16 weight rows, 256 weights and one activation row of 32 (of 16 with
// blocks of 32). They are estimates, not measured on a CPU with AMX, from two vector
// instructions, two loads and one store a cycle, 16 cycles for a product of tiles, and a
// row of a tile loaded or stored like a vector.
//
//	                     vectors alone   AMX
//	blocks of 256
//	  products           32              8
//	  scales             12 or 24        folded
//	  terms              3 to 9          3 to 9
//	  loads, stores                      8 to 10, 3
//	  total              47 to 64        10 overlapped, 19 in sequence
//	blocks of 32
//	  products           32              8
//	  scales and terms   16 or 28        20 or 28
//	  loads, stores                      19, 10
//	  total              48 or 60        20 or 28 overlapped, 36 or 44 in sequence
//
// Folding a block takes about 320 cycles more, and a call, which has two blocks of 256 or
// 16 of 32, about 200 for its configuration. So AMX is faster from a full tile of 16
// activation rows on for blocks of 32, and from 24 on for blocks of 256, where folding is
// 13 of 38 cycles a row. A tile that is not full takes as long as a full one and another
// configuration; it is no slower than vectors from 12 rows on.
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

// fold multiplies the scales into a panel's weights: w = (q - offset)·scale, words that
// are stored as tiles of their low bytes (unsigned) and of their high bytes (signed).
// Even and odd bytes of a column are widened apart. A block's panel has columns vectors.
func fold(a *file, subs int) {
	fn := fmt.Sprintf("fold%dAVX512", subs)
	a.function(fn, "folded, panel *byte, blocks, columns, offset int",
		fmt.Sprintf("%s makes tiles for AMX of panels with %d scales in 256 weights.", fn, subs))
	a.use(
		"folded", "DI", "panel", "SI",
		"blocks", "CX", // left
		"rest", "R8", // bytes of a block's panel after its weights
		"tiles", "DX", // left of a block
		"scale", "Z3", // of each row, twice
		"offset", "Z16",
		"lowBytes", "Z17", // 0x00ff in every word
		"highBytes", "Z18", // 0xff00 in every word
		"lowTwice", "Z19",
	)
	twice := make([]byte, 64) // the low word of each dword, twice
	for i := range twice {
		twice[i] = byte(i%16/4*4 + i%2)
	}
	a.load("folded", "panel", "blocks", "columns=rest")
	a.f("SUBQ $%d, {rest}", 64+subs)
	a.f("SHLQ $6, {rest}")
	a.f("MOVQ %s, AX", a.arg("offset"))
	a.f("VPBROADCASTW AX, {offset}")
	a.f("MOVL $0x00ff00ff, AX")
	a.f("VPBROADCASTD AX, {lowBytes}")
	a.f("VPSLLW $8, {lowBytes}, {highBytes}")
	a.f("VMOVDQU64 %s, {lowTwice}", sym(a.bytes("lowTwice", twice), 0))
	a.l("block")
	a.f("MOVL $4, {tiles}")
	a.l("tile")
	per := 64 / subs // columns of a scale
	for c := range 16 {
		at := 64 * (c/per*(1+per) + 1 + c%per)
		if c%per == 0 {
			a.f("VMOVDQU64 %d({panel}), {scale}", at-64)
			a.f("VPSHUFB {lowTwice}, {scale}, {scale}")
		}
		even, odd, low := z(4+c%4*3), z(5+c%4*3), z(6+c%4*3)
		a.f("VMOVDQU64 %d({panel}), %s", at, odd)
		a.f("VPANDD {lowBytes}, %s, %s", odd, even)
		a.f("VPSRLW $8, %s, %s", odd, odd)
		for _, r := range []string{even, odd} {
			a.f("VPSUBW {offset}, %s, %s", r, r)
			a.f("VPMULLW {scale}, %s, %s", r, r)
		}
		a.f("VPSLLW $8, %s, %s", odd, low)
		a.f("VPTERNLOGD $0xf8, {lowBytes}, %s, %s", even, low) // low | even & 0x00ff
		a.f("VPSRLW $8, %s, %s", even, even)
		a.f("VPTERNLOGD $0xf8, {highBytes}, %s, %s", odd, even) // even | odd & 0xff00
		a.f("VMOVDQU64 %s, %d({folded})", low, 64*c)
		a.f("VMOVDQU64 %s, %d({folded})", even, 1024+64*c)
	}
	a.f("ADDQ $%d, {panel}", 64*(16+16/per))
	a.f("ADDQ $2048, {folded}")
	a.f("DECL {tiles}")
	a.f("JNZ tile")
	a.f("ADDQ {rest}, {panel}")
	a.f("DECQ {blocks}")
	a.f("JNZ block")
	finish(a)
}

// amxBegin names the registers of a tile function, loads its arguments and the
// configuration of the tiles, and starts a group of activation rows at {acts} with
// the panel's first block.
func amxBegin(a *file, fn string) {
	a.function(fn, amxParams, fmt.Sprintf("%s multiplies a panel with activation rows.", fn))
	a.use(
		"work", "BX",
		"x", "DI", // activations of this group of tokens
		"xStride", "R8",
		"tokens", "DX", // left
		"lines", "R9", // 64, how far rows of sums and weights are apart
		"out", "R10",
		"outStride", "R11", // in bytes
		"panel", "SI",
		"blocks", "CX", // left
		"acts", "R13", // of the first token at this block
		"started", "K1", // all ones where out is added to
	)
	a.load("work")
	a.ldtilecfg("{work}")
	a.load("x", "xStride", "tokens", "out", "outStride")
	a.f("SHLQ $2, {outStride}")
	a.f("MOVL $64, {lines}")
	a.l("group")
	a.load("panel", "blocks")
	a.f("MOVQ {x}, {acts}")
	a.f("XORL AX, AX")
	a.f("CMPQ %s, $0", a.arg("more"))
	a.f("SETNE AL")
	a.f("NEGL AX")
	a.f("KMOVW AX, {started}")
}

// amxEnd goes {count} rows on in {x} and {out} and takes the next group, or returns.
func amxEnd(a *file) {
	a.reuse("bytes", "R12")
	a.f("SUBQ {count}, {tokens}")
	a.f("MOVQ {count}, {bytes}")
	a.f("IMULQ {xStride}, {bytes}")
	a.f("ADDQ {bytes}, {x}")
	a.f("IMULQ {outStride}, {count}")
	a.f("ADDQ {count}, {out}")
	a.f("TESTQ {tokens}, {tokens}")
	a.f("JNZ group")
	a.tilerelease()
	finish(a)
}

// amxTile256 adds blocks of 256 weights to two groups of activation rows; the rows of
// tiles 4 and 5 say how many each has. Per block: 16 products of folded weights with
// activations, then per row out += dx·(d·(256·high + low) - dmin·Σ mins·sums).
func amxTile256(a *file, t string, subs int, mins bool) {
	const ( // tiles: sums of the first and second group, activations, folded weights
		low0, high0, low1, high1 = 0, 1, 2, 3
		acts0, acts1             = 4, 5
		low, high                = 6, 7
	)
	fn := "tile" + t + "AMX"
	amxBegin(a, fn)
	a.use(
		"folded", "R14", // weights of this block
		"acts1", "R15", // activations of the second group
		"sums1", "R12", // behind work, where its sums are
	)
	a.f("LEAQ %d({work}), {folded}", workFolded)
	a.l("block")
	a.f("MOVBQZX %d({work}), {sums1}", workRows4)
	a.f("MOVQ {sums1}, {acts1}")
	a.f("IMULQ {xStride}, {acts1}")
	a.f("ADDQ {acts}, {acts1}")
	a.f("SHLQ $6, {sums1}")
	a.f("ADDQ {work}, {sums1}")
	for _, t := range []int{low0, high0, low1, high1} {
		a.tilezero(t)
	}
	for k := range 4 {
		a.tileload(64*k, "{acts}", "{xStride}", acts0)
		a.tileload(2048*k, "{folded}", "{lines}", low)
		a.tdpbsud(acts0, low, low0)
		a.tileload(2048*k+1024, "{folded}", "{lines}", high)
		a.tdpbssd(acts0, high, high0)
		a.tileload(64*k, "{acts1}", "{xStride}", acts1)
		a.tdpbsud(acts1, low, low1)
		a.tdpbssd(acts1, high, high1)
	}
	a.tilestore(low0, workSums, "{work}", "{lines}")
	a.tilestore(high0, workSums+2048, "{work}", "{lines}")
	a.tilestore(low1, workSums, "{sums1}", "{lines}")
	a.tilestore(high1, workSums+2048, "{sums1}", "{lines}")
	// The tiles' sums are read row by row; their registers are free for that.
	a.use("term", "Z0", "minTerm", "Z1", "result", "Z2", "d", "Z24", "dmin", "Z25")
	a.useRow("mins", z, 16, subs/2)
	a.reuse(
		"sums", "R12", // of this row
		"row", "R15", // its activations
		"rowOut", "BX",
		"count", "AX", // of rows left
		"count1", "R12",
	)
	actSums := 256 // of activations: of 16, or from 288 on of 32
	if subs == 8 {
		actSums = 288
	}
	cols := colD(subs) + 1
	a.f("VMOVUPS %d({panel}), {d}", 64*colD(subs))
	if mins {
		cols++
		a.f("VMOVUPS %d({panel}), {dmin}", 64*(colD(subs)+1))
		for k := range subs / 2 {
			a.f("VMOVDQU64 %d({panel}), {mins%d}", 64*(colMins(subs, 0)+k), k)
		}
	}
	a.f("MOVBQZX %d({work}), {count}", workRows4)
	a.f("MOVBQZX %d({work}), {count1}", workRows5)
	a.f("ADDQ {count1}, {count}")
	a.f("LEAQ %d({work}), {sums}", workSums)
	a.f("MOVQ {acts}, {row}")
	a.f("MOVQ {out}, {rowOut}")
	a.l("row")
	a.f("VPSLLD $8, 2048({sums}), {term}")
	a.f("VPADDD ({sums}), {term}, {term}")
	a.f("VCVTDQ2PS {term}, {term}")
	a.f("VMULPS {d}, {term}, {term}")
	if mins {
		a.f("VPXORQ {minTerm}, {minTerm}, {minTerm}")
		for k := range subs / 2 {
			a.f("VPDPWSSD.BCST %d({row}), {mins%d}, {minTerm}", actSums+4*k, k)
		}
		a.f("VCVTDQ2PS {minTerm}, {minTerm}")
		a.f("VMULPS {dmin}, {minTerm}, {minTerm}")
		a.f("VSUBPS {minTerm}, {term}, {term}")
	}
	a.f("VMULPS.BCST 304({row}), {term}, {term}")
	a.f("VMOVUPS.Z ({rowOut}), {started}, {result}")
	a.f("VADDPS {term}, {result}, {result}")
	a.f("VMOVUPS {result}, ({rowOut})")
	a.f("ADDQ $64, {sums}")
	a.f("ADDQ {xStride}, {row}")
	a.f("ADDQ {outStride}, {rowOut}")
	a.f("DECQ {count}")
	a.f("JNZ row")
	a.load("work")
	a.f("KXNORW {started}, {started}, {started}")
	a.f("ADDQ $%d, {panel}", 64*cols)
	a.f("ADDQ $8192, {folded}")
	a.f("ADDQ $320, {acts}")
	a.f("DECQ {blocks}")
	a.f("JNZ block")
	a.f("MOVBQZX %d({work}), {count}", workRows4)
	a.f("MOVBQZX %d({work}), {count1}", workRows5)
	a.f("ADDQ {count1}, {count}")
	amxEnd(a)
}

// amxTile32 adds blocks of 32 weights to one group of activation rows, four blocks at
// a time in tiles 0 to 3, so that products do not wait for each other. Groups of eight
// blocks have their activations in 320 bytes; the rest of one is done block by block.
func amxTile32(a *file, t string, mins bool) {
	fn := "tile" + t + "AMX"
	amxBegin(a, fn)
	a.use(
		"scales", "R14", // of the activations of this block
		"sums", "R12", // of the activation row at hand
		"rowScales", "R15", "result", "Z31",
		"count", "AX", // of rows left
	)
	a.reuse("rowOut", "BX")
	a.useRow("d", z, 16, 4) // of each block
	a.useRow("m", z, 20, 4) // -m/128
	cols := 9
	if mins {
		cols++
	}
	a.l("eight")
	a.f("CMPQ {blocks}, $8")
	a.f("JLT rest")
	for _, j := range []int{0, 4} {
		amxBlocks32(a, 4, cols*j, cols, 32*j, "{acts}", 256+4*j, mins)
	}
	a.f("ADDQ $%d, {panel}", 8*64*cols)
	a.f("ADDQ $320, {acts}")
	a.f("SUBQ $8, {blocks}")
	a.f("JMP eight")
	a.l("rest")
	a.f("LEAQ 256({acts}), {scales}")
	a.l("next")
	a.f("DECQ {blocks}")
	a.f("JLT done")
	amxBlocks32(a, 1, 0, cols, 0, "{scales}", 0, mins)
	a.f("ADDQ $%d, {panel}", 64*cols)
	a.f("ADDQ $32, {acts}")
	a.f("ADDQ $4, {scales}")
	a.f("JMP next")
	a.l("done")
	a.f("MOVBQZX %d({work}), {count}", workRows4)
	amxEnd(a)
}

// amxBlocks32 adds n blocks of 32 to out: weights from the panel's column col on,
// activations at {acts}+disp, their scales d and -128·Σq at base+scale. A block's term
// is (d·sum + m·Σq)·dx, or d·dx·(sum - 128·Σq) without minimums.
func amxBlocks32(a *file, n, col, cols, disp int, base string, scale int, mins bool) {
	for b := range n {
		x, w := 4+b%2, 6+b%2
		a.tilezero(b)
		a.tileload(disp+32*b, "{acts}", "{xStride}", x)
		a.tileload(64*(col+cols*b), "{panel}", "{lines}", w)
		a.tdpbsud(x, w, b)
	}
	for b := range n {
		a.tilestore(b, workSums+1024*b, "{work}", "{lines}")
		a.f("VMOVUPS %d({panel}), {d%d}", 64*(col+cols*b+8), b)
		if mins {
			a.f("VMOVUPS %d({panel}), {m%d}", 64*(col+cols*b+9), b)
		}
	}
	a.f("MOVBQZX %d({work}), {count}", workRows4)
	a.f("LEAQ %d({work}), {sums}", workSums)
	a.f("MOVQ %s, {rowScales}", base)
	a.f("MOVQ {out}, {rowOut}")
	row := a.fresh("row")
	a.l(row)
	a.f("VMOVUPS.Z ({rowOut}), {started}, {result}")
	for b := range n {
		s, u := z(2*b), z(2*b+1)
		at := scale + 4*b
		if mins {
			a.f("VCVTDQ2PS %d({sums}), %s", 1024*b, s)
			a.f("VMULPS {d%d}, %s, %s", b, s, s)
			a.f("VCVTDQ2PS.BCST %d({rowScales}), %s", at+32, u)
			a.f("VMULPS {m%d}, %s, %s", b, u, u)
			a.f("VADDPS %s, %s, %s", u, s, s)
			a.f("VMULPS.BCST %d({rowScales}), %s, %s", at, s, s)
		} else {
			a.f("VMOVDQU32 %d({sums}), %s", 1024*b, s)
			a.f("VPADDD.BCST %d({rowScales}), %s, %s", at+32, s, s) // weights are too large by 128
			a.f("VCVTDQ2PS %s, %s", s, s)
			a.f("VMULPS.BCST %d({rowScales}), {d%d}, %s", at, b, u)
			a.f("VMULPS %s, %s, %s", u, s, s)
		}
		a.f("VADDPS %s, {result}, {result}", s)
	}
	a.f("VMOVUPS {result}, ({rowOut})")
	a.f("ADDQ $64, {sums}")
	a.f("ADDQ {xStride}, {rowScales}")
	a.f("ADDQ {outStride}, {rowOut}")
	a.f("DECQ {count}")
	a.f("JNZ %s", row)
	a.f("KXNORW {started}, {started}, {started}")
	a.load("work")
}
