// Blocks of 256 weights and ActQ8_256; see dot_arm64.h.
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

// Minimums in V31 are multiplied with the sums of 32 activations, those in V29 and
// V30 with the sums of 16.
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

// Q3_K. V29 and V30 hold the third bits; V20 is their place and the offset that is
// subtracted, V21 the low bits, V31 shifts that bring the high bits of scales 4j to
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
