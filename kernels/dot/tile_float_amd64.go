//go:build amd64 && !noasm

package dot

import (
	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

func floatTilesOf(t quant.Type) *floatTiles { return &floatTileLevels[isa.Current()][t] }

var floatTileLevels = [3][quant.Count]floatTiles{
	isa.AVX2: {
		quant.F32:  {[]sizedTile{{3, tileF32AVX2x3}, {2, tileF32AVX2x2}, {1, tileF32AVX2x1}}, 8},
		quant.F16:  {[]sizedTile{{3, tileF16AVX2x3}, {2, tileF16AVX2x2}, {1, tileF16AVX2x1}}, 8},
		quant.BF16: {[]sizedTile{{3, tileBF16AVX2x3}, {2, tileBF16AVX2x2}, {1, tileBF16AVX2x1}}, 8},
	},
	isa.AVX512: {
		quant.F32:  {[]sizedTile{{6, tileF32AVX512x6}, {4, tileF32AVX512x4}, {2, tileF32AVX512x2}, {1, tileF32AVX512x1}}, 16},
		quant.F16:  {[]sizedTile{{6, tileF16AVX512x6}, {4, tileF16AVX512x4}, {2, tileF16AVX512x2}, {1, tileF16AVX512x1}}, 16},
		quant.BF16: {[]sizedTile{{6, tileBF16AVX512x6}, {4, tileBF16AVX512x4}, {2, tileBF16AVX512x2}, {1, tileBF16AVX512x1}}, 16},
	},
}

func sumTilesOf(t quant.Type) *sumTiles { return &sumTileLevels[isa.Current()][t] }

var sumTileLevels = [3][quant.Count]sumTiles{
	isa.AVX2: {
		quant.F32:  {[]sizedSum{{6, sumTileF32AVX2x6}, {4, sumTileF32AVX2x4}, {2, sumTileF32AVX2x2}}, 8},
		quant.F16:  {[]sizedSum{{6, sumTileF16AVX2x6}, {4, sumTileF16AVX2x4}, {2, sumTileF16AVX2x2}}, 8},
		quant.BF16: {[]sizedSum{{6, sumTileBF16AVX2x6}, {4, sumTileBF16AVX2x4}, {2, sumTileBF16AVX2x2}}, 8},
	},
	isa.AVX512: {
		quant.F32:  {[]sizedSum{{6, sumTileF32AVX512x6}, {4, sumTileF32AVX512x4}, {2, sumTileF32AVX512x2}}, 16},
		quant.F16:  {[]sizedSum{{6, sumTileF16AVX512x6}, {4, sumTileF16AVX512x4}, {2, sumTileF16AVX512x2}}, 16},
		quant.BF16: {[]sizedSum{{6, sumTileBF16AVX512x6}, {4, sumTileBF16AVX512x4}, {2, sumTileBF16AVX512x2}}, 16},
	},
}
