//go:build !amd64 || noasm

package dot

import "quern/kernels/quant"

type panelBuffer struct {
	panels [2][panelBytes]byte
}

func dotTiles(quant.Type, *panelKernel, *panelBuffer, int, []byte, int, int, []float32, int, int) int {
	return 0
}

func splitPieces() int { return 0 }

func fillSplit([]byte, []byte, int, int, int) { panic("dot: no tiles to split for") }

func roundSplit([]byte, []byte, int, int, int) { panic("dot: no bf16 to round to") }

func dotSplit(quant.Type, []float32, int, []byte, int, int, Split, []byte, int) {
	panic("dot: no tiles")
}

func floatTilesOf(quant.Type) *floatTiles { return &floatTiles{} }

func sumTilesOf(quant.Type) *sumTiles { return &sumTiles{} }

const streamAhead = 0

func interleavedOf(quant.Type) *interleavedKernel { return nil }

func interleavePieces(_, _ *byte, _, _ int) { panic("dot: nothing to interleave for") }
