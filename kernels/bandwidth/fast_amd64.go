//go:build amd64 && !noasm

package bandwidth

import "quern/kernels/internal/isa"

// read reads as much of b as the assembly can and returns how much that was.
func read(b []byte) (n int, mix uint64) {
	lines := len(b) / (streams * line)
	if lines == 0 || isa.InForce() < isa.AVX2 {
		return 0, 0
	}
	return lines * streams * line, readAVX2(&b[0], lines, lines*line)
}
