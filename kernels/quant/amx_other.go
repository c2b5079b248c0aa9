//go:build !amd64 || noasm

package quant

type panelBuffer struct {
	panel [panelBytes]byte
}

func (Type) dotTiles(*panelKernel, *panelBuffer, int, []byte, int, int, []float32, int, int) int {
	return 0
}
