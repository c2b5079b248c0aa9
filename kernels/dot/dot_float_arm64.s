//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// Floats: 16 weights at a time in V0–V3, their products in four vectors a row
// of activations, added in pairs at the end. R0 weights, R1 sixteens in a row,
// R2 rows left, R3 activations, R4 their stride, R5 output, R6 its stride in
// bytes, R7–R10 activations at this place, R11 sixteens left.

#define FLOAT_ARGS \
	MOVD w+0(FP), R0          \
	MOVD n+8(FP), R1          \
	MOVD rows+16(FP), R2      \
	MOVD x+24(FP), R3         \
	MOVD xStride+32(FP), R4   \
	MOVD out+40(FP), R5       \
	MOVD outStride+48(FP), R6 \
	LSR  $4, R1, R1           \
	LSL  $2, R6, R6

#define LOADF32 \
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]

#define LOADF16 \
	VLD1.P 32(R0), [V0.H8, V1.H8] \
	FCVTL2(3, 1)                  \
	FCVTL(2, 1)                   \
	FCVTL2(1, 0)                  \
	FCVTL(0, 0)

#define LOADBF16 \
	VLD1.P 32(R0), [V0.H8, V1.H8] \
	SHLL2H(3, 1)                  \
	SHLLH(2, 1)                   \
	SHLL2H(1, 0)                  \
	SHLLH(0, 0)

#define ZERO4(a) \
	ZERO(a)   \
	ZERO(a+1) \
	ZERO(a+2) \
	ZERO(a+3)

#define MULADD(a, x) \
	VLD1.P 64(x), [V4.S4, V5.S4, V6.S4, V7.S4] \
	FMLA(a, 0, 4)                              \
	FMLA(a+1, 1, 5)                            \
	FMLA(a+2, 2, 6)                            \
	FMLA(a+3, 3, 7)

#define FOLD(a) \
	FADD(a, a, a+1)     \
	FADD(a+2, a+2, a+3) \
	FADD(a, a, a+2)     \
	FADDP(a, a, a)      \
	FADDP(a, a, a)

#define F1(LOAD) \
	FLOAT_ARGS         \
	row:               \
	MOVD    R3, R7     \
	MOVD    R1, R11    \
	ZERO4(16)          \
	block:             \
	LOAD               \
	MULADD(16, R7)     \
	SUBS    $1, R11    \
	BNE     block      \
	FOLD(16)           \
	FMOVS.P F16, 4(R5) \
	SUBS    $1, R2     \
	BNE     row        \
	RET

#define F4(LOAD) \
	FLOAT_ARGS          \
	row:                \
	MOVD    R3, R7      \
	ADD     R4, R7, R8  \
	ADD     R4, R8, R9  \
	ADD     R4, R9, R10 \
	MOVD    R1, R11     \
	ZERO4(16)           \
	ZERO4(20)           \
	ZERO4(24)           \
	ZERO4(28)           \
	block:              \
	LOAD                \
	MULADD(16, R7)      \
	MULADD(20, R8)      \
	MULADD(24, R9)      \
	MULADD(28, R10)     \
	SUBS    $1, R11     \
	BNE     block       \
	FOLD(16)            \
	FOLD(20)            \
	FOLD(24)            \
	FOLD(28)            \
	ADD     R6, R5, R12 \
	FMOVS.P F16, 4(R5)  \
	FMOVS   F20, (R12)  \
	ADD     R6, R12     \
	FMOVS   F24, (R12)  \
	ADD     R6, R12     \
	FMOVS   F28, (R12)  \
	SUBS    $1, R2      \
	BNE     row         \
	RET

// func dotF32NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotF32NEON(SB), NOSPLIT, $0-56
	F1(LOADF32)

// func dotF32NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotF32NEONx4(SB), NOSPLIT, $0-56
	F4(LOADF32)

// func dotF16NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotF16NEON(SB), NOSPLIT, $0-56
	F1(LOADF16)

// func dotF16NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotF16NEONx4(SB), NOSPLIT, $0-56
	F4(LOADF16)

// func dotBF16NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotBF16NEON(SB), NOSPLIT, $0-56
	F1(LOADBF16)

// func dotBF16NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotBF16NEONx4(SB), NOSPLIT, $0-56
	F4(LOADBF16)
