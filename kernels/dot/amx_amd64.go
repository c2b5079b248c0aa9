//go:build amd64 && !noasm

package dot

import (
	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// A panelBuffer is a panel and the work area of the AMX kernels.
type panelBuffer struct {
	panels [2][panelBytes]byte
	work   tileWork
}

// The assembly depends on tileWork's layout: see kernels/_gen/panel_amx.go.
type tileWork struct {
	config isa.TileConfig
	_      [4096]byte                         // four tiles of sums
	folded [stretch / 256 * 2 * 256 * 16]byte // a low and a high byte of each weight
}

// An amxKernel multiplies a panel of AVX-512 with activation rows by AMX, with the
// bits of panelKernel.tile. Where weights are folded, two tiles of 16 activation rows
// make a group and products take 64 weights; otherwise one tile and 32 weights.
type amxKernel struct {
	tile   func(panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more int, work *byte)
	fold   func(folded, panel *byte, blocks, columns, offset int) // nil for blocks of 32
	offset int                                                    // what was added to the weights of a panel
}

// The numbers of activation rows from which AMX is estimated to be faster, with and
// without folding, and from which a last group that is not full is worth its tiles.
const (
	foldedFrom = 24
	tilesFrom  = 16
	groupFrom  = 12
)

var amxPanels = [quant.Count]amxKernel{
	quant.Q4_0:   {tile: tileBAMX},
	quant.Q4_1:   {tile: tileBMAMX},
	quant.Q5_0:   {tile: tileBAMX},
	quant.Q5_1:   {tile: tileBMAMX},
	quant.Q8_0:   {tile: tileBAMX},
	quant.IQ4_NL: {tile: tileBAMX},
	quant.MXFP4:  {tile: tileBAMX},
	quant.IQ4_XS: {tileK8OAMX, fold8AVX512, 128},
	quant.Q2_K:   {tileK16MAMX, fold16AVX512, 0},
	quant.Q3_K:   {tileK16OAMX, fold16AVX512, 4},
	quant.Q4_K:   {tileK8MAMX, fold8AVX512, 0},
	quant.Q5_K:   {tileK8MAMX, fold8AVX512, 0},
	quant.Q6_K:   {tileK16OAMX, fold16AVX512, 32},
}

// dotTiles multiplies the panel in buf with the first activation rows and returns the
// number of rows done.
func dotTiles(t quant.Type, k *panelKernel, buf *panelBuffer, blocks int, x []byte, xStride, batch int, dst []float32, dstStride, more int) (done int) {
	a := &amxPanels[t]
	from, rows := tilesFrom, 16
	if a.fold != nil {
		from, rows = foldedFrom, 32
	}
	if !isa.Tiles() || a.tile == nil || batch < from {
		return 0
	}
	w := &buf.work
	if a.fold != nil {
		a.fold(&w.folded[0], &buf.panels[0][0], blocks, k.columns, a.offset)
	}
	for {
		n := min(tileTokens, batch-done) / rows * rows
		if n == 0 { // the remaining rows are one group of their own size
			if rows = batch - done; rows < groupFrom {
				return done
			}
			n = rows
		}
		if a.fold != nil {
			w.config.Set((rows+1)/2, rows/2, 64)
		} else {
			w.config.Set(rows, rows, 32)
		}
		a.tile(&buf.panels[0][0], blocks, &x[done*xStride], xStride, n, &dst[done*dstStride], dstStride, more, &w.config[0])
		done += n
	}
}
