package kernels

import "quern/kernels/internal/isa"

// Level names the instruction set level in force: "generic", "avx2", "avx512", "amx".
func Level() string { return isa.InForce().String() }

// CheckLevel reports what is wrong with QUERN_CPU, nil when nothing is.
func CheckLevel() error { return isa.Err() }
