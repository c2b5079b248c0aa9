//go:build !amd64 || noasm

package kernels

// prefetch is left to the processor.
func prefetch([]byte) {}
