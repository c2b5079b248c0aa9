//go:build !linux

package kernels

func physicalCores() int { return 0 }
