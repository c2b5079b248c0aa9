//go:build amd64 && !noasm

package gemm

import "quern/kernels/internal/isa"

// See kernels/_gen/tile_gemm.go.
var windowTiles = [...][len(tileRows)][len(tileWidth)]windowTile{
	isa.Generic: {},
	isa.AVX2: {
		{nil, nil, window6x16AVX2},
		{nil, nil, window4x16AVX2},
		{nil, nil, window2x16AVX2},
		{nil, nil, window1x16AVX2},
	},
	isa.AVX512: {
		{window6x64AVX512, window6x32AVX512, window6x16AVX512},
		{window4x64AVX512, window4x32AVX512, window4x16AVX512},
		{window2x64AVX512, window2x32AVX512, window2x16AVX512},
		{window1x64AVX512, window1x32AVX512, window1x16AVX512},
	},
}

// tiles computes c. The columns of a few rows come one after the other: the source is what
// stays in the second-level cache, and of the filters only these rows are read at a time.
func (c *Windows) tiles() {
	level := &windowTiles[isa.Current()]
	k := len(c.At)
	if level[0][len(tileWidth)-1] == nil || k == 0 {
		c.tilesGo()
		return
	}
	for r := 0; r < c.Rows; {
		t := tallest(c.Rows - r)
		for j, size := 0, 0; j < c.N; j += tileWidth[size] * PanelWidth {
			for tileWidth[size]*PanelWidth > c.N-j || level[t][size] == nil {
				size++
			}
			level[t][size](&c.Dst[r*c.DstStride+j], 4*c.DstStride, &c.X[r*c.XStride], 4*c.XStride, k, &c.Source[j], &c.At[0])
		}
		r += tileRows[t]
	}
}
