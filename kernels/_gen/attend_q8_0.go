package main

import "fmt"

// A score tile of Q8_0 multiplies keys that lie by dimension with queries that
// were quantised to ActQ8_32 (kernels/quant/act.go): in w, for every 32 dimensions, n
// scales and then (8, n, 4) int8, four dimensions of a key together; p is where the
// queries begin. Integer sums are exact; those of 32 dimensions are added up in
// ascending order. rows counts them; there are at most eight, n is a multiple of 32.
func genScoresQ80(a *file) {
	for heads := 4; heads > 0; heads-- {
		scoresQ80(a, heads)
	}
}

func scoresQ80(a *file, heads int) {
	fn := fmt.Sprintf("scoresQ80AVX512x%d", heads)
	a.function(fn, attendParams, 72, fmt.Sprintf("%s multiplies keys of Q8_0 that lie by dimension with %d queries.", fn, heads))
	const (
		dst, ds   = "DI", "R12"
		start     = "R9" // scales of the keys at hand
		scales    = "SI"
		quads, qs = "R15", "R11"
		stride    = "R8"
		q, qd     = "BX", "R13" // queries: int8, scales
		ps, ps3   = "R10", "R14"
		ahead     = "DX"
	)
	const width = 2 // vectors of keys
	sum := func(h, i int) string { return z(h*width + i) }
	total := func(h, i int) string { return z((heads+h)*width + i) }
	w := func(i int) string { return z(2*heads*width + i) }
	scale := func(i int) string { return z((2*heads+1)*width + i) }
	raise := z(31)
	a.f("MOVL $0x80808080, AX")
	a.f("VPBROADCASTD AX, %s", raise)
	a.f("MOVQ dst+0(FP), %s", dst)
	a.f("MOVQ dstStride+8(FP), %s", ds)
	a.f("MOVQ n+16(FP), %s", qs)
	a.f("SHLQ $2, %s", qs)
	a.f("MOVQ w+24(FP), %s", start)
	a.f("MOVQ stride+40(FP), %s", stride)
	a.f("MOVQ pStride+56(FP), %s", ps)
	a.f("LEAQ (%s)(%s*2), %s", ps, ps, ps3)
	a.f("MOVQ ahead+64(FP), %s", ahead)
	a.l("keys")
	a.f("MOVQ %s, %s", start, scales)
	a.f("MOVQ %s, AX", qs)
	a.f("SHRQ $1, AX") // bytes of all scales
	// The int8 begin behind all scales, and are twice as far on.
	a.f("MOVQ %s, %s", start, quads)
	a.f("SUBQ w+24(FP), %s", quads)
	a.f("ADDQ %s, %s", start, quads)
	a.f("ADDQ AX, %s", quads)
	a.f("MOVQ p+48(FP), %s", q)
	a.f("LEAQ 256(%s), %s", q, qd)
	a.f("MOVQ rows+32(FP), CX")
	for h := range heads {
		for i := range width {
			a.f("VXORPS %s, %s, %s", total(h, i), total(h, i), total(h, i))
		}
	}
	at := func(h, disp int, base string) string { return strided(h, disp, base, "", ps, ps3) }
	a.l("block")
	for h := range heads {
		a.f("VPBROADCASTD %s, %s", at(h, 32, qd), sum(h, 0)) // -128·Σq
		for i := 1; i < width; i++ {
			a.f("VMOVDQA64 %s, %s", sum(h, 0), sum(h, i))
		}
	}
	for k := range 8 {
		for i := range width {
			a.f("PREFETCHT1 %d(%s)(%s*1)", 64*i, quads, ahead)
			a.f("VPXORD %s, %s, %s", mem(64*i, quads), raise, w(i))
		}
		for h := range heads {
			for i := range width {
				a.f("VPDPBUSD.BCST %s, %s, %s", at(h, 4*k, q), w(i), sum(h, i))
			}
		}
		a.f("ADDQ %s, %s", qs, quads)
	}
	a.f("PREFETCHT1 (%s)(%s*1)", scales, ahead)
	for i := range width {
		a.f("VCVTPH2PS %s, %s", mem(32*i, scales), scale(i))
	}
	for h := range heads {
		for i := range width {
			a.f("VCVTDQ2PS %s, %s", sum(h, i), sum(h, i))
			a.f("VMULPS %s, %s, %s", scale(i), sum(h, i), sum(h, i))
			a.f("VFMADD231PS.BCST %s, %s, %s", at(h, 0, qd), sum(h, i), total(h, i))
		}
	}
	a.f("ADDQ %s, %s", stride, scales)
	a.f("ADDQ AX, %s", quads)
	a.f("ADDQ $32, %s", q)
	a.f("ADDQ $4, %s", qd)
	a.f("DECQ CX")
	a.f("JNZ block")
	a.f("MOVQ %s, AX", dst)
	for h := range heads {
		for i := range width {
			a.f("VMOVUPS %s, %s", total(h, i), mem(64*i, "AX"))
		}
		if h < heads-1 {
			a.f("ADDQ %s, AX", ds)
		}
	}
	a.f("ADDQ $%d, %s", 64*width, dst)
	a.f("ADDQ $%d, %s", 32*width, start)
	a.f("SUBQ $%d, n+16(FP)", 16*width)
	a.f("JNZ keys")
	a.f("VZEROUPPER")
	a.f("RET")
}
