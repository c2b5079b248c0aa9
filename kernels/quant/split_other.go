//go:build !amd64 || noasm

package quant

func splits() bool { return false }

func fillSplit([]byte, []byte, int, int, int) { panic("quant: no tiles to split for") }

func (Type) dotSplit([]float32, int, []byte, int, int, Split, []byte, int) {
	panic("quant: no tiles")
}
