package token

import (
	"math/bits"
	"sync/atomic"
)

const (
	cacheSlots = 1 << 16 // 4 MiB
	cacheWord  = 24      // longest word kept, in bytes
	cacheIDs   = 8       // most tokens of a word kept
)

// A wordCache remembers how words were encoded. Each word has one slot and the
// last word to claim a slot has it, so memory is bounded whatever the text.
//
// It is safe for concurrent use without locks: a writer makes the head of a
// slot odd, writes, and makes it even again and different; a reader that sees
// the same even head before and after has read one word.
type wordCache struct {
	slots [cacheSlots]struct {
		head atomic.Uint64 // version<<16 | n of the key<<8 | tokens
		word [cacheWord / 8]atomic.Uint64
		ids  [cacheIDs / 2]atomic.Uint64
	}
}

// A cacheKey is a word that fits, or zero.
type cacheKey struct {
	word [cacheWord / 8]uint64
	n    uint64 // bytes, below 128
}

// keyOf packs a word.
func keyOf[T string | []byte](word T) (k cacheKey) {
	n := len(word)
	switch {
	case n > cacheWord:
		return k
	case n > 16:
		k.word = [3]uint64{load(word, 0), load(word, 8), load(word, n-8) >> (8 * (24 - n))}
	case n > 8:
		k.word = [3]uint64{load(word, 0), load(word, n-8) >> (8 * (16 - n))}
	case n == 8:
		k.word[0] = load(word, 0)
	default:
		for i := n - 1; i >= 0; i-- {
			k.word[0] = k.word[0]<<8 | uint64(word[i])
		}
	}
	k.n = uint64(n)
	return k
}

// part makes the key that of a part of a word.
func (k *cacheKey) part() {
	if k.n > 0 {
		k.n |= 1 << 7
	}
}

// load reads eight bytes.
func load[T string | []byte](s T, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func (k *cacheKey) slot() int {
	hi, lo := bits.Mul64(k.word[0]^0x9E3779B97F4A7C15, k.word[1]^k.n^0xD1B54A32D192ED03)
	hi, lo = bits.Mul64(hi^lo^k.word[2], 0x9FB21C651E98DF25)
	return int((hi ^ lo) % cacheSlots)
}

// get appends the tokens of a word to dst, if they are cached.
func (c *wordCache) get(dst []ID, k *cacheKey) (_ []ID, ok bool) {
	s := &c.slots[k.slot()]
	head := s.head.Load()
	if head>>8&0x1FF != k.n || k.n == 0 ||
		s.word[0].Load() != k.word[0] || s.word[1].Load() != k.word[1] || s.word[2].Load() != k.word[2] {
		return dst, false
	}
	n := len(dst)
	for i := range int(head & 0xFF) {
		dst = append(dst, ID(s.ids[i/2&3].Load()>>(32*(i&1))))
	}
	if s.head.Load() != head {
		return dst[:n], false
	}
	return dst, true
}

// put remembers that a word encodes to ids.
func (c *wordCache) put(k *cacheKey, ids []ID) {
	if k.n == 0 || len(ids) > cacheIDs {
		return
	}
	s := &c.slots[k.slot()]
	head := s.head.Load()
	version := head >> 16
	if version&1 != 0 || !s.head.CompareAndSwap(head, (version+1)<<16) {
		return // another writer is at it
	}
	for i := range s.word {
		s.word[i].Store(k.word[i])
	}
	for i := 0; i < len(ids); i += 2 {
		two := uint64(uint32(ids[i]))
		if i+1 < len(ids) {
			two |= uint64(uint32(ids[i+1])) << 32
		}
		s.ids[i/2].Store(two)
	}
	s.head.Store((version+2)<<16 | k.n<<8 | uint64(len(ids)))
}
