//go:build unix && !linux

package weights

// advise does nothing: only Linux has advice that helps.
func advise([]byte) {}
