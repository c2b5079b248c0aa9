//go:build !js

package threads

import "runtime"

// breathe lets other goroutines run where they share one thread.
func breathe() { runtime.Gosched() }
