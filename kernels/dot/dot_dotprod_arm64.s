//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

#define DOT16(d, w, x) \
	ZERO(d)       \
	SDOT(d, w, x)

#define DOT32(d, w0, w1, x0, x1) \
	ZERO(d)         \
	SDOT(d, w0, x0) \
	SDOT(d, w1, x1)

#include "dot_arm64.h"

// func dotQ4KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ4KDotProd(SB), NOSPLIT, $0-56
	K1(144, Q4K_CONST, Q4K_HEAD, Q4K_BODY, ONE32, ONEMIN8, ENDMINS)

// func dotQ4KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ4KDotProdx4(SB), NOSPLIT, $0-56
	K4(144, Q4K_CONST, Q4K_HEAD, Q4K_BODY, FOUR32, FOURMIN8, ENDMINS)

// func dotQ5KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ5KDotProd(SB), NOSPLIT, $0-56
	K1(176, Q5K_CONST, Q5K_HEAD, Q5K_BODY, ONE32, ONEMIN8, ENDMINS)

// func dotQ5KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ5KDotProdx4(SB), NOSPLIT, $0-56
	K4(176, Q5K_CONST, Q5K_HEAD, Q5K_BODY, FOUR32, FOURMIN8, ENDMINS)

// func dotQ6KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ6KDotProd(SB), NOSPLIT, $0-56
	K1(210, Q6K_CONST, Q6K_HEAD, Q6K_BODY, ONE16, NOMINS, END)

// func dotQ6KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ6KDotProdx4(SB), NOSPLIT, $0-56
	K4(210, Q6K_CONST, Q6K_HEAD, Q6K_BODY, FOUR16, NOMINS, END)

// func dotQ3KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ3KDotProd(SB), NOSPLIT, $0-56
	K1(110, Q3K_CONST, Q3K_HEAD, Q3K_BODY, ONE16, NOMINS, END)

// func dotQ3KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ3KDotProdx4(SB), NOSPLIT, $0-56
	K4(110, Q3K_CONST, Q3K_HEAD, Q3K_BODY, FOUR16, NOMINS, END)

// func dotQ2KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ2KDotProd(SB), NOSPLIT, $0-56
	K1(84, Q2K_CONST, Q2K_HEAD, Q2K_BODY, ONE16, ONEMIN16, ENDMINS)

// func dotQ2KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ2KDotProdx4(SB), NOSPLIT, $0-56
	K4(84, Q2K_CONST, Q2K_HEAD, Q2K_BODY, FOUR16, FOURMIN16, ENDMINS)

// func dotIQ4XSDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotIQ4XSDotProd(SB), NOSPLIT, $0-56
	K1(136, IQ4XS_CONST, IQ4XS_HEAD, IQ4XS_BODY, ONE32, NOMINS, END)

// func dotIQ4XSDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotIQ4XSDotProdx4(SB), NOSPLIT, $0-56
	K4(136, IQ4XS_CONST, IQ4XS_HEAD, IQ4XS_BODY, FOUR32, NOMINS, END)

// func dotQ80DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ80DotProd(SB), NOSPLIT, $0-56
	B1(34, NOCONST, Q80, HALVES, HALF)

// func dotQ80DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ80DotProdx4(SB), NOSPLIT, $0-56
	B4(34, NOCONST, Q80, HALVES, HALF)

// func dotQ40DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ40DotProd(SB), NOSPLIT, $0-56
	B1(18, Q40_CONST, Q40, HALVES, HALF)

// func dotQ40DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ40DotProdx4(SB), NOSPLIT, $0-56
	B4(18, Q40_CONST, Q40, HALVES, HALF)

// func dotQ50DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ50DotProd(SB), NOSPLIT, $0-56
	B1(22, Q50_CONST, Q50, HALVES, HALF)

// func dotQ50DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ50DotProdx4(SB), NOSPLIT, $0-56
	B4(22, Q50_CONST, Q50, HALVES, HALF)

// func dotIQ4NLDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotIQ4NLDotProd(SB), NOSPLIT, $0-56
	B1(18, IQ4NL_CONST, IQ4NL, HALVES, HALF)

// func dotIQ4NLDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotIQ4NLDotProdx4(SB), NOSPLIT, $0-56
	B4(18, IQ4NL_CONST, IQ4NL, HALVES, HALF)

// func dotMXFP4DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotMXFP4DotProd(SB), NOSPLIT, $0-56
	B1(17, MXFP4_CONST, MXFP4, EXPONENTS, EXPONENT)

// func dotMXFP4DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotMXFP4DotProdx4(SB), NOSPLIT, $0-56
	B4(17, MXFP4_CONST, MXFP4, EXPONENTS, EXPONENT)

// func dotQ41DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ41DotProd(SB), NOSPLIT, $0-56
	M1(20, Q41_CONST, Q41, HALFPAIRS, HALFPAIR)

// func dotQ41DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ41DotProdx4(SB), NOSPLIT, $0-56
	M4(20, Q41_CONST, Q41, HALFPAIRS, HALFPAIR)

// func dotQ51DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ51DotProd(SB), NOSPLIT, $0-56
	M1(24, Q51_CONST, Q51, HALFPAIRS, HALFPAIR)

// func dotQ51DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)
TEXT ·dotQ51DotProdx4(SB), NOSPLIT, $0-56
	M4(24, Q51_CONST, Q51, HALFPAIRS, HALFPAIR)
