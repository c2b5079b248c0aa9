//go:build !amd64

package isa

func vectors(l Level) Level { return l }
