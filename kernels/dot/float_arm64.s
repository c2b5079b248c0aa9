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

// Sums of rows: columns in strips of 32 held in V16–V23 while all rows are
// added, then in strips of 8. R0 dst, R1 columns left, R2 weights of this
// strip, R3 rows, R4 stride, R5 factors; R7, R8 and R9 walk down the strip.

#define SUMROWS(wide, WIDE, narrow, NARROW) \
	MOVD    dst+0(FP), R0                            \
	MOVD    n+8(FP), R1                              \
	MOVD    w+16(FP), R2                             \
	MOVD    rows+24(FP), R3                          \
	MOVD    stride+32(FP), R4                        \
	MOVD    p+40(FP), R5                             \
	strip:                                           \
	SUBS    $32, R1                                  \
	BLT     rest                                     \
	MOVD    R0, R6                                   \
	VLD1.P  64(R6), [V16.S4, V17.S4, V18.S4, V19.S4] \
	VLD1    (R6), [V20.S4, V21.S4, V22.S4, V23.S4]   \
	MOVD    R2, R7                                   \
	MOVD    R5, R8                                   \
	MOVD    R3, R9                                   \
	row:                                             \
	VLD1R.P 4(R8), [V8.S4]                           \
	MOVD    R7, R10                                  \
	WIDE                                             \
	ADD     R4, R7                                   \
	SUBS    $1, R9                                   \
	BNE     row                                      \
	VST1.P  [V16.S4, V17.S4, V18.S4, V19.S4], 64(R0) \
	VST1.P  [V20.S4, V21.S4, V22.S4, V23.S4], 64(R0) \
	ADD     $wide, R2                                \
	B       strip                                    \
	rest:                                            \
	ADDS    $32, R1                                  \
	BEQ     done                                     \
	eight:                                           \
	VLD1    (R0), [V16.S4, V17.S4]                   \
	MOVD    R2, R7                                   \
	MOVD    R5, R8                                   \
	MOVD    R3, R9                                   \
	row8:                                            \
	VLD1R.P 4(R8), [V8.S4]                           \
	NARROW                                           \
	ADD     R4, R7                                   \
	SUBS    $1, R9                                   \
	BNE     row8                                     \
	VST1.P  [V16.S4, V17.S4], 32(R0)                 \
	ADD     $narrow, R2                              \
	SUBS    $8, R1                                   \
	BNE     eight                                    \
	done:                                            \
	RET

#define WIDEF32 \
	VLD1.P 64(R10), [V0.S4, V1.S4, V2.S4, V3.S4] \
	VLD1   (R10), [V4.S4, V5.S4, V6.S4, V7.S4]   \
	WIDESUM

#define WIDEF16 \
	VLD1 (R10), [V4.H8, V5.H8, V6.H8, V7.H8] \
	FCVTL(0, 4)                              \
	FCVTL2(1, 4)                             \
	FCVTL(2, 5)                              \
	FCVTL2(3, 5)                             \
	FCVTL(4, 6)                              \
	FCVTL2(5, 6)                             \
	FCVTL(6, 7)                              \
	FCVTL2(7, 7)                             \
	WIDESUM

#define WIDESUM \
	FMLA(16, 0, 8) \
	FMLA(17, 1, 8) \
	FMLA(18, 2, 8) \
	FMLA(19, 3, 8) \
	FMLA(20, 4, 8) \
	FMLA(21, 5, 8) \
	FMLA(22, 6, 8) \
	FMLA(23, 7, 8)

#define NARROWF32 \
	VLD1 (R7), [V0.S4, V1.S4] \
	FMLA(16, 0, 8)            \
	FMLA(17, 1, 8)

#define NARROWF16 \
	VLD1 (R7), [V1.H8] \
	FCVTL(0, 1)        \
	FCVTL2(1, 1)       \
	FMLA(16, 0, 8)     \
	FMLA(17, 1, 8)

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

// func sumRowsF32NEON(dst *float32, n int, w *byte, rows, stride int, p *float32)
TEXT ·sumRowsF32NEON(SB), NOSPLIT, $0-48
	SUMROWS(128, WIDEF32, 32, NARROWF32)

// func sumRowsF16NEON(dst *float32, n int, w *byte, rows, stride int, p *float32)
TEXT ·sumRowsF16NEON(SB), NOSPLIT, $0-48
	SUMROWS(64, WIDEF16, 16, NARROWF16)
