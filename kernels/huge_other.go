//go:build unix && !linux

package kernels

func adviseHuge([]byte) {}
