package token

import (
	"math/bits"
	"math/rand/v2"
)

// A pairTable says which two tokens become one, and how soon. It is a hash
// table with open addressing, filled once; four entries share a cache line.
type pairTable struct {
	entries []pairEntry
	// factor is random, so that no file can be made whose pairs collide.
	factor uint64
}

type pairEntry struct {
	key  uint64 // 0: free
	rank uint32
	into ID
}

// newPairTable makes room for n pairs.
func newPairTable(n int) *pairTable {
	return &pairTable{entries: make([]pairEntry, n+n/2+1), factor: rand.Uint64() | 1}
}

// slot returns the entry of a pair, or the free one where it belongs.
func (t *pairTable) slot(l, r ID) *pairEntry {
	key := uint64(uint32(l+1))<<32 | uint64(uint32(r))
	i, _ := bits.Mul64(key*t.factor, uint64(len(t.entries)))
	for {
		e := &t.entries[i]
		if e.key == key || e.key == 0 {
			return e
		}
		if i++; i == uint64(len(t.entries)) {
			i = 0
		}
	}
}

// add says that l and r become into. It reports false, and changes nothing,
// where the pair is known already.
func (t *pairTable) add(l, r ID, rank uint32, into ID) bool {
	e := t.slot(l, r)
	if e.key != 0 {
		return false
	}
	*e = pairEntry{uint64(uint32(l+1))<<32 | uint64(uint32(r)), rank, into}
	return true
}

// find returns never where l and r, which may be None, stay apart.
func (t *pairTable) find(l, r ID) (rank uint32, into ID) {
	if e := t.slot(l, r); e.key != 0 {
		return e.rank, e.into
	}
	return never, None
}
