//go:build !noasm

package dot

// Dot kernels, as dotKernel describes them, named after their type of weights: of one
// activation row or, x4, of four, for which weights are unpacked once.

//go:noescape
func dotQ4KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ4KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ5KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ5KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ6KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ6KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ3KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ3KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ2KNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ2KNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotIQ4XSNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotIQ4XSNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ80NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ80NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ40NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ40NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ50NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ50NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotIQ4NLNEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotIQ4NLNEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotMXFP4NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotMXFP4NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ4KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ4KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ5KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ5KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ6KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ6KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ3KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ3KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ2KDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ2KDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotIQ4XSDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotIQ4XSDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ80DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ80DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ40DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ40DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ50DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ50DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotIQ4NLDotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotIQ4NLDotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotMXFP4DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotMXFP4DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotF32NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotF32NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotF16NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotF16NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotBF16NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

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

//go:noescape
func dotQ41NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ41NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ51NEON(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ51NEONx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ41DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ41DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ51DotProd(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

//go:noescape
func dotQ51DotProdx4(w *byte, n, rows int, x *byte, xStride int, out *float32, outStride int)

// tryNEON runs instruction op of neon_arm64.h, for its test, which holds the
// only table of them. The linker drops it from programs.
//
//go:noescape
func tryNEON(op int, d, n, m *[16]byte)
