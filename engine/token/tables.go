package token

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
)

// A pairTable says which two tokens become one, and how soon. It is a hash
// table with open addressing, filled once. An entry holds the pair and its
// rank in eight bytes, so that eight share a cache line.
type pairTable struct {
	entries []uint64 // left, right, rank; free if all bits are set
	idBits  uint
	rankMax uint64
	// factor is random, so that no file can be made whose pairs collide.
	factor uint64
	joined []ID // by rank: the token of the joined pair

	// ofBytes are the pairs of single bytes, where words of bytes start.
	ofBytes *[256][256]joining
}

const freePair = ^uint64(0)

// newPairTable makes room for n pairs, of ranks below n, of a vocabulary of
// the given size.
func newPairTable(n, tokens int) (*pairTable, error) {
	t := &pairTable{factor: rand.Uint64() | 1, idBits: uint(bits.Len(uint(tokens)))}
	t.rankMax = 1<<(64-2*t.idBits) - 1
	if uint64(n) > t.rankMax {
		return nil, fmt.Errorf("%w: %d merges of %d tokens", ErrUnsupported, n, tokens)
	}
	t.entries = make([]uint64, n+n/2+1)
	for i := range t.entries {
		t.entries[i] = freePair
	}
	t.joined = make([]ID, n)
	return t, nil
}

// slot returns the entry of a pair, or the free one where it belongs.
func (t *pairTable) slot(pair uint64) *uint64 {
	i, _ := bits.Mul64(pair*t.factor, uint64(len(t.entries)))
	for {
		e := &t.entries[i]
		if *e>>(64-2*t.idBits) == pair || *e == freePair {
			return e
		}
		if i++; i == uint64(len(t.entries)) {
			i = 0
		}
	}
}

// add says that l and r become into. Of a pair that is added twice the first
// counts, or the last if again is true.
func (t *pairTable) add(l, r ID, rank int, into ID, again bool) {
	pair := t.key(l, r)
	e := t.slot(pair)
	if *e == freePair || again {
		*e = pair<<(64-2*t.idBits) | uint64(rank)
		t.joined[rank] = into
	}
}

// key packs a pair of tokens, neither None.
func (t *pairTable) key(l, r ID) uint64 { return uint64(l)<<t.idBits | uint64(r) }

// find returns the token of a joined pair.
func (t *pairTable) find(pair uint64) (rank uint32, into ID) {
	e := *t.slot(pair)
	if e == freePair {
		return never, None
	}
	rank = uint32(e & t.rankMax)
	return rank, t.joined[rank]
}

// startFrom prepares for words that start as single bytes, which have these
// tokens.
func (t *pairTable) startFrom(ids *[256]ID) {
	t.ofBytes = new([256][256]joining)
	for a, l := range ids {
		for b, r := range ids {
			e := joining{never, None}
			if l|r >= 0 {
				e.rank, e.into = t.find(t.key(l, r))
			}
			t.ofBytes[a][b] = e
		}
	}
}

// A textTable finds tokens by their texts. It is a hash table with
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
