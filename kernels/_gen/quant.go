package main

import "fmt"

// genActs writes the functions that quantise activations in groups of 256 floats, and encode
// F16; see kernels/quant/act.go. AVX2 serves every level: a group is 1 KB, read from the cache.
func genActs(a *file) {
	genTop(a)
	genConverts(a)
	genRound(a, "roundQ8_256AVX2", ", id float32", "roundQ8_256AVX2 writes 256 floats times id as quants, and their sums over 16 and 32.",
		func(int) string { return a.arg("id") },
		func(j int) {
			a.f("MOVW {sum0}, %s", mem(256+4*j, "{dst}"))
			a.f("MOVW {sum1}, %s", mem(256+4*j+2, "{dst}"))
			a.f("ADDL {sum1}, {sum0}")
			a.f("MOVW {sum0}, %s", mem(288+2*j, "{dst}"))
		})
	genRound(a, "roundQ8_32AVX2", "", "roundQ8_32AVX2 writes 256 floats as quants; 32 at a time are multiplied by the float in the place where it then writes -128 times their sum.",
		func(j int) string { return mem(288+4*j, "{dst}") },
		func(j int) {
			a.f("ADDL {sum1}, {sum0}")
			a.f("SHLL $7, {sum0}")
			a.f("NEGL {sum0}")
			a.f("MOVL {sum0}, %s", mem(288+4*j, "{dst}"))
		})
}

// genTop writes the largest |v[i]| of {n} floats. Magnitudes as integers have the order of
// the floats, so VPMAXUD compares their bits, in four running maxima {top0} to {top3}.
func genTop(a *file) {
	a.returning("topAVX2", "v *float32, n int", "top uint32", "topAVX2 returns the bits of the largest magnitude of n floats, n a multiple of 32.")
	a.use(
		"v", "SI", // next floats
		"n", "CX", // of them left
		"magnitude", "Y4",
		"magnitudeMask", "Y7", // 0x7fffffff in every dword
	)
	a.useRow("top", y, 0, 4)
	a.load("v", "n")
	a.f("VPCMPEQD {magnitudeMask}, {magnitudeMask}, {magnitudeMask}")
	a.f("VPSRLD $1, {magnitudeMask}, {magnitudeMask}")
	for i := range 4 {
		a.f("VPXOR %s, %s, %s", y(i), y(i), y(i))
	}
	a.l("next")
	for i := range 4 {
		a.f("VPAND %s, {magnitudeMask}, {magnitude}", mem(32*i, "{v}"))
		a.f("VPMAXUD {magnitude}, {top%d}, {top%d}", i, i)
	}
	a.f("ADDQ $128, {v}")
	a.f("SUBQ $32, {n}")
	a.f("JNZ next")
	a.f("VPMAXUD {top1}, {top0}, {top0}")
	a.f("VPMAXUD {top3}, {top2}, {top2}")
	a.f("VPMAXUD {top2}, {top0}, {top0}")
	a.f("VEXTRACTI128 $1, {top0}, {top1.x}")
	a.f("VPMAXUD {top1.x}, {top0.x}, {top0.x}")
	a.f("VPSHUFD $0x4e, {top0.x}, {top1.x}")
	a.f("VPMAXUD {top1.x}, {top0.x}, {top0.x}")
	a.f("VPSHUFD $0xb1, {top0.x}, {top1.x}")
	a.f("VPMAXUD {top1.x}, {top0.x}, {top0.x}")
	a.f("VMOVD {top0.x}, AX")
	a.f("MOVL AX, %s", a.arg("top"))
	finish(a)
}

// genConverts writes F16 of floats, rounded to nearest even whatever the processor's mode, and floats of
// F16, exactly.
func genConverts(a *file) {
	convert := func(fn, params, doc, load, store string, from, to int) {
		a.function(fn, params, fn+" writes n floats "+doc+", n a positive multiple of 8.")
		a.use(
			"dst", "DI", "src", "SI", // next
			"n", "CX", // floats left
			"floats", y(0),
		)
		a.load("dst", "src", "n")
		a.l("next")
		a.f("%s ({src}), {floats}", load)
		a.f("%s {floats}, ({dst})", store)
		a.f("ADDQ $%d, {src}", 8*from)
		a.f("ADDQ $%d, {dst}", 8*to)
		a.f("SUBQ $8, {n}")
		a.f("JNZ next")
		finish(a)
	}
	convert("halvesAVX2", "dst *byte, src *float32, n int", "as F16", "VMOVUPS", "VCVTPS2PH $0,", 4, 2)
	convert("floatsAVX2", "dst *float32, src *byte, n int", "of F16", "VCVTPH2PS", "VMOVUPS", 2, 4)
}

// genRound writes round(v·scale) of 256 floats as int8 at {dst}; id(j) is the operand that
// scales floats 32j on. put(j) stores {sum0} and {sum1}, the sums of their first and last 16.
// VCVTPS2DQ rounds to nearest even, as Go's reference does; packing saturates.
func genRound(a *file, fn, param, doc string, id func(j int) string, put func(j int)) {
	a.function(fn, "dst *byte, v *float32"+param, doc)
	a.use(
		"dst", "DI", "v", "SI", "scale", "Y5",
		"order", "Y6", // of dwords after packing
		"oneBytes", "Y7", "oneWords", "Y8",
	)
	a.use("sum0", "AX", "sum1", "BX") // of the first and last 16 quants
	a.useRow("quants", y, 0, 4)
	order := a.bytes("unpackOrder", dwords(8, func(i int) uint32 { return uint32(i/2 + i%2*4) }))
	ones := a.bytes("oneBytes", words(16, func(int) uint16 { return 0x0101 }))
	onesW := a.bytes("oneWords", words(16, func(int) uint16 { return 1 }))
	a.load("dst", "v")
	a.f("VMOVDQU %s, {order}", sym(order, 0))
	a.f("VMOVDQU %s, {oneBytes}", sym(ones, 0))
	a.f("VMOVDQU %s, {oneWords}", sym(onesW, 0))
	for j := range 8 {
		a.f("VBROADCASTSS %s, {scale}", id(j))
		for i := range 4 {
			a.f("VMULPS %s, {scale}, %s", mem(128*j+32*i, "{v}"), y(i))
			a.f("VCVTPS2DQ %s, %s", y(i), y(i))
		}
		a.f("VPACKSSDW {quants1}, {quants0}, {quants0}")
		a.f("VPACKSSDW {quants3}, {quants2}, {quants2}")
		a.f("VPACKSSWB {quants2}, {quants0}, {quants0}")
		a.f("VPERMD {quants0}, {order}, {quants0}")
		a.f("VMOVDQU {quants0}, %s", mem(32*j, "{dst}"))
		a.f("VPMADDUBSW {quants0}, {oneBytes}, {quants0}")
		a.f("VPMADDWD {oneWords}, {quants0}, {quants0}")
		a.f("VPHADDD {quants0}, {quants0}, {quants0}")
		a.f("VPHADDD {quants0}, {quants0}, {quants0}")
		a.f("VEXTRACTI128 $1, {quants0}, {quants1.x}")
		a.f("VMOVD {quants0.x}, {sum0}")
		a.f("VMOVD {quants1.x}, {sum1}")
		put(j)
	}
	finish(a)
}

// genFit writes the sums that the K encoders choose scales by; see kernels/quant/fit.go. A lane is
// a float64. Eight sums run beside each other at every level, nothing is fused, and Go's reference
// adds in the same order.
func genFit(a *file) {
	genMeasure(a, "measureAVX2", y, 2)
	genMeasure(a, "measureAVX512", z, 1)
}

// genMeasure keeps each of the sums in so many vectors of eight lanes together.
func genMeasure(a *file, fn string, v func(int) string, vectors int) {
	a.function(fn, "to *fitted, of *candidate, count int, x, w *float64, n int, low, top float64",
		fn+" rounds n values to quants under each of count candidates and writes the sums over them, n a positive multiple of 8, count positive.")
	a.use(
		"to", "DI", "of", "SI", // next
		"count", "CX", // candidates left
		"x", "R8", "w", "R9", "n", "R10",
		"i", "R11", // values done
		"add", v(0), "inverse", v(1), "low", v(2), "top", v(3), "half", v(4),
		"v", v(5), "q", v(6), "wq", v(7),
		"high", v(8),
	)
	sums := []string{"sumQ", "sumQQ", "sumQX"}
	for k, sum := range sums {
		a.useRow(sum, v, 9+k*vectors, vectors)
	}
	a.load("to", "of", "count", "x", "w", "n")
	a.f("VBROADCASTSD %s, {low}", a.arg("low"))
	a.f("VBROADCASTSD %s, {top}", a.arg("top"))
	a.f("MOVQ $0x3fe0000000000000, AX") // 0.5
	a.f("VMOVQ AX, {half.x}")
	a.f("VBROADCASTSD {half.x}, {half}")
	a.l("next")
	a.f("VBROADCASTSD ({of}), {inverse}")
	a.f("VBROADCASTSD 8({of}), {add}")
	for _, sum := range sums {
		for k := range vectors {
			a.f("VPXOR {%s%d.y}, {%[1]s%d.y}, {%[1]s%d.y}", sum, k, k, k)
		}
	}
	a.f("XORQ {i}, {i}")
	a.l("eight")
	floor := "VROUNDPD $1, {q}, {q}"
	if vectors == 1 {
		floor = "VRNDSCALEPD $1, {q}, {q}"
	}
	for k := range vectors {
		at := fmt.Sprintf("%d", 32*k)
		a.f("VMOVUPD %s({x})({i}*8), {v}", at)
		a.f("VADDPD {add}, {v}, {q}")
		a.f("VMULPD {inverse}, {q}, {q}")
		a.f("VMAXPD {low}, {q}, {q}") // low where it is not a number: the second of the two
		a.f("VMINPD {top}, {q}, {q}")
		a.f("VADDPD {half}, {q}, {q}")
		a.f("%s", floor)
		a.f("VMULPD %s({w})({i}*8), {q}, {wq}", at)
		a.f("VADDPD {wq}, {sumQ%d}, {sumQ%d}", k, k)
		a.f("VMULPD {wq}, {q}, {q}")
		a.f("VADDPD {q}, {sumQQ%d}, {sumQQ%d}", k, k)
		a.f("VMULPD {wq}, {v}, {v}")
		a.f("VADDPD {v}, {sumQX%d}, {sumQX%d}", k, k)
	}
	a.f("ADDQ $8, {i}")
	a.f("CMPQ {i}, {n}")
	a.f("JLT eight")
	for k, sum := range sums {
		second := "{" + sum + "1.y}"
		if vectors == 1 {
			second = "{high.y}"
			a.f("VEXTRACTF64X4 $1, {%s0}, {high.y}", sum)
		}
		a.f("VADDPD %s, {%s0.y}, {%[2]s0.y}", second, sum)
		a.f("VEXTRACTF128 $1, {%s0.y}, {high.x}", sum)
		a.f("VADDPD {high.x}, {%s0.x}, {%[1]s0.x}", sum)
		a.f("VHADDPD {%s0.x}, {%[1]s0.x}, {%[1]s0.x}", sum)
		a.f("VMOVSD {%s0.x}, %s", sum, mem(8*k, "{to}"))
	}
	a.f("ADDQ $16, {of}")
	a.f("ADDQ $24, {to}")
	a.f("DECQ {count}")
	a.f("JNZ next")
	finish(a)
}
