//go:build amd64 && !noasm

package kernels

// prefetch asks for the bytes of b, to be read soon.
func prefetch(b []byte) {
	if len(b) > 0 {
		prefetchLines(&b[0], len(b))
	}
}
