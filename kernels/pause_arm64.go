//go:build !noasm

package kernels

// pause spins for n YIELD instructions; n is at least 1.
//
//go:noescape
func pause(n uint32)
