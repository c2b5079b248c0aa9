//go:build !amd64 || noasm

package kernels

func vectors() vector { return vector{} }
