//go:build amd64 && !noasm

package kernels

import (
	"unsafe"

	"quern/kernels/internal/isa"
)

// A gemmTile computes rows of a product; see kernels/_gen/tile_gemm.go.
type gemmTile func(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32, wStride, last int)

// tileRows and tileWidth (in panels) are the sizes tiles come in, largest first.
var (
	tileRows  = [...]int{6, 4, 2, 1}
	tileWidth = [...]int{4, 2, 1}
)

var gemmTiles = [...][len(tileRows)][len(tileWidth)]gemmTile{
	isa.Generic: {},
	isa.AVX2: {
		{nil, nil, gemm6x16AVX2},
		{nil, nil, gemm4x16AVX2},
		{nil, nil, gemm2x16AVX2},
		{nil, nil, gemm1x16AVX2},
	},
	isa.AVX512: {
		{gemm6x64AVX512, gemm6x32AVX512, gemm6x16AVX512},
		{gemm4x64AVX512, gemm4x32AVX512, gemm4x16AVX512},
		{gemm2x64AVX512, gemm2x32AVX512, gemm2x16AVX512},
		{gemm1x64AVX512, gemm1x32AVX512, gemm1x16AVX512},
	},
}

// tiles computes c, whose sums are not cut.
func (c *product) tiles() {
	level := &gemmTiles[isa.Current()]
	if level[0][len(tileWidth)-1] == nil {
		c.tilesGo()
		return
	}
	// Without a tap there is nothing to point at.
	var x, w, init *float32
	if c.taps > 0 {
		x, w = &c.x[0], &c.w[0]
		_, _ = c.x[(c.rows-1)*c.xStride+(c.taps-1)*c.tapStride+c.k-1], c.w[(c.n-1)/panelWidth*c.wStride+c.taps*c.k*panelWidth-1]
	}
	if c.init != nil {
		init = &c.init[0]
		_ = c.init[(c.rows-1)*c.initStride+c.n-1]
	}
	_ = c.dst[(c.rows-1)*c.dstStride+c.n-1]
	for j := 0; j < c.n; {
		left := (c.n - j + panelWidth - 1) / panelWidth
		size := 0
		for tileWidth[size] > left || level[0][size] == nil {
			size++
		}
		cols := min(c.n-j, tileWidth[size]*panelWidth)
		last := (cols-1)%panelWidth + 1
		for r, t := 0, 0; r < c.rows; {
			for tileRows[t] > c.rows-r {
				t++
			}
			level[t][size](at(&c.dst[0], r*c.dstStride+j), 4*c.dstStride, at(init, r*c.initStride+j), 4*c.initStride,
				at(x, r*c.xStride), 4*c.xStride, c.taps, 4*c.tapStride, c.k, at(w, j/panelWidth*c.wStride), 4*c.wStride, last)
			r += tileRows[t]
		}
		j += cols
	}
}

// at is &p[i], and nil for nil.
func at(p *float32, i int) *float32 {
	if p == nil {
		return nil
	}
	return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*i))
}
