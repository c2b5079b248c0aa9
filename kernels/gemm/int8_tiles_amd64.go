//go:build amd64 && !noasm

package gemm

import (
	"unsafe"

	"quern/kernels/internal/isa"
)

// int8Tiles compute rows of an int8Product, for tileRows and tileWidth; see
// kernels/_gen/tile_int8.go.
var int8Tiles = [len(tileRows)][len(tileWidth)]func(dst *byte, dstStride int, x *byte, xStride, quads int, w *int8, wStride int, init *int32, scale, bias *float32, last int){
	{int8x6x64AVX512, int8x6x32AVX512, int8x6x16AVX512},
	{int8x4x64AVX512, int8x4x32AVX512, int8x4x16AVX512},
	{int8x2x64AVX512, int8x2x32AVX512, int8x2x16AVX512},
	{int8x1x64AVX512, int8x1x32AVX512, int8x1x16AVX512},
}

// int8ByFloats reports whether tiles of float32 are the fastest for integers.
func int8ByFloats() bool { return isa.Current() == isa.AVX2 }

func (c *int8Product) tiles() {
	if isa.Current() < isa.AVX512 {
		c.tilesGo()
		return
	}
	if done := c.amxTiles(); done > 0 {
		if done == c.rows {
			return
		}
		rest := *c
		rest.x, rest.rows = c.x[done*c.xStride:], c.rows-done
		if c.floats != nil {
			rest.floats = c.floats[done*c.dstStride:]
		} else {
			rest.ints = c.ints[done*c.dstStride:]
		}
		c = &rest
	}
	_, _ = c.x[(c.rows-1)*c.xStride+4*c.quads-1], c.w[((c.n-1)/PanelWidth+1)*c.quads*64-1]
	_ = c.init[(c.n-1)/PanelWidth*PanelWidth+PanelWidth-1]
	var scale, bias *float32
	for j := 0; j < c.n; {
		left := (c.n - j + PanelWidth - 1) / PanelWidth
		size := 0
		for tileWidth[size] > left {
			size++
		}
		cols := min(c.n-j, tileWidth[size]*PanelWidth)
		if c.floats != nil {
			_, _ = c.scale[(c.n-1)/PanelWidth*PanelWidth+PanelWidth-1], c.bias[(c.n-1)/PanelWidth*PanelWidth+PanelWidth-1]
			scale, bias = &c.scale[j], &c.bias[j]
		}
		for r := 0; r < c.rows; {
			t := tallest(c.rows - r)
			var dst *byte
			if from, to := r*c.dstStride+j, (r+tileRows[t]-1)*c.dstStride+j+cols; c.floats != nil {
				dst = (*byte)(unsafe.Pointer(&c.floats[from:to][0]))
			} else {
				dst = (*byte)(unsafe.Pointer(&c.ints[from:to][0]))
			}
			int8Tiles[t][size](dst, 4*c.dstStride, &c.x[r*c.xStride], c.xStride, c.quads, &c.w[j*c.quads*4], c.quads*64,
				&c.init[j], scale, bias, (cols-1)%PanelWidth+1)
			r += tileRows[t]
		}
		j += cols
	}
}

// int8Work is the work area of int8AMX; see kernels/_gen/tile_int8_amx.go.
type int8Work struct {
	config isa.TileConfig
	_      [4096]byte // four tiles of sums
}

// Groups of int8AMX have 32 rows. A last group with fewer takes as long, so it needs at
// least amxLeast rows, and rows times quads of at least amxWork. One call takes groups
// for about amxCycles, since assembly cannot be preempted.
const (
	amxRows   = 32
	amxLeast  = 8
	amxWork   = 512
	amxCycles = 150_000
)

// amxTiles computes the first rows of c by AMX, two panels at a time, and returns the
// number of rows done.
func (c *int8Product) amxTiles() (done int) {
	panels := (c.n + PanelWidth - 1) / PanelWidth
	if !isa.Tiles() || panels < 2 || c.quads < 16 {
		return 0
	}
	_, _ = c.x[(c.rows-1)*c.xStride+4*c.quads-1], c.w[panels*c.quads*64-1]
	_ = c.init[panels*PanelWidth-1]
	if c.floats != nil {
		_, _, _ = c.scale[panels*PanelWidth-1], c.bias[panels*PanelWidth-1], c.floats[(c.rows-1)*c.dstStride+c.n-1]
	} else {
		_ = c.ints[(c.rows-1)*c.dstStride+c.n-1]
	}
	var work int8Work
	for {
		group := min(amxRows, c.rows-done)
		if group < amxLeast || group*c.quads < amxWork {
			return done
		}
		n := min(max(1, amxCycles/(6*c.quads+800)), (c.rows-done)/group) * group
		work.config.Set((group+1)/2, group/2, 64)
		for p := 0; p < panels; p += 2 {
			j := min(p, panels-2) * PanelWidth // the last pair may compute a panel a second time
			var dst *byte
			var scale, bias *float32
			if c.floats != nil {
				dst = (*byte)(unsafe.Pointer(&c.floats[done*c.dstStride+j]))
				scale, bias = &c.scale[j], &c.bias[j]
			} else {
				dst = (*byte)(unsafe.Pointer(&c.ints[done*c.dstStride+j]))
			}
			last := min(c.n-j-PanelWidth, PanelWidth)
			int8AMX(dst, 4*c.dstStride, &c.x[done*c.xStride], c.xStride, c.quads, &c.w[j*c.quads*4], c.quads*64, &c.init[j], scale, bias, last, n, &work.config[0])
		}
		done += n
	}
}

func rangeFast(x []float32, low, high *float32) int {
	n := len(x) &^ 15
	if isa.Current() < isa.AVX512 || n == 0 {
		return 0
	}
	var lanes [32]float32
	rangeAVX512(&x[0], n, &lanes[0])
	for i := range 16 {
		*low, *high = min(*low, lanes[i]), max(*high, lanes[16+i])
	}
	return n
}

func quantizeFast(dst []byte, x []float32, scale float32, zero int32) int {
	n := len(x) &^ 15
	if isa.Current() < isa.AVX512 || n == 0 {
		return 0
	}
	quantizeAVX512(&dst[0], &x[0], n, scale, zero)
	return n
}

func rangeLanesFast(lanes *[32]float32, x []float32) int {
	n := len(x) &^ 15
	if isa.Current() < isa.AVX512 || n == 0 {
		return 0
	}
	var seen [32]float32
	rangeAVX512(&x[0], n, &seen[0])
	for i, v := range seen[:16] {
		if v < lanes[i] {
			lanes[i] = v
		}
	}
	for i, v := range seen[16:] {
		if v > lanes[16+i] {
			lanes[16+i] = v
		}
	}
	return n
}
