//go:build amd64 && !noasm

package isa

import "golang.org/x/sys/cpu"

// hasBF16 reports whether this CPU has AVX512_BF16.
var hasBF16 = cpu.X86.HasAVX512BF16
