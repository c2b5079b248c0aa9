//go:build !noasm

package vec

// siluGateNEON is SiLUGate for n floats, n a positive multiple of 8.
//
//go:noescape
func siluGateNEON(dst, gate, up *float32, n int)

// expSumNEON replaces n floats by exp(x - top) and returns their sum, n a
// positive multiple of 8.
//
//go:noescape
func expSumNEON(x *float32, n int, top float32) (sum float32)
