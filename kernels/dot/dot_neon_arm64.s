//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// Two products are at most 2·128·127 = 32,512, so they fit 16 bits.
#define DOT16(d, w, x) \
	SMULLB(15, w, x)  \
	SMLAL2B(15, w, x) \
	SADDLP(d, 15)

#define DOT32(d, w0, w1, x0, x1) \
	DOT16(d, w0, x0)    \
	SMULLB(15, w1, x1)  \
	SMLAL2B(15, w1, x1) \
	SADALP(d, 15)

#include "dot_arm64.h"

// func dotQ4KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ4KNEON(SB), NOSPLIT, $0-56
	K1(144, Q4K_CONST, Q4K_HEAD, Q4K_BODY, ONE32, ONEMIN8, ENDMINS)

// func dotQ4KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ4KNEONx4(SB), NOSPLIT, $0-56
	K4(144, Q4K_CONST, Q4K_HEAD, Q4K_BODY, FOUR32, FOURMIN8, ENDMINS)

// func dotQ5KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ5KNEON(SB), NOSPLIT, $0-56
	K1(176, Q5K_CONST, Q5K_HEAD, Q5K_BODY, ONE32, ONEMIN8, ENDMINS)

// func dotQ5KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ5KNEONx4(SB), NOSPLIT, $0-56
	K4(176, Q5K_CONST, Q5K_HEAD, Q5K_BODY, FOUR32, FOURMIN8, ENDMINS)

// func dotQ6KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ6KNEON(SB), NOSPLIT, $0-56
	K1(210, Q6K_CONST, Q6K_HEAD, Q6K_BODY, ONE16, NOMINS, END)

// func dotQ6KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ6KNEONx4(SB), NOSPLIT, $0-56
	K4(210, Q6K_CONST, Q6K_HEAD, Q6K_BODY, FOUR16, NOMINS, END)

// func dotQ3KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ3KNEON(SB), NOSPLIT, $0-56
	K1(110, Q3K_CONST, Q3K_HEAD, Q3K_BODY, ONE16, NOMINS, END)

// func dotQ3KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ3KNEONx4(SB), NOSPLIT, $0-56
	K4(110, Q3K_CONST, Q3K_HEAD, Q3K_BODY, FOUR16, NOMINS, END)

// func dotQ2KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ2KNEON(SB), NOSPLIT, $0-56
	K1(84, Q2K_CONST, Q2K_HEAD, Q2K_BODY, ONE16, ONEMIN16, ENDMINS)

// func dotQ2KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ2KNEONx4(SB), NOSPLIT, $0-56
	K4(84, Q2K_CONST, Q2K_HEAD, Q2K_BODY, FOUR16, FOURMIN16, ENDMINS)

// func dotIQ4XSNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotIQ4XSNEON(SB), NOSPLIT, $0-56
	K1(136, IQ4XS_CONST, IQ4XS_HEAD, IQ4XS_BODY, ONE32, NOMINS, END)

// func dotIQ4XSNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotIQ4XSNEONx4(SB), NOSPLIT, $0-56
	K4(136, IQ4XS_CONST, IQ4XS_HEAD, IQ4XS_BODY, FOUR32, NOMINS, END)

// func dotQ80NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ80NEON(SB), NOSPLIT, $0-56
	B1(34, NOCONST, Q80, HALVES, HALF)

// func dotQ80NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ80NEONx4(SB), NOSPLIT, $0-56
	B4(34, NOCONST, Q80, HALVES, HALF)

// func dotQ40NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ40NEON(SB), NOSPLIT, $0-56
	B1(18, Q40_CONST, Q40, HALVES, HALF)

// func dotQ40NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ40NEONx4(SB), NOSPLIT, $0-56
	B4(18, Q40_CONST, Q40, HALVES, HALF)

// func dotQ50NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ50NEON(SB), NOSPLIT, $0-56
	B1(22, Q50_CONST, Q50, HALVES, HALF)

// func dotQ50NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ50NEONx4(SB), NOSPLIT, $0-56
	B4(22, Q50_CONST, Q50, HALVES, HALF)

// func dotIQ4NLNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotIQ4NLNEON(SB), NOSPLIT, $0-56
	B1(18, IQ4NL_CONST, IQ4NL, HALVES, HALF)

// func dotIQ4NLNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotIQ4NLNEONx4(SB), NOSPLIT, $0-56
	B4(18, IQ4NL_CONST, IQ4NL, HALVES, HALF)

// func dotMXFP4NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotMXFP4NEON(SB), NOSPLIT, $0-56
	B1(17, MXFP4_CONST, MXFP4, EXPONENTS, EXPONENT)

// func dotMXFP4NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotMXFP4NEONx4(SB), NOSPLIT, $0-56
	B4(17, MXFP4_CONST, MXFP4, EXPONENTS, EXPONENT)

// func dotQ41NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ41NEON(SB), NOSPLIT, $0-56
	M1(20, Q41_CONST, Q41, HALFPAIRS, HALFPAIR)

// func dotQ41NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ41NEONx4(SB), NOSPLIT, $0-56
	M4(20, Q41_CONST, Q41, HALFPAIRS, HALFPAIR)

// func dotQ51NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ51NEON(SB), NOSPLIT, $0-56
	M1(24, Q51_CONST, Q51, HALFPAIRS, HALFPAIR)

// func dotQ51NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ51NEONx4(SB), NOSPLIT, $0-56
	M4(24, Q51_CONST, Q51, HALFPAIRS, HALFPAIR)
