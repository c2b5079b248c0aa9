//go:build !(amd64 || arm64) || noasm

package threads

// pause does nothing where the processor has no hint for spinning; the pool
// yields soon enough.
func pause(uint32) {}
