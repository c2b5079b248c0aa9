//go:build amd64 && !noasm

package isa

import "golang.org/x/sys/cpu"

func detect() Level {
	x := &cpu.X86
	if !x.HasAVX2 || !x.HasFMA || !x.HasF16C {
		return Generic
	}
	if !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL || !x.HasAVX512VBMI || !x.HasAVX512VNNI {
		return AVX2
	}
	if !hasTiles() {
		return AVX512
	}
	return AMX
}
