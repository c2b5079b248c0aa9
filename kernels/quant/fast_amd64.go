//go:build amd64 && !noasm

package quant

import "quern/kernels/internal/isa"

// fast holds the assembly by level and type. A type a level lacks takes what
// the level below has.
var fast = [3][count]fastDot{
	isa.AVX2: {
		Q4_K: {one: dotQ4KAVX2, lanes: 256},
		Q6_K: {one: dotQ6KAVX2, lanes: 256},
		Q8_0: {one: dotQ80AVX2, lanes: 32},
		F16:  {one: dotF16AVX2, four: dotF16AVX2x4, lanes: 8},
		F32:  {one: dotF32AVX2, four: dotF32AVX2x4, lanes: 8},
	},
	isa.AVX512: {
		Q4_K: {one: dotQ4KAVX512, four: dotQ4KAVX512x4, lanes: 256},
		Q6_K: {one: dotQ6KAVX512, four: dotQ6KAVX512x4, lanes: 256},
		Q8_0: {one: dotQ80AVX512, four: dotQ80AVX512x4, lanes: 32},
		F16:  {one: dotF16AVX512, four: dotF16AVX512x4, lanes: 16},
		F32:  {one: dotF32AVX512, four: dotF32AVX512x4, lanes: 16},
	},
}

var sums = [3][count]fastSum{
	isa.AVX2:   {F16: {sumRowsF16AVX2, 8}, F32: {sumRowsF32AVX2, 8}},
	isa.AVX512: {F16: {sumRowsF16AVX512, 16}, F32: {sumRowsF32AVX512, 16}},
}
