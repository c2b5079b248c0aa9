package dot

import (
	"quern/kernels/internal/isa"
	"quern/kernels/quant"
)

// A packFunc makes a panel; see kernels/_gen/panel_pack.go.
type packFunc func(panel, w *byte, rowBytes, blocks, ahead int)

// A panelKernel multiplies several weight rows with several activation rows:
// pack unpacks and transposes a stretch of the weight rows once, tile multiplies it with
// every activation row. See kernels/_gen/panel_pack.go and panel_tile.go.
type panelKernel struct {
	lanes   int // weight rows of a panel
	block   int // weights of a block, as pack and tile count them
	columns int // vectors of lanes dwords a block becomes
	pack    packFunc
	tile    func(panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more int)
	pair    func(panel *byte, blocks int, x *byte, xStride, tokens int, out *float32, outStride, more, second int) // two panels, or nil
}

// Panels are used from panelFrom activation rows on. For one row they are as fast with
// weights in a cache, but weights in memory are read faster row by row.
const panelFrom = 2

// A panel holds stretch weights of each row, so that it stays in the first-level cache
// together with the activations of a tile. 1024 are a tenth slower with weights in
// memory: packing, which prefetches, then comes in longer bursts. One call of tile takes
// at most tileTokens activation rows, since assembly cannot be preempted. AMX uses the
// same sizes: its folded weights fit that cache too.
const (
	stretch = 512

	panelBytes = stretch / 256 * 90 * 64
	tileTokens = 256
)

// buffers are panels, one for each goroutine that computes. Nothing in them is read before
// it is written.
var buffers = make(freelist[panelBuffer], 64)

// dotPanels is Rows by panels. It does nothing and reports false where there are fewer
// weight rows than a panel has.
func dotPanels(t quant.Type, dst []float32, dstStride int, w []byte, rows, rowBytes, n int, x []byte, xStride, batch int) bool {
	k := &panels[isa.Current()][t]
	if k.pack == nil || batch < panelFrom || rows < k.lanes {
		return false
	}
	fileBlock := rowBytes / (n / k.block)
	k.multiply(t, dst, dstStride, rows, n, x, xStride, batch, func(panel *byte, r, from, blocks int) {
		at := from / k.block * fileBlock
		ahead := k.lanes*rowBytes + (k.lanes-1)*at // the same place of the next rows, as they are read in one piece
		k.pack(panel, &w[r*rowBytes+at], rowBytes, blocks, ahead)
	})
	return true
}

// multiply is Rows by panels, which pack makes: of the weights of rows r to r+lanes from weight from
// on, so many blocks. Two at a time where there is a tile for that; the last panel may have some rows
// a second time.
func (k *panelKernel) multiply(t quant.Type, dst []float32, dstStride, rows, n int, x []byte, xStride, batch int, pack func(panel *byte, r, from, blocks int)) {
	buf := buffers.take()
	for r := 0; r < rows; {
		r = min(r, rows-k.lanes)
		count := 1
		if k.pair != nil && rows-r >= 2*k.lanes && isa.InForce() != isa.AMX {
			count = 2
		}
		for from := 0; from < n; from += stretch {
			blocks := min(stretch, n-from) / k.block
			for i := range count {
				pack(&buf.panels[i][0], r+i*k.lanes, from, blocks)
			}
			xs := x[from/quant.GroupLen*quant.GroupBytes:]
			if count == 2 {
				for b := 0; b < batch; b += tileTokens {
					k.pair(&buf.panels[0][0], blocks, &xs[b*xStride], xStride, min(tileTokens, batch-b), &dst[b*dstStride+r], dstStride, from, panelBytes)
				}
				continue
			}
			b := dotTiles(t, k, buf, blocks, xs, xStride, batch, dst[r:], dstStride, from)
			for ; b < batch; b += tileTokens {
				k.tile(&buf.panels[0][0], blocks, &xs[b*xStride], xStride, min(tileTokens, batch-b), &dst[b*dstStride+r], dstStride, from)
			}
		}
		r += count * k.lanes
	}
	buffers.put(buf)
}
