//go:build !noasm

package dot

// Dot kernels, as dotKernel describes them. Weights are unpacked in registers,
// once for the four activation rows of the x4 kernels.

// dotQ4KNEON multiplies Q4_K weight rows with one activation row.
//
//go:noescape
func dotQ4KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ4KNEONx4 multiplies Q4_K weight rows with four activation rows.
//
//go:noescape
func dotQ4KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ5KNEON multiplies Q5_K weight rows with one activation row.
//
//go:noescape
func dotQ5KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ5KNEONx4 multiplies Q5_K weight rows with four activation rows.
//
//go:noescape
func dotQ5KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ6KNEON multiplies Q6_K weight rows with one activation row.
//
//go:noescape
func dotQ6KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ6KNEONx4 multiplies Q6_K weight rows with four activation rows.
//
//go:noescape
func dotQ6KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ3KNEON multiplies Q3_K weight rows with one activation row.
//
//go:noescape
func dotQ3KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ3KNEONx4 multiplies Q3_K weight rows with four activation rows.
//
//go:noescape
func dotQ3KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ2KNEON multiplies Q2_K weight rows with one activation row.
//
//go:noescape
func dotQ2KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ2KNEONx4 multiplies Q2_K weight rows with four activation rows.
//
//go:noescape
func dotQ2KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotIQ4XSNEON multiplies IQ4_XS weight rows with one activation row.
//
//go:noescape
func dotIQ4XSNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotIQ4XSNEONx4 multiplies IQ4_XS weight rows with four activation rows.
//
//go:noescape
func dotIQ4XSNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ80NEON multiplies Q8_0 weight rows with one activation row.
//
//go:noescape
func dotQ80NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ80NEONx4 multiplies Q8_0 weight rows with four activation rows.
//
//go:noescape
func dotQ80NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ40NEON multiplies Q4_0 weight rows with one activation row.
//
//go:noescape
func dotQ40NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ40NEONx4 multiplies Q4_0 weight rows with four activation rows.
//
//go:noescape
func dotQ40NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ50NEON multiplies Q5_0 weight rows with one activation row.
//
//go:noescape
func dotQ50NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ50NEONx4 multiplies Q5_0 weight rows with four activation rows.
//
//go:noescape
func dotQ50NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotIQ4NLNEON multiplies IQ4_NL weight rows with one activation row.
//
//go:noescape
func dotIQ4NLNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotIQ4NLNEONx4 multiplies IQ4_NL weight rows with four activation rows.
//
//go:noescape
func dotIQ4NLNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotMXFP4NEON multiplies MXFP4 weight rows with one activation row.
//
//go:noescape
func dotMXFP4NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotMXFP4NEONx4 multiplies MXFP4 weight rows with four activation rows.
//
//go:noescape
func dotMXFP4NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ4KDotProd multiplies Q4_K weight rows with one activation row.
//
//go:noescape
func dotQ4KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ4KDotProdx4 multiplies Q4_K weight rows with four activation rows.
//
//go:noescape
func dotQ4KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ5KDotProd multiplies Q5_K weight rows with one activation row.
//
//go:noescape
func dotQ5KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ5KDotProdx4 multiplies Q5_K weight rows with four activation rows.
//
//go:noescape
func dotQ5KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ6KDotProd multiplies Q6_K weight rows with one activation row.
//
//go:noescape
func dotQ6KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ6KDotProdx4 multiplies Q6_K weight rows with four activation rows.
//
//go:noescape
func dotQ6KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ3KDotProd multiplies Q3_K weight rows with one activation row.
//
//go:noescape
func dotQ3KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ3KDotProdx4 multiplies Q3_K weight rows with four activation rows.
//
//go:noescape
func dotQ3KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ2KDotProd multiplies Q2_K weight rows with one activation row.
//
//go:noescape
func dotQ2KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ2KDotProdx4 multiplies Q2_K weight rows with four activation rows.
//
//go:noescape
func dotQ2KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotIQ4XSDotProd multiplies IQ4_XS weight rows with one activation row.
//
//go:noescape
func dotIQ4XSDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotIQ4XSDotProdx4 multiplies IQ4_XS weight rows with four activation rows.
//
//go:noescape
func dotIQ4XSDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ80DotProd multiplies Q8_0 weight rows with one activation row.
//
//go:noescape
func dotQ80DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ80DotProdx4 multiplies Q8_0 weight rows with four activation rows.
//
//go:noescape
func dotQ80DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ40DotProd multiplies Q4_0 weight rows with one activation row.
//
//go:noescape
func dotQ40DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ40DotProdx4 multiplies Q4_0 weight rows with four activation rows.
//
//go:noescape
func dotQ40DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ50DotProd multiplies Q5_0 weight rows with one activation row.
//
//go:noescape
func dotQ50DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ50DotProdx4 multiplies Q5_0 weight rows with four activation rows.
//
//go:noescape
func dotQ50DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotIQ4NLDotProd multiplies IQ4_NL weight rows with one activation row.
//
//go:noescape
func dotIQ4NLDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotIQ4NLDotProdx4 multiplies IQ4_NL weight rows with four activation rows.
//
//go:noescape
func dotIQ4NLDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotMXFP4DotProd multiplies MXFP4 weight rows with one activation row.
//
//go:noescape
func dotMXFP4DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotMXFP4DotProdx4 multiplies MXFP4 weight rows with four activation rows.
//
//go:noescape
func dotMXFP4DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotF32NEON multiplies F32 weight rows with one activation row.
//
//go:noescape
func dotF32NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotF32NEONx4 multiplies F32 weight rows with four activation rows.
//
//go:noescape
func dotF32NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotF16NEON multiplies F16 weight rows with one activation row.
//
//go:noescape
func dotF16NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotF16NEONx4 multiplies F16 weight rows with four activation rows.
//
//go:noescape
func dotF16NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotBF16NEON multiplies BF16 weight rows with one activation row.
//
//go:noescape
func dotBF16NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotBF16NEONx4 multiplies BF16 weight rows with four activation rows.
//
//go:noescape
func dotBF16NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// sumRowsF32NEON adds rows of F32 to dst, each times its factor in p.
//
//go:noescape
func sumRowsF32NEON(dst *float32, n int, w *byte, rows, stride int, p *float32)

// sumRowsF16NEON adds rows of F16 to dst, each times its factor in p.
//
//go:noescape
func sumRowsF16NEON(dst *float32, n int, w *byte, rows, stride int, p *float32)

// dotQ41NEON multiplies Q4_1 weight rows with one activation row.
//
//go:noescape
func dotQ41NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ41NEONx4 multiplies Q4_1 weight rows with four activation rows.
//
//go:noescape
func dotQ41NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ51NEON multiplies Q5_1 weight rows with one activation row.
//
//go:noescape
func dotQ51NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ51NEONx4 multiplies Q5_1 weight rows with four activation rows.
//
//go:noescape
func dotQ51NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ41DotProd multiplies Q4_1 weight rows with one activation row.
//
//go:noescape
func dotQ41DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ41DotProdx4 multiplies Q4_1 weight rows with four activation rows.
//
//go:noescape
func dotQ41DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ51DotProd multiplies Q5_1 weight rows with one activation row.
//
//go:noescape
func dotQ51DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// dotQ51DotProdx4 multiplies Q5_1 weight rows with four activation rows.
//
//go:noescape
func dotQ51DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// tryNEON runs instruction op of neon_arm64.h, for its test, which holds the
// only table of them. The linker drops it from programs.
//
//go:noescape
func tryNEON(op int, d, n, m *[16]byte)
