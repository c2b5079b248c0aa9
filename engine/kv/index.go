package kv

import (
	"math/rand/v2"
	"slices"
)

// none stands for the block before the first.
const none int32 = -1

// An index finds full blocks by their contents and everything before them.
//
// A block's hash is made of its tokens and its predecessor's hash. The hash
// only says where to look: a hit must have the same tokens and continue the
// very block found before it, so a collision cannot leak another prompt's
// keys. A root stands for all that blocks depend on beside their tokens, such as an adapter: nothing
// kept under one is found under another. Predecessors are identified by serial numbers, which unlike block
// numbers are never used twice.
type index struct {
	size   int
	tokens []int32  // of cached blocks, size for each block
	id     []uint64 // serial number; 0: not cached
	parent []uint64 // serial number of the predecessor, or the root where there is none
	hash   []uint64
	next   []int32 // of the same bucket
	bucket []int32 // first block, or none; the length is a power of two
	serial uint64
	seed   uint64 // keeps clients from aiming at one bucket
	mask   uint64 // all ones; see Collide
}

func newIndex(blocks, size int) index {
	buckets := 1
	for buckets < 2*blocks {
		buckets *= 2
	}
	return index{
		size:   size,
		tokens: make([]int32, blocks*size),
		id:     make([]uint64, blocks),
		parent: make([]uint64, blocks),
		hash:   make([]uint64, blocks),
		next:   make([]int32, blocks),
		bucket: slices.Repeat([]int32{none}, buckets),
		serial: roots,
		seed:   rand.Uint64(),
		mask:   ^uint64(0),
	}
}

// roots bounds the numbers of roots: serial numbers are above it.
const roots = 1 << 32

// has reports whether b is cached.
func (p *index) has(b int32) bool { return p.id != nil && p.id[b] != 0 }

// lookup finds the cached block that holds tokens, a whole block of them, after
// the block parent, which is cached, or none: then it is the first of root.
func (p *index) lookup(root uint32, parent int32, tokens []int32) (int32, bool) {
	b, _ := p.find(root, parent, tokens)
	return b, b != none
}

func (p *index) find(root uint32, parent int32, tokens []int32) (b int32, hash uint64) {
	if p.id == nil {
		return none, 0
	}
	id := uint64(root)
	hash = p.seed + id
	if parent != none {
		id, hash = p.id[parent], p.hash[parent]
	}
	for _, t := range tokens {
		hash = (hash ^ uint64(uint32(t))) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	hash &= p.mask
	for b = p.bucket[p.place(hash)]; b != none; b = p.next[b] {
		if p.hash[b] == hash && p.parent[b] == id && slices.Equal(p.of(b), tokens) {
			break
		}
	}
	return b, hash
}

// add makes b, which holds tokens after the block parent, findable. When
// another block holds the same already, add returns that one and changes
// nothing; else it returns b.
func (p *index) add(root uint32, parent, b int32, tokens []int32) int32 {
	twin, hash := p.find(root, parent, tokens)
	if twin != none {
		return twin
	}
	p.serial++
	p.id[b], p.hash[b], p.parent[b] = p.serial, hash, uint64(root)
	if parent != none {
		p.parent[b] = p.id[parent]
	}
	copy(p.of(b), tokens)
	at := p.place(hash)
	p.next[b], p.bucket[at] = p.bucket[at], b
	return b
}

// forget removes a cached block.
func (p *index) forget(b int32) {
	at := &p.bucket[p.place(p.hash[b])]
	for *at != b {
		at = &p.next[*at]
	}
	*at = p.next[b]
	p.id[b] = 0
}

func (p *index) of(b int32) []int32 {
	return p.tokens[int(b)*p.size : (int(b)+1)*p.size]
}

func (p *index) place(hash uint64) int { return int(hash & uint64(len(p.bucket)-1)) }
