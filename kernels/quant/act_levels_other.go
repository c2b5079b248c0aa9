//go:build !amd64 || noasm

package quant

// acts returns the assembly of the level in force: there is none.
func acts() *actKernel { return &noActs }

var noActs actKernel
