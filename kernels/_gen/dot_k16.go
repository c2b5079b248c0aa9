package main

import "bytes"

// Q6_K, Q3_K and Q2_K: sixteen sub-blocks of 16 weights.

// k16Idx declares indices of scales: dword l of vector p takes the word of scale 4p+l/4, in
// its low half.
func k16Idx(a *file) string {
	var d []byte
	for p := range 4 {
		d = append(d, words(32, func(i int) uint16 { return uint16(4*p + i/8) })...)
	}
	return a.bytes("q6kIdx", d)
}

// A k16 emits the pieces that the AVX-512 kernels of the three have in common.
type k16 struct{ a *file }

// start names the registers that do not depend on the type and loads constants.
func (k k16) start() {
	a := k.a
	a.useRow("scaleIndex", z, 0, 4) // which scale each dword of a vector takes
	a.use(
		"mask", "Z4", // 0x0f in every byte
		"scales", "Y8", // of the block, words
		"d", "X9", // and dmin
		"t1", "Z10", "t2", "Z11",
		"scale", "Z13", // of each dword's sub-block
		"rowSum", "X14", "blockSum", "Z15",
		"w0", "Z16", // 64 weights
		"w1", "Z17", // and the next
		"lowWords", "K1", // the low word of each dword
	)
	a.reuse("minSum", "X11")
	idx := k16Idx(a)
	for p := range 4 {
		a.f("VMOVDQU64 %s, %s", sym(idx, 64*p), z(p))
	}
	a.f("MOVL $0x55555555, AX")
	a.f("KMOVD AX, {lowWords}")
}

// row starts a weight row.
func (k k16) row() {
	k.a.l("row")
	startRow(k.a)
	k.a.f("VPXOR {rowSum}, {rowSum}, {rowSum}")
}

// offset starts {blockSum} with what the weights' offset adds to Σ scale·w·x:
// -(1<<shift)·Σ scale·x, from the sums of 16 activations each. {t2} is scratch.
func (k k16) offset(shift int) {
	a := k.a
	a.f("VPXOR {t2.y}, {t2.y}, {t2.y}")
	a.f("VPMADDWD %s, {scales}, {blockSum.y}", xmem(0, 256))
	a.f("VPSLLD $%d, {blockSum.y}, {blockSum.y}", shift)
	a.f("VPSUBD {blockSum}, {t2}, {blockSum}")
}

// dot adds scale·w·x of vector p of the block, 64 unsigned weights in register w, to
// {blockSum}. VPDPBUSD's sums of four products fit the words that VPDPWSSD multiplies
// with the scales: at most 4·63·127 = 32,004. {t1} is scratch.
func (k k16) dot(p int, w string) {
	a := k.a
	a.f("VPERMW.Z {scales.z}, {scaleIndex%d}, {lowWords}, {scale}", p)
	a.f("VPXORQ {t1}, {t1}, {t1}")
	a.f("VPDPBUSD %s, %s, {t1}", xmem(0, 64*p), w)
	a.f("VPDPWSSD {t1}, {scale}, {blockSum}")
}

// end goes on to the next block of so many bytes, then to the next row.
func (k k16) end(bytes int) {
	a := k.a
	nextBlock(a, 1, bytes, 320)
	a.f("JNZ block")
	store(a, 0, "{rowSum}")
	nextRow(a)
}

// q6kAVX512 writes Q6_K: four low bits and two high bits a weight, which are shifted to
// their place together and merged by VPTERNLOGD (a | b&c); the offset is 32.
func q6kAVX512(a *file, t superblock) {
	a.function(name(t.name, "AVX512", 1), dotParams, doc(t.name, "AVX512", 1))
	prologue(a, 1, 8)
	k := k16{a}
	shl := a.bytes("shl42", words(32, func(i int) uint16 { return uint16(4 - i/16*2) }))
	shr := a.bytes("shr02", words(32, func(i int) uint16 { return uint16(i / 16 * 2) }))
	k.start()
	a.use(
		"threes", "Z5", // 0x30 in every byte
		"shl", "Z6", // shifts that bring a weight's high bits there
		"shr", "Z7",
		"high", "Z12", // bits of four times 32 weights
	)
	a.reuse("low", "Z11") // bits of 128 weights
	a.everyByte(0x0f, "mask")
	a.everyByte(0x30, "threes")
	a.f("VMOVDQU64 %s, {shl}", sym(shl, 0))
	a.f("VMOVDQU64 %s, {shr}", sym(shr, 0))
	k.row()
	a.l("block")
	prefetch(a, 1536, 256)
	a.f("VPMOVSXBW 192({w}), {scales}")
	k.offset(5)
	for h := range 2 {
		a.f("VMOVDQU64 %d({w}), {low}", 64*h)
		a.f("VBROADCASTI32X8 %d({w}), {high}", 128+32*h)
		a.f("VPANDD {mask}, {low}, {w0}")
		a.f("VPSRLW $4, {low}, {w1}")
		a.f("VPANDD {mask}, {w1}, {w1}")
		a.f("VPSLLVW {shl}, {high}, {low}")
		a.f("VPSRLVW {shr}, {high}, {high}")
		a.f("VPTERNLOGD $0xF8, {threes}, {low}, {w0}")
		a.f("VPTERNLOGD $0xF8, {threes}, {high}, {w1}")
		k.dot(2*h, "{w0}")
		k.dot(2*h+1, "{w1}")
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

// q3kScales unpacks the 12 bytes at disp of the block at {w} into 16 scales less 32,
// bytes in xmm dst. mask has 0x0f in every byte; {t2} and {two} are scratch.
func q3kScales(a *file, disp int, dst, mask string) {
	shifts := sym(a.bytes("q3kShifts", dwords(4, func(i int) uint32 { return uint32(2 * i) })), 0)
	k03 := sym(a.bytes("k03", bytes.Repeat([]byte{3}, 16)), 0)
	k32 := sym(a.bytes("k32", bytes.Repeat([]byte{32}, 16)), 0)
	a.f("VMOVQ %d({w}), %s", disp, dst)
	a.f("VPSRLW $4, %s, {t2.x}", dst)
	a.f("VPUNPCKLQDQ {t2.x}, %s, %s", dst, dst)
	a.f("VPAND %s, %s, %s", mask, dst, dst)
	a.f("VPBROADCASTD %d({w}), {two.x}", disp+8)
	a.f("VPSRLVD %s, {two.x}, {two.x}", shifts)
	a.f("VPAND %s, {two.x}, {two.x}", k03)
	a.f("VPSLLW $4, {two.x}, {two.x}")
	a.f("VPOR {two.x}, %s, %s", dst, dst)
	a.f("VPSUBB %s, %s, %s", k32, dst, dst)
}

// q3kAVX512 writes Q3_K: two low bits a weight and a third that adds 4 by mask; the offset
// is 4.
func q3kAVX512(a *file, t superblock) {
	a.function(name(t.name, "AVX512", 1), dotParams, doc(t.name, "AVX512", 1))
	prologue(a, 1, 8)
	k := k16{a}
	shifts, high := twoBits(a), highBits(a)
	four := a.bytes("four", bytes.Repeat([]byte{4}, 64))
	k.start()
	a.use(
		"threes", "Z5", // 0x03 in every byte
		"fours", "Z6", // 0x04 in every byte
		"third", "Z7", // bits of all weights
		"two", "Z12", // low bits of four times 32 weights
		"thirdSet", "K2", // which weights have it
	)
	a.everyByte(0x0f, "mask")
	a.everyByte(0x03, "threes")
	a.f("VMOVDQU64 %s, {fours}", sym(four, 0))
	k.row()
	a.l("block")
	prefetch(a, 2048, 128)
	q3kScales(a, 96, "{scales.x}", "{mask.x}")
	a.f("VPMOVSXBW {scales.x}, {scales}")
	k.offset(2)
	a.f("VBROADCASTI32X8 ({w}), {third}") // third bits
	for h := range 2 {
		a.f("VBROADCASTI32X8 %d({w}), {two}", 32+32*h)
		for j := range 2 {
			p := 2*h + j
			a.f("VPSRLVW %s, {two}, {w0}", sym(shifts, 64*j))
			a.f("VPANDD {threes}, {w0}, {w0}")
			a.f("VPTESTMB %s, {third}, {thirdSet}", sym(high, 64*p))
			a.f("VPADDB {fours}, {w0}, {thirdSet}, {w0}")
			k.dot(p, "{w0}")
		}
	}
	loadHalf(a, 108)
	plainZ(a)
	k.end(t.bytes)
}

// q2kAVX512 writes Q2_K: two bits a weight, with a scale and a minimum of four bits each
// for every 16.
func q2kAVX512(a *file, t superblock) {
	a.function(name(t.name, "AVX512", 1), dotParams, doc(t.name, "AVX512", 1))
	prologue(a, 1, 8)
	k := k16{a}
	shifts := twoBits(a)
	k.start()
	a.use(
		"threes", "Z5", // 0x03 in every byte
		"mins", "Y7", // words
		"two", "Z12", // bits of four times 32 weights
	)
	a.everyByte(0x0f, "mask")
	a.everyByte(0x03, "threes")
	k.row()
	a.l("block")
	prefetch(a, 2048, 128)
	a.f("VMOVDQU ({w}), {mins.x}")
	a.f("VPAND {mask.x}, {mins.x}, {scales.x}")
	a.f("VPSRLW $4, {mins.x}, {mins.x}")
	a.f("VPAND {mask.x}, {mins.x}, {mins.x}")
	a.f("VPMOVZXBW {scales.x}, {scales}") // scales
	a.f("VPMOVZXBW {mins.x}, {mins}")     // minimums
	a.f("VPXOR {blockSum.y}, {blockSum.y}, {blockSum.y}")
	for h := range 2 {
		a.f("VBROADCASTI32X8 %d({w}), {two}", 16+32*h)
		for j := range 2 {
			a.f("VPSRLVW %s, {two}, {w0}", sym(shifts, 64*j))
			a.f("VPANDD {threes}, {w0}, {w0}")
			k.dot(2*h+j, "{w0}")
		}
	}
	sums16(a)
	a.f("VCVTPH2PS 76({w}), {d}") // d and dmin are the block's last
	a.f("VPSHUFD $0x4e, {d}, {d}")
	termZ(a)
	k.end(t.bytes)
}

// k16AVX2 writes the three for AVX2, 32 weights at a time: VPMADDUBSW multiplies unsigned
// weights, VPMADDWD applies the scales of their two sub-blocks.
func k16AVX2(a *file) {
	d := make([]byte, 128) // bytes of vector v: scale 2v eight times, then 2v+1
	for v := range 8 {
		for l := range 16 {
			d[16*v+l] = byte(2*v + l/8)
		}
	}
	for _, t := range superblocks[2:] {
		a.function(name(t.name, "AVX2", 1), dotParams, doc(t.name, "AVX2", 1))
		prologue(a, 1, 8)
		a.use(
			"rowSum", "X0",
			"mask", "Y1", // 0x0f in every byte
			"threes", "Y2", // 0x03 in every byte
			"scales", "X3", // of the block, bytes
			"blockSum", "Y4", "weights", "Y6",
			"high", "Y7", // bits of the weights
			"scale", "Y8", // words of two sub-blocks'
			"third", "Y9", // bits of all weights
			"t1", "Y10", "minSum", "Y11",
			"mins", "Y12", // words
			"fours", "Y13", // 0x04 in every byte
		)
		a.reuse("d", "Y9", "t2", "Y11", "two", "Y12")
		idx := a.bytes("q6kIdx8", d)
		a.everyByteAVX2(0x0f, "mask")
		a.everyByteAVX2(0x03, "threes")
		a.everyByteAVX2(0x04, "fours")
		a.l("row")
		startRow(a)
		a.f("VPXOR {rowSum}, {rowSum}, {rowSum}")
		a.l("block")
		prefetch(a, 1536, (t.bytes+63)/64*64)
		offset := 0
		switch t.name {
		case "Q6K":
			a.f("VMOVDQU 192({w}), {scales}")
			offset = 5
		case "Q3K":
			a.f("VMOVDQA {mask.x}, {blockSum.x}")
			q3kScales(a, 96, "{scale.x}", "{blockSum.x}")
			a.f("VMOVDQA {scale.x}, {scales}")
			a.f("VMOVDQU ({w}), {third}")
			offset = 2
		case "Q2K":
			a.f("VMOVDQU ({w}), {scales}")
			a.f("VPSRLW $4, {scales}, {mins.x}")
			a.f("VPAND {mask.x}, {mins.x}, {mins.x}")
			a.f("VPMOVZXBW {mins.x}, {mins}")
			a.f("VPAND {mask.x}, {scales}, {scales}")
		}
		a.f("VPXOR {blockSum}, {blockSum}, {blockSum}")
		if offset > 0 {
			a.f("VPMOVSXBW {scales}, {weights}")
			a.f("VPMADDWD %s, {weights}, {weights}", xmem(0, 256))
			a.f("VPSLLD $%d, {weights}, {weights}", offset)
			a.f("VPSUBD {weights}, {blockSum}, {blockSum}")
		}
		for v := range 8 { // 32 weights each
			h, g := v/4, v%4
			switch t.name {
			case "Q6K":
				a.f("VMOVDQU %d({w}), {weights}", 64*h+32*(g&1))
				if g >= 2 {
					a.f("VPSRLW $4, {weights}, {weights}")
				}
				a.f("VPAND {mask}, {weights}, {weights}")
				a.f("VMOVDQU %d({w}), {high}", 128+32*h)
				if g > 0 {
					a.f("VPSRLW $%d, {high}, {high}", 2*g)
				}
				a.f("VPAND {threes}, {high}, {high}")
				a.f("VPSLLW $4, {high}, {high}")
				a.f("VPOR {high}, {weights}, {weights}")
			default:
				at := 16 + 32*h
				if t.name == "Q3K" {
					at = 32 + 32*h
				}
				a.f("VMOVDQU %d({w}), {weights}", at)
				if g > 0 {
					a.f("VPSRLW $%d, {weights}, {weights}", 2*g)
				}
				a.f("VPAND {threes}, {weights}, {weights}")
				if t.name == "Q3K" { // bit v of the third bits to bit 2
					if v < 2 {
						a.f("VPSLLW $%d, {third}, {high}", 2-v)
					} else {
						a.f("VPSRLW $%d, {third}, {high}", v-2)
					}
					a.f("VPAND {fours}, {high}, {high}")
					a.f("VPOR {high}, {weights}, {weights}")
				}
			}
			a.f("VPMADDUBSW %s, {weights}, {weights}", xmem(0, 32*v))
			a.f("VPSHUFB %s, {scales}, {scale.x}", sym(idx, 16*v))
			a.f("VPMOVSXBW {scale.x}, {scale}")
			a.f("VPMADDWD {scale}, {weights}, {weights}")
			a.f("VPADDD {weights}, {blockSum}, {blockSum}")
		}
		switch t.name {
		case "Q2K":
			sums16(a)
			a.f("VCVTPH2PS 76({w}), {d.x}") // d and dmin are the block's last
			a.f("VPSHUFD $0x4e, {d.x}, {d.x}")
			termY(a)
		default:
			loadHalf(a, map[string]int{"Q6K": 208, "Q3K": 108}[t.name])
			plainY(a)
		}
		nextBlock(a, 1, t.bytes, 320)
		a.f("JNZ block")
		store(a, 0, "{rowSum}")
		nextRow(a)
	}
}

// sums16 sums sixteen minimums, words in {mins.y}, times the sums of 16 activations
// each, to four dwords in {minSum.x}. {t1} is scratch.
func sums16(a *file) {
	a.f("VPMADDWD %s, {mins.y}, {minSum.y}", xmem(0, 256))
	a.f("VEXTRACTI128 $1, {minSum.y}, {t1.x}")
	a.f("VPADDD {t1.x}, {minSum.x}, {minSum.x}")
}
