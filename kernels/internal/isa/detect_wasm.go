//go:build js && simd128 && !noasm

package isa

func detect() Level { return SIMD128 }
