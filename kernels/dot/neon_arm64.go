//go:build !noasm

package dot

// tryNEON runs instruction op of neon_arm64.h, for its test, which holds the
// only table of them. The linker drops it from programs.
//
//go:noescape
func tryNEON(op int, d, n, m *[16]byte)
