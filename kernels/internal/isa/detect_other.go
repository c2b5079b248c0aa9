//go:build !(amd64 || arm64) || noasm

package isa

func detect() Level { return Generic }
