//go:build !amd64 || noasm

package bandwidth

import "encoding/binary"

// read reads as much of b as four streams of words can and returns how much that was.
func read(b []byte) (n int, mix uint64) {
	q := len(b) / streams &^ 7
	s0, s1, s2, s3 := b[:q], b[q:2*q], b[2*q:3*q], b[3*q:4*q]
	word := binary.LittleEndian.Uint64
	for i := 0; i < q; i += 8 {
		mix ^= word(s0[i:]) ^ word(s1[i:]) ^ word(s2[i:]) ^ word(s3[i:])
	}
	return streams * q, mix
}
