//go:build !noasm

#include "textflag.h"

// Vector forms of act.go: the same range reduction and polynomial as exp there,
// so the same error bound.

// Instructions by register number, as in dot/neon_arm64.h, which has the rest;
// the tests of exp and SwiGLU run every one.
#define ORR(d, n, m) WORD $(0x4ea01c00 | ((m)<<16) | ((n)<<5) | (d)) // orr Vd.16b, Vn.16b, Vm.16b
#define AND(d, n, m) WORD $(0x4e201c00 | ((m)<<16) | ((n)<<5) | (d)) // and Vd.16b, Vn.16b, Vm.16b
#define ADDS4(d, n, m) WORD $(0x4ea08400 | ((m)<<16) | ((n)<<5) | (d)) // add Vd.4s, Vn.4s, Vm.4s
#define FADD(d, n, m) WORD $(0x4e20d400 | ((m)<<16) | ((n)<<5) | (d)) // fadd Vd.4s, Vn.4s, Vm.4s
#define FADDP(d, n, m) WORD $(0x6e20d400 | ((m)<<16) | ((n)<<5) | (d)) // faddp Vd.4s, Vn.4s, Vm.4s
#define FSUB(d, n, m) WORD $(0x4ea0d400 | ((m)<<16) | ((n)<<5) | (d)) // fsub Vd.4s, Vn.4s, Vm.4s
#define FMUL(d, n, m) WORD $(0x6e20dc00 | ((m)<<16) | ((n)<<5) | (d)) // fmul Vd.4s, Vn.4s, Vm.4s
#define FDIV(d, n, m) WORD $(0x6e20fc00 | ((m)<<16) | ((n)<<5) | (d)) // fdiv Vd.4s, Vn.4s, Vm.4s
#define FMLA(d, n, m) WORD $(0x4e20cc00 | ((m)<<16) | ((n)<<5) | (d)) // fmla Vd.4s, Vn.4s, Vm.4s
#define FMLS(d, n, m) WORD $(0x4ea0cc00 | ((m)<<16) | ((n)<<5) | (d)) // fmls Vd.4s, Vn.4s, Vm.4s
#define FMAX(d, n, m) WORD $(0x4e20f400 | ((m)<<16) | ((n)<<5) | (d)) // fmax Vd.4s, Vn.4s, Vm.4s
#define FMIN(d, n, m) WORD $(0x4ea0f400 | ((m)<<16) | ((n)<<5) | (d)) // fmin Vd.4s, Vn.4s, Vm.4s
#define FCMEQ(d, n, m) WORD $(0x4e20e400 | ((m)<<16) | ((n)<<5) | (d)) // fcmeq Vd.4s, Vn.4s, Vm.4s
#define FNEG(d, n) WORD $(0x6ea0f800 | ((n)<<5) | (d)) // fneg Vd.4s, Vn.4s
#define SHLS(d, n, s) WORD $(0x4f005400 | ((32+(s))<<16) | ((n)<<5) | (d)) // shl Vd.4s, Vn.4s, #s

DATA expConst<>+0(SB)/4, $0xc2aea8f6 // -87.33
DATA expConst<>+4(SB)/4, $0x42b170a4 // 88.72
DATA expConst<>+8(SB)/4, $0x3fb8aa3b // log2 e
DATA expConst<>+12(SB)/4, $0x4b400000 // 1.5·2²³, which rounds to an integer in the low bits
DATA expConst<>+16(SB)/4, $0x3f317200 // ln 2, 16 bits
DATA expConst<>+20(SB)/4, $0x35bfbe8e // the rest of ln 2
DATA expConst<>+24(SB)/4, $0x39500d01 // 1/5040
DATA expConst<>+28(SB)/4, $0x3ab60b61 // 1/720
DATA expConst<>+32(SB)/4, $0x3c088889 // 1/120
DATA expConst<>+36(SB)/4, $0x3d2aaaab // 1/24
DATA expConst<>+40(SB)/4, $0x3e2aaaab // 1/6
DATA expConst<>+44(SB)/4, $0x3f000000 // 1/2
DATA expConst<>+48(SB)/4, $0x3f800000 // 1
GLOBL expConst<>(SB), RODATA|NOPTR, $52

// V16–V28 hold the constants.
#define CONSTANTS \
	MOVD    $expConst<>(SB), R4 \
	VLD1R.P 4(R4), [V16.S4]     \
	VLD1R.P 4(R4), [V17.S4]     \
	VLD1R.P 4(R4), [V18.S4]     \
	VLD1R.P 4(R4), [V19.S4]     \
	VLD1R.P 4(R4), [V20.S4]     \
	VLD1R.P 4(R4), [V21.S4]     \
	VLD1R.P 4(R4), [V22.S4]     \
	VLD1R.P 4(R4), [V23.S4]     \
	VLD1R.P 4(R4), [V24.S4]     \
	VLD1R.P 4(R4), [V25.S4]     \
	VLD1R.P 4(R4), [V26.S4]     \
	VLD1R.P 4(R4), [V27.S4]     \
	VLD1R.P 4(R4), [V28.S4]

// EXP replaces Vx by its exponential; t, k, p and q are scratch. The power of two
// is put on by adding to the exponent: k reaches 128 while e to the rest may be
// below one, so only the sum has to be an exponent. Where x is NaN, t's
// bits are not k's, and nothing is added.
#define EXP(x, t, k, p, q) \
	FCMEQ(q, x, x) \
	FMAX(x, x, 16) \
	FMIN(x, x, 17) \
	FMUL(t, x, 18) \
	FADD(t, t, 19) \
	FSUB(k, t, 19) \
	FMLS(x, k, 20) \
	FMLS(x, k, 21) \
	SHLS(t, t, 23) \
	AND(t, t, q)   \
	ORR(p, 23, 23) \
	FMLA(p, 22, x) \
	ORR(k, 24, 24) \
	FMLA(k, p, x)  \
	ORR(p, 25, 25) \
	FMLA(p, k, x)  \
	ORR(k, 26, 26) \
	FMLA(k, p, x)  \
	ORR(p, 27, 27) \
	FMLA(p, k, x)  \
	ORR(k, 28, 28) \
	FMLA(k, p, x)  \
	ORR(p, 28, 28) \
	FMLA(p, k, x)  \
	ADDS4(x, p, t)

// func siluGateNEON(dst, gate, up *float32, n int)
TEXT ·siluGateNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD gate+8(FP), R1
	MOVD up+16(FP), R2
	MOVD n+24(FP), R3
	CONSTANTS

loop:
	VLD1.P 32(R1), [V10.S4, V11.S4]
	FNEG(0, 10)
	FNEG(1, 11)
	EXP(0, 2, 3, 4, 5)
	EXP(1, 6, 7, 8, 9)
	FADD(0, 0, 28)
	FADD(1, 1, 28)
	FDIV(0, 10, 0)
	FDIV(1, 11, 1)
	VLD1.P 32(R2), [V12.S4, V13.S4]
	FMUL(0, 0, 12)
	FMUL(1, 1, 13)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS   $8, R3
	BNE    loop
	RET

// func expSumNEON(x *float32, n int, top float32) (sum float32)
TEXT ·expSumNEON(SB), NOSPLIT, $0-28
	MOVD  x+0(FP), R0
	MOVD  n+8(FP), R3
	FMOVS top+16(FP), F10
	VDUP  V10.S[0], V10.S4
	CONSTANTS
	VEOR  V30.B16, V30.B16, V30.B16
	VEOR  V31.B16, V31.B16, V31.B16

loop:
	VLD1   (R0), [V0.S4, V1.S4]
	FSUB(0, 0, 10)
	FSUB(1, 1, 10)
	EXP(0, 2, 3, 4, 5)
	EXP(1, 6, 7, 8, 9)
	FADD(30, 30, 0)
	FADD(31, 31, 1)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS   $8, R3
	BNE    loop
	FADD(30, 30, 31)
	FADDP(30, 30, 30)
	FADDP(30, 30, 30)
	FMOVS  F30, sum+24(FP)
	RET
