package token

import "math"

// A piece is a part of a word while merging: its bytes, the token it is (None
// if it is not one), and how it joins with the piece to its right.
type piece struct {
	start, end int32
	prev, next int32 // used by mergeLong only
	id         ID
	into       ID     // the token both pieces make
	rank       uint32 // how soon, lowest first; never if they make none
}

const never = math.MaxUint32

// A pairer knows which neighbours join. text holds the bytes pieces refer to.
type pairer interface {
	pair(text []byte, l, r *piece) (rank uint32, into ID)
}

// A join is a heap entry: pieces may merge unless one changed meanwhile, which
// shows in their length. Equal ranks merge from the left.
type join struct {
	key  uint64 // rank<<32 | index of the left piece
	size int32
	into ID
}

// longWord is where the heap starts to win over scanning for the best pair.
const longWord = 32

// merge joins neighbours, best rank first, until none join, and returns what
// remains. Its time is n log n in the number of pieces.
func (sc *scratch) merge(p pairer, text []byte, a []piece) []piece {
	if len(a) > longWord {
		return sc.mergeLong(p, text, a)
	}
	return sc.mergeShort(p, text, a)
}

func (sc *scratch) mergeShort(p pairer, text []byte, a []piece) []piece {
	for i := range a {
		a[i].rank = never
		if i+1 < len(a) {
			a[i].rank, a[i].into = p.pair(text, &a[i], &a[i+1])
		}
	}
	for {
		best, at := uint32(never), -1
		for i := range a {
			if a[i].rank < best {
				best, at = a[i].rank, i
			}
		}
		if at < 0 {
			return a
		}
		l := &a[at]
		l.id, l.end, l.rank = l.into, a[at+1].end, never
		a = append(a[:at+1], a[at+2:]...)
		if at+1 < len(a) {
			l.rank, l.into = p.pair(text, l, &a[at+1])
		}
		if at > 0 {
			a[at-1].rank, a[at-1].into = p.pair(text, &a[at-1], l)
		}
	}
}

func (sc *scratch) mergeLong(p pairer, text []byte, a []piece) []piece {
	h := sc.heap[:0]
	add := func(l, r int32) (join, bool) {
		rank, into := p.pair(text, &a[l], &a[r])
		return join{uint64(rank)<<32 | uint64(l), a[r].end - a[l].start, into}, rank != never
	}
	for i := range a {
		a[i].prev, a[i].next = int32(i)-1, int32(i)+1
		if i+1 == len(a) {
			a[i].next = -1
		} else if j, ok := add(int32(i), int32(i)+1); ok {
			h = append(h, j)
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		down(h, i)
	}
	for len(h) > 0 {
		j := h[0]
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
		down(h, 0)

		at := int32(uint32(j.key))
		l := &a[at]
		if l.end == l.start || l.next < 0 || a[l.next].end-l.start != j.size {
			continue
		}
		r := &a[l.next]
		l.id, l.end, l.next = j.into, r.end, r.next
		r.end = r.start
		if l.next >= 0 {
			a[l.next].prev = at
			if j, ok := add(at, l.next); ok {
				h = up(append(h, j))
			}
		}
		if l.prev >= 0 {
			if j, ok := add(l.prev, at); ok {
				h = up(append(h, j))
			}
		}
	}
	sc.heap = h
	kept := a[:0]
	for i := range a {
		if a[i].end > a[i].start {
			kept = append(kept, a[i])
		}
	}
	return kept
}

// down restores the heap below i.
func down(h []join, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].key < h[c].key {
			c++
		}
		if h[i].key <= h[c].key {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// up restores the heap above its last entry.
func up(h []join) []join {
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if h[p].key <= h[i].key {
			break
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
	return h
}

// A scratch is the memory one Encode works in.
type scratch struct {
	cursor cursor
	pieces []piece
	heap   []join
	text   []byte
	best   []best // unigram
	start  bool   // the text to encode is the start of all text
}

// maxScratch is the text length above which a scratch is not kept for reuse.
const maxScratch = 1 << 16
