package quantised

import (
	"encoding/binary"

	"quern/engine/onnx/internal/run"
)

// channelsLast writes x, planes of so many bytes one after the other, as rows of a byte of each plane,
// and changes the bits of every byte.
func channelsLast(c *run.Call, dst, x []byte, planes, plane int, bits byte) {
	c.ByRows((plane+7)/8, 8*planes, func(from, to int) {
		turnRows(dst, x, planes, plane, 8*from, min(8*to, plane), 0x0101010101010101*uint64(bits))
	})
}

// turnRows is channelsLast for rows from on: squares of eight by eight in registers.
func turnRows(dst, x []byte, planes, plane, from, to int, bits uint64) {
	for ch := 0; ch < planes; ch += 8 {
		for p := from; p < to; p += 8 {
			if ch+8 > planes || p+8 > to {
				for i := ch; i < min(ch+8, planes); i++ {
					for q := p; q < min(p+8, to); q++ {
						dst[q*planes+i] = x[i*plane+q] ^ byte(bits)
					}
				}
				continue
			}
			var a [8]uint64
			for i := range a {
				a[i] = binary.LittleEndian.Uint64(x[(ch+i)*plane+p:]) ^ bits
			}
			turn(&a)
			for i, v := range a {
				binary.LittleEndian.PutUint64(dst[(p+i)*planes+ch:], v)
			}
		}
	}
}

// turn exchanges rows and columns of eight rows of eight bytes: halves, then quarters, then
// neighbours change places across the diagonal.
//
// Warren, "Hacker's Delight", 2nd edition, 2012, 7-3.
func turn(a *[8]uint64) {
	for i := range 4 {
		t := (a[i]>>32 ^ a[i+4]) & 0x00000000ffffffff
		a[i+4] ^= t
		a[i] ^= t << 32
	}
	for _, i := range [...]int{0, 1, 4, 5} {
		t := (a[i]>>16 ^ a[i+2]) & 0x0000ffff0000ffff
		a[i+2] ^= t
		a[i] ^= t << 16
	}
	for i := 0; i < 8; i += 2 {
		t := (a[i]>>8 ^ a[i+1]) & 0x00ff00ff00ff00ff
		a[i+1] ^= t
		a[i] ^= t << 8
	}
}

// spreadLines writes rows from on of n sums each to lines, one for each of the n, of size sums.
// Few lines are written at a time: more would not stay in a cache.
func spreadLines(lines, sums []int32, n, size, from, to int) {
	const few = 8
	for o := 0; o < n; o += few {
		for s := from; s < to; s++ {
			for i, sum := range sums[s*n+o : s*n+min(o+few, n)] {
				lines[(o+i)*size+s] = sum
			}
		}
	}
}
