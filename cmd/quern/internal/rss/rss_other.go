//go:build !linux && !darwin

package rss

// Peak returns 0: it is unknown on this system.
func Peak() int64 { return 0 }
