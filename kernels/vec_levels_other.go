//go:build !(amd64 || arm64) || noasm

package kernels

func vectors() *vector { return &noVectors }

var noVectors vector
