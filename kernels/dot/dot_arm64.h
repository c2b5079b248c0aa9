// Dot kernels of quantised weights. Each is composed of a skeleton (one or four
// activation rows; blocks of 32 or of 256 weights) and the macros of its type:
// constants, scales, unpacking.
//
// The file that includes this one defines, for weights in Vw and activations
// in Vx, with V15 as scratch,
//
//	DOT16(d, w, x)            Vd.4s = sums that add up to Vw·Vx
//	DOT32(d, w0, w1, x0, x1)  the same over two vectors each
//
// Integer sums over a block are exact in any order of lanes, and the code after
// them is shared by all levels: so all levels give the same bits, and one
// activation row the same as four.
//
// R0 weights of this block   R1 blocks in a row    R2 rows left
// R3 activations             R4 their stride       R5 output   R6 its stride in bytes
// R7–R10 activations of this block, rows 0–3       R11 blocks left   R12, R13 scratch

#define DOT_ARGS(shift) \
	MOVD w+0(FP), R0          \
	MOVD n+8(FP), R1          \
	MOVD rows+16(FP), R2      \
	MOVD x+24(FP), R3         \
	MOVD xStride+32(FP), R4   \
	MOVD out+40(FP), R5       \
	MOVD outStride+48(FP), R6 \
	LSR  $shift, R1, R1       \
	LSL  $2, R6, R6

#define ROW4 \
	ADD R4, R7, R8 \
	ADD R4, R8, R9 \
	ADD R4, R9, R10

#define ADD4(n) \
	ADD $n, R7  \
	ADD $n, R8  \
	ADD $n, R9  \
	ADD $n, R10

#define ZERO4(a) \
	ZERO(a)   \
	ZERO(a+1) \
	ZERO(a+2) \
	ZERO(a+3)

#define LOAD(sym, v) \
	MOVD $sym<>(SB), R12 \
	VLD1 (R12), [v]

#include "dot256_arm64.h"
#include "dot32_arm64.h"
