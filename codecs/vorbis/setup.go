package vorbis

import "fmt"

// maxEntries bounds the values of one codebook (entries times dimensions), and
// maxValues those of all: libvorbis's largest setups have some ten thousand.
const (
	maxEntries = 1 << 20
	maxValues  = 1 << 22
)

// checkSetup reads the codebooks of a setup header as the decoder will, and
// refuses what it cannot take: a codebook without entries or dimensions, more
// entries than the header can describe, and a Huffman tree that is not complete,
// in which a look-up could run for ever. Vorbis I, section 3.2.1. The rest of
// the header is small whatever it says.
func checkSetup(b []byte) error {
	if len(b) < 8 || string(b[:7]) != "\x05vorbis" {
		return fmt.Errorf("%w: no setup header", ErrFormat)
	}
	r := bitReader{b: b[7:]}
	values := 0
	for i := range int(r.read(8)) + 1 {
		n, err := r.codebook()
		if err == nil && r.short() {
			err = fmt.Errorf("%w: cut off", ErrFormat)
		}
		if values += n; err == nil && values > maxValues {
			err = fmt.Errorf("%w: more than %d values", ErrFormat, maxValues)
		}
		if err != nil {
			return fmt.Errorf("codebook %d: %w", i, err)
		}
	}
	return nil
}

// codebook passes over one codebook and returns how many values it holds.
func (r *bitReader) codebook() (int, error) {
	if r.read(24) != 0x564342 {
		return 0, fmt.Errorf("%w: no codebook pattern", ErrFormat)
	}
	dims, entries := int(r.read(16)), int(r.read(24))
	if dims == 0 || entries == 0 || uint64(dims)*uint64(entries) > maxEntries {
		return 0, fmt.Errorf("%w: %d entries of %d dimensions", ErrFormat, entries, dims)
	}
	if entries == 1 {
		return 0, fmt.Errorf("%w: a codebook of one entry", ErrUnsupported)
	}
	var lengths [33]int // entries by length of code word
	if ordered := r.read(1) == 1; ordered {
		for have, length := 0, int(r.read(5))+1; have < entries; length++ {
			n := int(r.read(bitsFor(entries - have)))
			if have += n; have > entries || length > 32 || r.short() {
				return 0, fmt.Errorf("%w: lengths run past the entries", ErrFormat)
			}
			lengths[length] += n
		}
	} else {
		sparse := r.read(1) == 1
		for range entries {
			if !sparse || r.read(1) == 1 {
				lengths[r.read(5)+1]++
			}
			if r.short() {
				return 0, fmt.Errorf("%w: cut off", ErrFormat)
			}
		}
	}
	// Kraft's sum is 1 for a complete tree. A single code word of one bit is the
	// exception that the specification makes.
	var sum, used uint64
	for length, n := range lengths {
		used += uint64(n)
		if length > 0 {
			sum += uint64(n) << (32 - length)
		}
	}
	if sum != 1<<32 && (used != 1 || lengths[1] != 1) {
		return 0, fmt.Errorf("%w: the Huffman tree is not complete", ErrFormat)
	}
	lookup := r.read(4)
	if lookup == 0 {
		return 0, nil
	}
	if lookup > 2 {
		return 0, fmt.Errorf("%w: lookup type %d", ErrFormat, lookup)
	}
	r.skip(32 + 32)
	bits := int(r.read(4)) + 1
	r.skip(1)
	n := dims * entries
	if lookup == 1 {
		n = lattice(entries, dims)
	}
	r.skip(n * bits)
	return dims * entries, nil
}

// lattice returns the largest n with n^dims ≤ entries.
func lattice(entries, dims int) int {
	n := 1
	for {
		p := 1
		for range dims {
			if p *= n + 1; p > entries {
				return n
			}
		}
		n++
	}
}

// bitsFor returns the number of bits that hold n.
func bitsFor(n int) int {
	bits := 0
	for ; n > 0; n >>= 1 {
		bits++
	}
	return bits
}

// bitReader reads bits from the least significant end of each byte. Past the
// end there are zeros.
type bitReader struct {
	b   []byte
	pos int // in bits
}

func (r *bitReader) read(n int) uint32 {
	var v uint32
	for i := range n {
		if at := r.pos >> 3; at < len(r.b) {
			v |= uint32(r.b[at]>>(r.pos&7)&1) << i
		}
		r.pos++
	}
	return v
}

func (r *bitReader) skip(n int) { r.pos += n }

func (r *bitReader) short() bool { return r.pos > 8*len(r.b) }
