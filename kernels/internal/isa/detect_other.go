//go:build !amd64 || noasm

package isa

func detect() Level { return Generic }
