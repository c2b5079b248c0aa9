//go:build amd64 && !linux && !noasm

package isa

// hasTiles reports false: permission for tiles is requested on Linux only.
func hasTiles() bool { return false }
