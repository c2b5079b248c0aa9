package isa

import "sync/atomic"

// rounding reports whether products of floats may be of bf16 numbers.
var rounding atomic.Bool

// RoundFloats allows products of floats to be of bf16 numbers, or no longer, and returns a
// function that undoes it.
func RoundFloats(on bool) (undo func()) {
	was := rounding.Swap(on)
	return func() { rounding.Store(was) }
}

// VectorsOfBF16 reports whether vectors multiply bf16 numbers at the level in force.
func VectorsOfBF16() bool { return hasBF16 && Current() >= AVX512 }

// Rounds reports whether vectors multiply bf16 numbers, which RoundFloats allowed and this CPU
// can. At AMX tiles do, more of them at a time.
func Rounds() bool { return rounding.Load() && hasBF16 && InForce() == AVX512 }
