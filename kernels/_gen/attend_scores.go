package main

import (
	"fmt"
	"strings"
)

// A score tile of Q8_0 multiplies n keys stored by dimension with queries quantised to
// ActQ8_32 (kernels/quant/act.go) at p. For every 32 dimensions w has n scales and then
// (8, n, 4) int8, four dimensions of a key together. rows is the number of such groups, at
// most eight; n is a multiple of 32. Sums of a group are exact integers; groups are added
// in ascending order.
//
// Q4_0 has (4, n, 4) bytes there: byte i of a key holds its dimension i low, i+16 high.
func genScores(a *file) {
	for _, t := range []string{"Q8_0", "Q4_0"} {
		for heads := 4; heads > 0; heads-- {
			scores(a, t, heads)
		}
	}
}

// scores writes score tiles of 32 keys with up to four queries. VPDPBUSD multiplies unsigned
// with signed bytes. Keys of Q8_0 become unsigned by XOR 0x80, and each sum of 32 starts at
// -128·Σq to make up for it; those of Q4_0 are so already, and it starts at -8·Σq. Then totals
// grow by qScale·(scale·sum).
func scores(a *file, t string, heads int) {
	fn := fmt.Sprintf("scores%sAVX512x%d", strings.Replace(t, "_", "", 1), heads)
	a.function(fn, attendParams, fmt.Sprintf("%s multiplies keys of %s that lie by dimension with %d queries.", fn, t, heads))
	a.use(
		"dst", "DI", "dstStride", "R12",
		"start", "R9", // first scales of these 32 keys
		"scales", "SI", // of these keys and this block
		"quads", "R15", // next four dimensions of them
		"quadStride", "R11", "stride", "R8",
		"q", "BX", // next of query 0, int8
		"qScales", "R13", "pStride", "R10",
		"pStride3", "R14", // three times that
		"ahead", "DX",
		"left", "CX", // blocks
		"bits", "Z31", // 0x80 in every byte, or 0x0f
	)
	const width = 2 // vectors of keys
	sum := func(h, i int) string { return z(h*width + i) }
	total := func(h, i int) string { return z((heads+h)*width + i) }
	w := func(i int) string { return z(2*heads*width + i) }
	scale := func(i int) string { return z((2*heads+1)*width + i) }
	high := func(i int) string { return z((2*heads+2)*width + i) }
	bits, quads := "0x80808080", 8
	if t == "Q4_0" {
		bits, quads = "0x0f0f0f0f", 4
	}
	a.f("MOVL $%s, AX", bits)
	a.f("VPBROADCASTD AX, {bits}")
	a.load("dst", "dstStride", "n=quadStride")
	a.f("SHLQ $2, {quadStride}")
	a.load("w=start", "stride", "pStride")
	a.f("LEAQ ({pStride})({pStride}*2), {pStride3}")
	a.load("ahead")
	a.l("keys")
	a.f("MOVQ {start}, {scales}")
	a.f("MOVQ {quadStride}, AX")
	a.f("SHRQ $1, AX") // bytes of all scales
	// The int8 follow the scales of all keys; a key has four bytes there, two here.
	a.f("MOVQ {start}, {quads}")
	a.f("SUBQ %s, {quads}", a.arg("w"))
	a.f("ADDQ {start}, {quads}")
	a.f("ADDQ AX, {quads}")
	a.load("p=q")
	a.f("LEAQ 256({q}), {qScales}")
	a.load("rows=left")
	for h := range heads {
		for i := range width {
			a.f("VXORPS %s, %s, %s", total(h, i), total(h, i), total(h, i))
		}
	}
	at := func(h, disp int, base string) string { return upTo4(h, disp, base, "pStride") }
	a.l("block")
	for h := range heads {
		a.f("VPBROADCASTD %s, %s", at(h, 32, "qScales"), sum(h, 0)) // -128·Σq
		if t == "Q4_0" {
			a.f("VPSRAD $4, %s, %s", sum(h, 0), sum(h, 0))
		}
		for i := 1; i < width; i++ {
			a.f("VMOVDQA64 %s, %s", sum(h, 0), sum(h, i))
		}
	}
	for k := range quads {
		for i := range width {
			a.f("PREFETCHT1 %d({quads})({ahead}*1)", 64*i)
			if t == "Q4_0" {
				a.f("VMOVDQU32 %s, %s", mem(64*i, "{quads}"), w(i))
				a.f("VPSRLD $4, %s, %s", w(i), high(i))
				a.f("VPANDD {bits}, %s, %s", w(i), w(i))
				a.f("VPANDD {bits}, %s, %s", high(i), high(i))
			} else {
				a.f("VPXORD %s, {bits}, %s", mem(64*i, "{quads}"), w(i))
			}
		}
		for h := range heads {
			for i := range width {
				a.f("VPDPBUSD.BCST %s, %s, %s", at(h, 4*k, "q"), w(i), sum(h, i))
				if t == "Q4_0" {
					a.f("VPDPBUSD.BCST %s, %s, %s", at(h, 16+4*k, "q"), high(i), sum(h, i))
				}
			}
		}
		a.f("ADDQ {quadStride}, {quads}")
	}
	a.f("PREFETCHT1 ({scales})({ahead}*1)")
	for i := range width {
		a.f("VCVTPH2PS %s, %s", mem(32*i, "{scales}"), scale(i))
	}
	for h := range heads {
		for i := range width {
			a.f("VCVTDQ2PS %s, %s", sum(h, i), sum(h, i))
			a.f("VMULPS %s, %s, %s", scale(i), sum(h, i), sum(h, i))
			a.f("VFMADD231PS.BCST %s, %s, %s", at(h, 0, "qScales"), sum(h, i), total(h, i))
		}
	}
	a.f("ADDQ {stride}, {scales}")
	a.f("ADDQ AX, {quads}")
	a.f("ADDQ $32, {q}")
	a.f("ADDQ $4, {qScales}")
	a.f("DECQ {left}")
	a.f("JNZ block")
	a.f("MOVQ {dst}, AX")
	for h := range heads {
		for i := range width {
			a.f("VMOVUPS %s, %s", total(h, i), mem(64*i, "AX"))
		}
		if h < heads-1 {
			a.f("ADDQ {dstStride}, AX")
		}
	}
	a.f("ADDQ $%d, {dst}", 64*width)
	a.f("ADDQ $%d, {start}", 32*width)
	a.f("SUBQ $%d, %s", 16*width, a.arg("n"))
	a.f("JNZ keys")
	a.f("VZEROUPPER")
	a.f("RET")
}
