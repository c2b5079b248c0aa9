//go:build !noasm

package threads

// pause spins for n YIELD instructions; n is at least 1.
//
//go:noescape
func pause(n uint32)
