//go:build !noasm

package isa

import "golang.org/x/sys/cpu"

func detect() Level {
	a := &cpu.ARM64
	switch {
	case !a.HasASIMD:
		return Generic
	case !a.HasASIMDDP:
		return NEON
	case !a.HasI8MM:
		return DotProd
	}
	return I8MM
}
