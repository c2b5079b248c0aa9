//go:build amd64 && !noasm

package dot

import (
	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

//lint:ignore U1000 the assembly reads it
var fetchesAhead = isa.FetchesAhead()

// fast holds the assembly by level and type. Where a level has none for a type, the level
// below serves.
var fast = [3][quant.Count]fastDot{
	isa.AVX2: {
		quant.F32:    {one: dotF32AVX2, four: dotF32AVX2x4, lanes: 8},
		quant.F16:    {one: dotF16AVX2, four: dotF16AVX2x4, lanes: 8},
		quant.BF16:   {one: dotBF16AVX2, four: dotBF16AVX2x4, lanes: 8},
		quant.Q4_0:   {one: dotQ40AVX2, lanes: 32},
		quant.Q4_1:   {one: dotQ41AVX2, lanes: 32},
		quant.Q5_0:   {one: dotQ50AVX2, lanes: 32},
		quant.Q5_1:   {one: dotQ51AVX2, lanes: 32},
		quant.Q8_0:   {one: dotQ80AVX2, lanes: 32},
		quant.IQ4_NL: {one: dotIQ4NLAVX2, lanes: 32},
		quant.MXFP4:  {one: dotMXFP4AVX2, lanes: 32},
		quant.IQ4_XS: {one: dotIQ4XSAVX2, lanes: 256},
		quant.Q2_K:   {one: dotQ2KAVX2, lanes: 256},
		quant.Q3_K:   {one: dotQ3KAVX2, lanes: 256},
		quant.Q4_K:   {one: dotQ4KAVX2, lanes: 256},
		quant.Q5_K:   {one: dotQ5KAVX2, lanes: 256},
		quant.Q6_K:   {one: dotQ6KAVX2, lanes: 256},
	},
	isa.AVX512: {
		quant.F32:    {one: dotF32AVX512, four: dotF32AVX512x4, lanes: 16},
		quant.F16:    {one: dotF16AVX512, four: dotF16AVX512x4, lanes: 16},
		quant.BF16:   {one: dotBF16AVX512, four: dotBF16AVX512x4, lanes: 16},
		quant.Q4_0:   {one: dotQ40AVX512, lanes: 32},
		quant.Q4_1:   {one: dotQ41AVX512, lanes: 32},
		quant.Q5_0:   {one: dotQ50AVX512, lanes: 32},
		quant.Q5_1:   {one: dotQ51AVX512, lanes: 32},
		quant.Q8_0:   {one: dotQ80AVX512, lanes: 32},
		quant.IQ4_NL: {one: dotIQ4NLAVX512, lanes: 32},
		quant.MXFP4:  {one: dotMXFP4AVX512, lanes: 32},
		quant.IQ4_XS: {one: dotIQ4XSAVX512, lanes: 256},
		quant.Q2_K:   {one: dotQ2KAVX512, lanes: 256},
		quant.Q3_K:   {one: dotQ3KAVX512, lanes: 256},
		quant.Q4_K:   {one: dotQ4KAVX512, lanes: 256},
		quant.Q5_K:   {one: dotQ5KAVX512, lanes: 256},
		quant.Q6_K:   {one: dotQ6KAVX512, lanes: 256},
	},
}

// panels holds the same for several activation rows.
var panels = [3][quant.Count]panelKernel{
	isa.AVX2: {
		quant.Q4_0:   {8, 32, 9, packQ40AVX2, tileQ40AVX2, nil},
		quant.Q4_1:   {8, 32, 10, packQ41AVX2, tileQ41AVX2, nil},
		quant.Q5_0:   {8, 32, 9, packQ50AVX2, tileQ50AVX2, nil},
		quant.Q5_1:   {8, 32, 10, packQ51AVX2, tileQ51AVX2, nil},
		quant.Q8_0:   {8, 32, 9, packQ80AVX2, tileQ80AVX2, nil},
		quant.IQ4_NL: {8, 32, 9, packIQ4NLAVX2, tileQ80AVX2, nil},
		quant.MXFP4:  {8, 32, 9, packMXFP4AVX2, tileMXFP4AVX2, nil},
		quant.IQ4_XS: {8, 256, 77, packIQ4XSAVX2, tileIQ4XSAVX2, nil},
		quant.Q2_K:   {8, 256, 90, packQ2KAVX2, tileQ2KAVX2, nil},
		quant.Q3_K:   {8, 256, 89, packQ3KAVX2, tileQ3KAVX2, nil},
		quant.Q4_K:   {8, 256, 78, packQ4KAVX2, tileQ4KAVX2, nil},
		quant.Q5_K:   {8, 256, 78, packQ5KAVX2, tileQ5KAVX2, nil},
		quant.Q6_K:   {8, 256, 89, packQ6KAVX2, tileQ6KAVX2, nil},
	},
	isa.AVX512: {
		quant.Q4_0:   {16, 32, 9, packQ40AVX512, tileBAVX512, tileBAVX512Pair},
		quant.Q4_1:   {16, 32, 10, packQ41AVX512, tileBMAVX512, tileBMAVX512Pair},
		quant.Q5_0:   {16, 32, 9, packQ50AVX512, tileBAVX512, tileBAVX512Pair},
		quant.Q5_1:   {16, 32, 10, packQ51AVX512, tileBMAVX512, tileBMAVX512Pair},
		quant.Q8_0:   {16, 32, 9, packQ80AVX512, tileBAVX512, tileBAVX512Pair},
		quant.IQ4_NL: {16, 32, 9, packIQ4NLAVX512, tileBAVX512, tileBAVX512Pair},
		quant.MXFP4:  {16, 32, 9, packMXFP4AVX512, tileBAVX512, tileBAVX512Pair},
		quant.IQ4_XS: {16, 256, 77, packIQ4XSAVX512, tileK8OAVX512, tileK8OAVX512Pair},
		quant.Q2_K:   {16, 256, 90, packQ2KAVX512, tileK16MAVX512, tileK16MAVX512Pair},
		quant.Q3_K:   {16, 256, 89, packQ3KAVX512, tileK16OAVX512, tileK16OAVX512Pair},
		quant.Q4_K:   {16, 256, 78, packQ4KAVX512, tileK8MAVX512, tileK8MAVX512Pair},
		quant.Q5_K:   {16, 256, 78, packQ5KAVX512, tileK8MAVX512, tileK8MAVX512Pair},
		quant.Q6_K:   {16, 256, 89, packQ6KAVX512, tileK16OAVX512, tileK16OAVX512Pair},
	},
}

// interleaves holds the assembly for rows that are interleaved.
var interleaves = [quant.Count]*interleavedKernel{
	quant.Q8_0:   {interleavedQ80AVX512, interleavedQ80AVX512x2, interleavedQ80AVX512x4, nil, packInterleavedQ80AVX512, 32},
	quant.Q4_0:   {interleavedQ40AVX512, interleavedQ40AVX512x2, interleavedQ40AVX512x4, nil, packInterleavedQ40AVX512, 32},
	quant.Q4_1:   {interleavedQ41AVX512, interleavedQ41AVX512x2, interleavedQ41AVX512x4, nil, packInterleavedQ41AVX512, 32},
	quant.Q5_1:   {interleavedQ51AVX512, interleavedQ51AVX512x2, interleavedQ51AVX512x4, interleavedQ51AVX512x8, packInterleavedQ51AVX512, 32},
	quant.Q5_0:   {interleavedQ50AVX512, interleavedQ50AVX512x2, interleavedQ50AVX512x4, interleavedQ50AVX512x8, packInterleavedQ50AVX512, 32},
	quant.Q2_K:   {interleavedQ2KAVX512, interleavedQ2KAVX512x2, interleavedQ2KAVX512x4, nil, packInterleavedQ2KAVX512, 64},
	quant.Q3_K:   {interleavedQ3KAVX512, interleavedQ3KAVX512x2, interleavedQ3KAVX512x4, interleavedQ3KAVX512x8, packInterleavedQ3KAVX512, 32},
	quant.Q4_K:   {interleavedQ4KAVX512, interleavedQ4KAVX512x2, interleavedQ4KAVX512x4, interleavedQ4KAVX512x8, packInterleavedQ4KAVX512, 64},
	quant.Q5_K:   {interleavedQ5KAVX512, interleavedQ5KAVX512x2, interleavedQ5KAVX512x4, interleavedQ5KAVX512x8, packInterleavedQ5KAVX512, 32},
	quant.Q6_K:   {interleavedQ6KAVX512, interleavedQ6KAVX512x2, interleavedQ6KAVX512x4, interleavedQ6KAVX512x8, packInterleavedQ6KAVX512, 32},
	quant.IQ4_NL: {interleavedIQ4NLAVX512, interleavedIQ4NLAVX512x2, interleavedIQ4NLAVX512x4, nil, packInterleavedIQ4NLAVX512, 32},
	quant.IQ4_XS: {interleavedIQ4XSAVX512, interleavedIQ4XSAVX512x2, interleavedIQ4XSAVX512x4, nil, packInterleavedIQ4XSAVX512, 32},
}

// streamAhead is how many bytes ahead one stream of weights is fetched, 0 where the CPU does so.
var streamAhead = map[bool]int{false: 8 << 10}[fetchesAhead]

func interleavedOf(t quant.Type) *interleavedKernel {
	if isa.Current() < isa.AVX512 {
		return nil
	}
	return interleaves[t]
}

// interleavePieces writes the dwords of pieces of 16 bytes of sixteen rows side by side.
func interleavePieces(dst, w *byte, rowBytes, pieces int) {
	interleaveAVX512(dst, w, rowBytes, pieces)
}

var sums = [3][quant.Count]fastSum{
	isa.AVX2:   {quant.F16: {sumRowsF16AVX2, 8}, quant.BF16: {sumRowsBF16AVX2, 8}, quant.F32: {sumRowsF32AVX2, 8}},
	isa.AVX512: {quant.F16: {sumRowsF16AVX512, 16}, quant.BF16: {sumRowsBF16AVX512, 16}, quant.F32: {sumRowsF32AVX512, 16}},
}

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
