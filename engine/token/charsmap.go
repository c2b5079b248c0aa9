package token

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// A charsmap is SentencePiece's compiled normalisation table: a double-array
// trie of byte strings, and the texts that replace them.
//
// The blob is a little-endian length, that many bytes of 32-bit trie units,
// then NUL-terminated replacements. A unit holds its label in bits 0-7 with
// bit 31 clear, bit 8 if one of its children is a value, and the distance to
// its children in bits 10-30, times 256 if bit 9 is set. A value is a unit
// with bit 31 set whose other bits are the offset of a replacement.
type charsmap struct {
	units []uint32
	texts string
}

// maxEntry bounds the entries of a charsmap, a few characters each, since a
// malformed trie may lead in circles.
const maxEntry = 128

// maxReplacement bounds the replacement of one entry; SentencePiece's own are 33 bytes
// at most. Without it a few bytes of text could be made megabytes.
const maxReplacement = 1 << 10

// newCharsmap returns nil, which replaces nothing, for an empty blob. Units
// and offsets are not checked here but when they are followed.
func newCharsmap(blob []byte) (*charsmap, error) {
	if len(blob) == 0 {
		return nil, nil
	}
	if len(blob) < 4 {
		return nil, fmt.Errorf("%w: character map of %d bytes", ErrFormat, len(blob))
	}
	n := binary.LittleEndian.Uint32(blob)
	blob = blob[4:]
	if uint64(n) > uint64(len(blob)) || n%4 != 0 {
		return nil, fmt.Errorf("%w: character map says %d bytes of %d are its trie", ErrFormat, n, len(blob))
	}
	c := &charsmap{units: make([]uint32, n/4), texts: string(blob[n:])}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(blob[4*i:])
	}
	for text := range strings.SplitSeq(c.texts, "\x00") {
		if len(text) > maxReplacement {
			return nil, fmt.Errorf("%w: a replacement of the character map has %d bytes, limit %d", ErrFormat, len(text), maxReplacement)
		}
	}
	return c, nil
}

// replace returns the replacement of the longest entry at the start of s and
// the entry's length, or 0.
func (c *charsmap) replace(s string) (out string, n int) {
	if c == nil || len(c.units) == 0 {
		return "", 0
	}
	at := children(c.units[0])
	for i := 0; i < min(len(s), maxEntry) && s[i] != 0; i++ {
		at ^= uint32(s[i])
		if uint64(at) >= uint64(len(c.units)) {
			break
		}
		unit := c.units[at]
		if unit&(1<<31|0xFF) != uint32(s[i]) {
			break
		}
		at ^= children(unit)
		if unit&(1<<8) == 0 {
			continue
		}
		if uint64(at) >= uint64(len(c.units)) {
			break
		}
		offset := c.units[at] &^ (1 << 31)
		if uint64(offset) >= uint64(len(c.texts)) {
			continue
		}
		if text, _, ok := strings.Cut(c.texts[offset:], "\x00"); ok {
			out, n = text, i+1
		}
	}
	return out, n
}

func children(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
