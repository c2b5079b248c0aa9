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
	}
	return DotProd
}
