//go:build !noasm

#include "textflag.h"

// Tiles of float32: rows of x times sixteen columns, whose sums stay in V0 to V23, four vectors a
// row. V24 to V27 are the columns at one k, V28 a value of x in all lanes; R4 to R9 point to the
// next value of each row. Each sum is one lane, multiplied and added in ascending order.

#define TIMES(p, a, b, c, d) \
	VLD1R.P 4(p), [V28.S4]       \
	VFMLA   V28.S4, V24.S4, a.S4 \
	VFMLA   V28.S4, V25.S4, b.S4 \
	VFMLA   V28.S4, V26.S4, c.S4 \
	VFMLA   V28.S4, V27.S4, d.S4

#define CLEAR(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16 \
	VEOR b.B16, b.B16, b.B16 \
	VEOR c.B16, c.B16, c.B16 \
	VEOR d.B16, d.B16, d.B16

// LOAD and STORE move a row at R15, and that on by R16 bytes.
#define LOAD(a, b, c, d) \
	VLD1 (R15), [a.S4, b.S4, c.S4, d.S4] \
	ADD  R16, R15

#define STORE(a, b, c, d) \
	VST1 [a.S4, b.S4, c.S4, d.S4], (R15) \
	ADD  R16, R15

// Of one to six rows. ROWS makes the pointers, R0 bytes apart, and TAP moves them on to the next tap.

#define TIMES1 \
	TIMES(R4, V0, V1, V2, V3)

#define CLEAR1 \
	CLEAR(V0, V1, V2, V3)

#define LOAD1 \
	LOAD(V0, V1, V2, V3)

#define STORE1 \
	STORE(V0, V1, V2, V3)

#define ROWS1

#define TAP1 \
	ADD R13, R4

#define TIMES2 \
	TIMES1                    \
	TIMES(R5, V4, V5, V6, V7)

#define CLEAR2 \
	CLEAR1                \
	CLEAR(V4, V5, V6, V7)

#define LOAD2 \
	LOAD1                \
	LOAD(V4, V5, V6, V7)

#define STORE2 \
	STORE1                \
	STORE(V4, V5, V6, V7)

#define ROWS2 \
	ROWS1          \
	ADD R0, R4, R5

#define TAP2 \
	TAP1        \
	ADD R13, R5

#define TIMES4 \
	TIMES2                        \
	TIMES(R6, V8, V9, V10, V11)   \
	TIMES(R7, V12, V13, V14, V15)

#define CLEAR4 \
	CLEAR2                    \
	CLEAR(V8, V9, V10, V11)   \
	CLEAR(V12, V13, V14, V15)

#define LOAD4 \
	LOAD2                    \
	LOAD(V8, V9, V10, V11)   \
	LOAD(V12, V13, V14, V15)

#define STORE4 \
	STORE2                    \
	STORE(V8, V9, V10, V11)   \
	STORE(V12, V13, V14, V15)

#define ROWS4 \
	ROWS2          \
	ADD R0, R5, R6 \
	ADD R0, R6, R7

#define TAP4 \
	TAP2        \
	ADD R13, R6 \
	ADD R13, R7

#define TIMES6 \
	TIMES4                        \
	TIMES(R8, V16, V17, V18, V19) \
	TIMES(R9, V20, V21, V22, V23)

#define CLEAR6 \
	CLEAR4                    \
	CLEAR(V16, V17, V18, V19) \
	CLEAR(V20, V21, V22, V23)

#define LOAD6 \
	LOAD4                    \
	LOAD(V16, V17, V18, V19) \
	LOAD(V20, V21, V22, V23)

#define STORE6 \
	STORE4                    \
	STORE(V16, V17, V18, V19) \
	STORE(V20, V21, V22, V23)

#define ROWS6 \
	ROWS4          \
	ADD R0, R7, R8 \
	ADD R0, R8, R9

#define TAP6 \
	TAP4        \
	ADD R13, R8 \
	ADD R13, R9

#define GEMM(ROWS, LOADROWS, CLEARROWS, TIMESROWS, TAP, STOREROWS) \
	MOVD   x+32(FP), R4                              \
	MOVD   xStride+40(FP), R0                        \
	MOVD   taps+48(FP), R12                          \
	MOVD   tapStride+56(FP), R13                     \
	MOVD   k+64(FP), R14                             \
	MOVD   w+72(FP), R10                             \
	SUB    R14<<2, R13                               \
	ROWS                                             \
	MOVD   init+16(FP), R15                          \
	MOVD   initStride+24(FP), R16                    \
	CBZ    R15, zero                                 \
	LOADROWS                                         \
	B      tap                                       \
	zero:                                            \
	CLEARROWS                                        \
	tap:                                             \
	MOVD   R14, R11                                  \
	value:                                           \
	VLD1.P 64(R10), [V24.S4, V25.S4, V26.S4, V27.S4] \
	TIMESROWS                                        \
	SUBS   $1, R11                                   \
	BNE    value                                     \
	TAP                                              \
	SUBS   $1, R12                                   \
	BNE    tap                                       \
	MOVD   dst+0(FP), R15                            \
	MOVD   dstStride+8(FP), R16                      \
	STOREROWS                                        \
	RET

#define WINDOW(ROWS, CLEARROWS, TIMESROWS, STOREROWS) \
	MOVD    x+16(FP), R4                            \
	MOVD    xStride+24(FP), R0                      \
	MOVD    k+32(FP), R11                           \
	MOVD    source+40(FP), R10                      \
	MOVD    at+48(FP), R12                          \
	ROWS                                            \
	CLEARROWS                                       \
	value:                                          \
	MOVWU.P 4(R12), R13                             \
	ADD     R13<<2, R10, R13                        \
	VLD1    (R13), [V24.S4, V25.S4, V26.S4, V27.S4] \
	TIMESROWS                                       \
	SUBS    $1, R11                                 \
	BNE     value                                   \
	MOVD    dst+0(FP), R15                          \
	MOVD    dstStride+8(FP), R16                    \
	STOREROWS                                       \
	RET

// func gemm6x16NEON(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32)
TEXT ·gemm6x16NEON(SB), NOSPLIT, $0-80
	GEMM(ROWS6, LOAD6, CLEAR6, TIMES6, TAP6, STORE6)

// func gemm4x16NEON(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32)
TEXT ·gemm4x16NEON(SB), NOSPLIT, $0-80
	GEMM(ROWS4, LOAD4, CLEAR4, TIMES4, TAP4, STORE4)

// func gemm2x16NEON(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32)
TEXT ·gemm2x16NEON(SB), NOSPLIT, $0-80
	GEMM(ROWS2, LOAD2, CLEAR2, TIMES2, TAP2, STORE2)

// func gemm1x16NEON(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32)
TEXT ·gemm1x16NEON(SB), NOSPLIT, $0-80
	GEMM(ROWS1, LOAD1, CLEAR1, TIMES1, TAP1, STORE1)

// func window6x16NEON(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)
TEXT ·window6x16NEON(SB), NOSPLIT, $0-56
	WINDOW(ROWS6, CLEAR6, TIMES6, STORE6)

// func window4x16NEON(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)
TEXT ·window4x16NEON(SB), NOSPLIT, $0-56
	WINDOW(ROWS4, CLEAR4, TIMES4, STORE4)

// func window2x16NEON(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)
TEXT ·window2x16NEON(SB), NOSPLIT, $0-56
	WINDOW(ROWS2, CLEAR2, TIMES2, STORE2)

// func window1x16NEON(dst *float32, dstStride int, x *float32, xStride, k int, source *float32, at *uint32)
TEXT ·window1x16NEON(SB), NOSPLIT, $0-56
	WINDOW(ROWS1, CLEAR1, TIMES1, STORE1)

