//go:build amd64 && !noasm

package quant

import "quern/kernels/internal/isa"

// fast holds the assembly by level and type. A type a level lacks takes what
// the level below has.
var fast = [3][count]fastDot{
	isa.AVX2: {
		F32:    {one: dotF32AVX2, four: dotF32AVX2x4, lanes: 8},
		F16:    {one: dotF16AVX2, four: dotF16AVX2x4, lanes: 8},
		BF16:   {one: dotBF16AVX2, four: dotBF16AVX2x4, lanes: 8},
		Q4_0:   {one: dotQ40AVX2, lanes: 32},
		Q4_1:   {one: dotQ41AVX2, lanes: 32},
		Q5_0:   {one: dotQ50AVX2, lanes: 32},
		Q5_1:   {one: dotQ51AVX2, lanes: 32},
		Q8_0:   {one: dotQ80AVX2, lanes: 32},
		IQ4_NL: {one: dotIQ4NLAVX2, lanes: 32},
		MXFP4:  {one: dotMXFP4AVX2, lanes: 32},
		IQ4_XS: {one: dotIQ4XSAVX2, lanes: 256},
		Q2_K:   {one: dotQ2KAVX2, lanes: 256},
		Q3_K:   {one: dotQ3KAVX2, lanes: 256},
		Q4_K:   {one: dotQ4KAVX2, lanes: 256},
		Q5_K:   {one: dotQ5KAVX2, lanes: 256},
		Q6_K:   {one: dotQ6KAVX2, lanes: 256},
	},
	isa.AVX512: {
		F32:    {one: dotF32AVX512, four: dotF32AVX512x4, lanes: 16},
		F16:    {one: dotF16AVX512, four: dotF16AVX512x4, lanes: 16},
		BF16:   {one: dotBF16AVX512, four: dotBF16AVX512x4, lanes: 16},
		Q4_0:   {one: dotQ40AVX512, four: dotQ40AVX512x4, lanes: 32},
		Q4_1:   {one: dotQ41AVX512, four: dotQ41AVX512x4, lanes: 32},
		Q5_0:   {one: dotQ50AVX512, four: dotQ50AVX512x4, lanes: 32},
		Q5_1:   {one: dotQ51AVX512, four: dotQ51AVX512x4, lanes: 32},
		Q8_0:   {one: dotQ80AVX512, four: dotQ80AVX512x4, lanes: 32},
		IQ4_NL: {one: dotIQ4NLAVX512, four: dotIQ4NLAVX512x4, lanes: 32},
		MXFP4:  {one: dotMXFP4AVX512, four: dotMXFP4AVX512x4, lanes: 32},
		IQ4_XS: {one: dotIQ4XSAVX512, four: dotIQ4XSAVX512x4, lanes: 256},
		Q2_K:   {one: dotQ2KAVX512, four: dotQ2KAVX512x4, eight: dotQ2KAVX512x8, lanes: 256},
		Q3_K:   {one: dotQ3KAVX512, four: dotQ3KAVX512x4, eight: dotQ3KAVX512x8, lanes: 256},
		Q4_K:   {one: dotQ4KAVX512, four: dotQ4KAVX512x4, eight: dotQ4KAVX512x8, lanes: 256},
		Q5_K:   {one: dotQ5KAVX512, four: dotQ5KAVX512x4, eight: dotQ5KAVX512x8, lanes: 256},
		Q6_K:   {one: dotQ6KAVX512, four: dotQ6KAVX512x4, eight: dotQ6KAVX512x8, lanes: 256},
	},
}

var sums = [3][count]fastSum{
	isa.AVX2:   {F16: {sumRowsF16AVX2, 8}, BF16: {sumRowsBF16AVX2, 8}, F32: {sumRowsF32AVX2, 8}},
	isa.AVX512: {F16: {sumRowsF16AVX512, 16}, BF16: {sumRowsBF16AVX512, 16}, F32: {sumRowsF32AVX512, 16}},
}
