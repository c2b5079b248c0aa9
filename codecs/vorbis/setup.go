package vorbis

import "fmt"

// maxValues bounds the values of all codebooks together, entries times
// dimensions. libvorbis's own have 9 000 to 11 000, in 5.1 at most 88 000. A few
// bytes can describe as many entries as they like, and each costs time.
const maxValues = 1 << 19

// checkSetup reads a setup header up to its floors as the decoder will, and
// refuses what it cannot take: a codebook without entries or dimensions, more
// entries than the header can describe, and a Huffman tree that is not complete,
// in which a look-up could run for ever. Vorbis I, sections 3.2.1 and 4.2.4. The
// rest of the header is small whatever it says.
//
// It returns the header to give to the decoder. That misreads a floor without
// partitions, which libvorbis uses for LFE channels: such a floor gets one with
// one point that packets have no bits for, which changes nothing.
func checkSetup(b []byte) ([]byte, error) {
	const head = 7 // "\x05vorbis"
	if len(b) < head || string(b[:head]) != "\x05vorbis" {
		return nil, fmt.Errorf("%w: no setup header", ErrFormat)
	}
	r := bitReader{b: b[head:]}
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
			return nil, fmt.Errorf("codebook %d: %w", i, err)
		}
	}
	r.skip(16 * (int(r.read(6)) + 1)) // transforms, of which there are none
	w := bitWriter{b: append([]byte(nil), b[:head]...)}
	copied := 0
	for range int(r.read(6)) + 1 {
		if r.read(16) == 0 {
			r.skip(8 + 16 + 16 + 6 + 8)
			r.skip(8 * (int(r.read(4)) + 1))
			continue
		}
		partitions := int(r.read(5))
		if partitions > 0 {
			r.floor(partitions)
			continue
		}
		w.copy(&r, copied, r.pos-5)
		w.write(1, 5)     // partitions
		w.write(0, 4)     // the class of the first
		w.write(0, 3+2+8) // that class: one dimension, no subclasses, no book
		multiplier := r.read(2)
		bits := int(r.read(4))
		w.write(multiplier, 2)
		w.write(uint32(bits), 4)
		w.write(1, bits) // the point
		copied = r.pos
	}
	if r.short() {
		return nil, fmt.Errorf("%w: setup header cut off", ErrFormat)
	}
	if copied == 0 {
		return b, nil
	}
	w.copy(&r, copied, 8*len(r.b))
	return w.b, nil
}

// floor passes over the rest of a floor of type 1: Vorbis I, section 7.2.2.
func (r *bitReader) floor(partitions int) {
	classes := make([]int, partitions)
	var dims [16]int
	last := 0
	for i := range classes {
		classes[i] = int(r.read(4))
		last = max(last, classes[i])
	}
	for i := range last + 1 {
		dims[i] = int(r.read(3)) + 1
		subclasses := r.read(2)
		if subclasses > 0 {
			r.skip(8)
		}
		r.skip(8 << subclasses)
	}
	r.skip(2)
	bits := int(r.read(4))
	for _, c := range classes {
		r.skip(dims[c] * bits)
	}
}

// codebook passes over one codebook and returns how many values it stands for.
func (r *bitReader) codebook() (int, error) {
	if r.read(24) != 0x564342 {
		return 0, fmt.Errorf("%w: no codebook pattern", ErrFormat)
	}
	dims, entries := int(r.read(16)), int(r.read(24))
	if dims == 0 || entries == 0 || uint64(dims)*uint64(entries) > maxValues {
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
		return dims * entries, nil
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

// bitWriter appends bits in the order in which bitReader reads them.
type bitWriter struct {
	b    []byte
	used int // bits of the last byte, 0 when it is full
}

func (w *bitWriter) write(v uint32, n int) {
	for i := range n {
		if w.used == 0 {
			w.b = append(w.b, 0)
		}
		w.b[len(w.b)-1] |= byte(v>>i&1) << w.used
		w.used = (w.used + 1) & 7
	}
}

// copy appends the bits of r from one position to another.
func (w *bitWriter) copy(r *bitReader, from, to int) {
	c := bitReader{b: r.b, pos: from}
	for c.pos < to {
		w.write(c.read(1), 1)
	}
}
