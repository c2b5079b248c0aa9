//go:build !noasm

package dot

import (
	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// fast holds the assembly by level and type. Where a level has none for a type, the level
// below serves.
var fast = [isa.DotProd + 1][quant.Count]fastDot{
	isa.NEON: {
		quant.Q4_K:   {one: dotQ4KNEON, four: dotQ4KNEONx4, lanes: 256},
		quant.Q5_K:   {one: dotQ5KNEON, four: dotQ5KNEONx4, lanes: 256},
		quant.Q6_K:   {one: dotQ6KNEON, four: dotQ6KNEONx4, lanes: 256},
		quant.Q3_K:   {one: dotQ3KNEON, four: dotQ3KNEONx4, lanes: 256},
		quant.Q2_K:   {one: dotQ2KNEON, four: dotQ2KNEONx4, lanes: 256},
		quant.IQ4_XS: {one: dotIQ4XSNEON, four: dotIQ4XSNEONx4, lanes: 256},
		quant.Q8_0:   {one: dotQ80NEON, four: dotQ80NEONx4, lanes: 32},
		quant.Q4_0:   {one: dotQ40NEON, four: dotQ40NEONx4, lanes: 32},
		quant.Q5_0:   {one: dotQ50NEON, four: dotQ50NEONx4, lanes: 32},
		quant.IQ4_NL: {one: dotIQ4NLNEON, four: dotIQ4NLNEONx4, lanes: 32},
		quant.Q4_1:   {one: dotQ41NEON, four: dotQ41NEONx4, lanes: 32},
		quant.Q5_1:   {one: dotQ51NEON, four: dotQ51NEONx4, lanes: 32},
		quant.MXFP4:  {one: dotMXFP4NEON, four: dotMXFP4NEONx4, lanes: 32},
		quant.F32:    {one: dotF32NEON, four: dotF32NEONx4, lanes: 16},
		quant.F16:    {one: dotF16NEON, four: dotF16NEONx4, lanes: 16},
		quant.BF16:   {one: dotBF16NEON, four: dotBF16NEONx4, lanes: 16},
	},
	isa.DotProd: {
		quant.Q4_K:   {one: dotQ4KDotProd, four: dotQ4KDotProdx4, lanes: 256},
		quant.Q5_K:   {one: dotQ5KDotProd, four: dotQ5KDotProdx4, lanes: 256},
		quant.Q6_K:   {one: dotQ6KDotProd, four: dotQ6KDotProdx4, lanes: 256},
		quant.Q3_K:   {one: dotQ3KDotProd, four: dotQ3KDotProdx4, lanes: 256},
		quant.Q2_K:   {one: dotQ2KDotProd, four: dotQ2KDotProdx4, lanes: 256},
		quant.IQ4_XS: {one: dotIQ4XSDotProd, four: dotIQ4XSDotProdx4, lanes: 256},
		quant.Q8_0:   {one: dotQ80DotProd, four: dotQ80DotProdx4, lanes: 32},
		quant.Q4_0:   {one: dotQ40DotProd, four: dotQ40DotProdx4, lanes: 32},
		quant.Q5_0:   {one: dotQ50DotProd, four: dotQ50DotProdx4, lanes: 32},
		quant.IQ4_NL: {one: dotIQ4NLDotProd, four: dotIQ4NLDotProdx4, lanes: 32},
		quant.Q4_1:   {one: dotQ41DotProd, four: dotQ41DotProdx4, lanes: 32},
		quant.Q5_1:   {one: dotQ51DotProd, four: dotQ51DotProdx4, lanes: 32},
		quant.MXFP4:  {one: dotMXFP4DotProd, four: dotMXFP4DotProdx4, lanes: 32},
	},
}

// sums of floats are the same at every level.
var sums = [isa.DotProd + 1][quant.Count]fastSum{
	isa.NEON:    {quant.F16: {sumRowsF16NEON, 8}, quant.F32: {sumRowsF32NEON, 8}},
	isa.DotProd: {quant.F16: {sumRowsF16NEON, 8}, quant.F32: {sumRowsF32NEON, 8}},
}

// panels is empty: kernels take at most four activation rows at a time.
var panels [isa.DotProd + 1][quant.Count]panelKernel
