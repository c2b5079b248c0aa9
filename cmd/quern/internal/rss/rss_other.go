//go:build !linux && !darwin

package rss

// Peak returns 0: this system does not say.
func Peak() int64 { return 0 }
