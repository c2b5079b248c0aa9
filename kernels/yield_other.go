//go:build !linux

package kernels

import "runtime"

func osYield() { runtime.Gosched() }
