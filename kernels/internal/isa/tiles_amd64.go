//go:build amd64 && !linux && !noasm

package isa

// hasTiles: how to ask for tiles is known for Linux only.
func hasTiles() bool { return false }
