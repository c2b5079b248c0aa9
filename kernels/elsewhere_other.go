//go:build !linux

package kernels

func cpuNow() int { return -1 }

func leave(int) {}
