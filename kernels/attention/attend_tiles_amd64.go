//go:build amd64 && !noasm

package attention

import (
	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

func attendTilesOf(t quant.Type) *attendTiles {
	if t == quant.BF16 && !isa.VectorsOfBF16() {
		t = quant.Invalid
	}
	return &attendTileLevels[isa.Current()][t]
}

var attendTileLevels = [...][quant.Q8_0 + 1]attendTiles{
	isa.AVX2: {
		quant.F32: {
			lanes:  8,
			values: []sumTile{valuesF32AVX2x1, valuesF32AVX2x2, valuesF32AVX2x3, valuesF32AVX2x4, valuesF32AVX2x5, valuesF32AVX2x6},
			scores: []sumTile{scoresF32AVX2x1, scoresF32AVX2x2, scoresF32AVX2x3, scoresF32AVX2x4, scoresF32AVX2x5, scoresF32AVX2x6},
		},
		quant.F16: {
			lanes:  8,
			values: []sumTile{valuesF16AVX2x1, valuesF16AVX2x2, valuesF16AVX2x3, valuesF16AVX2x4, valuesF16AVX2x5, valuesF16AVX2x6},
			scores: []sumTile{scoresF16AVX2x1, scoresF16AVX2x2, scoresF16AVX2x3, scoresF16AVX2x4, scoresF16AVX2x5, scoresF16AVX2x6},
		},
		quant.Q8_0: {
			lanes:  32,
			values: []sumTile{valuesQ80AVX2x1, valuesQ80AVX2x2, valuesQ80AVX2x3, valuesQ80AVX2x4, valuesQ80AVX2x5, valuesQ80AVX2x6},
		},
		quant.Q4_0: {
			lanes:  32,
			values: []sumTile{valuesQ40AVX2x1, valuesQ40AVX2x2, valuesQ40AVX2x3, valuesQ40AVX2x4, valuesQ40AVX2x5},
		},
	},
	isa.AVX512: {
		quant.F32: {
			lanes:  16,
			values: []sumTile{valuesF32AVX512x1, valuesF32AVX512x2, valuesF32AVX512x3, valuesF32AVX512x4, valuesF32AVX512x5, valuesF32AVX512x6, valuesF32AVX512x7, valuesF32AVX512x8, wideTile - 1: valuesF32AVX512x12},
			scores: []sumTile{scoresF32AVX512x1, scoresF32AVX512x2, scoresF32AVX512x3, scoresF32AVX512x4, scoresF32AVX512x5, scoresF32AVX512x6, scoresF32AVX512x7, scoresF32AVX512x8, wideTile - 1: scoresF32AVX512x12},
		},
		quant.F16: {
			lanes:  16,
			values: []sumTile{valuesF16AVX512x1, valuesF16AVX512x2, valuesF16AVX512x3, valuesF16AVX512x4, valuesF16AVX512x5, valuesF16AVX512x6, valuesF16AVX512x7, valuesF16AVX512x8, wideTile - 1: valuesF16AVX512x12},
			scores: []sumTile{scoresF16AVX512x1, scoresF16AVX512x2, scoresF16AVX512x3, scoresF16AVX512x4, scoresF16AVX512x5, scoresF16AVX512x6, scoresF16AVX512x7, scoresF16AVX512x8, wideTile - 1: scoresF16AVX512x12},
		},
		quant.Q8_0: {
			lanes:  32,
			values: []sumTile{valuesQ80AVX512x1, valuesQ80AVX512x2, valuesQ80AVX512x3, valuesQ80AVX512x4, valuesQ80AVX512x5, valuesQ80AVX512x6, valuesQ80AVX512x7, valuesQ80AVX512x8},
			scores: []sumTile{scoresQ80AVX512x1, scoresQ80AVX512x2, scoresQ80AVX512x3, scoresQ80AVX512x4},
		},
		quant.Q4_0: {
			lanes:  32,
			values: []sumTile{valuesQ40AVX512x1, valuesQ40AVX512x2, valuesQ40AVX512x3, valuesQ40AVX512x4, valuesQ40AVX512x5, valuesQ40AVX512x6, valuesQ40AVX512x7, valuesQ40AVX512x8},
			scores: []sumTile{scoresQ40AVX512x1, scoresQ40AVX512x2, scoresQ40AVX512x3, scoresQ40AVX512x4},
		},
		quant.BF16: { // of pairs
			lanes: 16,
			values: []sumTile{
				valuesBF16PairsAVX512x1, valuesBF16PairsAVX512x2, valuesBF16PairsAVX512x3, valuesBF16PairsAVX512x4,
				valuesBF16PairsAVX512x5, valuesBF16PairsAVX512x6, valuesBF16PairsAVX512x7, valuesBF16PairsAVX512x8,
			},
			scores: []sumTile{
				scoresBF16PairsAVX512x1, scoresBF16PairsAVX512x2, scoresBF16PairsAVX512x3, scoresBF16PairsAVX512x4,
				scoresBF16PairsAVX512x5, scoresBF16PairsAVX512x6, scoresBF16PairsAVX512x7, scoresBF16PairsAVX512x8,
			},
		},
	},
}

func softmaxVectors() *softmaxVector { return &softmaxLevels[isa.Current()] }

var softmaxLevels = [...]softmaxVector{
	isa.AVX2:   {8, largestAVX2, expTopAVX2},
	isa.AVX512: {16, largestAVX512, expTopAVX512},
}
