//go:build !(amd64 || arm64) || noasm

package vec

func vectors() *vector { return &noVectors }

var noVectors vector
