package mp3

// book decodes one Huffman table: root is indexed by the next rootBits bits.
// An entry is length | value<<8; if the code is longer, its length is the bits of
// a further table and value where that begins.
type book struct {
	table    []uint32
	rootBits uint
	linbits  uint
}

const (
	maxRoot = 9
	further = 1 << 7
)

// newBook builds the lookup table of c.
func newBook(c codebook) book {
	longest := uint8(0)
	for _, n := range c.bits {
		longest = max(longest, n)
	}
	root := min(uint(longest), maxRoot)
	b := book{table: make([]uint32, 1<<root), rootBits: root}
	// The bits beyond the root, by prefix.
	var extra [1 << maxRoot]uint8
	for i, n := range c.bits {
		if uint(n) > root {
			p := c.words[i] >> (uint(n) - root)
			extra[p] = max(extra[p], n-uint8(root))
		}
	}
	for p, n := range extra {
		if n > 0 {
			b.table[p] = uint32(n) | further | uint32(len(b.table))<<8
			b.table = append(b.table, make([]uint32, 1<<n)...)
		}
	}
	for i, n := range c.bits {
		value := uint32(i)
		if c.size > 0 {
			value = uint32(i/c.size<<4 | i%c.size)
		}
		leaf := uint32(n) | value<<8
		if uint(n) <= root {
			at := int(c.words[i]) << (root - uint(n))
			for j := range 1 << (root - uint(n)) {
				b.table[at+j] = leaf
			}
			continue
		}
		rest := uint(n) - root
		e := b.table[c.words[i]>>rest]
		width := uint(e &^ further & 0xFF)
		at := int(e>>8) + int(c.words[i])&(1<<rest-1)<<(width-rest)
		for j := range 1 << (width - rest) {
			b.table[at+j] = leaf
		}
	}
	return b
}

// next returns the value whose code begins the left-aligned bits w, and the
// code's length.
func (b *book) next(w uint64) (value uint32, n uint) {
	e := b.table[w>>(64-b.rootBits)]
	if e&further != 0 {
		width := uint(e & (further - 1))
		e = b.table[uint64(e>>8)+w<<b.rootBits>>(64-width)]
	}
	return e >> 8, uint(e & 0xFF)
}
