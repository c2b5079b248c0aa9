// Blocks of 32 weights and ActQ8_32; see dot_arm64.h.
//
// V0–V7 four unpacked blocks   V8 their scales      V9, V10 activations, scratch
// V11–V14 sums of the blocks   V16–V19 results of rows 0–3, block i in lane i mod 4
// V20–V23 the same of the last one to three blocks, in lane 0
// V24 minimums, or a constant   V25–V31 constants
//
// UNPACK(w0, w1, off) makes signed bytes of the block at off(R0); SCALES reads
// the scales of four blocks, SCALE that of one; V9–V13 are free for them.
// R12 is the offset of the activations' scales from R7–R10.

#define B1(bytes, CONST, UNPACK, SCALES, SCALE) \
	BLOCKS(bytes, CONST, UNPACK, SCALES, SCALE, NOROW4, ONEQUAD, ONELAST, ONEADD, ONEFOLD)

#define B4(bytes, CONST, UNPACK, SCALES, SCALE) \
	BLOCKS(bytes, CONST, UNPACK, SCALES, SCALE, ROW4, FOURQUAD, FOURLAST, ADD4, FOURFOLD)

// M1 and M4 are B1 and B4 for types with a minimum each block, which SCALES and
// SCALE leave in V24; SCALE also points R13 at the sums of activations.

#define M1(bytes, CONST, UNPACK, SCALES, SCALE) \
	BLOCKS(bytes, CONST, UNPACK, SCALES, SCALE, NOROW4, ONEQUADMIN, ONELASTMIN, ONEADD, ONEFOLD)

#define M4(bytes, CONST, UNPACK, SCALES, SCALE) \
	BLOCKS(bytes, CONST, UNPACK, SCALES, SCALE, ROW4, FOURQUADMIN, FOURLASTMIN, ADD4, FOURFOLD)

#define BLOCKS(bytes, CONST, UNPACK, SCALES, SCALE, ROWS, QUAD, LAST, ADDX, FOLD) \
	DOT_ARGS(5)             \
	CONST                   \
row:                        \
	MOVD R3, R7             \
	ROWS                    \
	MOVD R1, R11            \
	ZERO4(16)               \
	ZERO4(20)               \
group:                      \
	SUBS $4, R11            \
	BLT  rest               \
	UNPACK4(bytes, UNPACK)  \
	SCALES(bytes)           \
	QUAD(0)                 \
	ADD  $(4*bytes), R0     \
	SUBS $4, R11            \
	BLT  half               \
	UNPACK4(bytes, UNPACK)  \
	SCALES(bytes)           \
	QUAD(1)                 \
	ADD  $(4*bytes), R0     \
	ADDX(320)               \
	B    group              \
half:                       \
	ADDX(128)               \
	MOVD $144, R12          \
	B    last               \
rest:                       \
	MOVD $256, R12          \
last:                       \
	ADDS $4, R11            \
	BEQ  fold               \
one:                        \
	UNPACK(0, 1, 0)         \
	SCALE                   \
	LAST                    \
	ADD  $bytes, R0         \
	ADDX(32)                \
	SUB  $28, R12           \
	SUBS $1, R11            \
	BNE  one                \
fold:                       \
	FOLD                    \
	SUBS $1, R2             \
	BNE  row                \
	RET

#define UNPACK4(bytes, UNPACK) \
	UNPACK(0, 1, 0)       \
	UNPACK(2, 3, bytes)   \
	UNPACK(4, 5, 2*bytes) \
	UNPACK(6, 7, 3*bytes)

#define NOROW4
#define ONEADD(n) ADD $n, R7

#define XQUAD(acc, x, h) \
	FLDPQ 128*h(x), (F9, F10)    \
	DOT32(11, 0, 1, 9, 10)       \
	FLDPQ 128*h+32(x), (F9, F10) \
	DOT32(12, 2, 3, 9, 10)       \
	FLDPQ 128*h+64(x), (F9, F10) \
	DOT32(13, 4, 5, 9, 10)       \
	FLDPQ 128*h+96(x), (F9, F10) \
	DOT32(14, 6, 7, 9, 10)       \
	ADDP(11, 11, 12)             \
	ADDP(13, 13, 14)             \
	ADDP(11, 11, 13)             \
	SCVTF(11, 11)                \
	FMOVQ 256+16*h(x), F9        \
	FMUL(9, 9, 8)                \
	FMLA(acc, 11, 9)

#define ONEQUAD(h) XQUAD(16, R7, h)

#define FOURQUAD(h) \
	XQUAD(16, R7, h) \
	XQUAD(17, R8, h) \
	XQUAD(18, R9, h) \
	XQUAD(19, R10, h)

#define XLAST(acc, x) \
	FLDPQ (x), (F9, F10)    \
	DOT32(11, 0, 1, 9, 10)  \
	ADDV(11, 11)            \
	SCVTF(11, 11)           \
	FMOVS (x)(R12), F9      \
	FMUL(9, 9, 8)           \
	FMLA(acc, 11, 9)

#define ONELAST XLAST(20, R7)

#define FOURLAST \
	XLAST(20, R7) \
	XLAST(21, R8) \
	XLAST(22, R9) \
	XLAST(23, R10)

// ActQ8_32 holds -128·Σq: it is divided by -128 on the way to m·d·Σq.
#define MINQUAD(acc, x, h) \
	XQUAD(acc, x, h)         \
	FMOVQ 288+16*h(x), F9    \
	FMOVQ 256+16*h(x), F10   \
	SCVTF7(9, 9)             \
	FMUL(9, 9, 10)           \
	FMLS(acc, 24, 9)

#define ONEQUADMIN(h) MINQUAD(16, R7, h)

#define FOURQUADMIN(h) \
	MINQUAD(16, R7, h) \
	MINQUAD(17, R8, h) \
	MINQUAD(18, R9, h) \
	MINQUAD(19, R10, h)

#define MINLAST(acc, x) \
	XLAST(acc, x)       \
	FMOVS (x)(R13), F9  \
	FMOVS (x)(R12), F10 \
	SCVTF7(9, 9)        \
	FMUL(9, 9, 10)      \
	FMLS(acc, 24, 9)

#define ONELASTMIN MINLAST(20, R7)

#define FOURLASTMIN \
	MINLAST(20, R7) \
	MINLAST(21, R8) \
	MINLAST(22, R9) \
	MINLAST(23, R10)

// FOLD1 leaves (lane 0 + lane 1) + (lane 2 + lane 3) + rest in lane 0 of Va.
#define FOLD1(a, rest) \
	FADDP(a, a, a) \
	FADDP(a, a, a) \
	FADD(a, a, rest)

#define ONEFOLD \
	FOLD1(16, 20)       \
	FMOVS.P F16, 4(R5)

#define FOURFOLD \
	FOLD1(16, 20)           \
	FOLD1(17, 21)           \
	FOLD1(18, 22)           \
	FOLD1(19, 23)           \
	ADD   R6, R5, R12       \
	FMOVS.P F16, 4(R5)      \
	FMOVS F17, (R12)        \
	ADD   R6, R12           \
	FMOVS F18, (R12)        \
	ADD   R6, R12           \
	FMOVS F19, (R12)

#define HALVES(bytes) \
	LDURH(8, 0, 0)        \
	LDURH(9, 0, bytes)    \
	LDURH(10, 0, 2*bytes) \
	LDURH(11, 0, 3*bytes) \
	ZIP1H(8, 8, 9)        \
	ZIP1H(10, 10, 11)     \
	ZIP1S(8, 8, 10)       \
	FCVTL(8, 8)

#define HALF \
	LDURH(8, 0, 0) \
	FCVTL(8, 8)

// Pairs of a scale and a minimum: scales to V8, minimums to V24.
#define HALFPAIRS(bytes) \
	LDURS(8, 0, 0)        \
	LDURS(9, 0, bytes)    \
	LDURS(10, 0, 2*bytes) \
	LDURS(11, 0, 3*bytes) \
	ZIP1H(8, 8, 10)       \
	ZIP1H(9, 9, 11)       \
	ZIP1H(8, 8, 9)        \
	FCVTL2(24, 8)         \
	FCVTL(8, 8)

// The lanes of V8 and V24 beyond the first stay finite.
#define HALFPAIR \
	LDURH(8, 0, 0)    \
	LDURH(24, 0, 2)   \
	FCVTL(8, 8)       \
	FCVTL(24, 24)     \
	ADD $32, R12, R13

// Q8_0.

#define NOCONST

#define Q80(w0, w1, off) \
	LDURQ(w0, 0, off+2) \
	LDURQ(w1, 0, off+18)

// Q4_0.

#define Q40_CONST \
	MOVIB(25, 15) \
	MOVIB(26, 8)

#define Q40(w0, w1, off) \
	LDURQ(w1, 0, off+2) \
	AND(w0, w1, 25)     \
	USHRB(w1, w1, 4)    \
	SUBB(w0, w0, 26)    \
	SUBB(w1, w1, 26)

// Q4_1.

#define Q41_CONST MOVIB(25, 15)

#define Q41(w0, w1, off) \
	LDURQ(w1, 0, off+4) \
	AND(w0, w1, 25)     \
	USHRB(w1, w1, 4)

// Q5_0. V27 and V28 spread the bytes of fifth bits, V29 picks one bit each;
// where it is not set, setting the bits of V30 subtracts 16.

DATA spread<>+0(SB)/8, $0x0000000000000000
DATA spread<>+8(SB)/8, $0x0101010101010101
DATA spread<>+16(SB)/8, $0x0202020202020202
DATA spread<>+24(SB)/8, $0x0303030303030303
DATA spread<>+32(SB)/8, $0x8040201008040201
DATA spread<>+40(SB)/8, $0x8040201008040201
GLOBL spread<>(SB), RODATA|NOPTR, $48

#define Q50_CONST \
	MOVIB(25, 15)                             \
	MOVIB(30, 0xf0)                           \
	MOVD $spread<>(SB), R12                   \
	VLD1 (R12), [V27.B16, V28.B16, V29.B16]

#define Q50(w0, w1, off) \
	LDURQ(w1, 0, off+6) \
	LDURS(9, 0, off+2)  \
	TBL(10, 9, 27)      \
	TBL(9, 9, 28)       \
	CMTST(10, 10, 29)   \
	CMTST(9, 9, 29)     \
	BIC(10, 30, 10)     \
	BIC(9, 30, 9)       \
	AND(w0, w1, 25)     \
	USHRB(w1, w1, 4)    \
	ORR(w0, w0, 10)     \
	ORR(w1, w1, 9)

// Q5_1. As Q5_0, but where a fifth bit is set, V30 adds it.

#define Q51_CONST \
	Q50_CONST     \
	MOVIB(30, 16)

#define Q51(w0, w1, off) \
	LDURQ(w1, 0, off+8) \
	LDURS(9, 0, off+4)  \
	TBL(10, 9, 27)      \
	TBL(9, 9, 28)       \
	CMTST(10, 10, 29)   \
	CMTST(9, 9, 29)     \
	AND(w0, w1, 25)     \
	USHRB(w1, w1, 4)    \
	BIT(w0, 10, 30)     \
	BIT(w1, 9, 30)

// IQ4_NL and MXFP4. V26 holds the sixteen values.

#define IQ4NL_CONST \
	MOVIB(25, 15)            \
	LOAD(iq4Values, V26.B16)

#define CODES(w0, w1, off) \
	LDURQ(w1, 0, off) \
	AND(w0, w1, 25)   \
	USHRB(w1, w1, 4)  \
	TBL(w0, 26, w0)   \
	TBL(w1, 26, w1)

#define IQ4NL(w0, w1, off) CODES(w0, w1, off+2)
#define MXFP4(w0, w1, off) CODES(w0, w1, off+1)

DATA mxfp4Values<>+0(SB)/8, $0x0c08060403020100
DATA mxfp4Values<>+8(SB)/8, $0xf4f8fafcfdfeff00
GLOBL mxfp4Values<>(SB), RODATA|NOPTR, $16

// V27 is one, V28 the fraction 2^-128 has as a subnormal float.
#define MXFP4_CONST \
	MOVIB(25, 15)              \
	LOAD(mxfp4Values, V26.B16) \
	MOVIS(27, 1)               \
	SHLS(28, 27, 21)

// MXSCALES makes 2^(e-128) of four bytes e in V8: for e above one that is a
// float with the exponent e-1, else V28 shifted by e.
#define MXSCALES \
	UXTLB(8, 8)      \
	UXTLH(8, 8)      \
	SUBVS(9, 8, 27)  \
	SHLS(9, 9, 23)   \
	USHLS(10, 28, 8) \
	CMHIS(8, 8, 27)  \
	BSL(8, 9, 10)

#define EXPONENTS(bytes) \
	LDURB(8, 0, 0)        \
	LDURB(9, 0, bytes)    \
	LDURB(10, 0, 2*bytes) \
	LDURB(11, 0, 3*bytes) \
	ZIP1B(8, 8, 9)        \
	ZIP1B(10, 10, 11)     \
	ZIP1H(8, 8, 10)       \
	MXSCALES

#define EXPONENT \
	LDURB(8, 0, 0) \
	MXSCALES
