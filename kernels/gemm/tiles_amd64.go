//go:build amd64 && !noasm

package gemm

import (
	"unsafe"

	"quern/kernels/internal/isa"
)

// A gemmTile computes rows of a product; see kernels/_gen/tile_gemm.go.
type gemmTile func(dst *float32, dstStride int, init *float32, initStride int, x *float32, xStride, taps, tapStride, k int, w *float32, wStride, last int)

// tileWidth (in panels) is the widths tiles come in, largest first.
var tileWidth = [...]int{4, 2, 1}

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

// tiles computes c, which is at most one slab.
func (c *Product) tiles() {
	level := &gemmTiles[isa.Current()]
	if level[0][len(tileWidth)-1] == nil {
		c.tilesGo()
		return
	}
	// Without a tap x and w may be empty.
	var x, w, init *float32
	if c.Taps > 0 {
		x, w = &c.X[0], &c.W[0]
		_, _ = c.X[(c.Rows-1)*c.XStride+(c.Taps-1)*c.TapStride+c.K-1], c.W[(c.N-1)/PanelWidth*c.WStride+c.Taps*c.K*PanelWidth-1]
	}
	if c.Init != nil {
		init = &c.Init[0]
		_ = c.Init[(c.Rows-1)*c.InitStride+c.N-1]
	}
	_ = c.Dst[(c.Rows-1)*c.DstStride+c.N-1]
	for j := 0; j < c.N; {
		left := (c.N - j + PanelWidth - 1) / PanelWidth
		size := 0
		for tileWidth[size] > left || level[0][size] == nil {
			size++
		}
		cols := min(c.N-j, tileWidth[size]*PanelWidth)
		last := (cols-1)%PanelWidth + 1
		for r := 0; r < c.Rows; {
			t := tallest(c.Rows - r)
			level[t][size](at(&c.Dst[0], r*c.DstStride+j), 4*c.DstStride, at(init, r*c.InitStride+j), 4*c.InitStride,
				at(x, r*c.XStride), 4*c.XStride, c.Taps, 4*c.TapStride, c.K, at(w, j/PanelWidth*c.WStride), 4*c.WStride, last)
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

var packs = [...]func(dst, x *float32, n, step int, by, add, floor float32){
	isa.AVX2:   packAVX2,
	isa.AVX512: packAVX512,
}

// packFast does PackAffine for the first whole panels and says how many values they are.
func packFast(dst, x []float32, step int, by, add, floor float32) int {
	f, n := packs[isa.Current()], len(x)&^(PanelWidth-1)
	if f == nil || n == 0 {
		return 0
	}
	_ = dst[(n/PanelWidth-1)*step+PanelWidth-1]
	f(&dst[0], &x[0], n, 4*step, by, add, floor)
	return n
}
