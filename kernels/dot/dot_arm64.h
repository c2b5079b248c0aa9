// Dot kernels of quantised weights. Each is put together from a skeleton (one
// or four activation rows; blocks of 32 or of 256 weights) and what is the
// type's own: constants, scales, unpacking.
//
// The file that includes this one defines, for weights in Vw and activations
// in Vx, with V15 as scratch,
//
//	DOT16(d, w, x)            Vd.4s = sums that add up to Vw·Vx
//	DOT32(d, w0, w1, x0, x1)  the same over two vectors each
//
// Integer sums over a block are exact, however they are spread over lanes, and
// everything after them is written once for all levels: so all give the same
// bits, and one activation row the same as four.
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

// ---- Blocks of 256 weights and ActQ8_256 ----
//
// V0–V3 64 unpacked weights     V4–V7 raw bytes, then activations
// V8–V11 scales as integers     V12, V13 sums of a sub-block
// V16–V19 sums of rows 0–3      V20–V23 the same of minimums, or constants
// V24 results, a lane per row   V25–V27 constants
// V28 d, dmin                   V29–V31 minimums, high bits
//
// HEAD reads scales; BODY(V) unpacks 64 weights at a time and calls V with the
// number of that piece; MINS sums minimums into V20; END makes the block's term
// from V16, V20, V28 and the activations' scales in V4. Terms are made and added
// as Go's reference does it, so the bits are the reference's.

#define K1(bytes, CONST, HEAD, BODY, V, MINS, END) \
	DOT_ARGS(8)             \
	CONST                   \
row:                        \
	MOVD  R3, R7            \
	MOVD  R1, R11           \
	ZERO(24)                \
block:                      \
	HEAD                    \
	ZERO(16)                \
	BODY(V)                 \
	ADDV(16, 16)            \
	MINS                    \
	FMOVS 304(R7), F4       \
	END                     \
	ADD   $bytes, R0        \
	ADD   $320, R7          \
	SUBS  $1, R11           \
	BNE   block             \
	FMOVS.P F24, 4(R5)      \
	SUBS  $1, R2            \
	BNE   row               \
	RET

#define K4(bytes, CONST, HEAD, BODY, V, MINS, END) \
	DOT_ARGS(8)             \
	CONST                   \
row:                        \
	MOVD  R3, R7            \
	ROW4                    \
	MOVD  R1, R11           \
	ZERO(24)                \
block:                      \
	HEAD                    \
	ZERO4(16)               \
	BODY(V)                 \
	ADDP(16, 16, 17)        \
	ADDP(18, 18, 19)        \
	ADDP(16, 16, 18)        \
	MINS                    \
	FMOVS 304(R7), F4       \
	FMOVS 304(R8), F5       \
	FMOVS 304(R9), F6       \
	FMOVS 304(R10), F7      \
	ZIP1S(4, 4, 5)          \
	ZIP1S(6, 6, 7)          \
	ZIP1D(4, 4, 6)          \
	END                     \
	ADD   $bytes, R0        \
	ADD4(320)               \
	SUBS  $1, R11           \
	BNE   block             \
	STORE4                  \
	SUBS  $1, R2            \
	BNE   row               \
	RET

#define STORE4 \
	ADD   R6, R5, R12         \
	FMOVS.P F24, 4(R5)        \
	VST1  V24.S[1], (R12)     \
	ADD   R6, R12             \
	VST1  V24.S[2], (R12)     \
	ADD   R6, R12             \
	VST1  V24.S[3], (R12)

// Pieces of two sub-blocks of 32 weights, and of four of 16.
#define PIECE32(acc, x, p) \
	FLDPQ 64*p(x), (F4, F5)       \
	FLDPQ 64*p+32(x), (F6, F7)    \
	DOT32(12, 0, 1, 4, 5)         \
	DOT32(13, 2, 3, 6, 7)         \
	MLAE(acc, 12, 8+p/2, 2*p%4)   \
	MLAE(acc, 13, 8+p/2, 2*p%4+1)

#define PIECE16(acc, x, p) \
	FLDPQ 64*p(x), (F4, F5)    \
	FLDPQ 64*p+32(x), (F6, F7) \
	DOT16(12, 0, 4)            \
	DOT16(13, 1, 5)            \
	MLAE(acc, 12, 8+p, 0)      \
	MLAE(acc, 13, 8+p, 1)      \
	DOT16(12, 2, 6)            \
	DOT16(13, 3, 7)            \
	MLAE(acc, 12, 8+p, 2)      \
	MLAE(acc, 13, 8+p, 3)

#define ONE32(p) PIECE32(16, R7, p)
#define ONE16(p) PIECE16(16, R7, p)

#define FOUR32(p) \
	PIECE32(16, R7, p) \
	PIECE32(17, R8, p) \
	PIECE32(18, R9, p) \
	PIECE32(19, R10, p)

#define FOUR16(p) \
	PIECE16(16, R7, p) \
	PIECE16(17, R8, p) \
	PIECE16(18, R9, p) \
	PIECE16(19, R10, p)

// Minimums in V31 meet the sums of 32 activations, in V29 and V30 those of 16.
#define NOMINS

#define MIN8(acc, x) \
	FMOVQ 288(x), F4   \
	SMULLH(acc, 31, 4) \
	SMLAL2H(acc, 31, 4)

#define MIN16(acc, x) \
	FLDPQ 256(x), (F4, F5) \
	SMULLH(acc, 29, 4)     \
	SMLAL2H(acc, 29, 4)    \
	SMLALH(acc, 30, 5)     \
	SMLAL2H(acc, 30, 5)

#define FOLDMINS \
	ADDP(20, 20, 21) \
	ADDP(22, 22, 23) \
	ADDP(20, 20, 22)

#define ONEMIN8 \
	MIN8(20, R7) \
	ADDV(20, 20)

#define FOURMIN8 \
	MIN8(20, R7)  \
	MIN8(21, R8)  \
	MIN8(22, R9)  \
	MIN8(23, R10) \
	FOLDMINS

#define ONEMIN16 \
	MIN16(20, R7) \
	ADDV(20, 20)

#define FOURMIN16 \
	MIN16(20, R7)  \
	MIN16(21, R8)  \
	MIN16(22, R9)  \
	MIN16(23, R10) \
	FOLDMINS

#define END \
	SCVTF(16, 16)        \
	FMULE(16, 16, 28, 0) \
	FMUL(16, 16, 4)      \
	FADD(24, 24, 16)

#define ENDMINS \
	SCVTF(16, 16)        \
	FMULE(16, 16, 28, 0) \
	SCVTF(20, 20)        \
	FMULE(20, 20, 28, 1) \
	FSUB(16, 16, 20)     \
	FMUL(16, 16, 4)      \
	FADD(24, 24, 16)

// WIDEN makes sixteen scales, bytes of Vv, integers in V8–V11.
#define WIDEN(v) \
	SXTLB(5, v)   \
	SXTL2B(6, v)  \
	SXTLH(8, 5)   \
	SXTL2H(9, 5)  \
	SXTLH(10, 6)  \
	SXTL2H(11, 6)

// Q4_K. The scales' twelve bytes become eight scales and eight minimums in
// order: bytes 0–7 give the first four of each, bytes 8–11 low nibbles of the
// rest, whose high bits are on top of bytes 0–7.

#define Q4K_CONST \
	MOVIB(25, 15)   \
	MOVIB(26, 0x3f) \
	MOVIB(27, 0x30)

#define Q4K_HEAD \
	LDURD(4, 0, 4)   \
	LDURS(5, 0, 12)  \
	USHRB(6, 5, 4)   \
	ZIP1S(5, 5, 6)   \
	AND(5, 5, 25)    \
	USHRB(6, 4, 2)   \
	AND(6, 6, 27)    \
	ORR(5, 5, 6)     \
	AND(4, 4, 26)    \
	ZIP1S(4, 4, 5)   \
	UXTL2B(31, 4)    \
	UXTLB(4, 4)      \
	UXTLH(8, 4)      \
	UXTL2H(9, 4)     \
	LDURS(28, 0, 0)  \
	FCVTL(28, 28)

#define NIBBLES(off) \
	FLDPQ off(R0), (F4, F5) \
	AND(0, 4, 25)           \
	AND(1, 5, 25)           \
	USHRB(2, 4, 4)          \
	USHRB(3, 5, 4)

#define Q4K_BODY(V) \
	NIBBLES(16)  \
	V(0)         \
	NIBBLES(48)  \
	V(1)         \
	NIBBLES(80)  \
	V(2)         \
	NIBBLES(112) \
	V(3)

// Q5_K. V29 and V30 hold the fifth bits, shifted down by two a piece; V14 is
// their place.

#define Q5K_CONST \
	Q4K_CONST     \
	MOVIB(14, 16)

#define Q5K_HEAD \
	Q4K_HEAD                 \
	FLDPQ 16(R0), (F29, F30)

#define FIFTH \
	SHLB(15, 29, 4)  \
	BIT(0, 15, 14)   \
	SHLB(15, 30, 4)  \
	BIT(1, 15, 14)   \
	SHLB(15, 29, 3)  \
	BIT(2, 15, 14)   \
	SHLB(15, 30, 3)  \
	BIT(3, 15, 14)   \
	USHRB(29, 29, 2) \
	USHRB(30, 30, 2)

#define Q5K_BODY(V) \
	NIBBLES(48)  \
	FIFTH        \
	V(0)         \
	NIBBLES(80)  \
	FIFTH        \
	V(1)         \
	NIBBLES(112) \
	FIFTH        \
	V(2)         \
	NIBBLES(144) \
	FIFTH        \
	V(3)

// Q6_K. V29 and V30 hold the high bits of half a block.

#define Q6K_CONST \
	MOVIB(25, 15)   \
	MOVIB(26, 0x30) \
	MOVIB(27, 32)

#define Q6K_HEAD \
	LDURQ(4, 0, 192)  \
	WIDEN(4)          \
	LDURH(28, 0, 208) \
	FCVTL(28, 28)

#define SUB4(m) \
	SUBB(0, 0, m) \
	SUBB(1, 1, m) \
	SUBB(2, 2, m) \
	SUBB(3, 3, m)

#define Q6K_LOW(h) \
	FLDPQ 64*h(R0), (F4, F5)       \
	FLDPQ 64*h+32(R0), (F6, F7)    \
	FLDPQ 128+32*h(R0), (F29, F30) \
	AND(0, 4, 25)                  \
	AND(1, 5, 25)                  \
	AND(2, 6, 25)                  \
	AND(3, 7, 25)                  \
	SHLB(14, 29, 4)                \
	SHLB(15, 30, 4)                \
	BIT(0, 14, 26)                 \
	BIT(1, 15, 26)                 \
	SHLB(14, 29, 2)                \
	SHLB(15, 30, 2)                \
	BIT(2, 14, 26)                 \
	BIT(3, 15, 26)                 \
	SUB4(27)

#define Q6K_HIGH(h) \
	FLDPQ 64*h(R0), (F4, F5)    \
	FLDPQ 64*h+32(R0), (F6, F7) \
	USHRB(0, 4, 4)              \
	USHRB(1, 5, 4)              \
	USHRB(2, 6, 4)              \
	USHRB(3, 7, 4)              \
	BIT(0, 29, 26)              \
	BIT(1, 30, 26)              \
	USHRB(14, 29, 2)            \
	USHRB(15, 30, 2)            \
	BIT(2, 14, 26)              \
	BIT(3, 15, 26)              \
	SUB4(27)

#define Q6K_BODY(V) \
	Q6K_LOW(0)  \
	V(0)        \
	Q6K_HIGH(0) \
	V(1)        \
	Q6K_LOW(1)  \
	V(2)        \
	Q6K_HIGH(1) \
	V(3)

// Q3_K. V29 and V30 hold the third bits; V20 is their place and what is taken
// off, V21 the low bits, V31 shifts that bring the high bits of scales 4j to
// 4j+3 to their place.

DATA q3Shifts<>+0(SB)/8, $0x0202020204040404
DATA q3Shifts<>+8(SB)/8, $0xfefefefe00000000
GLOBL q3Shifts<>(SB), RODATA|NOPTR, $16

#define Q3K_CONST \
	MOVIB(25, 15)              \
	MOVIB(26, 0x30)            \
	MOVIB(27, 32)              \
	MOVIB(20, 4)               \
	MOVIB(21, 3)               \
	LOAD(q3Shifts, V31.B16)

#define Q3K_HEAD \
	LDURD(4, 0, 96)          \
	LDURS(5, 0, 104)         \
	USHRB(6, 4, 4)           \
	ZIP1D(4, 4, 6)           \
	AND(4, 4, 25)            \
	VDUP  V5.S[0], V5.S4     \
	USHLB(5, 5, 31)          \
	BIT(4, 5, 26)            \
	SUBB(4, 4, 27)           \
	WIDEN(4)                 \
	LDURH(28, 0, 108)        \
	FCVTL(28, 28)            \
	FLDPQ (R0), (F29, F30)

// Low two bits of 64 weights at off, two bits further down if there is a shift.
#define TWOBITS(off, m) \
	FLDPQ off(R0), (F4, F5) \
	AND(0, 4, m)            \
	AND(1, 5, m)            \
	USHRB(2, 4, 2)          \
	USHRB(3, 5, 2)          \
	AND(2, 2, m)            \
	AND(3, 3, m)

#define TWOBITS4(off, m) \
	FLDPQ off(R0), (F4, F5) \
	USHRB(0, 4, 4)          \
	USHRB(1, 5, 4)          \
	AND(0, 0, m)            \
	AND(1, 1, m)            \
	USHRB(2, 4, 6)          \
	USHRB(3, 5, 6)

// Third bits are in the low two bits of each byte of V29 and V30.
#define THIRD \
	SHLB(15, 29, 2)  \
	BIT(0, 15, 20)   \
	SHLB(15, 30, 2)  \
	BIT(1, 15, 20)   \
	SHLB(15, 29, 1)  \
	BIT(2, 15, 20)   \
	SHLB(15, 30, 1)  \
	BIT(3, 15, 20)   \
	USHRB(29, 29, 2) \
	USHRB(30, 30, 2) \
	SUB4(20)

#define Q3K_BODY(V) \
	TWOBITS(32, 21)  \
	THIRD            \
	V(0)             \
	TWOBITS4(32, 21) \
	THIRD            \
	V(1)             \
	TWOBITS(64, 21)  \
	THIRD            \
	V(2)             \
	TWOBITS4(64, 21) \
	THIRD            \
	V(3)

// Q2_K.

#define Q2K_CONST \
	MOVIB(25, 15) \
	MOVIB(26, 3)

#define Q2K_HEAD \
	LDURQ(4, 0, 0)   \
	USHRB(6, 4, 4)   \
	UXTLB(29, 6)     \
	UXTL2B(30, 6)    \
	AND(4, 4, 25)    \
	WIDEN(4)         \
	LDURS(28, 0, 80) \
	FCVTL(28, 28)

#define Q2K_BODY(V) \
	TWOBITS(16, 26)  \
	V(0)             \
	TWOBITS4(16, 26) \
	V(1)             \
	TWOBITS(48, 26)  \
	V(2)             \
	TWOBITS4(48, 26) \
	V(3)

// IQ4_XS. V26 holds the sixteen values; V20 shifts that bring the high bits of
// scale j to their place, V21 that place, V22 the scales' offset.

DATA iq4Values<>+0(SB)/8, $0xf6eaddcfbfad9881
DATA iq4Values<>+8(SB)/8, $0x7159453526190d01
GLOBL iq4Values<>(SB), RODATA|NOPTR, $16

DATA iq4Shifts<>+0(SB)/8, $0xfffe000000020004
DATA iq4Shifts<>+8(SB)/8, $0xfff6fff8fffafffc
GLOBL iq4Shifts<>(SB), RODATA|NOPTR, $16

#define IQ4XS_CONST \
	MOVIB(25, 15)             \
	LOAD(iq4Values, V26.B16)  \
	LOAD(iq4Shifts, V20.B16)  \
	MOVIH(21, 0x30)           \
	MOVIH(22, 32)

#define IQ4XS_HEAD \
	LDURS(4, 0, 4)       \
	USHRB(5, 4, 4)       \
	ZIP1B(4, 4, 5)       \
	AND(4, 4, 25)        \
	UXTLB(4, 4)          \
	LDURH(5, 0, 2)       \
	VDUP V5.H[0], V5.H8  \
	USHLH(5, 5, 20)      \
	BIT(4, 5, 21)        \
	SUBH(4, 4, 22)       \
	SXTLH(8, 4)          \
	SXTL2H(9, 4)         \
	LDURH(28, 0, 0)      \
	FCVTL(28, 28)

#define IQ4XS_PIECE(p) \
	LDURQ(1, 0, 8+32*p)  \
	LDURQ(3, 0, 24+32*p) \
	AND(0, 1, 25)        \
	USHRB(1, 1, 4)       \
	AND(2, 3, 25)        \
	USHRB(3, 3, 4)       \
	TBL(0, 26, 0)        \
	TBL(1, 26, 1)        \
	TBL(2, 26, 2)        \
	TBL(3, 26, 3)

#define IQ4XS_BODY(V) \
	IQ4XS_PIECE(0) \
	V(0)           \
	IQ4XS_PIECE(1) \
	V(1)           \
	IQ4XS_PIECE(2) \
	V(2)           \
	IQ4XS_PIECE(3) \
	V(3)

// ---- Blocks of 32 weights and ActQ8_32 ----
//
// V0–V7 four unpacked blocks   V8 their scales      V9, V10 activations, scratch
// V11–V14 sums of the blocks   V16–V19 results of rows 0–3, block i in lane i mod 4
// V20–V23 the same of the up to three blocks that are left, in lane 0
// V24 minimums, or a constant   V25–V31 constants
//
// UNPACK(w0, w1, off) makes signed bytes of the block at off(R0); SCALES reads
// the scales of four blocks, SCALE that of one; V9–V13 are free for them.
// R12 is where the activations' scales are, seen from R7–R10.

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
// where it is not set, 16 is taken off by setting the bits of V30.

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
