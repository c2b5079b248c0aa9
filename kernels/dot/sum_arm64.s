//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

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

// func sumRowsF32NEON(dst *float32, n int, w *byte, rows, stride int, p *float32)
TEXT ·sumRowsF32NEON(SB), NOSPLIT, $0-48
	SUMROWS(128, WIDEF32, 32, NARROWF32)

// func sumRowsF16NEON(dst *float32, n int, w *byte, rows, stride int, p *float32)
TEXT ·sumRowsF16NEON(SB), NOSPLIT, $0-48
	SUMROWS(64, WIDEF16, 16, NARROWF16)
