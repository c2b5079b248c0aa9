//go:build !amd64 || noasm

package kernels

func widenFast(*[32]float32, []float32) int { return 0 }
