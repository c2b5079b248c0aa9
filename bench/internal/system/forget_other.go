//go:build !linux

package system

// Forget has the system drop what it has of a file from memory. It reports whether it can: not here.
func Forget(string) (bool, error) { return false, nil }
