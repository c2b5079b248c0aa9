// Package kernels holds the arithmetic of forward passes on the CPU, in packages
// by what they compute: quant (number types and their dot products), vec, gemm,
// matmul, attention, conv and recurrent, on the workers of threads; fourier; and
// bandwidth, which measures what bounds them.
// The package itself only names the instruction set level in force.
//
// Activations are float32, row-major, one row per token. A function writes dst
// and reads everything else; dst may be the same slice as an input only where
// its comment says so, and never overlaps one otherwise. A wrong
// length is a bug of the caller and panics with the numbers. No function allocates per
// call or starts goroutines; the caller cuts work into chunks and runs them on a
// threads.Pool.
//
// The plain Go versions are the reference. Fast paths live behind
// kernels/internal/isa levels and agree with them within the bound their
// comments state. kernels/_gen writes the assembly.
package kernels

import "quern/kernels/internal/isa"

// Level names the instruction set level in force: "generic", "avx2", "avx512", "amx";
// "avx512+bf16" where floats are rounded.
func Level() string {
	if isa.Rounds() {
		return isa.InForce().String() + "+bf16"
	}
	return isa.InForce().String()
}

// RoundFloats reports whether products of F16 and BF16 weights may round both factors to bf16,
// where vectors multiply that faster. Results have other bits then, so it is called before
// the first.
func RoundFloats(on bool) { isa.RoundFloats(on) }

// CheckLevel returns the error in QUERN_CPU, nil when it is absent or valid.
func CheckLevel() error { return isa.Err() }
