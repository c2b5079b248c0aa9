package main

// mixRows is how many rows mix adds up: the points of kernels/fastconv.go.
const mixRows = 7

// genMix emits the transforms of fast convolution: few rows of a small matrix
// times seven rows of a large one, which stay in registers.
func genMix(a *file) {
	for _, v := range vecs {
		fn := "mix" + v.level
		a.function(fn, "dst *float32, dstStride int, init *float32, initStride int, src *float32, srcStride int, m *float32, rows, n int", 72,
			fn+" is mixGo. n is a multiple of the vector, rows at least 1.")
		a.f("MOVQ dst+0(FP), DI")
		a.f("MOVQ dstStride+8(FP), R8")
		a.f("MOVQ init+16(FP), R9")
		a.f("MOVQ initStride+24(FP), R10")
		a.f("MOVQ src+32(FP), SI")
		a.f("MOVQ srcStride+40(FP), R11")
		a.f("MOVQ m+48(FP), DX")
		a.f("MOVQ rows+56(FP), R12")
		a.f("MOVQ n+64(FP), CX")
		for _, r := range []string{"R8", "R10", "R11"} {
			a.f("SHLQ $2, %s", r) // bytes
		}
		a.f("IMULQ $%d, R12", 4*mixRows)
		a.f("ADDQ DX, R12") // where m ends
		a.l("columns")
		a.f("MOVQ SI, AX")
		for i := range mixRows {
			a.f("VMOVUPS (AX), %s", v.reg(i))
			if i < mixRows-1 {
				a.f("ADDQ R11, AX")
			}
		}
		a.f("MOVQ DI, AX")
		a.f("MOVQ R9, BX")
		a.f("MOVQ DX, R13")
		sum, by := v.reg(mixRows), v.reg(mixRows+1)
		a.l("rows")
		a.f("VMOVUPS (BX), %s", sum)
		for i := range mixRows {
			if v.lanes == 16 {
				a.f("VFMADD231PS.BCST %s, %s, %s", mem(4*i, "R13"), v.reg(i), sum)
			} else {
				a.f("VBROADCASTSS %s, %s", mem(4*i, "R13"), by)
				a.f("VFMADD231PS %s, %s, %s", by, v.reg(i), sum)
			}
		}
		a.f("VMOVUPS %s, (AX)", sum)
		a.f("ADDQ R8, AX")
		a.f("ADDQ R10, BX")
		a.f("ADDQ $%d, R13", 4*mixRows)
		a.f("CMPQ R13, R12")
		a.f("JLT rows")
		for _, r := range []string{"DI", "R9", "SI"} {
			a.f("ADDQ $%d, %s", 4*v.lanes, r)
		}
		a.f("SUBQ $%d, CX", v.lanes)
		a.f("JNZ columns")
		a.f("VZEROUPPER")
		a.f("RET")
	}
}
