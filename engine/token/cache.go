package token

import "sync/atomic"

const (
	cacheSlots = 1 << 14 // about 1 MiB when full
	cacheWord  = 28      // longest word kept, in bytes
	cacheIDs   = 8       // most tokens of a word kept
)

// A wordCache remembers how words were encoded. Each word has one slot and the
// last word to claim a slot has it, so memory is bounded; entries never change
// once published, so it is safe for concurrent use.
type wordCache struct {
	slots [cacheSlots]atomic.Pointer[cachedWord]
}

type cachedWord struct {
	n, k uint8
	word [cacheWord]byte
	ids  [cacheIDs]ID
}

// get appends the tokens of word to dst. If ok is false the caller encodes the
// word and may put it under the slot returned, unless that is negative.
func get[T string | []byte](c *wordCache, dst []ID, word T) (_ []ID, slot int, ok bool) {
	if len(word) > cacheWord {
		return dst, -1, false
	}
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	slot = int((h ^ h>>29) % cacheSlots)
	if e := c.slots[slot].Load(); e != nil && string(e.word[:e.n]) == string(word) {
		return append(dst, e.ids[:e.k]...), slot, true
	}
	return dst, slot, false
}

// put remembers that word encodes to ids.
func put[T string | []byte](c *wordCache, slot int, word T, ids []ID) {
	if slot < 0 || len(ids) > cacheIDs {
		return
	}
	e := &cachedWord{n: uint8(len(word)), k: uint8(len(ids))}
	copy(e.word[:], word)
	copy(e.ids[:], ids)
	c.slots[slot].Store(e)
}
