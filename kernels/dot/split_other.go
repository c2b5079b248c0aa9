//go:build !amd64 || noasm

package dot

import "quern/kernels/quant"

func splits() bool { return false }

func fillSplit([]byte, []byte, int, int, int) { panic("dot: no tiles to split for") }

func dotSplit(quant.Type, []float32, int, []byte, int, int, Split, []byte, int) {
	panic("dot: no tiles")
}
