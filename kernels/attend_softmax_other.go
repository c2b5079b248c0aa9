//go:build !amd64 || noasm

package kernels

func softmaxVectors() *softmaxVector { return &noSoftmaxVector }

var noSoftmaxVector softmaxVector
