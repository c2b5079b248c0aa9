//go:build !amd64 || noasm

package dot

import "quern/kernels/quant"

type panelBuffer struct {
	panel [panelBytes]byte
}

func dotTiles(quant.Type, *panelKernel, *panelBuffer, int, []byte, int, int, []float32, int, int) int {
	return 0
}
