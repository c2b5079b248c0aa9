package token

import (
	"hash/maphash"
	"math/bits"
)

// A textTable finds tokens by what they stand for. It is a hash table with
// open addressing, filled once; an entry is half of a hash and a token, so
// that most texts that are no token are turned down by one look.
type textTable struct {
	entries []uint64 // hash<<32 | id + 1; 0: free
	seed    maphash.Seed
	bytes   func(id ID) []byte
}

// newTextTable makes room for n tokens, whose texts bytes returns.
func newTextTable(n int, bytes func(id ID) []byte) *textTable {
	return &textTable{entries: make([]uint64, n+n/2+1), seed: maphash.MakeSeed(), bytes: bytes}
}

// slot returns the entry of a text with the given hash, or the free one where
// it belongs.
func slot[T string | []byte](t *textTable, text T, hash uint64) *uint64 {
	i, _ := bits.Mul64(hash, uint64(len(t.entries)))
	for {
		e := &t.entries[i]
		if *e == 0 || *e>>32 == hash&0xFFFFFFFF && string(t.bytes(ID(uint32(*e))-1)) == string(text) {
			return e
		}
		if i++; i == uint64(len(t.entries)) {
			i = 0
		}
	}
}

// add notes a token. Of two with the same text the last counts.
func (t *textTable) add(id ID) {
	text := t.bytes(id)
	hash := maphash.Bytes(t.seed, text)
	*slot(t, text, hash) = hash<<32 | uint64(uint32(id)+1)
}

// find returns None for texts that are no token, and on a nil table.
func (t *textTable) find(text string) ID {
	if t == nil {
		return None
	}
	return ID(uint32(*slot(t, text, maphash.String(t.seed, text)))) - 1
}

// findBytes is find.
func (t *textTable) findBytes(text []byte) ID {
	return ID(uint32(*slot(t, text, maphash.Bytes(t.seed, text)))) - 1
}
